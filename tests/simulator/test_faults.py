"""Every fault reaches the SDK as the real one would, on schedule."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any

import anthropic
import httpx2
import pytest

from tests.simulator.asking import asking, client_of, schema_format, user
from tests.simulator.brains import Turn
from tests.simulator.faults import Fault, Schedule
from tests.simulator.simulator import Simulator

ERRORS: list[tuple[dict[str, Any], type[anthropic.APIStatusError], str]] = [
    ({"kind": "timeout"}, anthropic.RequestTimeoutError, "timeout_error"),
    ({"kind": "conflict"}, anthropic.ConflictError, "conflict_error"),
    ({"kind": "too_large"}, anthropic.ContentTooLargeError, "request_too_large"),
    ({"kind": "rate_limit"}, anthropic.RateLimitError, "rate_limit_error"),
    ({"kind": "spend_limit"}, anthropic.EnforcedSpendLimitReachedError, "rate_limit_error"),
    ({"kind": "server_error"}, anthropic.InternalServerError, "api_error"),
    ({"kind": "unavailable"}, anthropic.ServiceUnavailableError, "api_error"),
    ({"kind": "gateway_timeout"}, anthropic.GatewayTimeoutError, "timeout_error"),
    ({"kind": "overloaded"}, anthropic.OverloadedError, "overloaded_error"),
    ({"kind": "status", "status": 403}, anthropic.PermissionDeniedError, "permission_error"),
]


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize(("described", "raised", "kind"), ERRORS, ids=lambda p: str(p)[:40])
async def test_a_status_raises_the_sdks_own_error(
    described: dict[str, Any], raised: type[anthropic.APIStatusError], kind: str, stream: bool
) -> None:
    simulator = Simulator(faults=[Fault.described(described)])
    client = client_of(simulator)
    with pytest.raises(raised) as error:
        await client.messages.create(**asking(), stream=stream)
    assert type(error.value) is raised
    assert error.value.type == kind
    assert (await client.messages.create(**asking())).stop_reason == "end_turn"
    failed, answered = simulator.messages
    assert (failed.answered, failed.begun, failed.outcome) == (False, False, kind)
    assert (answered.answered, answered.begun) == (True, True)


async def test_the_wait_is_asked_for_in_every_form() -> None:
    waits = [
        Fault("rate_limit", retry_after=3),
        Fault("overloaded", retry_after_date=60),
        Fault("unavailable", retry_after_ms=250, headers={"x-should-retry": "true"}),
    ]
    client = client_of(Simulator(faults=waits))
    headers = []
    for _ in waits:
        with pytest.raises(anthropic.APIStatusError) as error:
            await client.messages.create(**asking())
        headers.append(error.value.response.headers)
    assert headers[0]["retry-after"] == "3"
    until = parsedate_to_datetime(headers[1]["retry-after"])
    assert 0 < (until - datetime.now(UTC)).total_seconds() <= 60
    assert (headers[2]["retry-after-ms"], headers[2]["x-should-retry"]) == ("250", "true")


async def test_an_error_in_mid_stream_has_status_200_and_its_own_type() -> None:
    simulator = Simulator(faults=[Fault("stream_error")])
    with pytest.raises(anthropic.APIStatusError) as error:
        async with client_of(simulator).messages.stream(**asking()) as stream:
            await stream.get_final_message()
    assert (error.value.response.status_code, error.value.type) == (200, "overloaded_error")
    assert simulator.messages[0].begun
    assert simulator.messages[0].outcome == "stream_error"


async def test_a_stream_that_ends_early_says_nothing_of_it() -> None:
    simulator = Simulator(faults=[Fault("stream_ends")])
    async with client_of(simulator).messages.stream(**asking()) as stream:
        assert (await stream.get_final_message()).stop_reason is None
    assert not simulator.messages[0].answered


async def read(client: anthropic.AsyncAnthropic, stream: bool) -> None:
    answer: Any = await client.messages.create(**asking(), stream=stream)
    if stream:
        async for _ in answer:
            pass


@pytest.mark.parametrize("stream", [False, True])
async def test_a_dropped_connection_is_an_error_of_the_connection(stream: bool) -> None:
    simulator = Simulator(faults=[Fault("drop"), Fault("drop_mid")])
    client = client_of(simulator)
    with pytest.raises(anthropic.APIConnectionError):
        await client.messages.create(**asking(), stream=stream)
    # In mid-stream the SDK lets the transport's own error through.
    with pytest.raises((anthropic.APIConnectionError, httpx2.ReadError)):
        await read(client, stream)
    first, second = simulator.messages
    assert (first.begun, first.outcome, first.answered) == (False, "drop", False)
    assert (second.begun, second.outcome, second.answered) == (True, "drop_mid", False)


@pytest.mark.parametrize("kind", ["hang", "stream_hangs"])
async def test_a_hang_lasts_until_the_clients_patience_ends(kind: str) -> None:
    simulator = Simulator(faults=[Fault(kind, times=None)])
    client = client_of(simulator)
    with pytest.raises(anthropic.APITimeoutError):
        await client.messages.create(**asking(), timeout=0.1)
    with pytest.raises((anthropic.APITimeoutError, httpx2.ReadTimeout)):
        async for _ in await client.messages.create(**asking(), stream=True, timeout=0.1):
            pass
    assert [record.answered for record in simulator.messages] == [False, False]
    assert all(record.seconds is not None for record in simulator.messages)


async def test_a_cancelled_request_counts_as_abandoned() -> None:
    asked = asyncio.Event()

    async def slow(_: Any) -> Turn:
        asked.set()
        return await asyncio.Future()

    simulator = Simulator(slow)
    task = asyncio.create_task(client_of(simulator).messages.create(**asking()))
    await asked.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert simulator.messages[0].outcome == "abandoned"


async def test_other_endings_arrive_as_stop_reasons() -> None:
    faults = [
        Fault("refusal", category="cyber", explanation="Not this."),
        Fault("max_tokens"),
        Fault("context_window"),
        Fault("pause_turn"),
    ]
    client = client_of(Simulator(faults=faults))
    refused = await client.messages.create(**asking())
    assert refused.stop_reason == "refusal"
    assert refused.stop_details
    assert (refused.stop_details.category, refused.stop_details.explanation) == (
        "cyber", "Not this.",
    )  # fmt: skip
    rest = [(await client.messages.create(**asking())).stop_reason for _ in range(3)]
    assert rest == ["max_tokens", "model_context_window_exceeded", "pause_turn"]


async def test_a_streamed_refusal_carries_its_details() -> None:
    client = client_of(Simulator(faults=[Fault("refusal", explanation="Not this.")]))
    async with client.messages.stream(**asking()) as stream:
        refused = await stream.get_final_message()
    assert refused.stop_details
    assert refused.stop_details.explanation == "Not this."


def struck(schedule: Schedule, number: int = 1, **body: Any) -> str | None:
    fault, _ = schedule.strike(number, asking(**body))
    return fault.kind if fault else None


def test_a_fault_strikes_only_what_it_describes() -> None:
    titled = schema_format({"title": "PlanDraft", "type": "object"})
    assert struck(Schedule([Fault("drop", title="PlanDraft")]), output_config=titled) == "drop"
    assert struck(Schedule([Fault("drop", title="PlanDraft")])) is None
    assert struck(Schedule([Fault("drop", contains="tea")]), messages=[user("some tea")]) == "drop"
    assert struck(Schedule([Fault("drop", contains="tea")])) is None
    assert struck(Schedule([Fault("drop", request=2)]), 1) is None
    assert struck(Schedule([Fault("drop", request=2)]), 2) == "drop"
    assert struck(Schedule([Fault("drop", stream=True)])) is None
    assert (
        struck(Schedule([Fault("drop", where=lambda body: body["max_tokens"] == 1000)])) == "drop"
    )


def test_a_fault_skips_and_strikes_as_often_as_it_says() -> None:
    schedule = Schedule([Fault("drop", skip=1, times=2), Fault("latency", seconds=2, times=None)])
    assert [struck(schedule, n) for n in range(1, 5)] == [None, "drop", "drop", None]
    assert schedule.strike(5, asking())[1] == 2


@pytest.mark.parametrize("described", [{"kind": "none"}, {"kind": "drop", "x": 1}, {"times": 1}])
def test_a_fault_that_is_not_understood_is_refused(described: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="fault"):
        Fault.described(described)
