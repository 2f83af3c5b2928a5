"""What the tools return: typed, so that clients get a schema beside the text."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict
from temporalio.client import WorkflowFailureError

from console.client import jobs
from console.client.jobs import Job
from console.client.progress import Progress
from workflows.rules.status import summarize_status

_COUNTS = {"claims", "contradictions", "gaps_open", "usd"}


class Output(BaseModel):
    """What a tool returns; its schema has the texts below the fields."""

    model_config = ConfigDict(use_attribute_docstrings=True)


class FacetState(Output):
    id: str
    title: str
    status: str


class JobState(Output):
    """A job at a glance."""

    id: str
    state: str
    """preparing, running, awaiting_approval, blocked, paused, or how it ended; unknown if nothing
    answered in time."""
    has_ended: bool = False
    has_report: bool = False
    phase: str = ""
    doing: list[str] = []
    """What is being worked on now."""
    needs: str = ""
    """What a person has to do before the job continues."""
    facets: list[FacetState] = []
    claims: int = 0
    contradictions: int = 0
    gaps_open: int = 0
    usd: float = 0.0
    budget_usd: float | None = None
    summary: str = ""
    """The report's summary, with citations."""
    error: str = ""
    """Why the job ended without a report."""
    next: str = ""
    """Which tool to call next."""


class Report(Output):
    id: str
    question: str
    status: str
    """complete, complete_with_gaps or nothing_found."""
    format: str
    text: str


class Corpus(Output):
    name: str
    version: str
    files: int
    updated: str
    labels: list[str]
    """A job sees the files of a label only if it carries it."""


class Corpora(Output):
    corpora: list[Corpus]


async def describe_end(job: Job, state: str) -> JobState:
    ended = JobState(id=job.id, state=state, has_ended=True, next="get_report")
    try:
        summary = await job.handle.result()
    except WorkflowFailureError as error:
        then = "start_research with the same job_id and question continues it"
        return ended.model_copy(update={"error": jobs.root_cause(error), "next": then})
    known = summary.model_dump(include={"summary", *_COUNTS})
    return ended.model_copy(update={"has_report": True, "phase": "finished", **known})


def describe_progress(progress: Progress) -> JobState:
    status = progress.status
    state = summarize_status(status)
    return JobState(
        id=status.id,
        state=state,
        phase=status.phase.value,
        doing=[step.step for step in progress.pending],
        needs=progress.needs,
        facets=[FacetState.model_validate(f, from_attributes=True) for f in status.facets],
        budget_usd=status.budget_usd,
        next="wait_for_research" if state == "running" else "steer_research",
        **status.model_dump(include=_COUNTS),
    )
