"""What a job is doing now, for whoever shows it: its own word, and what Temporal waits for.

Two questions are asked at once: the job's `status`, and the server's record of what is pending,
which also knows attempts, failures and when they are tried again. Nothing here prints. `Look`
remembers what cannot have changed and says how long to wait, so that looking costs two calls a
second at most.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

from temporalio.api.enums.v1 import PendingActivityState
from temporalio.client import WorkflowQueryFailedError, WorkflowQueryRejectedError
from temporalio.service import RPCError

from console import jobs
from console.faults import COMMAND, ConsoleError
from console.waiting import IN_A_PASS, OF_A_FACET, STEPS, Waiting, about, named
from workflows.contracts.result import Status
from workflows.contracts.state import Gap, Phase

if TYPE_CHECKING:
    from google.protobuf.timestamp_pb2 import Timestamp
    from temporalio.api.workflow.v1 import PendingActivityInfo
    from temporalio.client import WorkflowExecutionDescription
    from temporalio.converter import DataConverter

    from console.jobs import Job

SECONDS_PER_CALL = 0.5

_WITH_GAPS = (Phase.WRITING, Phase.EVALUATING, Phase.REFINING, Phase.FINISHED)


@dataclass(frozen=True)
class Progress:
    """A job at a glance, with what it waits for."""

    status: Status
    waiting: tuple[Waiting, ...] = ()
    gaps: tuple[Gap, ...] = ()
    needs: str = ""
    """Whose word is needed, in a sentence; nothing where it works."""
    since: datetime | None = None
    """When this run began."""
    ended: datetime | None = None
    answered: bool = True
    """False where no worker answered: the status is the last one known, or nearly empty."""


async def progress(job: Job) -> Progress:
    """What the job is doing now. Raises ConsoleError where the server does not answer."""
    return await Look(job).now()


def needs(status: Status) -> str:
    """What the job waits for, and whose word sends it on; nothing where it works."""
    if status.blocked is not None:
        why = f"blocked at {status.blocked.step}: {status.blocked.reason.rstrip('.')}"
        remedy = status.blocked.remedy.rstrip(".").removesuffix(", then resume")
        return f"{why}; {remedy}, then `{COMMAND} resume {status.id}`"
    if status.paused:
        return f"paused: `{COMMAND} resume {status.id}` sends it on"
    if status.approve_by is not None:
        until = datetime.fromisoformat(status.approve_by).strftime("%Y-%m-%d %H:%M %Z").strip()
        return (
            f"the plan waits for a word until {until}, from another shell:"
            f" `{COMMAND} plan {status.id}` shows it, `{COMMAND} approve {status.id}` takes it"
        )
    return "finishing with what there is" if status.finishing else ""


class Look:
    """Looks at one job again and again."""

    def __init__(self, job: Job) -> None:
        self._job = job
        self._calls = 0
        self._last: Progress | None = None
        self._counted: tuple[object, ...] = ()

    @property
    def pause(self) -> float:
        """How long to wait before the next look, after what the last one cost."""
        return max(1.0, self._calls * SECONDS_PER_CALL)

    async def now(self, seconds: float = 3.0) -> Progress:
        """What it is doing; `seconds` is how long a worker has to answer."""
        self._calls = 2
        about, status = await asyncio.gather(self._described(), jobs.status(self._job, seconds))
        answered = status is not None
        if status is None:
            status = self._last.status if self._last else _nearly_empty(self._job.id, about)
        if about.raw_description.pending_children:
            # The pass knows; what the job itself says is where it stood before.
            status = status.model_copy(update={"phase": Phase.REFINING})
        gaps = await self._gaps(status) if answered else self._known
        waiting = await self._waiting(about, status, gaps)
        seen = Progress(
            status=status,
            waiting=waiting,
            gaps=gaps,
            needs=needs(status),
            since=about.start_time,
            ended=about.close_time,
            answered=answered,
        )
        self._last = seen
        return seen

    @property
    def _known(self) -> tuple[Gap, ...]:
        return self._last.gaps if self._last else ()

    async def _described(self) -> WorkflowExecutionDescription:
        try:
            return await self._job.handle.describe()
        except RPCError as error:
            raise ConsoleError(
                f"The server does not answer ({error.message}): try again when it does."
            ) from error

    async def _gaps(self, status: Status) -> tuple[Gap, ...]:
        """The gaps with their texts, asked for only where they may have changed."""
        counted = (status.gaps_open, status.gaps_closed, status.passes, status.phase)
        if _judged(status) and counted != self._counted:
            self._calls += 1
            try:
                found: tuple[Gap, ...] = await self._job.handle.query(
                    "gaps", result_type=tuple[Gap, ...], rpc_timeout=timedelta(seconds=3)
                )
            except (RPCError, WorkflowQueryFailedError, WorkflowQueryRejectedError):
                return self._known
            self._counted = counted
            return found
        return self._known

    async def _waiting(
        self, about: WorkflowExecutionDescription, status: Status, gaps: tuple[Gap, ...]
    ) -> tuple[Waiting, ...]:
        running = {facet.id for facet in status.facets if facet.status == "running"}
        waiting = await _pending(about, status, STEPS, running)
        followed = {gap.facet_id for gap in gaps if gap.status == "open"}
        client = self._job.handle._client
        for child in about.raw_description.pending_children:
            self._calls += 1
            try:
                inside = await client.get_workflow_handle(child.workflow_id).describe()
            except RPCError:
                continue  # it closed in this moment
            waiting += await _pending(inside, status, IN_A_PASS, followed)
        return tuple(sorted(waiting, key=lambda one: one.since))


async def _pending(
    described: WorkflowExecutionDescription,
    status: Status,
    words: dict[str, str],
    busy: set[str],
) -> list[Waiting]:
    """What is under way in one workflow, where subagents are `busy` with certain facets."""
    converter = described.data_converter
    pending = described.raw_description.pending_activities
    told = await asyncio.gather(*(_told(one, converter) for one in pending))
    waiting = [
        await _one(one, told_by_it, converter, status, words)
        for one, told_by_it in zip(pending, told, strict=True)
    ]
    return named(waiting, [facet for facet in status.facets if facet.id in busy])


async def _one(
    one: PendingActivityInfo,
    told: dict[str, Any],
    converter: DataConverter,
    status: Status,
    words: dict[str, str],
) -> Waiting:
    kind = one.activity_type.name
    step = words.get(kind, kind.replace("_", " "))
    facet = next((f for f in status.facets if f.id == told.get("facet")), None)
    started = one.state == PendingActivityState.PENDING_ACTIVITY_STATE_STARTED
    retrying = not started and one.attempt > 1
    waiting = Waiting(
        step=step,
        # Of one that waits for its next try, `scheduled` is when that will be.
        since=_time(one.last_started_time if started or retrying else one.scheduled_time),
        facet_id=facet.id if facet else None,
        started=started,
        attempt=one.attempt,
        turns=int(told.get("turns", 0)),
        sources=int(told.get("sources", 0)),
        last_failure=await _failure(one, converter),
        retry_at=_time(one.next_attempt_schedule_time) if retrying else None,
    )
    return about(waiting, step, facet) if facet and kind in OF_A_FACET else waiting


async def _told(one: PendingActivityInfo, converter: DataConverter) -> dict[str, Any]:
    """What the subagent said of itself with its last sign of life."""
    if not one.heartbeat_details.payloads:
        return {}
    details = await converter.decode(one.heartbeat_details.payloads)
    return details[0] if details and isinstance(details[0], dict) else {}


async def _failure(one: PendingActivityInfo, converter: DataConverter) -> str:
    if not one.HasField("last_failure"):
        return ""
    return jobs.cause(await converter.decode_failure(one.last_failure))


def _judged(status: Status) -> bool:
    """Whether there can be gaps yet."""
    return bool(status.gaps_open or status.gaps_closed) or status.phase in _WITH_GAPS


def _nearly_empty(job_id: str, about: WorkflowExecutionDescription) -> Status:
    """All the server's own record says of a job that nobody answers for."""
    phase, model = jobs.keyword(about, "ResearchPhase"), jobs.keyword(about, "ResearchModel")
    known: Iterable[str] = [phase.value for phase in Phase]
    return Status(
        id=job_id,
        phase=Phase(phase) if phase in known else Phase.STARTING,
        question="",
        model=model,
    )


def _time(stamp: Timestamp) -> datetime:
    return stamp.ToDatetime(UTC)
