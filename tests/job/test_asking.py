"""A finished report is asked: answered from what the job holds, or not, and researched further."""

from __future__ import annotations

from dataclasses import replace

import pytest

from activities.storage.store import Store
from console.client import asking, jobs
from console.client.audit import act_as, current_actor
from console.client.session import Session
from console.errors import BadInputError
from tests.job.conftest import (
    NO_GAPS,
    PASSENGERS,
    POWER,
    UNREVIEWED,
    Office,
    Rule,
    Wire,
    planned,
    reply,
)
from workflows.contracts.asking import Answer
from workflows.contracts.result import ResearchResult

pytestmark = pytest.mark.sandbox

JOB = (planned(PASSENGERS, POWER), UNREVIEWED, NO_GAPS)
STAFF = "How many people does the operator employ on the harbour line?"
UPKEEP = "How long is each electric boat taken out of service for maintenance?"


def session(office: Office) -> Session:
    """The session of a client whose workers run elsewhere."""
    return Session(office.settings.model_copy(update={"has_server": True}), office.client)


async def report(office: Office) -> ResearchResult:
    return await jobs.fetch_report(await office.start())


async def stands_in_its_source(office: Office, answer: Answer, result: ResearchResult) -> None:
    """Every quote of the answer is what the stored copy of its source has at its place."""
    store, sources = Store.open(office.settings.store), {s.id: s for s in result.sources}
    quotes = [quote for citation in answer.citations for quote in citation.quotes]
    assert quotes
    for quote in quotes:
        text = await store.text(sources[quote.source_id].sha256)
        assert text is not None
        assert text[quote.start : quote.end] == quote.text


async def test_an_answer_comes_from_the_stored_texts_and_is_not_paid_for_twice(
    office: Office,
) -> None:
    wire = Wire(*JOB)
    async with office.working(wire):
        result = await report(office)
        answer = await asking.ask(session(office), result.id, STAFF)
        asked = len(wire.requests)
        again = await asking.ask(session(office), result.id, STAFF)
    assert answer.status == "answered"
    assert answer.text == "The operator employs 86 people on the harbour line [1]."
    assert (answer.version, answer.offer, answer.missing) == (1, "", ())
    assert answer.citations[0].quotes[0].uri == "harbour/annual_report.md"
    await stands_in_its_source(office, answer, result)
    assert len(wire.requests) == asked, "the second answer came from the journal"
    assert again.text == answer.text


async def test_what_the_job_does_not_hold_is_said_and_offered(office: Office) -> None:
    async with office.working(Wire(*JOB)):
        result = await report(office)
        answer = await asking.ask(session(office), result.id, "Who is the mayor of the city?")
        with pytest.raises(BadInputError, match="no version 7"):
            await asking.ask(session(office), result.id, STAFF, version=7)
    assert answer.status == "not_held"
    assert answer.citations == ()
    assert answer.missing == ("mayor",)
    assert answer.offer == "Who is the mayor of the city?"


async def test_a_commissioned_facet_makes_version_2_and_repeats_no_call(office: Office) -> None:
    alone = (planned(PASSENGERS, kind="fact"), UNREVIEWED, NO_GAPS)
    first, second = Wire(*alone), Wire(*alone)
    async with office.working(first):
        before = await report(office)
        assert (await asking.ask(session(office), before.id, UPKEEP)).status == "not_held"
    async with office.working(second):
        taken = await asking.commission(session(office), before.id, UPKEEP)
        after = await jobs.fetch_report(jobs.get_handle(office.client, before.id))
        answer = await asking.ask(session(office), before.id, UPKEEP)
        old = await asking.ask(session(office), before.id, UPKEEP, version=1)
        found = await asking.compare(session(office), f"{before.id}@1", f"{before.id}@2")
    assert (before.version, after.version, taken.version) == (1, 2, 2)
    assert [facet.question for facet in after.plan.facets] == [PASSENGERS["question"], UPKEEP]
    assert not second.asked("PlanDraft")
    assert {one["ask"] for one in second.asked("ResearchAnswer")} == {UPKEEP}
    assert not {str(body) for body in first.requests} & {str(body) for body in second.requests}

    assert "nine days a year" in answer.text
    assert answer.version == 2
    assert old.status == "not_held", "version 1 stays as it was"
    assert await asking.load_report(session(office), f"{before.id}@1") == before
    assert [claim.facet for claim in found.changes.new_claims]
    assert "nine days" in found.markdown
    assert found.changes.gone_claims == ()
    assert found.changes.answer is not None


async def test_a_sentence_that_says_more_than_it_cites_goes_back_and_is_replaced(
    office: Office,
) -> None:
    """The gate of the report holds for a model's answer: figures, citations, and the judge."""
    boast = Rule("AskAnswer", reply(status="answered", text="It employs 9,000 people [1]."))
    uncited = Rule("AskAnswer", reply(status="answered", text="Everybody likes the line."), times=1)
    wire = Wire(uncited, boast, *JOB)
    async with office.working(wire):
        result = await report(office)
        answer = await asking.ask(session(office), result.id, STAFF)
    assert len(wire.asked("AskAnswer")) > 1, "it went back"
    complaints = str(wire.requests)
    assert "it does not stand in a claim that is cited there" in complaints
    assert "9,000 stands in no claim cited there" in complaints
    assert "9,000" not in answer.text
    assert "Everybody" not in answer.text
    await stands_in_its_source(office, answer, result)


async def test_both_sides_of_a_contradiction_are_told(office: Office) -> None:
    question = "How many passengers did the harbour line carry in 2024?"
    async with office.working(Wire(*JOB)):
        result = await report(office)
        assert result.contradictions
        answer = await asking.ask(session(office), result.id, question)
    assert "412,000" in answer.text
    assert "367,500" in answer.text


async def test_a_job_that_found_nothing_can_be_commissioned(office: Office) -> None:
    nothing = planned({**PASSENGERS, "title": "Opera", "question": "Which opera singers perform?"})
    async with office.working(Wire(nothing, UNREVIEWED, NO_GAPS)):
        empty = await jobs.fetch_report(await office.start("Which opera singers perform?"))
        assert empty.status == "nothing_found"
        with pytest.raises(BadInputError, match="holds nothing"):
            await asking.ask(session(office), empty.id, STAFF)
        await asking.commission(session(office), empty.id, STAFF)
        found = await jobs.fetch_report(jobs.get_handle(office.client, empty.id))
    assert found.version == 2
    assert any("86 people" in claim.text for claim in found.claims)


async def test_another_tenant_can_neither_ask_nor_compare(office: Office) -> None:
    """The answer comes from the store, which knows no tenants: the client must look."""
    known = current_actor()
    async with office.working(Wire(*JOB)):
        result = await jobs.fetch_report(await office.start(tenant="mine"))
        act_as(replace(known, tenant="theirs"))
        try:
            for call in (
                asking.ask(session(office), result.id, STAFF),
                asking.commission(session(office), result.id, STAFF),
                asking.compare(session(office), result.id, result.id),
                asking.load_report(session(office), f"{result.id}@1"),
            ):
                with pytest.raises(jobs.JobNotFoundError):
                    await call
        finally:
            act_as(known)
