"""Parallel requests that start alike: the first goes alone until its answer begins."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from itertools import pairwise

import httpx2
import pytest
from temporalio.exceptions import ApplicationError

from activities.agent.request_template import SEARCH, build_template
from activities.llm.client import Models
from activities.llm.prompt_cache import PromptCache, prefix_of
from tests.activities.scripted import JsonObject, message, text
from tests.simulator.brains import Turn, use
from tests.simulator.simulator import Simulator
from tests.simulator.streaming import body, events
from tests.simulator.transport import SimulatorTransport
from workflows.config.model_catalog import MEDIUM
from workflows.config.roles import RESEARCHER
from workflows.contracts.request import OFFLINE

PATIENCE = 20.0


@pytest.fixture(autouse=True)
def key(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("ANTHROPIC_AUTH_TOKEN", "ANTHROPIC_BASE_URL", "ANTHROPIC_PROFILE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-ant-test-key-0123456789")


def asked(words: str, **more: object) -> JsonObject:
    return {
        "model": MEDIUM,
        "max_tokens": 100,
        "system": "You are one of several.",
        "messages": [{"role": "user", "content": words}],
        **more,
    }


class Held(httpx2.AsyncBaseTransport):
    """Answers begin when `begin` is set and end when `end` is."""

    def __init__(self, fail_first: bool = False) -> None:
        self.arrived: list[str] = []
        self.begin = asyncio.Event()
        self.end = asyncio.Event()
        self._came = asyncio.Semaphore(0)
        self._fail_first = fail_first

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        self.arrived.append(json.loads(await request.aread())["messages"][0]["content"])
        self._came.release()
        if self._fail_first and len(self.arrived) == 1:
            await self.begin.wait()
            return httpx2.Response(500, json={})
        return httpx2.Response(
            200, headers={"content-type": "text/event-stream"}, stream=_Stream(self)
        )

    async def until(self, count: int) -> None:
        async with asyncio.timeout(PATIENCE):
            while len(self.arrived) < count:
                await self._came.acquire()


class _Stream(httpx2.AsyncByteStream):
    def __init__(self, held: Held) -> None:
        self._held = held

    async def __aiter__(self) -> AsyncIterator[bytes]:
        parts = list(events(message(text("hi"))))
        await self._held.begin.wait()
        yield body(parts[:1])
        await self._held.end.wait()
        yield body(parts[1:])


async def a_while() -> None:
    """Long enough for anything that could run to have run."""
    for _ in range(50):
        await asyncio.sleep(0.002)


async def test_the_others_wait_for_the_firsts_first_event_and_then_all_go() -> None:
    wire = Held()
    models = Models(wire)
    turns = [asyncio.create_task(models.ask(asked(name))) for name in "abcd"]
    await wire.until(1)
    await a_while()
    assert len(wire.arrived) == 1
    wire.begin.set()
    await wire.until(4)
    assert not any(turn.done() for turn in turns), "they go before the first one's answer is whole"
    wire.end.set()
    assert len(await asyncio.gather(*turns)) == 4


async def test_a_first_request_that_fails_lets_the_others_go() -> None:
    wire = Held(fail_first=True)
    models = Models(wire)
    turns = [asyncio.create_task(models.ask(asked(name))) for name in "abc"]
    await wire.until(1)
    await a_while()
    assert len(wire.arrived) == 1
    wire.begin.set()
    wire.end.set()
    results = await asyncio.gather(*turns, return_exceptions=True)
    assert sum(isinstance(result, ApplicationError) for result in results) == 1
    assert sum(isinstance(result, dict) for result in results) == 2


async def test_a_first_request_that_is_cancelled_lets_the_others_go() -> None:
    wire = Held()
    models = Models(wire)
    first = asyncio.create_task(models.ask(asked("a")))
    await wire.until(1)
    second = asyncio.create_task(models.ask(asked("b")))
    await a_while()
    first.cancel()
    await wire.until(2)
    wire.begin.set()
    wire.end.set()
    assert await second


async def test_nobody_waits_longer_than_agreed() -> None:
    warmth = PromptCache(wait_seconds=0.05)
    async with warmth.admit(asked("a")), asyncio.timeout(PATIENCE), warmth.admit(asked("b")):
        pass


async def test_a_warm_beginning_is_not_waited_for_again() -> None:
    warmth = PromptCache()
    async with warmth.admit(asked("a")):
        warmth.record(prefix_of(asked("a")))
        async with asyncio.timeout(PATIENCE / 2):
            async with warmth.admit(asked("b")), warmth.admit(asked("c")):
                pass


async def test_requests_that_start_otherwise_do_not_wait_for_each_other() -> None:
    warmth = PromptCache()
    async with asyncio.timeout(PATIENCE / 2):
        async with warmth.admit(asked("a")), warmth.admit(asked("a", system="Another.")):
            pass


def test_the_conversation_is_no_part_of_the_beginning() -> None:
    assert prefix_of(asked("a")) == prefix_of(asked("b"))
    for other in ({"model": "x"}, {"tools": [{"name": "t"}]}, {"thinking": {"type": "adaptive"}},
                  {"output_config": {"effort": "low"}}):  # fmt: skip
        assert prefix_of(asked("a", **other)) != prefix_of(asked("a"))


async def test_the_offline_model_has_nothing_to_warm() -> None:
    wire = Held()
    models = Models(wire)
    turns = [asyncio.create_task(models.ask(asked(n, model=OFFLINE))) for n in "abc"]
    await wire.until(3)
    wire.begin.set()
    wire.end.set()
    await asyncio.gather(*turns)


# Frames and warmth together, before a provider that counts what its cache holds


def _brain(body: JsonObject) -> Turn:
    """Calls many tools at once for a few turns, then answers."""
    if len(body["messages"]) < 7:
        return Turn([use("search", query=f"q{n}", aim="a") for n in range(12)])
    return Turn([text("{}")])


async def _research(models: Models, name: str) -> list[JsonObject]:
    """The usage of each turn of one subagent."""
    framed = build_template(RESEARCHER, MEDIUM, "medium", [{**SEARCH}])
    messages = [{"role": "user", "content": [text(f"<brief>{name * 3000}</brief>")]}]
    usages: list[JsonObject] = []
    while True:
        answer = await models.ask(framed.request(messages))
        usages.append(answer["usage"])
        messages.append({"role": "assistant", "content": answer["content"]})
        uses = [block for block in answer["content"] if block["type"] == "tool_use"]
        if not uses:
            return usages
        messages.append({"role": "user", "content": [
            {"type": "tool_result", "tool_use_id": block["id"], "content": [text("found " * 50)]}
            for block in uses
        ]})  # fmt: skip


async def test_subagents_side_by_side_write_their_beginning_once_and_never_pay_twice() -> None:
    models = Models(SimulatorTransport(Simulator(_brain)))
    talks = await asyncio.gather(*(_research(models, name) for name in "abcd"))
    cold = [usages for usages in talks if usages[0]["cache_read_input_tokens"] == 0]
    assert len(cold) == 1
    for usages in talks:
        for before, after in pairwise(usages):
            known = before["cache_read_input_tokens"] + before["cache_creation_input_tokens"]
            assert after["cache_read_input_tokens"] == known
