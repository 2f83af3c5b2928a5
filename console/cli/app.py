"""The commands, as a person types them. What they do is imported when one is called."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from console.cli import controls, options, scheduling
from console.errors import ConsoleError, ExitCode


class _Front(TyperGroup):
    """Tells what went wrong in one line, and ends with the code that says what kind it was."""

    def invoke(self, ctx: Any) -> Any:
        try:
            return super().invoke(ctx)
        except ConsoleError as error:
            typer.echo(f"Error: {error}", err=True)
            raise typer.Exit(error.code) from None
        except KeyboardInterrupt:
            raise typer.Exit(ExitCode.INTERRUPTED) from None


_HELP = """Research a question: planned, verified, cited, and honest about its gaps.

Two commands are all one needs to begin:

  python starter.py run "What does it cost, and who pays?" --corpus DIR
  python starter.py serve

The first writes the report into out/. The second does the same in a browser.
Every command shows examples of its own with --help.
"""

app = typer.Typer(
    cls=_Front,
    help=_HELP,
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)


@app.command(
    rich_help_panel=options.ASK,
    epilog=options.examples(
        'python starter.py run "What is known about X?" --corpus documents',
        'python starter.py run "Compare A and B" --web --effort deep --budget-usd 10',
        'python starter.py run "What is known about X?" --corpus documents --approve',
    ),
)
def run(
    ctx: typer.Context,
    question: options.Question,
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
    approve: options.Approve = False,
    approve_within: options.ApproveWithin = None,
    unanswered: options.Unanswered = None,
    model: options.Model = None,
    job_id: options.NewId = None,
    out: options.Out = Path("out"),
    fail_on_gaps: options.FailOnGaps = False,
    as_json: options.Json = False,
) -> None:
    """Research a question to its end and write report.md, report.html and report.json.

    Exit codes: 0 a report was written, 1 failed or blocked, 2 bad input,
    3 gaps are left (with --fail-on-gaps), 4 nothing was found.
    """
    from console.cli import run

    raise typer.Exit(
        run.run(options.wish(ctx), job_id, out, fail_on_gaps=fail_on_gaps, as_json=as_json)
    )


@app.command(
    rich_help_panel=options.ASK,
    epilog=options.examples(
        'TEMPORAL_ADDRESS=temporal:7233 python starter.py start "What is known about X?" --web'
    ),
)
def start(
    ctx: typer.Context,
    question: options.Question,
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
    approve: options.Approve = False,
    approve_within: options.ApproveWithin = None,
    unanswered: options.Unanswered = None,
    model: options.Model = None,
    job_id: options.NewId = None,
    as_json: options.Json = False,
) -> None:
    """Start a job on a configured server and return at once."""
    from console.cli import run

    raise typer.Exit(run.start(options.wish(ctx), job_id, as_json=as_json))


@app.command(
    rich_help_panel=options.LOOK,
    epilog=options.examples(
        "python starter.py watch x1", "python starter.py watch x1 --json > result.json"
    ),
)
def watch(job_id: options.JobId, as_json: options.Json = False) -> None:
    """Show a job until it ends."""
    from console.cli import run

    raise typer.Exit(run.watch(job_id, as_json=as_json))


@app.command(
    rich_help_panel=options.LOOK,
    epilog=options.examples(
        "python starter.py status x1", "python starter.py status x1 --json | jq .waiting"
    ),
)
def status(job_id: options.JobId, as_json: options.Json = False) -> None:
    """Say where a job stands."""
    from console.cli import inspect

    raise typer.Exit(inspect.status(job_id, as_json=as_json))


@app.command(
    rich_help_panel=options.LOOK,
    epilog=options.examples(
        "python starter.py plan x1", "python starter.py plan x1 --json > plan.json"
    ),
)
def plan(job_id: options.JobId, as_json: options.Json = False) -> None:
    """Show a job's plan; with --json as a file that can be edited for `approve --plan`."""
    from console.cli import inspect

    raise typer.Exit(inspect.plan(job_id, as_json=as_json))


@app.command(
    rich_help_panel=options.LOOK, epilog=options.examples("python starter.py gaps x1 --json")
)
def gaps(job_id: options.JobId, as_json: options.Json = False) -> None:
    """Say what the report lacks so far, and how each gap ended."""
    from console.cli import inspect

    raise typer.Exit(inspect.gaps(job_id, as_json=as_json))


@app.command(
    rich_help_panel=options.LOOK, epilog=options.examples("python starter.py result x1 --out x1")
)
def result(
    job_id: options.JobId,
    out: options.Out = Path("out"),
    fail_on_gaps: options.FailOnGaps = False,
    as_json: options.Json = False,
) -> None:
    """Write the report of a finished job."""
    from console.cli import inspect

    raise typer.Exit(inspect.result(job_id, out, fail_on_gaps=fail_on_gaps, as_json=as_json))


@app.command(
    name="list",
    rich_help_panel=options.LOOK,
    epilog=options.examples(
        "python starter.py list",
        "python starter.py list --status blocked",
        "python starter.py list --json | jq -r '.[].id'",
    ),
)
def list_jobs(
    only: Annotated[
        str | None,
        typer.Option(
            "--status",
            metavar="S",
            help="running, blocked, paused, awaiting_approval, completed, failed, cancelled,"
            " terminated or timed_out.",
        ),
    ] = None,
    as_json: options.Json = False,
) -> None:
    """List the jobs, newest first."""
    from console.client import job_list

    raise typer.Exit(job_list.list_jobs(only, as_json=as_json))


@app.command(
    rich_help_panel=options.LOOK,
    epilog=options.examples(
        "python starter.py roles",
        "RESEARCH_EFFORT_WRITER=high python starter.py roles",
    ),
)
def roles(as_json: options.Json = False) -> None:
    """Show which model, effort and tools each role has."""
    from console.cli import roles
    from console.client.session import current_settings

    raise typer.Exit(roles.roles(current_settings(), as_json=as_json))


serving = typer.Typer()


@serving.command(
    rich_help_panel=options.SERVE,
    epilog=options.examples(
        "python starter.py serve",
        "RESEARCH_CONSOLE_TOKEN=... python starter.py serve --host 0.0.0.0 --port 8484",
    ),
)
def serve(
    host: Annotated[
        str, typer.Option("--host", metavar="ADDRESS", help="Where to listen.")
    ] = "127.0.0.1",
    port: Annotated[int, typer.Option("--port", metavar="N", help="0 takes a free one.")] = 8484,
    token: Annotated[
        str | None,
        typer.Option(
            "--token",
            metavar="WORD",
            envvar="RESEARCH_CONSOLE_TOKEN",
            help="What a browser must know; one is made up on loopback where none is given.",
            show_default=False,
        ),
    ] = None,
) -> None:
    """Ask, watch, steer and read in a browser."""
    from console.web import serve as web

    raise typer.Exit(web.serve(host, port, token))


app.add_typer(controls.app)
app.add_typer(serving)
app.add_typer(scheduling.app, name="schedule", rich_help_panel=options.SERVE)
