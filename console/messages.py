"""What the commands do that speak to a running job: approve, steer, pause, finish, cancel.

The job answers through a worker. On the embedded server one that only answers is hired where no
other is there; on a configured one that is somebody else's to start.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from pydantic import ValidationError

from console import checks
from console.faults import COMMAND, BadInputError, ConsoleError, ExitCode
from console.session import Session, visit
from workflows.contracts.evidence import Record
from workflows.contracts.facets import Facet, Plan
from workflows.contracts.messages import (
    AddFacet,
    AddNote,
    Approve,
    Change,
    DropFacet,
    Finish,
    Pause,
    RefineFacet,
)
from workflows.rules.plan import faults

if TYPE_CHECKING:
    from temporalio.client import Client

Said = TypeVar("Said", bound=Record)


def approve(
    job_id: str, plan: Path | None, *, reject: bool, note: str, as_json: bool = False
) -> ExitCode:
    """Answer a plan that waits for it."""
    if reject and plan is not None:
        raise BadInputError("A plan that is rejected is not edited: give --reject or --plan.")
    decision = Approve(
        decision="reject" if reject else "approve",
        plan=_edited(plan) if plan is not None else None,
        note=note,
    )
    again = "is planned anew with the note" if note else "ends without a report"
    done = again if reject else "goes on with the plan"
    return _tell(job_id, "approve", decision, done, as_json=as_json)


def steer(
    job_id: str,
    *,
    add: Sequence[str],
    drop: Sequence[str],
    refine: Sequence[str],
    notes: Sequence[str],
    budget_usd: float | None,
    budget_tokens: int | None,
    as_json: bool = False,
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
        told, hired = await desk.heard(jobs.steer(job, changes, usd, tokens), job_id)
        _said(job_id, "steer", told, f"is steered ({told})", hired=hired, as_json=as_json)
        return ExitCode.REPORT

    return visit(go)


def pause(job_id: str, *, as_json: bool = False) -> ExitCode:
    done = f"is paused; `{COMMAND} resume {job_id}` sends it on"
    return _tell(job_id, "pause", Pause(), done, as_json=as_json)


def finish(job_id: str, *, as_json: bool = False) -> ExitCode:
    return _tell(job_id, "finish", Finish(), "finishes with what there is", as_json=as_json)


def cancel(job_id: str, *, as_json: bool = False) -> ExitCode:
    """Ask a job to end, and see that it does."""

    async def go(client: Client, desk: Session) -> ExitCode:
        from console import jobs

        job = await jobs.going(client, checks.job_id(job_id))
        cancelled, _ = await desk.heard(jobs.cancel(job), job_id)
        if not cancelled:
            raise ConsoleError(
                f"The job {job_id} finished first: `result {job_id}` writes its report."
            )
        done = f"is cancelled; `{COMMAND} restart {job_id}` takes it up again"
        _said(job_id, "cancel", "cancelled", done, hired=False, as_json=as_json)
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


def _tell(job_id: str, update: str, message: Record, done: str, *, as_json: bool) -> ExitCode:
    async def go(client: Client, desk: Session) -> ExitCode:
        from console import jobs

        job = await jobs.going(client, checks.job_id(job_id))
        told, hired = await desk.heard(jobs.tell(job, update, message), job_id)
        hired = hired and update != "pause"
        _said(job_id, update, told, done, hired=hired, as_json=as_json)
        return ExitCode.REPORT

    return visit(go)


def _said(job_id: str, command: str, told: str, done: str, *, hired: bool, as_json: bool) -> None:
    """What came of it, for a person or a program; `hired`: nobody else works on the job."""
    if as_json:
        print(
            json.dumps({"id": job_id, "command": command, "answer": told, "worked_on": not hired})
        )
        return
    print(f"The job {job_id} {done}.")
    if hired:
        print(f"Nobody is working on it: `{COMMAND} resume {job_id}` takes it up.")
