"""What a prompt costs: read from the cache, written to it, or paid in full."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from tests.simulator.asking import HAIKU, SEARCH, JsonObject, asking, client_of, user
from tests.simulator.brains import Turn, text
from tests.simulator.simulator import Simulator

LONG = "word " * 800
"""A thousand tokens."""


class Clock:
    def __init__(self) -> None:
        self.now = 1_000_000.0

    def __call__(self) -> float:
        return self.now


def marked(words: str = LONG, **marker: str) -> JsonObject:
    return {"type": "text", "text": words, "cache_control": {"type": "ephemeral", **marker}}


async def paid(simulator: Simulator, **body: Any) -> tuple[int, int, int]:
    """(in full, written, read)"""
    usage = (await client_of(simulator).messages.create(**asking(**body))).usage
    written, read = usage.cache_creation_input_tokens, usage.cache_read_input_tokens
    return usage.input_tokens, written or 0, read or 0


QUESTION = 4  # tokens of "What is known?"


async def test_a_marked_prefix_is_written_once_and_read_after() -> None:
    simulator = Simulator()
    assert await paid(simulator, system=[marked()]) == (QUESTION, 1000, 0)
    assert await paid(simulator, system=[marked()]) == (QUESTION, 0, 1000)


async def test_without_a_marker_nothing_is_cached() -> None:
    simulator = Simulator()
    for _ in range(2):
        assert await paid(simulator, system=LONG) == (1000 + QUESTION, 0, 0)


@pytest.mark.parametrize(("length", "kept"), [(511, False), (512, True)])
async def test_a_prefix_must_be_long_enough(length: int, kept: bool) -> None:
    simulator = Simulator()
    await paid(simulator, system=[marked("abcd" * length)])
    again = await paid(simulator, system=[marked("abcd" * length)])
    assert again == ((QUESTION, 0, length) if kept else (length + QUESTION, 0, 0))


@pytest.mark.parametrize(
    "other",
    [
        {"model": HAIKU},
        {"output_config": {"effort": "low"}},
        {"thinking": {"type": "adaptive"}},
        {"tools": [SEARCH]},
        {"system": [marked(LONG + "!")]},
    ],
    ids=lambda other: next(iter(other)),
)
async def test_another_prefix_misses(other: JsonObject) -> None:
    simulator = Simulator()
    await paid(simulator, system=[marked()])
    assert (await paid(simulator, **{"system": [marked()], **other}))[2] == 0


async def test_a_growing_conversation_reads_what_it_wrote() -> None:
    simulator = Simulator()
    automatic = {"type": "ephemeral"}
    first = [user(LONG)]
    assert await paid(simulator, messages=first, cache_control=automatic) == (0, 1000, 0)
    more = [*first, {"role": "assistant", "content": "Yes."}, user("abcd" * 50)]
    assert await paid(simulator, messages=more, cache_control=automatic) == (0, 51, 1000)
    assert await paid(simulator, messages=more, cache_control=automatic) == (0, 0, 1051)


async def test_a_hit_further_back_than_twenty_blocks_is_not_found() -> None:
    simulator = Simulator()
    await paid(simulator, messages=[user(marked())])
    near = [user(LONG, *["more"] * 18, marked("end"))]
    far = [user(LONG, *["more"] * 19, marked("end"))]
    assert (await paid(simulator, messages=far))[2] == 0
    assert (await paid(simulator, messages=near))[2] == 1000


async def test_an_entry_lives_five_minutes_from_its_last_use_or_an_hour() -> None:
    clock = Clock()
    simulator = Simulator(clock=clock)
    await paid(simulator, system=[marked()])
    clock.now += 299
    assert (await paid(simulator, system=[marked()]))[2] == 1000
    clock.now += 299
    assert (await paid(simulator, system=[marked()]))[2] == 1000
    clock.now += 301
    assert (await paid(simulator, system=[marked(ttl="1h")])) == (QUESTION, 1000, 0)
    clock.now += 3599
    assert (await paid(simulator, system=[marked(ttl="1h")]))[2] == 1000
    assert simulator.records[-2].usage is not None
    assert simulator.records[-2].usage["cache_creation"]["ephemeral_1h_input_tokens"] == 1000


async def test_cold_requests_side_by_side_all_miss_and_a_warm_up_helps() -> None:
    together = asyncio.Barrier(4)

    async def side_by_side(_: JsonObject) -> Turn:
        await together.wait()
        return Turn([text("done")])

    simulator = Simulator(side_by_side)
    cold = await asyncio.gather(*(paid(simulator, system=[marked()]) for _ in range(4)))
    assert [read for _, _, read in cold] == [0, 0, 0, 0]
    simulator.reset()
    warm_up = await client_of(simulator).messages.create(**asking(max_tokens=0, system=[marked()]))
    assert (warm_up.content, warm_up.stop_reason) == ([], "max_tokens")
    assert warm_up.usage.output_tokens == 0
    warm = await asyncio.gather(*(paid(simulator, system=[marked()]) for _ in range(4)))
    assert [read for _, _, read in warm] == [1000, 1000, 1000, 1000]


async def test_tokens_are_counted_without_an_answer() -> None:
    simulator = Simulator()
    body = asking(system=LONG)
    del body["max_tokens"]
    counted = await client_of(simulator).messages.count_tokens(**body)
    assert counted.input_tokens == 1000 + QUESTION
    assert simulator.messages == []
