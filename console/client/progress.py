"""The progress of a job: its own status, and its pending activities in words.

`ProgressPoller` sends the status query and describes the workflow at the same time; the description
also has attempts, failures and retry times. It caches what cannot have changed and suggests an
interval, so that polling costs two calls a second at most.

A subagent names its facet in its first heartbeat, a second after it starts. Until then, and while
it is queued, it can only be one of the facets that no other subagent has named.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

from temporalio.api.enums.v1 import PendingActivityState
from temporalio.client import WorkflowHandle, WorkflowQueryFailedError
from temporalio.service import RPCError

from console.client import jobs
from console.client.job_list import search_attribute
from console.client.jobs import Job
from console.errors import COMMAND
from workflows.contracts.result import Status
from workflows.contracts.state import CorpusReady, Gap, Phase

if TYPE_CHECKING:
    from google.protobuf.timestamp_pb2 import Timestamp
    from temporalio.api.workflow.v1 import PendingActivityInfo
    from temporalio.client import WorkflowExecutionDescription
    from temporalio.converter import DataConverter

    from console.client.jobs import Job
    from workflows.contracts.result import FacetStatus


STEPS = {
    "open_corpus": "reading the documents",
    "parse_files": "parsing the documents",
    "plan": "planning the facets",
    "review_plan": "reviewing the plan",
    "research": "researching",
    "reconcile": "checking claims against their sources",
    "judge_claims": "judging claims beside their quotes",
    "judge_relations": "judging how claims relate",
    "judge_gaps": "judging what was found for the gaps",
    "write": "writing the report",
    "evaluate": "evaluating the draft",
    "publish": "publishing the report",
    "compare": "comparing with the last run",
}
PASS_STEPS = STEPS | {"research": "following up", "write": "revising the report"}
FACET_ACTIVITIES = ("research",)
_STARTING = {"researching": "starting on", "following up": "starting to follow up on"}
_UNKNOWN = {"researching": "researching a facet", "following up": "following up on a gap"}

SECONDS_PER_CALL = 0.5
_TIMES_OF_START = ("last_started_time", "scheduled_time")
_TIMES_OF_RETRY = ("last_started_time", "last_attempt_complete_time", "last_heartbeat_time")
_PHASES_WITH_GAPS = (Phase.WRITING, Phase.EVALUATING, Phase.REFINING, Phase.FINISHED)


@dataclass(frozen=True)
class PendingStep:
    """One activity, or several that cannot be told apart yet."""

    step: str
    """In words: `researching Costs and funding`."""
    since: datetime
    facet_id: str | None = None
    verb: str = ""
    """What is done, as it stands before the titles."""
    titles: tuple[str, ...] = ()
    """The facets; several if the subagents have not named theirs yet."""
    count: int = 1
    """The number of activities."""
    started: bool = True
    """False if it is queued or waits for its next attempt."""
    attempt: int = 1
    turns: int = 0
    sources: int = 0
    files: int = 0
    """How many files are parsed by this step."""
    files_parsed: int = 0
    last_failure: str = ""
    retry_at: datetime | None = None
    """The time of the next attempt, if it waits for one."""


def assign_facets(pending: list[PendingStep], busy: Sequence[FacetStatus]) -> list[PendingStep]:
    """Give subagents without a heartbeat the facets that are left over.

    One facet left for one subagent is its own. Several subagents become one step with all the
    titles that are left.
    """
    known = {step.facet_id for step in pending}
    left = [facet for facet in busy if facet.id not in known]
    unassigned = [step for step in pending if step.step in _STARTING]
    nameless = [step for step in unassigned if step.attempt == 1]
    others = [step for step in pending if step not in unassigned]
    others += [replace(step, step=_UNKNOWN[step.step]) for step in unassigned if step.attempt > 1]
    if not nameless:
        return others
    started = [step for step in nameless if step.started]
    first = min(started or nameless, key=lambda step: step.since)
    if not left:
        merged = replace(first, step=_UNKNOWN[first.step])
    elif len(left) == len(nameless) == 1:
        merged = name_facet(first, first.step, left[0])
    else:
        verb = _STARTING[first.step] if started else _verb(first.step)
        titles = tuple(facet.title for facet in left)
        merged = replace(first, step=f"{verb} {join_titles(titles)}", verb=verb, titles=titles)
    return [*others, replace(merged, started=bool(started), count=len(nameless))]


def merge_parsing(pending: list[PendingStep], status: Status) -> list[PendingStep]:
    """Steps that parse files, with how far they are; those of several workers are one step."""
    named = [_count_files(step, step.files_parsed, step.files) for step in pending]
    parts = [step for step in pending if step.step == STEPS["parse_files"]]
    if not parts:
        return named
    others = [step for step in named if not step.step.startswith(STEPS["parse_files"])]
    first = replace(min(parts, key=lambda step: step.since), count=len(parts))
    done = status.files_parsed + sum(step.files_parsed for step in parts)
    return [*others, _count_files(first, done, status.files)]


def _count_files(step: PendingStep, done: int, total: int) -> PendingStep:
    return replace(step, step=f"{step.step}: {done:,} of {total:,} files") if total else step


def name_facet(pending: PendingStep, step: str, facet: FacetStatus) -> PendingStep:
    verb = _verb(step)
    return replace(
        pending,
        step=f"{verb} {facet.title}",
        verb=verb,
        titles=(facet.title,),
        facet_id=facet.id,
    )


def group_by_facet(
    pending: Sequence[PendingStep], facets: Sequence[FacetStatus]
) -> dict[str, PendingStep]:
    """The pending step of each facet, where it is known; a queued group is queued as a whole."""
    queued = {title: step for step in pending if not step.started for title in step.titles}
    found = {facet.id: queued[facet.title] for facet in facets if facet.title in queued}
    return found | {step.facet_id: step for step in pending if step.facet_id}


def join_titles(titles: Sequence[str], most: int = 2) -> str:
    """Titles in a sentence; several are quoted, because titles contain commas."""
    if len(titles) == 1:
        return titles[0]
    shown = [f"“{title}”" for title in titles[:most]]
    if len(titles) > most:
        return f"{', '.join(shown)} and {len(titles) - most} more"
    return " and ".join(shown)


def _verb(step: str) -> str:
    return step if step == STEPS["research"] else f"{step} on"


@dataclass(frozen=True)
class Progress:
    status: Status
    pending: tuple[PendingStep, ...] = ()
    gaps: tuple[Gap, ...] = ()
    needs: str = ""
    """What a person has to do before the job continues; empty if nothing."""
    since: datetime | None = None
    """The start of this run."""
    ended: datetime | None = None
    answered: bool = True
    """False if no worker answered: the status is the last known one, or almost empty."""


async def read_progress(job: Job) -> Progress:
    """The job's progress now. Raises `ConsoleError` if the server does not answer."""
    return await ProgressPoller(job).poll()


def describe_needs(status: Status) -> str:
    """What a person has to do before the job continues; empty if nothing."""
    if status.blocked is not None:
        why = f"blocked at {status.blocked.step}: {status.blocked.reason.rstrip('.')}"
        remedy = status.blocked.remedy.rstrip(".").removesuffix(", then resume")
        return f"{why}; {remedy}, then `{COMMAND} resume {status.id}`"
    if status.waiting_for:
        return f"waiting: {status.waiting_for}"
    if status.paused:
        return f"paused: `{COMMAND} resume {status.id}` continues it"
    if status.approve_by is not None:
        until = datetime.fromisoformat(status.approve_by).strftime("%Y-%m-%d %H:%M %Z").strip()
        return (
            f"the plan waits for approval until {until}; in another shell,"
            f" `{COMMAND} plan {status.id}` shows it, `{COMMAND} approve {status.id}` approves it"
        )
    return "finishing with what was found" if status.finishing else ""


async def describe_indexing(handle: WorkflowHandle[Any, CorpusReady]) -> str:
    """How far the workers are with a corpus; empty if they do not say."""
    try:
        description = await handle.describe()
        ready = await handle.query(
            "progress", result_type=CorpusReady, rpc_timeout=timedelta(seconds=3)
        )
    except (RPCError, WorkflowQueryFailedError):
        return ""
    status = _minimal_status(handle.id, description).model_copy(
        update={"files": ready.files, "files_parsed": ready.files_parsed}
    )
    pending = await _describe_pending(description, status, STEPS, set())
    return "; ".join(step.last_failure or step.step for step in pending)


class ProgressPoller:
    """Polls one job repeatedly."""

    def __init__(self, job: Job) -> None:
        self._job = job
        self._calls = 0
        self._last: Progress | None = None
        self._gaps_version: tuple[object, ...] = ()

    @property
    def interval(self) -> float:
        """Seconds until the next poll, by the number of calls the last one took."""
        return max(1.0, self._calls * SECONDS_PER_CALL)

    async def poll(self, seconds: float = 3.0) -> Progress:
        """The progress; a worker has `seconds` to answer the query."""
        self._calls = 2
        description, status = await asyncio.gather(
            self._describe(), jobs.query_status(self._job, seconds)
        )
        answered = status is not None
        if status is None:
            status = self._last.status if self._last else _minimal_status(self._job.id, description)
        if jobs.find_passes(description):
            # The job's own phase is the one before the pass began.
            status = status.model_copy(update={"phase": Phase.REFINING})
        gaps = await self._read_gaps(status) if answered else self._known_gaps
        self._last = Progress(
            status=status,
            pending=await self._read_pending(description, status, gaps),
            gaps=gaps,
            needs=describe_needs(status),
            since=description.start_time,
            ended=description.close_time,
            answered=answered,
        )
        return self._last

    @property
    def _known_gaps(self) -> tuple[Gap, ...]:
        return self._last.gaps if self._last else ()

    async def _describe(self) -> WorkflowExecutionDescription:
        try:
            return await self._job.handle.describe()
        except RPCError as error:
            raise jobs.no_answer(error) from error

    async def _read_gaps(self, status: Status) -> tuple[Gap, ...]:
        """The gaps with their texts, queried only if the status shows a change."""
        version = (status.gaps_open, status.gaps_closed, status.passes, status.phase)
        can_have_gaps = status.gaps_open or status.gaps_closed or status.phase in _PHASES_WITH_GAPS
        if not can_have_gaps or version == self._gaps_version:
            return self._known_gaps
        self._calls += 1
        found = await jobs.query_gaps(self._job)
        if found is None:
            return self._known_gaps
        self._gaps_version = version
        return found

    async def _read_pending(
        self, description: WorkflowExecutionDescription, status: Status, gaps: tuple[Gap, ...]
    ) -> tuple[PendingStep, ...]:
        running = {facet.id for facet in status.facets if facet.status == "running"}
        pending = await _describe_pending(description, status, STEPS, running)
        followed_up = {gap.facet_id for gap in gaps if gap.status == "open"}
        client = self._job.handle._client
        for pass_id in jobs.find_passes(description):
            self._calls += 1
            try:
                inside = await client.get_workflow_handle(pass_id).describe()
            except RPCError:
                continue  # it has just closed
            pending += await _describe_pending(inside, status, PASS_STEPS, followed_up)
        return tuple(sorted(pending, key=lambda step: step.since))


async def _describe_pending(
    description: WorkflowExecutionDescription,
    status: Status,
    steps: dict[str, str],
    busy: set[str],
) -> list[PendingStep]:
    """The pending activities of one workflow, whose subagents work on the `busy` facets."""
    converter = description.data_converter
    pending = [
        await _describe_activity(info, converter, status, steps)
        for info in description.raw_description.pending_activities
    ]
    pending = merge_parsing(pending, status)
    return assign_facets(pending, [facet for facet in status.facets if facet.id in busy])


async def _describe_activity(
    info: PendingActivityInfo,
    converter: DataConverter,
    status: Status,
    steps: dict[str, str],
) -> PendingStep:
    heartbeat = await _read_heartbeat(info, converter)
    name = info.activity_type.name
    step = steps.get(name, name.replace("_", " "))
    facet = next((f for f in status.facets if f.id == heartbeat.get("facet")), None)
    started = info.state == PendingActivityState.PENDING_ACTIVITY_STATE_STARTED
    retrying = not started and info.attempt > 1
    # While it waits for a retry, `scheduled_time` is the time of that retry.
    times = _TIMES_OF_RETRY if retrying else _TIMES_OF_START if started else ("scheduled_time",)
    failure = ""
    if info.HasField("last_failure"):
        failure = jobs.root_cause(await converter.decode_failure(info.last_failure))
    pending = PendingStep(
        step=step,
        since=_read_time(info, *times) or datetime.now(UTC),
        facet_id=facet.id if facet else None,
        started=started,
        attempt=info.attempt,
        turns=int(heartbeat.get("turns", 0)),
        sources=int(heartbeat.get("sources", 0)),
        files=int(heartbeat.get("files", 0)),
        files_parsed=int(heartbeat.get("files_parsed", 0)),
        last_failure=failure,
        retry_at=_read_time(info, "next_attempt_schedule_time") if retrying else None,
    )
    return name_facet(pending, step, facet) if facet and name in FACET_ACTIVITIES else pending


async def _read_heartbeat(info: PendingActivityInfo, converter: DataConverter) -> dict[str, Any]:
    if not info.heartbeat_details.payloads:
        return {}
    details = await converter.decode(info.heartbeat_details.payloads)
    return details[0] if details and isinstance(details[0], dict) else {}


def _minimal_status(job_id: str, description: WorkflowExecutionDescription) -> Status:
    """What the server's record says about a job that no worker answers for."""
    phase = search_attribute(description, "ResearchPhase")
    return Status(
        id=job_id,
        phase=Phase(phase) if phase in set(Phase) else Phase.STARTING,
        question="",
        model=search_attribute(description, "ResearchModel"),
    )


def _read_time(info: PendingActivityInfo, *names: str) -> datetime | None:
    """The first of these times that the server has set: an unset one would read as 1970."""
    stamps: list[Timestamp] = [getattr(info, name) for name in names]
    return next((stamp.ToDatetime(UTC) for stamp in stamps if stamp.seconds > 0), None)
