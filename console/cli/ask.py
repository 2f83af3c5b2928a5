"""The commands on finished reports: ask, diff.

On the embedded server they start a worker of their own, which continues no job.
"""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Annotated

import typer

from console import client
from console.cli.options import ASK, INSPECT, Json, OutIfWanted, Reference, Wait, examples
from console.cli.restart import follow_or_name, prepare
from console.cli.run import interruption_message
from console.errors import COMMAND, ExitCode
from console.formatting import cut, message_stream, plain, printable, say

if TYPE_CHECKING:
    from console.client.session import Session
    from workflows.contracts.asking import Answer

app = typer.Typer()

_QUOTE = 300


@app.command(
    rich_help_panel=ASK,
    epilog=examples('ask x1 "Who pays for it?"', 'ask x1 "Who pays for it?" --commission'),
)
def ask(
    reference: Reference,
    question: Annotated[str, typer.Argument(metavar="QUESTION", show_default=False)],
    commission: Annotated[
        bool,
        typer.Option("--commission", help="Research what the report does not hold, unasked."),
    ] = False,
    budget_usd: Annotated[
        float | None,
        typer.Option("--budget-usd", metavar="X", min=0.01, help="What that research may cost."),
    ] = None,
    out: OutIfWanted = None,
    wait: Wait = False,
    as_json: Json = False,
) -> ExitCode:
    """Ask on in a report: answered from what the job has found, with citations.

    What it does not hold can be researched as a further facet, which makes a
    new version of the report; nothing is paid twice. Exits with 4 if the
    question is not answered.
    """
    job_id, version = client.asking.parse_reference(reference)
    question = client.asking.check_asked(question)
    settings, folder, wait = prepare(out, wait)
    stream = message_stream(as_json)

    async def action(session: Session) -> ExitCode:
        answer = await client.asking.ask(session, job_id, question, version)
        if as_json:
            print(answer.model_dump_json(indent=2))
        else:
            _print_answer(answer)
        if not answer.offer or not (commission or (not as_json and _is_wanted(answer))):
            return ExitCode.NOTHING_FOUND if answer.status == "not_held" else ExitCode.REPORT
        taken = await client.asking.commission(session, job_id, answer.offer, budget_usd)
        usd = taken.budget_usd
        limit = "" if usd is None else f" The job spends at most ${usd:,.2f} in all."
        say(
            f"Job {job_id} researches this for version {taken.version} of its report; earlier work"
            f" is not paid again.{limit}",
            stream,
        )
        job, _ = await client.jobs.find(session.client, job_id)
        return await follow_or_name(job, session, folder if wait else None, as_json)

    return client.session.run(
        action,
        settings=settings,
        job_id=client.asking.ASKS,
        on_interrupt=interruption_message(settings, job_id, folder),
    )


@app.command(rich_help_panel=INSPECT, epilog=examples("diff x1@1 x1@2", "diff x1 x2 --json"))
def diff(before: Reference, after: Reference, as_json: Json = False) -> ExitCode:
    """Show what changed from one report to another, of one job or of two."""
    for reference in (before, after):
        client.asking.parse_reference(reference)

    async def action(session: Session) -> None:
        found = await client.asking.compare(session, before, after)
        if as_json:
            print(json.dumps(found.changes.model_dump(mode="json"), indent=2))
        else:
            say(printable(found.markdown))

    return client.session.run(action, job_id=client.asking.ASKS)


def _print_answer(answer: Answer) -> None:
    say(printable(answer.text))
    if answer.missing:
        say(plain(f"Not held: {'; '.join(answer.missing)}."), first="\n")
    if answer.unjudged:
        say(f"No judge has read this answer: {answer.unjudged}.", first="\n")
    if answer.citations:
        print()
    for citation in answer.citations:
        for quote in citation.quotes:
            start = f"[{citation.n}] "
            say(
                f"“{cut(quote.text, _QUOTE)}” ({plain(quote.title)}, {plain(quote.uri)})",
                first=start,
                then=" " * len(start),
            )
    if answer.spend.usd:
        say(f"${answer.spend.usd:.3f}", first="\n")


def _is_wanted(answer: Answer) -> bool:
    """Whether the person at the terminal wants what is missing researched."""
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        command = f'{COMMAND} ask {answer.job_id} "…" --commission'
        say(f"`{command}` researches this for a new version of the report.", first="\n")
        return False
    return typer.confirm(f"\nResearch this for a new version of the report: {answer.offer}")
