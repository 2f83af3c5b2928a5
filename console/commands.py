"""The commands, as a person types them. What they do is imported when one is called."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from console import controls, options, scheduling
from console.faults import ConsoleError, ExitCode


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


app = typer.Typer(
    cls=_Front,
    help="Research a question: planned, verified, cited, and honest about its gaps.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)


@app.command()
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
    from console import desk

    raise typer.Exit(
        desk.run(options.wish(ctx), job_id, out, fail_on_gaps=fail_on_gaps, as_json=as_json)
    )


@app.command()
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
    from console import desk

    raise typer.Exit(desk.start(options.wish(ctx), job_id, as_json=as_json))


@app.command()
def watch(job_id: options.JobId) -> None:
    """Show a job until it ends."""
    from console import desk

    raise typer.Exit(desk.watch(job_id))


@app.command()
def status(job_id: options.JobId, as_json: options.Json = False) -> None:
    """Say where a job stands."""
    from console import enquiries

    raise typer.Exit(enquiries.status(job_id, as_json=as_json))


@app.command()
def plan(job_id: options.JobId, as_json: options.Json = False) -> None:
    """Show a job's plan; with --json as a file that can be edited for `approve --plan`."""
    from console import enquiries

    raise typer.Exit(enquiries.plan(job_id, as_json=as_json))


@app.command()
def result(job_id: options.JobId, out: options.Out = Path("out")) -> None:
    """Write the report of a finished job."""
    from console import enquiries

    raise typer.Exit(enquiries.result(job_id, out))


@app.command(name="list")
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
    from console import listing

    raise typer.Exit(listing.list_jobs(only, as_json=as_json))


@app.command()
def roles() -> None:
    """Show which model, effort and tools each role has."""
    from console import staff
    from console.session import current_settings

    raise typer.Exit(staff.roles(current_settings()))


app.add_typer(controls.app)
app.add_typer(scheduling.app, name="schedule")
