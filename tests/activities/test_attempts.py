"""No wall is hit twice: an attempt that led nowhere is closed, and the next one says so.

A crash replays the journal. A failure does not: each test runs the subagent again on the same
store, as Temporal or `resume` would, and looks at what reaches the wire.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from activities.agent.conversation import Answered, Unanswered
from activities.agent.loop import MAX_TOOL_CALLS
from tests.activities.scripted import (
    GOOD,
    JsonObject,
    Setting,
    message,
    plain,
    reviewed,
    searching,
    text,
    use,
)
from tests.simulator.history import check_order, check_shape

THOUGHT = {"type": "thinking", "thinking": "Let me see.", "signature": "c2ln"}
REFUSAL = {"type": "refusal", "category": "bio", "explanation": "This could do harm."}

WALLS: dict[str, Callable[[], list[JsonObject]]] = {
    "malformed": lambda: [message(text("oh no"))] * 3,
    "only thinking": lambda: [message(THOUGHT)] * 3,
    "cut off": lambda: [message(text('{"chan'), stop="max_tokens")] * 3,
    "pauses without end": lambda: [message(text("…"), stop="pause_turn")] * 9,
    "a pause with thinking only": lambda: [message(THOUGHT, stop="pause_turn")],
    "refused": lambda: [message(stop="refusal", stop_details=REFUSAL)],
    "an unknown end": lambda: [message(text("oh no"), stop="quota_of_wisdom")] * 3,
    "context exceeded": lambda: [message(text("…"), stop="model_context_window_exceeded")],
    "tools without end": lambda: [searching(str(n)) for n in range(13)],
}


def openings(requests: list[JsonObject]) -> list[list[str]]:
    """The texts of the first message, of every request that starts a conversation."""
    return [
        [block["text"] for block in request["messages"][0]["content"]]
        for request in requests
        if len(request["messages"]) == 1
    ]


@pytest.mark.parametrize("wall", WALLS)
async def test_a_retry_starts_afresh_and_says_what_went_wrong(tmp_path: Path, wall: str) -> None:
    failing = WALLS[wall]()
    setting = Setting(tmp_path, failing)
    spoken = await setting.talk()
    assert isinstance(spoken, Unanswered)
    tried = len(setting.wire.requests)
    assert tried == len(failing), "all of it was asked for"

    setting.wire.script(GOOD)
    again = await setting.talk()
    assert isinstance(again, Answered), "the retry replayed into the same wall"
    (fresh,) = setting.wire.requests[tried:]
    brief, note = fresh["messages"][0]["content"]
    assert len(fresh["messages"]) == 1, "a fresh conversation"
    assert brief["text"].startswith("<brief>")
    assert "attempt 2" in note["text"]
    assert spoken.detail in note["text"]


async def test_an_attempt_that_led_nowhere_is_on_the_bill_of_the_next(tmp_path: Path) -> None:
    setting = Setting(tmp_path, [*[message(text("no"))] * 3, GOOD])
    failed = await setting.talk()
    answered = await setting.talk()
    assert failed.spend.turns == 3
    assert answered.spend.turns == 4
    assert answered.spend.tokens == 4 * 110


async def test_a_crash_in_the_second_attempt_replays_the_second_attempt(tmp_path: Path) -> None:
    setting = Setting(tmp_path, [*[message(text("no"))] * 3, searching("a"), GOOD])
    assert isinstance(await setting.talk(), Unanswered)
    first = await setting.talk()
    replayed = await setting.talk()
    assert isinstance(first, Answered)
    assert replayed == first
    assert len(setting.wire.requests) == 5, "nothing was bought again"


async def test_one_call_makes_two_attempts_by_itself(tmp_path: Path) -> None:
    setting = Setting(tmp_path, [searching("a"), *[message(text("no"))] * 3, searching("b"), GOOD])
    spoken = await setting.talk(attempts=2)
    assert isinstance(spoken, Answered)
    assert setting.tools.told == [(4, "b")], "the new attempt may search as much as the first"
    first, second = openings(setting.wire.requests)
    assert len(first) == 1
    assert "attempt 2" in second[1]


async def test_a_refusal_is_not_asked_again_in_the_same_call(tmp_path: Path) -> None:
    setting = Setting(tmp_path, [message(stop="refusal", stop_details=REFUSAL)])
    spoken = await setting.talk(attempts=2)
    assert isinstance(spoken, Unanswered)
    assert spoken.detail == "This could do harm. (category: bio)"


async def test_a_follow_up_that_led_nowhere_is_asked_afresh_after_the_answer(
    tmp_path: Path,
) -> None:
    setting = Setting(tmp_path, [reviewed("kept"), *[message(text("no"))] * 3])
    await setting.talk(follow_ups=("and then?",))
    setting.wire.script(reviewed("new"))
    spoken = await setting.talk(follow_ups=("and then?",))
    assert isinstance(spoken, Answered)
    assert [answer.changes[0].reason for answer in spoken.answers] == ["kept", "new"]
    last = setting.wire.requests[-1]["messages"]
    assert [m["role"] for m in last] == ["user", "assistant", "user"], "the repairs are gone"
    assert "attempt 2" in str(last[-1])


async def test_an_unknown_stop_reason_with_a_usable_answer_is_an_answer(tmp_path: Path) -> None:
    odd = {**GOOD, "stop_reason": "quota_of_wisdom"}
    assert isinstance(await Setting(tmp_path, [odd]).talk(), Answered)


async def test_an_answer_that_is_whole_at_the_limit_is_used(tmp_path: Path) -> None:
    assert isinstance(
        await Setting(tmp_path, [{**GOOD, "stop_reason": "max_tokens"}]).talk(), Answered
    )


@pytest.mark.parametrize(
    "content",
    [
        [THOUGHT],
        [text("{"), THOUGHT],
        [THOUGHT, text(" \n")],
        [{"type": "redacted_thinking", "data": "x"}],
    ],
    ids=["only thinking", "thinking last", "a text without words", "redacted thinking"],
)
async def test_no_message_that_the_api_refuses_is_sent_back(
    tmp_path: Path, content: list[JsonObject]
) -> None:
    setting = Setting(tmp_path, [message(*content), GOOD])
    assert isinstance(await setting.talk(), Answered)
    sent = {**setting.wire.requests[1], "messages": plain(setting.wire.requests[1]["messages"])}
    check_shape(sent)
    check_order(sent, [False] * len(sent["messages"]), prefill=False)
    for said in sent["messages"]:
        assert said["role"] == "user" or "thinking" not in said["content"][-1]["type"]


@pytest.mark.parametrize("given", [["a", "b"], "a", None, 3])
async def test_a_tool_input_that_is_no_object_is_answered_with_an_error(
    tmp_path: Path, given: object
) -> None:
    odd = {**use("search"), "input": given}
    setting = Setting(tmp_path, [message(odd, stop="tool_use"), GOOD])
    assert isinstance(await setting.talk(), Answered)
    sent = setting.wire.requests[1]
    check_shape({**sent, "messages": plain(sent["messages"])})
    (result,) = sent["messages"][-1]["content"]
    assert result["is_error"]
    assert "not an object" in result["content"][0]["text"]
    assert setting.tools.told == []


async def test_a_hundred_calls_in_one_turn_are_bounded_and_all_answered(tmp_path: Path) -> None:
    setting = Setting(tmp_path, [searching(*(f"q{n}" for n in range(100))), GOOD])
    ran: list[str] = []

    async def run(name: str, tool_input: JsonObject, turn: int) -> JsonObject:
        ran.append(tool_input["query"])
        return {"content": [text("found")]}

    setting.tools.run = run  # type: ignore[method-assign]
    assert isinstance(await setting.talk(), Answered)
    results = setting.wire.requests[1]["messages"][-1]["content"]
    assert [r["tool_use_id"] for r in results] == [f"toolu_q{n}" for n in range(100)]
    assert len(ran) == MAX_TOOL_CALLS
    assert sum(result["is_error"] for result in results) == 100 - MAX_TOOL_CALLS


async def test_tool_calls_are_run_whatever_the_stop_reason_says(tmp_path: Path) -> None:
    setting = Setting(tmp_path, [message(use("search", query="a"), stop="end_turn"), GOOD])
    assert isinstance(await setting.talk(), Answered)
    assert setting.tools.told == [(0, "a")]


async def test_a_tool_use_without_a_call_goes_back_as_no_answer(tmp_path: Path) -> None:
    setting = Setting(tmp_path, [message(text("Searching …"), stop="tool_use"), GOOD])
    assert isinstance(await setting.talk(), Answered)
