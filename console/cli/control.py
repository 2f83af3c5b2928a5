"""The commands that send a message to a running job: approve, steer, pause, finish, cancel."""

from __future__ import annotations

import asyncio
import json
import os
import shlex
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeVar

import typer

from console import client
from console.cli.options import CONTROL, JobId, Json, examples
from console.errors import COMMAND, BadInputError, ConsoleError, ExitCode, first_fault
from console.formatting import plain, say, usd

if TYPE_CHECKING:
    from console.client.jobs import Job
    from console.client.session import Session
    from workflows.contracts.evidence import Message
    from workflows.contracts.facets import Facet, Plan
    from workflows.contracts.messages import Approve, Change
    from workflows.contracts.request import ResearchRequest

    Model = TypeVar("Model", bound=Message)
    Edited = TypeVar("Edited")

app = typer.Typer()


@app.command(
    rich_help_panel=CONTROL,
    epilog=examples(
        "approve x1",
        "approve x1 --plan plan.json",
        'approve x1 --reject --note "omit the history"',
    ),
)
def approve(
    job_id: JobId,
    plan: Annotated[
        Path | None,
        typer.Option("--plan", metavar="FILE", help="Use this plan: `plan ID --json`, edited."),
    ] = None,
    reject: Annotated[
        bool,
        typer.Option("--reject", help="Reject the plan: with --note plan again, without it end."),
    ] = False,
    note: Annotated[str, typer.Option("--note", metavar="TEXT", help="Why.")] = "",
    as_json: Json = False,
) -> ExitCode:
    """Approve or reject the plan of a job that waits for approval."""
    from workflows.contracts.messages import Approve

    if reject and plan is not None:
        raise BadInputError("A rejected plan cannot be edited: give --reject or --plan.")
    decision = Approve(
        decision="reject" if reject else "approve",
        plan=_read_plan(plan) if plan is not None else None,
        note=note,
    )
    rejected = "is planned again with the note" if note else "ends without a report"
    done = rejected if reject else "continues with the plan"
    return _send(job_id, "approve", decision, done, as_json=as_json)


@app.command(
    rich_help_panel=CONTROL,
    epilog=examples(
        'steer x1 --note "include the years before 2020"',
        'steer x1 --add-facet "Risks: What can go wrong?" --budget-usd 5',
    ),
)
def steer(
    job_id: JobId,
    add: Annotated[
        list[str] | None,
        typer.Option("--add-facet", metavar='"TITLE: QUESTION"', help="Research this as well."),
    ] = None,
    drop: Annotated[
        list[str] | None,
        typer.Option("--drop-facet", metavar="FACET", help="Drop this facet."),
    ] = None,
    refine: Annotated[
        list[str] | None,
        typer.Option("--refine-facet", metavar='"FACET: QUESTION"', help="Change its question."),
    ] = None,
    notes: Annotated[
        list[str] | None,
        typer.Option("--note", metavar="TEXT", help="Tell every subagent, at its next turn."),
    ] = None,
    budget_usd: Annotated[
        float | None, typer.Option("--budget-usd", metavar="X", help="The new limit in dollars.")
    ] = None,
    budget_tokens: Annotated[
        int | None, typer.Option("--budget-tokens", metavar="N", help="The new limit in tokens.")
    ] = None,
    as_json: Json = False,
) -> ExitCode:
    """Change a running job; only the affected parts are researched again. Options repeat."""
    from workflows.contracts.messages import AddFacet, AddNote, DropFacet, RefineFacet

    # Facets are dropped first and added last.
    changes: list[Change] = [DropFacet(facet_id=text.strip()) for text in drop or ()]
    for text in refine or ():
        facet_id, question = _split_pair(text, "--refine-facet", "ID: question")
        changes.append(_build(RefineFacet, "--refine-facet", facet_id=facet_id, question=question))
    changes += [AddFacet(facet=parse_facet(text)) for text in add or ()]
    changes += [_build(AddNote, "--note", text=text) for text in notes or ()]
    usd, tokens = (
        client.validation.check_budget_usd(budget_usd),
        client.validation.check_tokens(budget_tokens),
    )
    if not changes and usd is None and tokens is None:
        raise BadInputError(
            "There is nothing to change: give --add-facet, --drop-facet, --refine-facet, --note,"
            " --budget-usd or --budget-tokens."
        )

    async def action(session: Session) -> None:
        job = await client.jobs.find_running(session.client, job_id)
        update = client.jobs.steer(job, changes, usd, tokens)
        answer, idle = await session.wait_for_worker(update, job_id)
        _report(job_id, "steer", answer, f"is steered ({answer})", idle, as_json=as_json)

    return client.session.run(action)


@app.command(rich_help_panel=CONTROL, epilog=examples("pause x1"))
def pause(job_id: JobId, as_json: Json = False) -> ExitCode:
    """Stop a job from spending until it is resumed."""
    from workflows.contracts.messages import Pause

    done = f"is paused; `{COMMAND} resume {job_id}` continues it"
    return _send(job_id, "pause", Pause(), done, as_json=as_json)


@app.command(rich_help_panel=CONTROL, epilog=examples("finish x1"))
def finish(job_id: JobId, as_json: Json = False) -> ExitCode:
    """Start no more research; write the report from what was found."""
    from workflows.contracts.messages import Finish

    return _send(job_id, "finish", Finish(), "finishes with what was found", as_json=as_json)


@app.command(rich_help_panel=CONTROL, epilog=examples("cancel x1"))
def cancel(job_id: JobId, as_json: Json = False) -> ExitCode:
    """End a job without a report."""

    async def action(session: Session) -> None:
        job = await client.jobs.find_running(session.client, job_id)
        cancelled, _ = await session.wait_for_worker(client.jobs.cancel(job), job_id)
        if not cancelled:
            raise ConsoleError(
                f"The job {job_id} finished first: `result {job_id}` writes its report."
            )
        done = f"is cancelled; `{COMMAND} restart {job_id}` restarts it"
        _report(job_id, "cancel", "cancelled", done, False, as_json=as_json)

    return client.session.run(action)


async def ask_approval(job: Job) -> None:
    """Show the plan that waits for approval, and send what the person at the terminal decides."""
    from console.cli.inspect import print_plan
    from workflows.contracts.messages import Approve

    state = await client.jobs.query_state(job)
    if state is None or state.plan is None:
        return
    print_plan(state.plan)
    decision: Approve | None = None
    while decision is None:
        match (await _read_line("\nApprove this plan? [y/n/edit] ")).lower():
            case "y" | "yes":
                decision = Approve(decision="approve")
            case "n" | "no":
                note = await _read_line("What should change? (without an answer the job ends) ")
                decision = Approve(decision="reject", note=note[:2000])
            case "e" | "edit":
                plan = await _edit(state.plan.model_dump_json(indent=2), "plan.json", _read_plan)
                decision = Approve(decision="approve", plan=plan) if plan else None
    try:
        await client.jobs.send_update(job, "approve", decision)
    except client.jobs.UpdateRejectedError as error:
        print(f"The job rejects that: {error.reason}.")


async def ask_back(session: Session, job_id: str, request: ResearchRequest) -> ResearchRequest:
    """The request with the question as the person at the terminal made it clearer, if it is vague.

    Enter skips a question; without an answer the job starts as it was asked for.
    """
    found = await client.asking.clarify(session, job_id, request, worker=job_id)
    if found.note:
        say(found.note)
    if not found.questions:
        return request
    cost = f" Asking this cost {usd(found.spend.usd)}." if found.spend.usd else ""
    say(f"The question can be read in more than one way.{cost} Enter skips a question.")
    answers = []
    for asked in found.questions:
        print(f"\n{plain(asked.text)}")
        for n, text in enumerate(asked.suggestions, 1):
            print(f"  {n}  {plain(text)}")
        line = await _read_line("A number, or your own words: ")
        chosen = dict(enumerate(asked.suggestions, 1)).get(int(line) if line.isdecimal() else 0)
        answers.append(chosen or line)
    better = client.asking.improve(request.question, answers)
    while better != request.question:
        print(f"\n{plain(better)}")
        match (await _read_line("Start with this question? [y/n/edit] ")).lower():
            case "y" | "yes":
                return request.model_copy(update={"question": better})
            case "n" | "no":
                break
            case "e" | "edit":
                better = await _edit(better, "question.txt", _read_question) or better
    return request


async def _edit(text: str, name: str, read: Callable[[Path], Edited]) -> Edited | None:
    """What `read` finds in a file after the person's editor; None if that cannot be used."""
    editor = os.environ.get("VISUAL") or os.environ.get("EDITOR") or "vi"
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / name
        file.write_text(text, "utf-8")
        try:
            process = await asyncio.create_subprocess_exec(*shlex.split(editor), str(file))
            await process.wait()
            return read(file)
        except (OSError, ValueError) as error:
            print(f"The editor {editor!r} does not run ({error}): set EDITOR to another one.")
        except BadInputError as error:
            print(error)
    return None


async def _read_line(question: str) -> str:
    """A line of the terminal; the event loop goes on meanwhile, so that Ctrl-C is heard."""
    loop = asyncio.get_running_loop()
    answer: asyncio.Future[str] = loop.create_future()
    print(question, end="", flush=True)
    loop.add_reader(sys.stdin.fileno(), lambda: answer.set_result(sys.stdin.readline()))
    try:
        line = await answer
    finally:
        loop.remove_reader(sys.stdin.fileno())
    if not line:
        raise ConsoleError(
            f"The input has ended: `{COMMAND} approve ID` answers for a plan that waits."
        )
    return line.strip()


def parse_facet(text: str) -> Facet:
    """A facet from `Title: question`."""
    title, question = _split_pair(text, "--add-facet", "Title: question")
    return _build(
        client.research_request.build_facet, "--add-facet", title=title, question=question
    )


def _split_pair(text: str, option: str, form: str) -> tuple[str, str]:
    first, colon, second = (part.strip() for part in text.partition(":"))
    if not (first and colon and second):
        raise BadInputError(f'{option} {text!r} cannot be read: write it as "{form}".')
    return first, second


def _build(build: Callable[..., Model], option: str, **fields: str) -> Model:
    from pydantic import ValidationError

    try:
        return build(**fields)
    except ValidationError as error:
        place, why = first_fault(error)
        raise BadInputError(f"{option} is invalid: correct its {place} ({why}).") from None


def _read_question(path: Path) -> str:
    return client.validation.check_question(path.read_text("utf-8"))


def _read_plan(path: Path) -> Plan:
    from pydantic import ValidationError

    from workflows.contracts.facets import Plan
    from workflows.rules.plan import faults

    try:
        plan = Plan.model_validate_json(client.validation.read_text(path, "--plan"))
    except ValidationError as error:
        place, why = first_fault(error)
        raise BadInputError(
            f"{path} is not a plan: edit the output of `plan ID --json` ({place}: {why})."
        ) from None
    if errors := faults(plan):
        raise BadInputError(f"The plan in {path} breaks the rules: {'; '.join(errors)}.")
    return plan


def _send(job_id: str, update: str, message: Message, done: str, *, as_json: bool) -> ExitCode:

    async def action(session: Session) -> None:
        job = await client.jobs.find_running(session.client, job_id)
        answer, idle = await session.wait_for_worker(
            client.jobs.send_update(job, update, message), job_id
        )
        _report(job_id, update, answer, done, idle and update != "pause", as_json=as_json)

    return client.session.run(action)


def _report(
    job_id: str, command: str, answer: str, done: str, idle: bool, *, as_json: bool
) -> None:
    """Print the outcome; `idle` means that no worker continues the job."""
    if as_json:
        print(
            json.dumps({"id": job_id, "command": command, "answer": answer, "worked_on": not idle})
        )
        return
    print(f"The job {job_id} {done}.")
    if idle:
        print(f"No worker runs it: `{COMMAND} resume {job_id}` continues it.")
