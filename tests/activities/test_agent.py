"""The turn loop at the wire: every stop reason ends in the right thing, histories only grow."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import anthropic
import httpx2
import pytest
from temporalio.exceptions import ApplicationError

from activities.agent.conversation import Answered, Unanswered
from activities.agent.schemas import PlanReview
from tests.activities.scripted import (
    GOOD,
    JsonObject,
    Scripted,
    Setting,
    failure,
    message,
    plain,
    text,
    use,
)
from workflows.contracts.spend import Allowance


async def test_an_answer_that_follows_the_schema_ends_the_conversation(tmp_path: Path) -> None:
    spoken = await Setting(tmp_path, [GOOD]).talk()
    assert isinstance(spoken, Answered)
    assert spoken.spend.turns == 1
    assert spoken.spend.tokens == 110


async def test_tools_run_and_all_results_go_back_in_one_message(tmp_path: Path) -> None:
    setting = Setting(tmp_path, [
        message(use("search", "t1", query="a"), use("search", "t2", query="b"), stop="tool_use"),
        GOOD,
    ])  # fmt: skip
    assert isinstance(await setting.talk(), Answered)
    results = setting.wire.requests[1]["messages"][-1]
    assert results["role"] == "user"
    assert [block["tool_use_id"] for block in results["content"]] == ["t1", "t2"]
    assert setting.tools.told == [(0, "a"), (0, "b")]


async def test_every_request_starts_with_the_one_before_it(tmp_path: Path) -> None:
    setting = Setting(tmp_path, [
        message(use("search", query="a"), stop="tool_use"),
        message(text("not json")),
        message(text('{"changes": ['), stop="max_tokens"),
        GOOD,
    ])  # fmt: skip
    assert isinstance(await setting.talk(), Answered)
    histories = [request["messages"] for request in setting.wire.requests]
    for shorter, longer in pairwise(map(plain, histories)):
        assert longer[: len(shorter)] == shorter
    fixed = [{k: r[k] for k in ("system", "tools", "output_config")} for r in setting.wire.requests]
    assert all(request == fixed[0] for request in fixed)


async def test_an_answer_cut_off_before_its_first_word_leaves_no_empty_message(
    tmp_path: Path,
) -> None:
    setting = Setting(tmp_path, [message(stop="max_tokens"), GOOD])
    assert isinstance(await setting.talk(), Answered)
    (only,) = setting.wire.requests[1]["messages"]
    assert only["role"] == "user"
    assert "cut off" in only["content"][-1]["text"]


async def test_a_remark_before_a_web_search_is_not_part_of_the_answer(tmp_path: Path) -> None:
    searched: list[JsonObject] = [
        {"type": "server_tool_use", "id": "s1", "name": "web_search", "input": {"query": "a"}},
        {"type": "web_search_tool_result", "tool_use_id": "s1", "content": []},
    ]
    remarked = message(text("I'll look that up."), *searched, *GOOD["content"])
    assert isinstance(await Setting(tmp_path, [remarked]).talk(), Answered)


async def test_malformed_json_goes_back_twice_with_what_is_wrong(tmp_path: Path) -> None:
    setting = Setting(tmp_path, [message(text("oh no"))] * 3)
    spoken = await setting.talk()
    assert isinstance(spoken, Unanswered)
    assert spoken.why == "malformed"
    assert len(setting.wire.requests) == 3
    complaint = setting.wire.requests[1]["messages"][-1]["content"][0]["text"]
    assert "does not follow the schema" in complaint


async def test_the_gates_list_goes_back_and_the_last_answer_is_taken_with_it(
    tmp_path: Path,
) -> None:
    async def never_content(_: PlanReview) -> list[str]:
        return ["the plan is too dull"]

    setting = Setting(tmp_path, [GOOD] * 3)
    spoken = await setting.talk(gate=never_content)
    assert isinstance(spoken, Answered)
    assert spoken.complaints == ("the plan is too dull",)
    assert "- the plan is too dull" in str(setting.wire.requests[2]["messages"][-1])


async def test_a_truncated_answer_is_asked_for_again_shorter(tmp_path: Path) -> None:
    cut = message(text('{"chang'), use("search", "t9"), stop="max_tokens")
    setting = Setting(tmp_path, [cut, GOOD])
    assert isinstance(await setting.talk(), Answered)
    blocks = setting.wire.requests[1]["messages"][-1]["content"]
    assert [block["type"] for block in blocks] == ["tool_result", "text"]
    assert "shorter" in blocks[-1]["text"]


async def test_truncation_without_end_is_an_outcome(tmp_path: Path) -> None:
    spoken = await Setting(tmp_path, [message(text("{"), stop="max_tokens")] * 3).talk()
    assert isinstance(spoken, Unanswered)
    assert spoken.why == "cut_off"


async def test_a_refusal_is_an_outcome_and_is_not_asked_again(tmp_path: Path) -> None:
    refusal = message(stop="refusal", stop_details={"type": "refusal", "explanation": "not this"})
    setting = Setting(tmp_path, [refusal])
    spoken = await setting.talk()
    assert isinstance(spoken, Unanswered)
    assert (spoken.why, spoken.detail) == ("refused", "not this")


async def test_an_overflowing_context_is_an_outcome(tmp_path: Path) -> None:
    full = message(text("…"), stop="model_context_window_exceeded")
    spoken = await Setting(tmp_path, [full]).talk()
    assert isinstance(spoken, Unanswered)
    assert spoken.why == "context_full"


async def test_a_paused_turn_is_sent_back_as_it_is(tmp_path: Path) -> None:
    setting = Setting(tmp_path, [message(text("thinking"), stop="pause_turn"), GOOD])
    assert isinstance(await setting.talk(), Answered)
    assert setting.wire.requests[1]["messages"][-1]["role"] == "assistant"


async def test_pausing_for_ever_ends(tmp_path: Path) -> None:
    spoken = await Setting(tmp_path, [message(text("…"), stop="pause_turn")] * 40).talk()
    assert isinstance(spoken, Unanswered)
    assert spoken.why == "no_answer"


async def test_a_stop_sequence_is_the_end_of_the_answer(tmp_path: Path) -> None:
    stopped = message(text('{"changes": []}'), stop="stop_sequence")
    spoken = await Setting(tmp_path, [stopped]).talk()
    assert isinstance(spoken, Answered)


async def test_an_answer_that_breaks_off_is_retried_by_temporal(tmp_path: Path) -> None:
    with pytest.raises(ApplicationError) as raised:
        await Setting(tmp_path, [message(text("{"), stop=None)]).talk()
    assert not raised.value.non_retryable


async def test_calling_tools_for_ever_ends_with_a_request_to_answer(tmp_path: Path) -> None:
    endless = [message(use("search", f"t{i}", query=str(i)), stop="tool_use") for i in range(30)]
    setting = Setting(tmp_path, endless)
    spoken = await setting.talk()
    assert isinstance(spoken, Unanswered)
    assert "answer now" in str(setting.wire.requests[-1]["messages"])


async def test_no_turn_starts_without_an_allowance(tmp_path: Path) -> None:
    setting = Setting(tmp_path, [GOOD])
    spoken = await setting.talk(Allowance(tokens=0))
    assert isinstance(spoken, Unanswered)
    assert spoken.why == "out_of_budget"
    assert setting.wire.requests == []


async def test_what_the_providers_tools_brought_is_shown_to_the_tools(tmp_path: Path) -> None:
    page = {"type": "web_fetch_tool_result", "tool_use_id": "s1", "content": {
        "type": "web_fetch_tool_result_error", "error_code": "unavailable"}}  # fmt: skip
    setting = Setting(tmp_path, [message(page, text("…"), stop="pause_turn"), GOOD])
    await setting.talk()
    setting.tools.observed.clear()
    await setting.talk()
    assert [(turn, blocks[0]) for turn, blocks in setting.tools.observed] == [
        (0, "web_fetch_tool_result"), (1, "text"),
    ], "a replay shows what the journal kept"  # fmt: skip
    assert len(setting.wire.requests) == 2


async def test_a_second_attempt_pays_for_nothing_the_first_had_finished(tmp_path: Path) -> None:
    lost = httpx2.ConnectError("gone")
    setting = Setting(tmp_path, [message(use("search", query="a"), stop="tool_use"), lost, GOOD])
    with pytest.raises(ApplicationError):
        await setting.talk()
    spoken = await setting.talk()
    assert isinstance(spoken, Answered)
    assert spoken.spend.turns == 2
    assert spoken.spend.bought_again == 0
    assert len(setting.wire.requests) == 3


@pytest.mark.parametrize(
    ("answer", "kind", "final"),
    [
        (failure(401, "authentication_error"), "authentication", True),
        (failure(403, "permission_error"), "authentication", True),
        (failure(400, "invalid_request_error"), "bad_request", True),
        (failure(404, "not_found_error"), "bad_request", True),
        (failure(422, "invalid_request_error"), "bad_request", True),
        (failure(429, "rate_limit_error", retry_after="7"), "rate_limited", False),
        (failure(500, "api_error"), "api_error", False),
        (failure(503, "api_error"), "api_error", False),
        (failure(529, "overloaded_error"), "overloaded_error", False),
        (httpx2.ConnectError("no route"), "connection", False),
        (httpx2.ReadTimeout("slow"), "connection", False),
    ],
)
async def test_each_error_is_retried_only_where_that_helps(
    tmp_path: Path, answer: Scripted, kind: str, final: bool
) -> None:
    setting = Setting(tmp_path, [answer, answer])
    with pytest.raises(ApplicationError) as raised:
        await setting.talk()
    assert raised.value.type == kind
    assert raised.value.non_retryable is final
    assert len(setting.wire.requests) == 1, "the client itself never retries"
    if kind == "rate_limited":
        assert raised.value.next_retry_delay is not None
        assert raised.value.next_retry_delay.total_seconds() == 7


def test_the_pinned_client_is_the_one_this_was_written_for() -> None:
    assert anthropic.__version__ == "2.8.0"
