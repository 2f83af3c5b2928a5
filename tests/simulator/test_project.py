"""The project's own client, with the simulator in place of the provider."""

from __future__ import annotations

import pytest
from anthropic import transform_schema

from activities.agent.schemas import PlanDraft
from activities.llm.client import Models
from activities.storage.journal import fingerprint_of
from tests.simulator.asking import SEARCH, SONNET, JsonObject, asking, result, schema_format, user
from tests.simulator.brains import ByTitle, Offline, Scripted, json_answer, use
from tests.simulator.simulator import Simulator
from tests.simulator.transport import SimulatorTransport

BRIEF = '<brief>\n{"question": "Give an overview of tea in Velmora."}\n</brief>'


@pytest.fixture(autouse=True)
def key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "test-key")


def plan_request() -> JsonObject:
    format_ = schema_format(transform_schema(PlanDraft.model_json_schema()))
    return asking(
        user(BRIEF), model=SONNET, max_tokens=16_000, tools=[SEARCH], output_config=format_
    )


async def test_turns_are_appended_answered_and_known_by_the_journals_fingerprint() -> None:
    script = Scripted([
        [use("search", query="tea"), use("search", query="hills")],
        json_answer({"kind": "overview", "facets": []}),
    ])  # fmt: skip
    simulator = Simulator(ByTitle({"PlanDraft": script}))
    models = Models(SimulatorTransport(simulator))
    body = plan_request()
    first = await models.ask(body)
    uses = [block["id"] for block in first["content"] if block["type"] == "tool_use"]
    further = {
        **body,
        "messages": [
            *body["messages"],
            {"role": "assistant", "content": first["content"]},
            user(*(result(each) for each in uses)),
        ],
    }
    second = await models.ask(further)
    await models.close()
    assert (first["stop_reason"], second["stop_reason"]) == ("tool_use", "end_turn")
    asked = [record.fingerprint for record in simulator.messages]
    assert asked == [fingerprint_of(body), fingerprint_of(further)]
    assert [record.title for record in simulator.messages] == ["PlanDraft", "PlanDraft"]


async def test_the_offline_engine_answers_behind_the_simulator() -> None:
    simulator = Simulator(Offline())
    models = Models(SimulatorTransport(simulator))
    message = await models.ask(plan_request())
    again = await models.ask(plan_request())
    await models.close()
    assert message["stop_reason"] == "tool_use"
    assert {block["type"] for block in message["content"]} == {"thinking", "tool_use"}
    assert message["model"] == SONNET
    assert again["content"] == message["content"]
