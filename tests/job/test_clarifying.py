"""Before a job: a vague question is asked back, once, cheaply, and never in the way of the job."""

from __future__ import annotations

import asyncio
from datetime import timedelta

import pytest

from console.client import asking, jobs
from console.client.session import Session
from tests.durability.waiting import eventually
from tests.job.conftest import NO_GAPS, UNREVIEWED, Office, Rule, Wire, reply
from workflows.contracts.asking import Clarification
from workflows.contracts.request import ResearchRequest

pytestmark = pytest.mark.sandbox

VAGUE = "What about the harbour line?"
CLEAR = "How many people does the operator employ on the harbour line?"
MEANT = {"text": "Which side of it?", "suggestions": ["passengers", "power supply"]}


async def clarify(office: Office, question: str, job_id: str = "unstarted") -> Clarification:
    await eventually(lambda: jobs.has_worker(office.client), "the worker polls")
    session = Session(office.settings.model_copy(update={"has_server": True}), office.client)
    request = ResearchRequest(question=question, corpus=str(office.corpus))
    return await asking.clarify(session, job_id, request)


async def test_the_documents_say_what_a_vague_question_could_mean_and_are_asked_once(
    office: Office,
) -> None:
    wire = Wire()
    async with office.working(wire):
        first = await clarify(office, VAGUE)
        sent = len(wire.requests)
        again = await clarify(office, VAGUE)
        clear = await clarify(office, CLEAR)
    titles, period = first.questions[0].suggestions, first.questions[-1].suggestions
    assert "Power supply of the harbour line" in titles
    assert period == ("2025", "2024", "2024 to 2025")
    assert (first.note, first.spend.usd) == ("", 0.0)
    assert again.questions == first.questions
    assert len(wire.asked("ClarifyAnswer")) == sent + 1, "only the other question was sent"
    assert clear.questions == ()
    assert not clear.note


async def test_the_plan_follows_the_answers(office: Office) -> None:
    """The question with the answers is what is planned, by the offline planner in a facet."""
    wire = Wire(Rule("ClarifyAnswer", reply(questions=[MEANT])), UNREVIEWED, NO_GAPS)
    async with office.working(wire):
        [asked] = (await clarify(office, VAGUE)).questions
        better = asking.improve(VAGUE, [asked.suggestions[1], ""])
        result = await jobs.fetch_report(await office.start(better, max_passes=0))
    assert better == "What about the harbour line (power supply)?"
    assert wire.asked("PlanDraft")[0]["question"] == better
    assert any("power supply" in facet.title for facet in result.plan.facets)


async def test_a_model_that_fails_or_takes_too_long_leaves_a_note(
    office: Office, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def hang(_: object) -> None:
        await asyncio.sleep(60)

    refused = Rule("ClarifyAnswer", reply(questions=[{"text": ""}]))
    async with office.working(Wire(refused)):
        failed = await clarify(office, VAGUE)
    monkeypatch.setattr(asking, "_CLARIFY_TIME", timedelta(seconds=2))
    async with office.working(Wire(Rule("ClarifyAnswer", hang))):
        late = await clarify(office, VAGUE, "late")
    for found in (failed, late):
        assert found.questions == ()
        assert "was not checked" in found.note
    assert "no questions" in failed.note
    assert "timed out" in late.note.lower()


async def test_a_job_that_exists_is_not_asked_about(office: Office) -> None:
    wire = Wire(UNREVIEWED, NO_GAPS)
    async with office.working(wire):
        job = await office.start(CLEAR, max_passes=0)
        await jobs.fetch_report(job)
        found = await clarify(office, VAGUE, job.id)
    assert found == Clarification()
    assert not wire.asked("ClarifyAnswer")


@pytest.mark.parametrize(
    ("question", "answers", "better"),
    [
        ("What does it cost?", ["the boats", "2024"], "What does it cost (the boats; 2024)?"),
        ("ferries", ["noise."], "ferries (noise)"),
        ("What does it cost?", ["", " "], "What does it cost?"),
        ("What?\n", ["a\x1b[31m b\nc"], "What (a [31m b c)?"),
    ],
)
def test_answers_stand_in_brackets_behind_the_question(
    question: str, answers: list[str], better: str
) -> None:
    assert asking.improve(question, answers) == better
