"""A standard job with Claude as the API would see it: nothing refused, cached, and on the bill.

Five facets and one refinement pass. The offline engine answers, except that a scripted evaluator
names one gap of the first draft; the simulator is the provider.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path

import pytest
import pytest_asyncio

from tests.simulator.brains import Brain, ByTitle, Offline, Turn, json_answer
from tests.simulator.jobs import (
    QUESTION,
    ROOT,
    SAMPLE,
    JsonObject,
    Office,
    Wire,
    brief,
    cost,
    credentials,
    refused,
    temporal,
    whole_input,
    write_documents,
)
from tests.simulator.records import Record
from tests.simulator.simulator import Simulator
from workflows.config.roles import CLAIM_VERIFIER, GAP_VERIFIER, ROLES, VERIFIER
from workflows.contracts.result import ResearchResult

__all__ = ["credentials", "temporal"]

CACHED = 0.6
"""Of the input after a role's first turn, what is at least read from the cache."""
REFINED = 1 / 3
"""Of the first pass's cost, what a refinement pass stays under."""
VERIFIER_ANSWERS = {role.output for role in (VERIFIER, CLAIM_VERIFIER, GAP_VERIFIER)}
SAMPLE_QUESTION = json.loads((ROOT / "tests/sample_truth.json").read_text("utf-8"))["question"]


ROSTERS = """# Rosters

Seventeen deckhands hold a certificate for high voltage. Rosters change on Mondays.
"""
"""No facet's words are in it, so that only the pass finds it."""


def evaluate(body: JsonObject) -> Turn:
    """One gap in the first draft, none in the next."""
    asked = brief(body)
    judgements = [
        {"facet_id": facet["id"], "addressed": True, "depth": "adequate", "reason": "It is quoted."}
        for facet in asked["facets"]
    ]
    gap = {
        "facet_id": asked["facets"][0]["id"],
        "kind": "missing",
        "text": "The certificates of the deckhands are missing.",
        "question": "How many deckhands hold a certificate for high voltage?",
    }
    return json_answer({"judgements": judgements, "gaps": [] if asked["pass"] else [gap]})


async def write(body: JsonObject) -> Turn:
    """The engine's draft with a conclusion, which it cannot write and a model must."""
    turn = await Offline()(body)
    if turn.content[-1]["type"] != "text":
        return turn
    draft = json.loads(turn.content[-1]["text"])
    return json_answer({**draft, "conclusion": draft["summary"]})


@dataclass
class Done:
    result: ResearchResult
    wire: Wire

    @property
    def records(self) -> list[Record]:
        return self.wire.simulator.records


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def done(
    temporal: str, credentials: str, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[Done]:
    folder = tmp_path_factory.mktemp("standard")
    corpus = write_documents(folder / "documents")
    (folder / "documents" / "rosters.md").write_text(ROSTERS, "utf-8")
    yield await job(temporal, folder, QUESTION, corpus)


async def job(temporal: str, folder: Path, question: str, corpus: str) -> Done:
    office = await Office.at(temporal, folder / "home")
    brains: dict[str, Brain] = {"EvaluationAnswer": evaluate, "DraftAnswer": write}
    wire = Wire(Simulator(ByTitle(brains, Offline())))
    result = await office.run(wire, question, corpus=corpus, max_facets=5, max_passes=1)
    return Done(result, wire)


def cached_share(records: list[Record]) -> float:
    """Read from the cache, of all input but that of each role's first turn."""
    begun: set[str | None] = set()
    read = asked = 0
    for record in records:
        if record.title in begun:
            assert record.usage is not None
            read += record.usage["cache_read_input_tokens"]
            asked += whole_input(record)
        begun.add(record.title)
    return read / asked


def test_it_is_a_standard_job(done: Done) -> None:
    assert len(done.result.plan.facets) == 5
    assert [p.n for p in done.result.passes] == [0, 1]
    assert done.result.passes[1].gaps_closed == 1
    assert "Seventeen deckhands" in done.result.report_markdown
    assert done.result.model == "claude"
    assert done.result.mended == (), "the writer is asked once for a draft"
    asked = {record.title: record.model for record in done.records}
    roles = (*ROLES.values(), CLAIM_VERIFIER, GAP_VERIFIER)
    assert asked == {role.output: role.model for role in roles}


def test_the_api_refuses_nothing_and_every_turn_is_bought_once(done: Done) -> None:
    assert refused(done.records) == []
    assert all(record.answered for record in done.records)
    assert len({record.fingerprint for record in done.records}) == len(done.records)
    assert done.result.telemetry.turns_bought_again == 0


def test_most_input_is_read_from_the_cache(done: Done) -> None:
    assert cached_share(done.records) >= CACHED


def test_a_turn_reads_all_that_the_turn_before_it_sent(done: Done) -> None:
    before: dict[str, Record] = {}
    followed = 0
    for record, body in zip(done.records, done.wire.bodies, strict=True):
        conversation = f"{record.title} {json.dumps(brief(body), sort_keys=True)}"
        if earlier := before.get(conversation):
            assert record.usage is not None
            assert record.usage["cache_read_input_tokens"] >= whole_input(earlier)
            followed += 1
        before[conversation] = record
    # The planner and the researcher of every facet take a second turn at least.
    assert followed > len(done.result.plan.facets)


def test_a_refinement_pass_costs_under_a_third_of_the_first(done: Done) -> None:
    first, second = done.result.passes
    assert 0 < second.usd < first.usd * REFINED


def test_the_bill_is_what_the_provider_counted(done: Done) -> None:
    telemetry = done.result.telemetry
    assert telemetry.usd == pytest.approx(sum(map(cost, done.records)))
    assert telemetry.turns == len(done.records)
    assert telemetry.input_tokens == sum(map(whole_input, done.records))
    output = [r.usage["output_tokens"] for r in done.records if r.usage]
    assert telemetry.output_tokens == sum(output)


def test_the_money_adds_up_by_role_pass_and_facet(done: Done) -> None:
    result = done.result
    by_role = result.telemetry.by_role
    assert sum(spend.usd for spend in by_role.values()) == pytest.approx(result.telemetry.usd)
    assert sum(p.usd for p in result.passes) == pytest.approx(result.telemetry.usd)
    for role in ROLES.values():
        titles = VERIFIER_ANSWERS if role is VERIFIER else {role.output}
        charged = sum(cost(r) for r in done.records if r.title in titles)
        assert by_role[role.name].usd == pytest.approx(charged), role.name
    # A facet is charged for its researchers; what serves the whole report is nobody's.
    researched = by_role["researcher"]
    assert sum(facet.usd for facet in result.coverage) == pytest.approx(researched.usd)
    assert all(facet.usd > 0 for facet in result.coverage)


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def sample(
    temporal: str, credentials: str, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[Done]:
    yield await job(temporal, tmp_path_factory.mktemp("sample"), SAMPLE_QUESTION, str(SAMPLE))


@pytest.mark.slow
def test_the_sample_is_as_cheap_to_refine_and_billed_as_truly(sample: Done) -> None:
    first, second = sample.result.passes
    assert refused(sample.records) == []
    # A first draft without automatic follow-ups is cheap; a pass also judges and revises.
    assert 0 < second.usd < first.usd
    assert sample.result.telemetry.usd == pytest.approx(sum(map(cost, sample.records)))


@pytest.mark.slow
def test_next_to_nothing_of_the_samples_input_bypasses_the_cache(sample: Done) -> None:
    """Neither read from the cache nor written to it, after each role's first turn."""
    begun: set[str | None] = set()
    bypassed = asked = 0
    for record in sample.records:
        if record.title in begun and record.usage is not None:
            bypassed += record.usage["input_tokens"]
            asked += whole_input(record)
        begun.add(record.title)
    assert bypassed <= 0.15 * asked
