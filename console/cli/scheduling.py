"""The `schedule` commands, as a person types them."""

from __future__ import annotations

from typing import Annotated

import typer

from console.cli import options
from console.cli.options import Json

_WHEN = "When"

Name = Annotated[
    str, typer.Argument(metavar="NAME", help="The schedule's name.", show_default=False)
]

app = typer.Typer(
    help="Research a question again and again; each report says what changed since the last.",
    no_args_is_help=True,
)


@app.command(
    epilog=options.examples(
        'python starter.py schedule create weekly "What is new on X?" --web --every 7d',
        'python starter.py schedule create x "News on X?" --web --cron "0 6 * * *"',
    )
)
def create(
    ctx: typer.Context,
    name: Name,
    question: options.Question,
    every: Annotated[
        str | None,
        typer.Option("--every", metavar="TIME", help="7d, 24h or 90m.", rich_help_panel=_WHEN),
    ] = None,
    cron: Annotated[
        str | None,
        typer.Option(
            "--cron",
            metavar="EXPR",
            help='As in a crontab: "0 6 * * 1-5" is six in the morning on weekdays.',
            rich_help_panel=_WHEN,
        ),
    ] = None,
    zone: Annotated[
        str | None,
        typer.Option(
            "--time-zone",
            metavar="NAME",
            help="For --cron, as in Europe/Berlin; UTC where none is given.",
            rich_help_panel=_WHEN,
        ),
    ] = None,
    corpus: options.Corpus = None,
    web: options.Web = None,
    allow_domains: options.AllowDomains = None,
    block_domains: options.BlockDomains = None,
    code: options.Code = False,
    effort: options.Effort = "standard",
    max_passes: options.MaxPasses = None,
    max_facets: options.MaxFacets = None,
    budget_usd: options.BudgetUsd = None,
    budget_tokens: options.BudgetTokens = None,
    economy: options.Economy = False,
    model: options.Model = None,
    as_json: Json = False,
) -> None:
    """Make a schedule on a configured server."""
    from console.cli import schedule

    wish = options.wish(ctx)
    raise typer.Exit(
        schedule.create(name, wish, every=every, cron=cron, zone=zone, as_json=as_json)
    )


@app.command(name="list", epilog=options.examples("python starter.py schedule list --json"))
def list_schedules(as_json: Json = False) -> None:
    """List the schedules, with their next and last runs."""
    from console.cli import schedule

    raise typer.Exit(schedule.list_schedules(as_json=as_json))


@app.command(epilog=options.examples("python starter.py schedule show weekly"))
def show(name: Name, as_json: Json = False) -> None:
    """Show what a schedule asks, when, and its last runs."""
    from console.cli import schedule

    raise typer.Exit(schedule.show(name, as_json=as_json))


@app.command(
    epilog=options.examples('python starter.py schedule pause weekly --note "until the vote"')
)
def pause(
    name: Name,
    note: Annotated[str | None, typer.Option("--note", metavar="TEXT", help="Why.")] = None,
    as_json: Json = False,
) -> None:
    """Let a schedule start nothing until it is unpaused."""
    from console.cli import schedule

    raise typer.Exit(schedule.pause(name, note, as_json=as_json))


@app.command(epilog=options.examples("python starter.py schedule unpause weekly"))
def unpause(name: Name, as_json: Json = False) -> None:
    """Let a paused schedule go on."""
    from console.cli import schedule

    raise typer.Exit(schedule.unpause(name, as_json=as_json))


@app.command(epilog=options.examples("python starter.py schedule trigger weekly"))
def trigger(name: Name, as_json: Json = False) -> None:
    """Run a schedule now, beside its times."""
    from console.cli import schedule

    raise typer.Exit(schedule.trigger(name, as_json=as_json))


@app.command(epilog=options.examples("python starter.py schedule delete weekly"))
def delete(name: Name, as_json: Json = False) -> None:
    """Take a schedule away. Its jobs stay."""
    from console.cli import schedule

    raise typer.Exit(schedule.delete(name, as_json=as_json))
