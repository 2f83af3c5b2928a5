"""An end for everything: delete jobs, forget documents and tenants, retention, backups."""

from __future__ import annotations

import asyncio
import json
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any

import typer

from console import client
from console.cli.options import OPERATE, JobId, Json, examples
from console.errors import COMMAND, BadInputError, ExitCode
from console.formatting import format_size, message_stream, say

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping

    from activities.storage.store import Store
    from console.client.deletion import Receipt
    from console.client.session import Session
    from console.devserver.backups import Manifest
    from workflows.config.settings import Settings
    from workflows.contracts.activity_io import RetentionResult

_NOT_COPIED = "This could not be copied: check the place"

Yes = Annotated[bool, typer.Option("--yes", help="Do not ask.")]

app = typer.Typer()
forgetting = typer.Typer(
    help="Forget a document or a tenant, with all that was made from it.", no_args_is_help=True
)


@app.command(rich_help_panel=OPERATE, epilog=examples("delete x1", "delete x1 --yes --json"))
def delete(job_id: JobId, yes: Yes = False, as_json: Json = False) -> ExitCode:
    """Delete a job: histories, journal, checkpoints, reports, and what only it refers to.

    Prints a receipt. Reports that were written with --out are files of yours and stay.
    """
    _confirm(f"Delete the job {job_id} with all it stored? This cannot be undone.", yes)
    return _delete(
        lambda session, store, tell: client.deletion.delete_jobs(
            session.client, session.settings, store, [job_id], tell
        ),
        f"The job {job_id} is deleted.",
        as_json=as_json,
    )


@forgetting.command(epilog=examples("forget document minutes/2024-05.pdf --with-reports"))
def document(
    source: Annotated[
        str,
        typer.Argument(metavar="SOURCE", help="Its path in a corpus, or the SHA-256 of the file."),
    ],
    with_reports: Annotated[
        bool, typer.Option("--with-reports", help="Delete the jobs that have read it, too.")
    ] = False,
    yes: Yes = False,
    as_json: Json = False,
) -> ExitCode:
    """Forget a document: in all corpora, their versions, texts and indexes.

    The jobs that have read it are listed: their journals and reports hold words of it. Remove the
    file from its source, too, or the next refresh brings it back.
    """
    _confirm(f"Forget {source} in all corpora? This cannot be undone.", yes)
    return _delete(
        lambda session, store, tell: client.deletion.forget_document(
            session.client,
            session.settings,
            store,
            source,
            with_reports=with_reports,
            on_progress=tell,
        ),
        f"{source} is forgotten.",
        as_json=as_json,
    )


@forgetting.command(epilog=examples("forget tenant acme --corpus acme-contracts"))
def tenant(
    name: Annotated[str, typer.Argument(metavar="NAME", help="The tenant of the jobs.")],
    corpora: Annotated[
        list[str] | None,
        typer.Option("--corpus", metavar="NAME", help="A corpus that goes with it; repeatable."),
    ] = None,
    yes: Yes = False,
    as_json: Json = False,
) -> ExitCode:
    """Forget a tenant: all its jobs, and the corpora you name."""
    _confirm(f"Delete all jobs of the tenant {name}? This cannot be undone.", yes)
    return _delete(
        lambda session, store, tell: client.deletion.forget_tenant(
            session.client,
            session.settings,
            store,
            name,
            corpora=corpora or (),
            on_progress=tell,
        ),
        f"The tenant {name} is forgotten.",
        as_json=as_json,
    )


@app.command(
    rich_help_panel=OPERATE,
    epilog=examples("retention", "retention --dry-run", "retention --now --json"),
)
def retention(
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Show what --now deletes.")] = False,
    now: Annotated[bool, typer.Option("--now", help="Delete what is too old now.")] = False,
    as_json: Json = False,
) -> ExitCode:
    """Show how long what is kept, or delete what is older.

    Workers on a server of your own create a schedule for it; on the embedded server a command does
    it once a day.
    """
    if dry_run and now:
        raise BadInputError("--dry-run deletes nothing: omit it, or --now.")
    settings = client.session.prepare_settings()
    if not dry_run and not now:
        _show_ages(settings, as_json=as_json)
        return ExitCode.REPORT

    async def action(session: Session) -> None:
        result = await _run_pass(session, dry_run=dry_run)
        if as_json:
            print(result.model_dump_json(indent=2))
            return
        word = "would be deleted" if dry_run else "deleted"
        for name, total in result.deleted.items():
            print(f"{name:<12} {total.count:>9,} objects {format_size(total.bytes):>9} {word}")
        if not result.deleted:
            print("Nothing is too old.")

    return client.session.run(action, settings=settings)


async def _run_pass(session: Session, *, dry_run: bool) -> RetentionResult:
    from activities.storage.retention import delete_old
    from console.runtime.connection import RETENTION
    from console.runtime.data_converter import explain_store_errors, store_of
    from workflows.contracts.activity_io import RetentionBrief, RetentionResult
    from workflows.contracts.request import TASK_QUEUE

    if session.server is None and not dry_run:
        # On a worker, which heartbeats: a large store takes a while.
        found: RetentionResult = await session.client.execute_workflow(
            "RetentionWorkflow",
            RetentionBrief(),
            id=f"{RETENTION}-now",
            task_queue=TASK_QUEUE,
            result_type=RetentionResult,
        )
        return found
    with explain_store_errors("Nothing was deleted"):
        return await delete_old(
            store_of(session.client), session.client, session.settings.keep_days, dry_run=dry_run
        )


def _show_ages(settings: Settings, *, as_json: bool) -> None:
    if as_json:
        hours = settings.retention_hours
        print(json.dumps({"keep_days": settings.keep_days, "every_hours": hours}, indent=2))
        return
    for name, days in settings.keep_days.items():
        print(f"{name:<12} {f'{days:g} days' if days else 'for ever'}")
    every = settings.retention_hours
    say(
        f"A pass deletes what is older every {every:g} hours"
        if every
        else "No pass deletes by age (RESEARCH_RETENTION_HOURS=0)"
    )
    say(f"RESEARCH_KEEP_DAYS sets the ages; `{COMMAND} retention --dry-run` shows what would go.")


@app.command(
    rich_help_panel=OPERATE,
    epilog=examples("backup /backups/2026-11-18", "backup s3://backups/2026-11-18"),
)
def backup(
    target: Annotated[
        str, typer.Argument(metavar="TARGET", help="A folder, or s3://, gs://, az://, file://.")
    ],
    as_json: Json = False,
) -> None:
    """Copy the store and the embedded server's database, also while jobs run.

    On a server of your own, back up its database first, then call this for the store.
    """
    from console.devserver.backups import make_backup
    from console.runtime.data_converter import explain_store_errors

    settings = client.session.prepare_settings()
    store = client.corpora.open_store(settings)
    tell = partial(say, stream=message_stream(as_json))
    with explain_store_errors(_NOT_COPIED):
        made = asyncio.run(make_backup(settings, store, target, tell))
    if as_json:
        print(json.dumps(_summarize(made, target), indent=2))
        return
    print(f"{len(made.objects):,} objects, {format_size(made.bytes)}, are in {target}.")
    if made.database is None:
        say(
            "The database is not among them: it belongs to your server. Its backup must be older"
            " than this one, so that every object a history refers to is here."
        )
    if settings.keys:
        say("The keys are not among them: keep a copy of the keys file elsewhere.")


@app.command(rich_help_panel=OPERATE, epilog=examples("restore /backups/2026-11-18"))
def restore(
    origin: Annotated[str, typer.Argument(metavar="FROM", help="The folder or URL of a backup.")],
    as_json: Json = False,
) -> None:
    """Bring a backup back into an empty store and state folder, every object checked."""
    from console.devserver.backups import restore_backup
    from console.runtime.data_converter import explain_store_errors

    settings = client.session.prepare_settings()
    tell = partial(say, stream=message_stream(as_json))
    with explain_store_errors(_NOT_COPIED):
        made = asyncio.run(restore_backup(settings, origin, tell))
    if as_json:
        print(json.dumps(_summarize(made, origin), indent=2))
        return
    print(f"{len(made.objects):,} objects, {format_size(made.bytes)}, are back, as of {made.at}.")
    say(f"`{COMMAND} list` shows the jobs; `{COMMAND} resume ID` continues one.")


def _summarize(made: Manifest, place: str) -> dict[str, Any]:
    return {
        "place": place,
        "at": made.at,
        "objects": len(made.objects),
        "bytes": made.bytes,
        "database_bytes": made.database.size if made.database else None,
    }


def _delete(
    call: Callable[[Session, Store, Callable[[str], None]], Awaitable[Receipt]],
    done: str,
    *,
    as_json: bool,
) -> ExitCode:
    async def action(session: Session) -> None:
        from console.runtime.data_converter import explain_store_errors, store_of

        tell = partial(say, stream=message_stream(as_json))
        with explain_store_errors("Nothing was deleted"):
            receipt = await call(session, store_of(session.client), tell)
        print(json.dumps(receipt, indent=2))
        if not as_json:
            say(done)
            _explain(receipt)

    return client.session.run(action)


def _explain(receipt: Mapping[str, Any]) -> None:
    if receipt.get("left"):
        say(
            f"{len(receipt['left'])} objects were wanted by another open job within the last half"
            " hour and are left; a retention pass deletes them when nothing refers to them."
        )
    if names := receipt.get("turns_left_in_journals_of"):
        say(f"It was a fork: its turns are in the journal of {', '.join(names)}; delete that, too.")
    if (names := receipt.get("read_by")) and "deleted_jobs" not in receipt:
        say(
            f"These jobs have read it, and their journals and reports hold words of it:"
            f" {', '.join(names)}. `delete` them, or repeat with --with-reports."
        )


def _confirm(question: str, yes: bool) -> None:
    if not yes and not typer.confirm(question):
        raise BadInputError("Nothing was deleted: answer yes, or give --yes.")
