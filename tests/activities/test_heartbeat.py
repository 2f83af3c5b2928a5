"""Signs of life: a subagent that was taken for dead stops when it wakes."""

from __future__ import annotations

import asyncio
import dataclasses
import math
import time
from datetime import timedelta

import pytest
from temporalio.exceptions import ApplicationError
from temporalio.testing import ActivityEnvironment

from activities.fleet import heartbeat
from activities.fleet.heartbeat import ensure_not_replaced, send_heartbeats


def environment(seconds: float) -> ActivityEnvironment:
    env = ActivityEnvironment()
    env.info = dataclasses.replace(env.info, heartbeat_timeout=timedelta(seconds=seconds))
    return env


async def test_the_body_is_heard_of_while_it_runs() -> None:
    beats = 0
    heard = asyncio.Event()
    env = environment(60)

    def beat(*_: object) -> None:
        nonlocal beats
        beats += 1
        if beats == 3:
            heard.set()

    env.on_heartbeat = beat

    async def body() -> str:
        async with send_heartbeats(every=0.01):
            await heard.wait()
        return "done"

    assert await env.run(body) == "done"


async def test_who_stood_still_too_long_buys_nothing_more() -> None:
    bought: list[str] = []

    async def body() -> None:
        async with send_heartbeats(every=0.05):
            await asyncio.sleep(0.1)
            # As good as a SIGSTOP: nothing in this process moves.
            time.sleep(0.6)  # noqa: ASYNC251
            for turn in range(100):
                await asyncio.sleep(0.05)
                bought.append(f"turn {turn}")

    with pytest.raises(ApplicationError) as raised:
        await environment(0.4).run(body)
    assert raised.value.type == "frozen"
    assert not raised.value.non_retryable
    assert len(bought) <= 1


async def test_who_wakes_in_the_middle_of_a_step_pays_for_nothing() -> None:
    """The step may go on before the beat that would end it has its turn."""
    paid: list[str] = []

    async def body() -> None:
        async with send_heartbeats(every=0.01):
            ensure_not_replaced()
            paid.append("awake")
            time.sleep(0.5)  # noqa: ASYNC251 - as good as a SIGSTOP
            ensure_not_replaced()
            paid.append("asleep")

    with pytest.raises(ApplicationError) as raised:
        await environment(0.2).run(body)
    assert raised.value.type == "frozen"
    assert paid == ["awake"]
    ensure_not_replaced()


async def test_a_cancellation_passes_through_at_once() -> None:
    env = environment(60)
    started = asyncio.Event()

    async def body() -> None:
        async with send_heartbeats(every=0.01):
            started.set()
            await asyncio.Event().wait()

    task = asyncio.create_task(env.run(body))
    await started.wait()
    env.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


async def test_an_error_of_the_body_stays_what_it_is() -> None:
    async def body() -> None:
        async with send_heartbeats():
            raise ValueError("wrong")

    with pytest.raises(ValueError, match="wrong"):
        await environment(60).run(body)


async def test_who_has_just_woken_waits_for_an_objection_before_it_acts(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(heartbeat, "_woke_at", -math.inf)
    monkeypatch.setattr(heartbeat, "OBJECTION_SECONDS", 60.0)
    bought: list[str] = []
    env = environment(60)

    async def body() -> None:
        async with send_heartbeats(every=0.01):
            bought.append("turn")

    async with heartbeat.detect_freezes(still=0.2, every=0.02):
        await env.run(body)
        assert bought == ["turn"], "a worker that was awake all the time acts at once"
        time.sleep(0.5)  # noqa: ASYNC251 - as good as a SIGSTOP
        await asyncio.sleep(0.1)
        late = asyncio.create_task(env.run(body))
        await asyncio.sleep(0.2)
        # Temporal's word, as the SDK passes it on: the attempt is another's by now.
        late.cancel()
        with pytest.raises(asyncio.CancelledError):
            await late
    assert bought == ["turn"]


async def test_who_looks_is_told_how_far_a_subagent_is() -> None:
    told: list[object] = []
    heard = asyncio.Event()
    env = environment(60)

    def beat(*details: object) -> None:
        told.extend(details)
        if details and details[0].get("turns") == 2:  # type: ignore[attr-defined]
            heard.set()

    env.on_heartbeat = beat

    async def body() -> None:
        async with send_heartbeats(every=0.01):
            heartbeat.show_progress(role="researcher", facet="costs")
            heartbeat.show_progress(turns=2, sources=5)
            await heard.wait()

    await env.run(body)
    assert told[-1] == {"role": "researcher", "facet": "costs", "turns": 2, "sources": 5}
