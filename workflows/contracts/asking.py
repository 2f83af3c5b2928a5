"""Asking on in a finished report, comparing two reports, and asking back before a job.

The input of `AskWorkflow`, `CompareWorkflow` and `ClarifyWorkflow`, and what they return.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, StringConstraints

from .changes import Changes
from .evidence import Message, Quote, Record
from .request import ResearchRequest
from .spend import Spend

MAX_ASKED = 600
"""Characters of a question to a report: it may become the question of a facet."""
MAX_QUESTIONS = 3
"""Clarifying questions before a job."""
Suggestion = Annotated[str, StringConstraints(min_length=1, max_length=120)]


class AskRequest(Message):
    """A question to a job's report."""

    job_id: str = Field(min_length=1, max_length=200)
    question: str = Field(min_length=1, max_length=MAX_ASKED)
    version: int = Field(default=0, ge=0)
    """The version of the report; 0 is the newest."""
    tenant: str = Field(default="", max_length=64)
    """The job's, as the key of fairness."""


class CitedQuote(Quote):
    """A passage of a source, as its stored copy has it."""

    title: str
    uri: str


class Citation(Record):
    n: int
    """The [n] in the answer."""
    claim_id: str = ""
    """The claim of the ledger; empty for a passage of a source that no claim rests on."""
    text: str = ""
    """What the claim says; empty for a passage, which speaks for itself."""
    quotes: tuple[CitedQuote, ...] = Field(min_length=1)


AnswerStatus = Literal["answered", "partly", "not_held"]


class Answer(Record):
    """What the ledger and the stored texts of a job say on a question."""

    job_id: str
    version: int
    """The version of the report that was asked; 0 while the job has published none."""
    question: str
    status: AnswerStatus
    text: str
    """Markdown with citations as [n]; it leads with the sentence that answers."""
    citations: tuple[Citation, ...] = ()
    missing: tuple[str, ...] = ()
    """What the question asks for and the job does not hold."""
    offer: str = ""
    """The question of a facet that would find it; empty where nothing is missing."""
    unjudged: str = ""
    """Why no judge has read the sentences; empty where one has."""
    spend: Spend = Spend()


class Commissioned(Record):
    """A facet that a job researches because somebody asked."""

    job_id: str
    facet_id: str
    question: str
    version: int
    """The version of the report that will hold it."""
    budget_usd: float | None = None
    """What the job may spend in all, with this facet; None where that is not limited."""


class ReportVersion(Record):
    """A published report of a job."""

    job_id: str
    n: int
    run_id: str
    key: str


class CompareReports(Message):
    """Two published reports, by the keys they are stored under."""

    before: str
    after: str


class Comparison(Record):
    """What the later report says that the earlier one did not, and the other way round."""

    changes: Changes
    markdown: str
    """The same for people."""


class ClarifyRequest(Message):
    """A job that is about to be started."""

    job_id: str = Field(min_length=1, max_length=200)
    """The model calls are in its journal, and are deleted with it."""
    request: ResearchRequest


class ClarifyingQuestion(Record):
    """What a vague question leaves open."""

    text: str = Field(min_length=1, max_length=200)
    suggestions: tuple[Suggestion, ...] = Field(default=(), max_length=4)


class Clarification(Record):
    questions: tuple[ClarifyingQuestion, ...] = Field(default=(), max_length=MAX_QUESTIONS)
    """None where the question is clear."""
    spend: Spend = Spend()
    note: str = ""
    """Why nobody could say whether the question is clear; empty otherwise."""
