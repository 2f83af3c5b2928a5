"""A conversation that nears the model's window is handed over, and nothing found is lost."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import httpx2
import pytest
from temporalio.exceptions import ApplicationError

from activities.agent.conversation import Answered, Unanswered
from activities.agent.loop import MAX_HAND_OVERS
from activities.agent.schemas import PlanReview
from tests.activities.scripted import (
    GOOD,
    JsonObject,
    Scripted,
    Setting,
    failure,
    message,
    reviewed,
    searching,
    text,
    words,
)

WINDOW = 1000
FULL = {"input_tokens": 100, "cache_read_input_tokens": 650, "output_tokens": 10}


def big(answer: JsonObject) -> JsonObject:
    """A turn after which the window is three quarters full."""
    return {**answer, "usage": FULL}


def carry(answers: Sequence[PlanReview], asked: str | None) -> JsonObject | None:
    found = [change.reason for answer in answers for change in answer.changes]
    return None if "done" in found else {"question": asked or "?", "handed_over": found}


async def talk(setting: Setting, **more: Any) -> Answered[PlanReview] | Unanswered:
    return await setting.talk(hand_over=carry, window=WINDOW, **more)


def reasons(spoken: object) -> list[str]:
    assert isinstance(spoken, Answered)
    return [change.reason for answer in spoken.answers for change in answer.changes]


async def test_a_full_conversation_is_handed_over_to_a_clean_one(tmp_path: Path) -> None:
    setting = Setting(tmp_path, [
        big(searching("a")), reviewed("first part"), searching("b"), reviewed("second part"),
    ])  # fmt: skip
    spoken = await talk(setting)
    assert reasons(spoken) == ["first part", "second part"]
    assert isinstance(spoken, Answered)
    assert not spoken.cut_short
    assert "<last-call>" in words(setting.wire.requests[1])
    assert len(setting.wire.requests[2]["messages"]) == 1, "a clean conversation"
    assert "first part" in words(setting.wire.requests[2])
    assert setting.tools.forgot == 1
    assert setting.tools.told == [(0, "a"), (2, "b")], "turns are numbered on"


async def test_who_is_below_the_limit_goes_on(tmp_path: Path) -> None:
    setting = Setting(tmp_path, [searching("a"), searching("b"), GOOD])
    await talk(setting)
    assert "<last-call>" not in str(setting.wire.requests)


async def test_with_nothing_open_nothing_is_handed_over(tmp_path: Path) -> None:
    setting = Setting(tmp_path, [big(searching("a")), reviewed("done")])
    assert reasons(await talk(setting)) == ["done"]


async def test_handing_over_has_an_end(tmp_path: Path) -> None:
    rounds = [turn for n in range(9) for turn in (big(searching(str(n))), reviewed(f"part {n}"))]
    setting = Setting(tmp_path, rounds)
    spoken = await talk(setting)
    assert reasons(spoken) == [f"part {n}" for n in range(MAX_HAND_OVERS + 1)]
    assert isinstance(spoken, Answered)
    assert spoken.cut_short == "the conversation outgrew the model"


@pytest.mark.parametrize("at", range(4))
async def test_a_crash_anywhere_changes_nothing(tmp_path: Path, at: int) -> None:
    answers: list[Scripted] = [
        big(searching("a")), reviewed("first part"), searching("b"), reviewed("second part"),
    ]  # fmt: skip
    setting = Setting(tmp_path, [*answers[:at], httpx2.ConnectError("lost"), *answers[at:]])
    with pytest.raises(ApplicationError):
        await talk(setting)
    spoken = await talk(setting)
    assert reasons(spoken) == ["first part", "second part"]
    assert isinstance(spoken, Answered)
    assert (spoken.spend.turns, spoken.spend.bought_again) == (4, 0)
    assert setting.wire.requests[at] == setting.wire.requests[at + 1]


async def test_a_follow_up_survives_a_hand_over(tmp_path: Path) -> None:
    setting = Setting(tmp_path, [
        reviewed("one"), big(searching("a")), reviewed("two"), reviewed("three"),
    ])  # fmt: skip
    spoken = await talk(setting, follow_ups=("and then?",))
    assert reasons(spoken) == ["one", "two", "three"]
    assert "and then?" in words(setting.wire.requests[3])


@pytest.mark.parametrize(
    "full",
    [
        message(text("…"), stop="model_context_window_exceeded"),
        failure(413, "request_too_large"),
        failure(400, "invalid_request_error", "prompt is too long: 1000001 tokens"),
    ],
)
async def test_an_overflow_keeps_what_was_handed_over_before(
    tmp_path: Path, full: Scripted
) -> None:
    setting = Setting(tmp_path, [big(searching("a")), reviewed("first part"), full])
    spoken = await talk(setting)
    assert reasons(spoken) == ["first part"]
    assert isinstance(spoken, Answered)
    assert spoken.cut_short


async def test_an_overflow_with_nothing_found_is_an_outcome(tmp_path: Path) -> None:
    spoken = await talk(Setting(tmp_path, [failure(413, "request_too_large")]))
    assert isinstance(spoken, Unanswered)
    assert spoken.why == "context_full"


async def test_a_role_that_cannot_hand_over_answers_from_what_it_has(tmp_path: Path) -> None:
    setting = Setting(tmp_path, [big(searching("a")), reviewed("all of it")])
    spoken = await setting.talk(window=WINDOW)
    assert reasons(spoken) == ["all of it"]
