"""A vague question before a job, with a model behind the strict stand-in for the Messages API."""

from __future__ import annotations

from console.client import asking, jobs
from console.client.session import Session
from tests.durability.waiting import eventually
from tests.simulator.brains import ByTitle, Offline, Turn, json_answer, use
from tests.simulator.jobs import (
    JsonObject,
    Office,
    Wire,
    blocks,
    brief,
    cost,
    credentials,
    documents,
    office,
    refused,
    temporal,
)
from tests.simulator.simulator import Simulator
from workflows.contracts.asking import Clarification
from workflows.contracts.request import ResearchRequest

__all__ = ["credentials", "documents", "office", "temporal"]

VAGUE = "What about the boats?"
ASKED = {"text": "For which decision?", "suggestions": ["buying", "repairing"]}


def clarifier(body: JsonObject) -> Turn:
    """Searches once, then asks."""
    if not blocks(body, "tool_result"):
        return Turn([use("search", query="boats")])
    return json_answer({"questions": [ASKED]})


async def clarify(office: Office, wire: Wire, corpus: str) -> Clarification:
    session = Session(office.settings.model_copy(update={"has_server": True}), office.client)
    request = ResearchRequest(question=VAGUE, corpus=corpus, model="claude")
    async with office.working(wire):
        await eventually(lambda: jobs.has_worker(office.client), "the worker polls")
        return await asking.clarify(session, "boats", request)


async def test_the_planner_asks_on_a_fast_model_for_little_money_once(
    office: Office, documents: str
) -> None:
    wire = Wire(Simulator(ByTitle({"ClarifyAnswer": clarifier}, Offline())))
    first = await clarify(office, wire, documents)
    records = list(wire.simulator.records)
    again = await clarify(office, wire, documents)
    assert [one.model_dump(mode="json") for one in first.questions] == [ASKED]
    assert refused(wire.simulator.records) == []
    assert len(records) == 2, "a search, and the answer"
    assert len(wire.simulator.records) == len(records), "the same question is not paid for twice"
    assert again.questions == first.questions
    assert {body["model"] for body in wire.bodies} == {"claude-haiku-5-5"}
    assert {tool["name"] for body in wire.bodies for tool in body["tools"]} == {"search"}
    assert brief(wire.bodies[0])["question"] == VAGUE
    assert 0 < first.spend.usd < 0.05
    assert abs(first.spend.usd - sum(map(cost, records))) < 1e-6
