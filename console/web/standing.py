"""All that is known of a job at one moment, whoever had to be asked for it.

A job that goes on is asked itself. One that nobody answers for, or that ended without a report, is
known from its last checkpoint; a finished one from its result.
"""

from __future__ import annotations

import contextlib
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from obstore.exceptions import BaseError
from pydantic import BaseModel, ValidationError
from temporalio.service import RPCError

from activities.storage.encryption import EncryptionError, decrypt_if_encrypted
from console import checks, jobs
from console.confidential import keyring
from console.faults import ConsoleError
from console.jobs import Found, Job
from console.listing import blocked_of, row_of
from console.progress import Progress, progress
from console.store import Kept, open_store
from console.web.rooms import Rooms
from workflows.contracts.evidence import Contradiction
from workflows.contracts.request import ResearchRequest
from workflows.contracts.result import ResearchResult
from workflows.contracts.state import Blocked, ResearchState
from workflows.rules.gaps import open_gaps

if TYPE_CHECKING:
    from temporalio.client import WorkflowExecutionDescription


@dataclass(frozen=True)
class Point:
    """A checkpoint as the table shows it."""

    kept: Kept
    phase: str
    usd: float
    turns: int
    holds: str


@dataclass(frozen=True)
class Standing:
    job: Job
    about: WorkflowExecutionDescription
    row: dict[str, str]
    request: ResearchRequest
    blocked: Blocked | None = None
    progress: Progress | None = None
    state: ResearchState | None = None
    as_of: str = ""
    """The checkpoint the state is known from, where nobody was there to say."""
    result: ResearchResult | None = None
    failure: str = ""
    """Why it ended without a report."""
    contradictions: tuple[Contradiction, ...] = ()
    points: tuple[Point, ...] = field(default=())

    @property
    def going(self) -> bool:
        return self.job.found is Found.RUNNING

    @property
    def word(self) -> str:
        return self.row["state"]


async def standing(rooms: Rooms, job_id: str) -> Standing:
    """How the job is. Raises BadInputError where there is none, ConsoleError where none answers."""
    job, about = await jobs.find(rooms.client, checks.job_id(job_id))
    row, blocked = row_of(about), await blocked_of(about)
    asked = await question_of(rooms, job_id, about.run_id)
    if job.found is Found.RUNNING:
        return await _going(rooms, Standing(job, about, row, asked, blocked))
    points, last = await _points(rooms, job_id, closed=about.run_id)
    ended = await ending_of(rooms, job, about.run_id)
    result = ended if isinstance(ended, ResearchResult) else None
    return Standing(
        job=job,
        about=about,
        row=row,
        request=last.request if last else asked,
        state=last,
        as_of=last.checkpoints[-1].name if last and last.checkpoints else "",
        result=result,
        failure="" if isinstance(ended, ResearchResult) else ended,
        contradictions=result.contradictions if result else await _contested(rooms, last),
        points=points,
    )


async def _going(rooms: Rooms, known: Standing) -> Standing:
    now = await progress(known.job)
    # Who did not answer one question is not asked another: that, too, would be waited for.
    state = await jobs.state(known.job) if now.answered else None
    marks = tuple(point.name for point in state.checkpoints) if state else ()
    points, last = await _points(rooms, known.job.id, known.about.run_id, marks)
    as_of = ""
    if state is None and last is not None:
        state, as_of = last, last.checkpoints[-1].name if last.checkpoints else "the beginning"
    return Standing(
        job=known.job,
        about=known.about,
        row=known.row,
        request=state.request if state else known.request,
        blocked=(state.blocked if state and not as_of else None) or known.blocked,
        progress=now,
        state=state,
        as_of=as_of,
        contradictions=await _contested(rooms, state),
        points=points,
    )


async def question_of(rooms: Rooms, job_id: str, run_id: str) -> ResearchRequest:
    """What the run was asked; a run's own beginning does not change."""

    async def ask() -> ResearchRequest:
        return (await jobs.given(rooms.client, job_id))[0]

    return await rooms.small.of(("asked", run_id), ask)


async def ending_of(rooms: Rooms, job: Job, run_id: str) -> ResearchResult | str:
    try:
        return await rooms.results.of(run_id, lambda: jobs.ending(job))
    except RPCError as error:
        raise ConsoleError(
            f"The server does not answer ({error.message}): try again when it does."
        ) from error


async def state_of(rooms: Rooms, job_id: str, run_id: str) -> ResearchState | None:
    """The last state that was kept of a job whose run has ended."""
    return (await _points(rooms, job_id, closed=run_id))[1]


async def _points(
    rooms: Rooms, job_id: str, run_id: str = "", marks: tuple[str, ...] = (), closed: str = ""
) -> tuple[tuple[Point, ...], ResearchState | None]:
    """The job's checkpoints, looked for again only when the job says that it kept another."""

    async def ask() -> tuple[tuple[Point, ...], ResearchState | None]:
        with contextlib.suppress(ConsoleError):
            found = await rooms.kept.of(job_id)
            points = [await _point(rooms, item) for item in found]
            last = await rooms.kept.load(found[-1]) if found else None
            return tuple(points), last
        return (), None

    if not closed and not marks:
        return await ask()
    return await rooms.points.of((job_id, run_id, closed, marks), ask)


async def _point(rooms: Rooms, item: Kept) -> Point:
    async def ask() -> Point:
        state = await rooms.kept.load(item)
        return Point(item, state.phase.value, state.spend.usd, state.spend.turns, _holds(state))

    return await rooms.small.of((item.key, item.at), ask)


def _holds(state: ResearchState) -> str:
    counts = {
        "facet": len(state.plan.facets) if state.plan else 0,
        "outcome": len(state.outcomes),
        "claim": sum(o.findings.claims for o in state.outcomes.values() if o.findings),
        "open gap": len(open_gaps(state.gaps)),
    }
    words = [f"{n} {name}{'' if n == 1 else 's'}" for name, n in counts.items() if n]
    return ", ".join([*words, *(["a draft"] if state.draft else [])])


class _Ledger(BaseModel):
    """As much of a ledger as is shown of a job that is not finished."""

    contradictions: tuple[Contradiction, ...] = ()


async def _contested(rooms: Rooms, state: ResearchState | None) -> tuple[Contradiction, ...]:
    """Where sources disagree, out of the ledger in the store; a count must do where it is away."""
    if state is None or state.ledger is None or not state.ledger.contradictions:
        return ()
    key = state.ledger.key

    async def ask() -> tuple[Contradiction, ...]:
        keys = keyring(rooms.settings)
        folder, _, _ = key.partition("/")
        place = f"{folder}/{keys.hash_name(key)}" if keys else key
        store = open_store(rooms.settings.store)
        data = bytes(await (await store.get_async(place)).bytes_async())
        return _Ledger.model_validate_json(
            decrypt_if_encrypted(data, keys, key.encode())
        ).contradictions

    try:
        return await rooms.small.of(("ledger", key), ask)
    except (BaseError, OSError, EncryptionError, ValidationError):
        return ()
