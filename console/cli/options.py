"""What commands share: panels, arguments and options; one name, one meaning, one line of help."""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from console.client.job_options import Wish

ASK = "Ask"
LOOK = "Look"
STEER = "Steer"
RECOVER = "Recover"
SERVE = "Serve and schedule"

_READS = "What it reads"
_LIMITS = "How far it goes"
_PERSON = "A person's word"

Question = Annotated[str, typer.Argument(help="The question, in quotes.", show_default=False)]
JobId = Annotated[str, typer.Argument(metavar="ID", help="The job's id.", show_default=False)]

Corpus = Annotated[
    Path | None,
    typer.Option(
        "--corpus", metavar="DIR", help="A folder of documents to read.", rich_help_panel=_READS
    ),
]
Web = Annotated[
    bool | None,
    typer.Option(
        "--web/--no-web",
        help="Search and fetch the web through the provider; on by default with a Claude model.",
        show_default=False,
        rich_help_panel=_READS,
    ),
]
AllowDomains = Annotated[
    list[str] | None,
    typer.Option(
        "--allow-domain", metavar="D", help="Only this domain; repeatable.", rich_help_panel=_READS
    ),
]
BlockDomains = Annotated[
    list[str] | None,
    typer.Option(
        "--block-domain", metavar="D", help="Not this domain; repeatable.", rich_help_panel=_READS
    ),
]
Code = Annotated[
    bool,
    typer.Option(
        "--code/--no-code",
        help="Let subagents compute in the provider's sandbox.",
        rich_help_panel=_READS,
    ),
]
Effort = Annotated[
    str, typer.Option("--effort", help="quick, standard or deep.", rich_help_panel=_LIMITS)
]
MaxPasses = Annotated[
    int | None,
    typer.Option(
        "--max-passes", metavar="N", help="Refinement passes at most.", rich_help_panel=_LIMITS
    ),
]
MaxFacets = Annotated[
    int | None,
    typer.Option(
        "--max-facets", metavar="N", help="Sub-questions at most.", rich_help_panel=_LIMITS
    ),
]
BudgetUsd = Annotated[
    float | None,
    typer.Option(
        "--budget-usd",
        metavar="X",
        help="A hard limit in dollars; $2, $10 or $40 by effort where none is given.",
        rich_help_panel=_LIMITS,
    ),
]
BudgetTokens = Annotated[
    int | None,
    typer.Option(
        "--budget-tokens", metavar="N", help="A hard limit in tokens.", rich_help_panel=_LIMITS
    ),
]
Economy = Annotated[
    bool,
    typer.Option(
        "--economy",
        help="Verify in batches: half the price, up to a day later.",
        rich_help_panel=_LIMITS,
    ),
]
Model = Annotated[
    str | None,
    typer.Option(
        "--model",
        metavar="NAME",
        help="`claude` (each role its own), one model for all, or `offline`, which needs no key.",
    ),
]
Approve = Annotated[
    bool,
    typer.Option(
        "--approve", help="Wait for a person to approve the plan.", rich_help_panel=_PERSON
    ),
]
ApproveWithin = Annotated[
    str | None,
    typer.Option(
        "--approve-within",
        metavar="TIME",
        help="How long the plan waits: 2h, 30m, 90s; a day where nothing is said.",
        rich_help_panel=_PERSON,
    ),
]
Unanswered = Annotated[
    str | None,
    typer.Option(
        "--unanswered",
        metavar="WORD",
        help="What holds when nobody answers: approve (the default) or reject.",
        rich_help_panel=_PERSON,
    ),
]
NewId = Annotated[
    str | None, typer.Option("--id", metavar="ID", help="Name the job, or take it up again.")
]
Out = Annotated[Path, typer.Option("--out", metavar="DIR", help="Where the report goes.")]
OutIfWanted = Annotated[
    Path | None,
    typer.Option("--out", metavar="DIR", help="Wait for the report and write it there."),
]
Wait = Annotated[
    bool,
    typer.Option("--wait", help="Wait for the report; always so on the embedded server."),
]
FailOnGaps = Annotated[
    bool, typer.Option("--fail-on-gaps", help="Exit with 3 where gaps are left.")
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON for a program to read.")]
From = Annotated[
    str | None,
    typer.Option(
        "--from", metavar="NAME", help="A checkpoint by its name; the last one by default."
    ),
]


def examples(*lines: str) -> str:
    """What stands under a command's options: it as one would type it."""
    heading = "Examples:" if len(lines) > 1 else "Example:"
    return "\n".join([heading, *(f"  {line}" for line in lines)])


def wish(ctx: typer.Context) -> Wish:
    """The job as it was typed: options are called what the wish calls them."""
    from console.client.job_options import Wish

    names = {field.name for field in fields(Wish)}
    typed: dict[str, Any] = {
        name: tuple(value) if isinstance(value, list) else value
        for name, value in ctx.params.items()
        if name in names and value is not None
    }
    return Wish(**typed)
