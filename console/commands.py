"""The commands, as a person types them. What they do is in `desk`, imported when one is called."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperGroup

from console.faults import ConsoleError, ExitCode

if TYPE_CHECKING:
    from console.checks import Wish


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

Question = Annotated[str, typer.Argument(help="The question, in quotes.", show_default=False)]
JobId = Annotated[str, typer.Argument(metavar="ID", help="The job's id.", show_default=False)]
Corpus = Annotated[
    Path | None, typer.Option("--corpus", metavar="DIR", help="A folder of documents to read.")
]
Effort = Annotated[str, typer.Option("--effort", help="quick, standard or deep.")]
MaxPasses = Annotated[
    int | None, typer.Option("--max-passes", metavar="N", help="Refinement passes at most.")
]
MaxFacets = Annotated[
    int | None, typer.Option("--max-facets", metavar="N", help="Sub-questions at most.")
]
Budget = Annotated[
    float | None, typer.Option("--budget-usd", metavar="X", help="A hard limit in dollars.")
]
Model = Annotated[
    str | None,
    typer.Option("--model", metavar="NAME", help="A Claude model, or `offline`, which needs none."),
]
NewId = Annotated[
    str | None, typer.Option("--id", metavar="ID", help="Name the job, or take it up again.")
]
Out = Annotated[Path, typer.Option("--out", metavar="DIR", help="Where the report goes.")]
FailOnGaps = Annotated[
    bool, typer.Option("--fail-on-gaps", help="Exit with 3 where gaps are left.")
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON for a program to read.")]


def _wish(
    question: str,
    corpus: Path | None,
    effort: str,
    max_passes: int | None,
    max_facets: int | None,
    budget_usd: float | None,
    model: str | None,
) -> Wish:
    from console.checks import Wish

    return Wish(question, corpus, effort, max_passes, max_facets, budget_usd, model)


@app.command()
def run(
    question: Question,
    corpus: Corpus = None,
    effort: Effort = "standard",
    max_passes: MaxPasses = None,
    max_facets: MaxFacets = None,
    budget_usd: Budget = None,
    model: Model = None,
    job_id: NewId = None,
    out: Out = Path("out"),
    fail_on_gaps: FailOnGaps = False,
    as_json: Json = False,
) -> None:
    """Research a question to its end and write report.md, report.html and report.json.

    Exit code 0: a report was written. 3: the same, with gaps, under --fail-on-gaps. 4: nothing was
    found. 2: the command must change. 1: failed or blocked.
    """
    from console import desk

    wish = _wish(question, corpus, effort, max_passes, max_facets, budget_usd, model)
    raise typer.Exit(desk.run(wish, job_id, out, fail_on_gaps=fail_on_gaps, as_json=as_json))


@app.command()
def start(
    question: Question,
    corpus: Corpus = None,
    effort: Effort = "standard",
    max_passes: MaxPasses = None,
    max_facets: MaxFacets = None,
    budget_usd: Budget = None,
    model: Model = None,
    job_id: NewId = None,
    as_json: Json = False,
) -> None:
    """Start a job on a configured server and return at once."""
    from console import desk

    wish = _wish(question, corpus, effort, max_passes, max_facets, budget_usd, model)
    raise typer.Exit(desk.start(wish, job_id, as_json=as_json))


@app.command()
def watch(job_id: JobId) -> None:
    """Show a job until it ends."""
    from console import desk

    raise typer.Exit(desk.watch(job_id))


@app.command()
def status(job_id: JobId, as_json: Json = False) -> None:
    """Say where a job stands."""
    from console import enquiries

    raise typer.Exit(enquiries.status(job_id, as_json=as_json))


@app.command()
def result(job_id: JobId, out: Out = Path("out")) -> None:
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
            help="running, blocked, completed, failed, cancelled, terminated or timed_out.",
        ),
    ] = None,
    as_json: Json = False,
) -> None:
    """List the jobs, newest first."""
    from console import enquiries

    raise typer.Exit(enquiries.list_jobs(only, as_json=as_json))


@app.command()
def resume(job_id: JobId, out: Out = Path("out")) -> None:
    """Go on with a job that is blocked or was left unfinished."""
    from console import desk

    raise typer.Exit(desk.resume(job_id, out))


@app.command()
def cancel(job_id: JobId) -> None:
    """End a job without a report."""
    from console import desk

    raise typer.Exit(desk.cancel(job_id))
