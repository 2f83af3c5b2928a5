"""A client that rewrites its history is caught; one that only appends is not."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import anthropic
import pytest

from tests.simulator.asking import (
    HAIKU,
    SEARCH,
    SONNET,
    JsonObject,
    asking,
    client_of,
    result,
    user,
)
from tests.simulator.brains import Scripted, text, use
from tests.simulator.faults import Fault
from tests.simulator.simulator import Simulator

SYSTEM = [{"type": "text", "text": "Answer from the documents."}]


async def conversation(simulator: Simulator) -> JsonObject:
    """Two turns with a tool in between; the request of the third."""
    client = client_of(simulator)
    body = asking(system=SYSTEM, tools=[SEARCH])
    first = await client.messages.create(**body)
    assert [block.type for block in first.content] == ["thinking", "tool_use"]
    content: Any = first.to_dict(mode="json")["content"]
    body["messages"] += [
        {"role": "assistant", "content": content},
        user(result(content[-1]["id"])),
    ]
    second = await client.messages.create(**body)
    body["messages"] += [
        {"role": "assistant", "content": second.to_dict(mode="json")["content"]},
        user("And then?"),
    ]
    return body


@pytest.fixture
def simulator() -> Simulator:
    return Simulator(Scripted([[use("search", query="a")], "found it", "the end"]))


async def test_an_appended_history_is_accepted(simulator: Simulator) -> None:
    body = await conversation(simulator)
    assert (await client_of(simulator).messages.create(**body)).stop_reason == "end_turn"


async def test_moving_a_cache_marker_is_no_rewriting(simulator: Simulator) -> None:
    body = await conversation(simulator)
    body["messages"][0]["content"][0]["cache_control"] = {"type": "ephemeral"}
    assert (await client_of(simulator).messages.create(**body)).stop_reason == "end_turn"


def other_system(body: JsonObject) -> None:
    body["system"] = [{"type": "text", "text": "Answer briefly."}]


def other_tools(body: JsonObject) -> None:
    body["tools"] = [{**SEARCH, "description": "Another."}]


def other_question(body: JsonObject) -> None:
    body["messages"][0]["content"][0]["text"] = "What else?"


def shorter_result(body: JsonObject) -> None:
    body["messages"][2]["content"][0]["content"] = "…"


def dropped_thinking(body: JsonObject) -> None:
    del body["messages"][1]["content"][0]


def edited_thinking(body: JsonObject) -> None:
    body["messages"][1]["content"][0]["thinking"] = "Nothing."


def dropped_turn(body: JsonObject) -> None:
    del body["messages"][1:3]


REWRITINGS = [other_system, other_tools, other_question, shorter_result, dropped_thinking,
              edited_thinking, dropped_turn]  # fmt: skip


@pytest.mark.parametrize("rewrite", REWRITINGS, ids=lambda rewrite: rewrite.__name__)
async def test_a_rewritten_history_is_refused(
    simulator: Simulator, rewrite: Callable[[JsonObject], None]
) -> None:
    body = copy.deepcopy(await conversation(simulator))
    rewrite(body)
    with pytest.raises(anthropic.BadRequestError, match="thinking"):
        await client_of(simulator).messages.create(**body)


async def test_another_simulator_with_the_same_key_knows_the_signatures(
    simulator: Simulator,
) -> None:
    body = await conversation(simulator)
    assert (await client_of(Simulator()).messages.create(**body)).stop_reason == "end_turn"


async def test_who_does_not_think_signs_nothing() -> None:
    client = client_of(Simulator(Scripted([[text("a"), use("search", query="b")], "c", "d"])))
    quiet = await client.messages.create(**asking(model=HAIKU, thinking={"type": "disabled"}))
    assert [block.type for block in quiet.content] == ["text", "tool_use"]
    between = asking(model=SONNET, thinking={"type": "between_tools"})
    assert [b.type for b in (await client.messages.create(**between)).content] == ["text"]
    hidden = asking(thinking={"type": "adaptive", "display": "omitted"})
    thought = (await client.messages.create(**hidden)).content[0]
    assert (thought.type, thought.thinking) == ("thinking", "")  # type: ignore[union-attr]


@pytest.mark.parametrize("merged", [True, False], ids=["one message", "two messages"])
async def test_a_paused_turn_goes_on_and_stays_valid(merged: bool) -> None:
    simulator = Simulator(Scripted(["the answer", "more"]), faults=[Fault("pause_turn")])
    client = client_of(simulator)
    body = asking()
    paused = await client.messages.create(**body)
    assert paused.stop_reason == "pause_turn"
    so_far: Any = paused.to_dict(mode="json")["content"]
    body["messages"].append({"role": "assistant", "content": so_far})
    ended = await client.messages.create(**body)
    assert ended.stop_reason == "end_turn"
    rest: Any = ended.to_dict(mode="json")["content"]
    if merged:
        body["messages"][-1] = {"role": "assistant", "content": so_far + rest}
    else:
        body["messages"].append({"role": "assistant", "content": rest})
    body["messages"].append(user("And then?"))
    assert (await client.messages.create(**body)).stop_reason == "end_turn"
