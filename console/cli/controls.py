"""The commands an operator types: to steer a running job, and to take one up from a checkpoint."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from console.cli.options import (
    RECOVER,
    STEER,
    From,
    JobId,
    Json,
    Out,
    OutIfWanted,
    Wait,
    examples,
)

app = typer.Typer()


@app.command(
    rich_help_panel=STEER,
    epilog=examples(
        "python starter.py approve x1",
        "python starter.py approve x1 --plan plan.json",
        'python starter.py approve x1 --reject --note "leave the history out"',
    ),
)
def approve(
    job_id: JobId,
    plan: Annotated[
        Path | None,
        typer.Option(
            "--plan", metavar="FILE", help="Take this plan instead: `plan ID --json`, edited."
        ),
    ] = None,
    reject: Annotated[
        bool,
        typer.Option("--reject", help="Say no: with --note it is planned anew, without it ends."),
    ] = False,
    note: Annotated[str, typer.Option("--note", metavar="TEXT", help="Why.")] = "",
    as_json: Json = False,
) -> None:
    """Say yes or no to the plan of a job that waits for it."""
    from console.cli import control

    raise typer.Exit(control.approve(job_id, plan, reject=reject, note=note, as_json=as_json))


@app.command(
    rich_help_panel=STEER,
    epilog=examples(
        'python starter.py steer x1 --note "mind the years before 2020"',
        'python starter.py steer x1 --add-facet "Risks: What can go wrong?" --budget-usd 5',
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
        typer.Option("--drop-facet", metavar="FACET", help="Leave this facet out."),
    ] = None,
    refine: Annotated[
        list[str] | None,
        typer.Option("--refine-facet", metavar='"FACET: QUESTION"', help="Ask it something else."),
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
) -> None:
    """Change a job while it runs; only what is affected is touched. Options can be repeated."""
    from console.cli import control

    raise typer.Exit(
        control.steer(
            job_id,
            add=add or [],
            drop=drop or [],
            refine=refine or [],
            notes=notes or [],
            budget_usd=budget_usd,
            budget_tokens=budget_tokens,
            as_json=as_json,
        )
    )


@app.command(
    rich_help_panel=STEER,
    epilog=examples("python starter.py pause x1"),
)
def pause(job_id: JobId, as_json: Json = False) -> None:
    """Let a job buy nothing more until it is resumed."""
    from console.cli import control

    raise typer.Exit(control.pause(job_id, as_json=as_json))


@app.command(
    rich_help_panel=STEER,
    epilog=examples("python starter.py resume x1"),
)
def resume(job_id: JobId, out: Out = Path("out"), as_json: Json = False) -> None:
    """Go on with a job that is blocked, paused or was left unfinished."""
    from console.cli import run

    raise typer.Exit(run.resume(job_id, out, as_json=as_json))


@app.command(
    rich_help_panel=STEER,
    epilog=examples("python starter.py finish x1"),
)
def finish(job_id: JobId, as_json: Json = False) -> None:
    """Start no more research; write the report from what there is."""
    from console.cli import control

    raise typer.Exit(control.finish(job_id, as_json=as_json))


@app.command(
    rich_help_panel=STEER,
    epilog=examples("python starter.py cancel x1"),
)
def cancel(job_id: JobId, as_json: Json = False) -> None:
    """End a job without a report."""
    from console.cli import control

    raise typer.Exit(control.cancel(job_id, as_json=as_json))


@app.command(
    rich_help_panel=RECOVER,
    epilog=examples("python starter.py checkpoints x1"),
)
def checkpoints(job_id: JobId, as_json: Json = False) -> None:
    """List what a job can be taken up from."""
    from console.cli import points

    raise typer.Exit(points.checkpoints(job_id, as_json=as_json))


@app.command(
    rich_help_panel=RECOVER,
    epilog=examples(
        "python starter.py restart x1 --from researched",
        "python starter.py restart --query 'ResearchStatus=\"blocked\"'",
    ),
)
def restart(
    job_id: Annotated[
        str | None, typer.Argument(metavar="[ID]", help="The job's id.", show_default=False)
    ] = None,
    query: Annotated[
        str | None,
        typer.Option("--query", metavar="Q", help="All jobs this visibility query finds."),
    ] = None,
    name: From = None,
    out: OutIfWanted = None,
    wait: Wait = False,
    as_json: Json = False,
) -> None:
    """Take up a job that failed, timed out, was cancelled, terminated or is blocked.

    One that still runs is closed first. What was bought before is not bought again.
    """
    from console.cli import restart

    raise typer.Exit(restart.restart(job_id, query, name, out=out, wait=wait, as_json=as_json))


@app.command(
    rich_help_panel=RECOVER,
    epilog=examples(
        "python starter.py fork x1 --from planned --set effort=deep --set budget_usd=20"
    ),
)
def fork(
    job_id: JobId,
    name: From = None,
    assignments: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="KEY=VALUE", help="Another setting; repeatable."),
    ] = None,
    new_id: Annotated[
        str | None, typer.Option("--id", metavar="NEW", help="Name the new job.")
    ] = None,
    out: OutIfWanted = None,
    wait: Wait = False,
    as_json: Json = False,
) -> None:
    """Start another job from a checkpoint of this one, with other settings.

    Settings: model, effort, max_passes, max_facets, max_claims, budget_usd,
    budget_tokens, parallel, subagent_seconds; for one role (see `roles`)
    model.ROLE and effort.ROLE.
    """
    from console.cli import restart

    code = restart.fork(
        job_id, name, assignments or [], new_id, out=out, wait=wait, as_json=as_json
    )
    raise typer.Exit(code)
