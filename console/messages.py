"""What the commands do that speak to a running job: approve, steer, pause, finish, cancel.

The job answers through a worker. On the embedded server one that only answers is hired where no
other is there; on a configured one that is somebody else's to start.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from pydantic import ValidationError

from console import checks
from console.faults import COMMAND, BadInputError, ConsoleError, ExitCode
from console.session import Session, visit
from workflows.budget import Budget
from workflows.commands import (
    AddFacet,
    AddNote,
    Approve,
    Change,
    DropFacet,
    Finish,
    Pause,
    RefineFacet,
    SetBudget,
    Steer,
)
from workflows.evidence import Record
from workflows.plan import Facet, Plan, faults

if TYPE_CHECKING:
    from temporalio.client import Client

    from console.jobs import Job

Said = TypeVar("Said", bound=Record)


def approve(job_id: str, plan: Path | None, *, reject: bool, note: str) -> ExitCode:
    """Answer a plan that waits for it."""
    if reject and plan is not None:
        raise BadInputError("A plan that is rejected is not edited: give --reject or --plan.")
    decision = Approve(
        decision="reject" if reject else "approve",
        plan=_edited(plan) if plan is not None else None,
        note=note,
    )
    again = "is planned anew with the note" if note else "ends without a report"
    return _tell(job_id, "approve", decision, again if reject else "goes on with the plan")


def steer(
    job_id: str,
    *,
    add: Sequence[str],
    drop: Sequence[str],
    refine: Sequence[str],
    notes: Sequence[str],
    budget_usd: float | None,
    budget_tokens: int | None,
) -> ExitCode:
    """Change a job while it runs. What is dropped goes first, what is added comes last."""
    changes: list[Change] = [DropFacet(facet_id=text.strip()) for text in drop]
    changes += [_refined(text) for text in refine]
    changes += [AddFacet(facet=facet_from(text)) for text in add]
    changes += [_checked(AddNote, "--note", text=text) for text in notes]
    usd, tokens = checks.budget(budget_usd), checks.tokens(budget_tokens)
    if not changes and usd is None and tokens is None:
        raise BadInputError(
            "There is nothing to change: give --add-facet, --drop-facet, --refine-facet, --note,"
            " --budget-usd or --budget-tokens."
        )

    async def go(client: Client, desk: Session) -> ExitCode:
        from console import jobs

        job = await jobs.going(client, checks.job_id(job_id))
        told, hired = await desk.heard(_steered(job, changes, usd, tokens), job_id)
        _said(job_id, f"is steered ({told})", hired=hired)
        return ExitCode.REPORT

    return visit(go)


def pause(job_id: str) -> ExitCode:
    return _tell(job_id, "pause", Pause(), f"is paused; `{COMMAND} resume {job_id}` sends it on")


def finish(job_id: str) -> ExitCode:
    return _tell(job_id, "finish", Finish(), "finishes with what there is")


def cancel(job_id: str) -> ExitCode:
    """Ask a job to end, and see that it does."""

    async def go(client: Client, desk: Session) -> ExitCode:
        from console import jobs

        job = await jobs.going(client, checks.job_id(job_id))
        await job.handle.cancel()
        finished, _ = await desk.heard(_ended(job), job_id)
        if finished:
            raise ConsoleError(
                f"The job {job_id} finished first: `result {job_id}` writes its report."
            )
        print(f"The job {job_id} is cancelled; `{COMMAND} restart {job_id}` takes it up again.")
        return ExitCode.REPORT

    return visit(go)


def facet_from(text: str) -> Facet:
    """A facet from `Title: question`."""
    title, question = _pair(text, "--add-facet", "Title: question")
    slug = re.sub(r"[\W_]+", "-", title.lower()).strip("-")[:64]
    return _checked(
        Facet,
        "--add-facet",
        id=slug or "facet",
        title=title,
        question=question,
        boundary="what the other facets cover",
        prefer="authoritative sources",
        reason="added by an operator",
    )


def _refined(text: str) -> RefineFacet:
    facet_id, question = _pair(text, "--refine-facet", "ID: question")
    return _checked(RefineFacet, "--refine-facet", facet_id=facet_id, question=question)


def _pair(text: str, option: str, form: str) -> tuple[str, str]:
    first, colon, second = (part.strip() for part in text.partition(":"))
    if not (first and colon and second):
        raise BadInputError(f'{option} {text!r} cannot be read: write it as "{form}".')
    return first, second


def _checked(kind: type[Said], option: str, **fields: str) -> Said:
    try:
        return kind(**fields)
    except ValidationError as error:
        fault = error.errors()[0]
        raise BadInputError(
            f"{option} cannot be taken: its {fault['loc'][-1]} is not right ({fault['msg']})."
        ) from None


def _edited(path: Path) -> Plan:
    try:
        plan = Plan.model_validate_json(path.read_bytes())
    except OSError as error:
        raise BadInputError(
            f"{path} cannot be read ({error.strerror}): give --plan a file that `plan ID --json`"
            " wrote."
        ) from None
    except ValidationError as error:
        fault = error.errors()[0]
        place = ".".join(str(part) for part in fault["loc"]) or "the file"
        raise BadInputError(
            f"{path} does not hold a plan: edit what `plan ID --json` prints ({place}:"
            f" {fault['msg']})."
        ) from None
    if wrong := faults(plan):
        raise BadInputError(f"The plan in {path} breaks the rules, mend it: {'; '.join(wrong)}.")
    return plan


def _tell(job_id: str, update: str, message: Record, done: str) -> ExitCode:
    async def go(client: Client, desk: Session) -> ExitCode:
        from console import jobs

        job = await jobs.going(client, checks.job_id(job_id))
        _, hired = await desk.heard(jobs.tell(job, update, message), job_id)
        _said(job_id, done, hired=hired and update != "pause")
        return ExitCode.REPORT

    return visit(go)


def _said(job_id: str, done: str, *, hired: bool) -> None:
    print(f"The job {job_id} {done}.")
    if hired:
        print(f"Nobody is working on it: `{COMMAND} resume {job_id}` takes it up.")


async def _steered(job: Job, changes: list[Change], usd: float | None, tokens: int | None) -> str:
    from console import jobs

    if usd is not None or tokens is not None:
        # A budget is set as a whole: the limit that was not named must not be lifted by this.
        state = await jobs.state(job)
        while state is None:
            await asyncio.sleep(0.2)
            state = await jobs.state(job)
        old = state.request.budget
        budget = Budget(
            usd=usd if usd is not None else old.usd,
            tokens=tokens if tokens is not None else old.tokens,
        )
        changes = [*changes, SetBudget(budget=budget)]
    return await jobs.tell(job, "steer", Steer(changes=tuple(changes)))


async def _ended(job: Job) -> bool:
    """True where it ended with a report after all."""
    from console import jobs

    try:
        await jobs.result(job)
    except ConsoleError:
        return False
    return True
