"""The `corpus` commands: documents in the store, for jobs of every worker.

`add` and `refresh` run where the documents are; workers need the store only.
"""

from __future__ import annotations

import asyncio
import json
from dataclasses import asdict
from functools import partial
from typing import TYPE_CHECKING, Annotated

import typer

from console import client
from console.cli.options import Json, examples
from console.errors import COMMAND, ExitCode
from console.formatting import message_stream, say

if TYPE_CHECKING:
    from activities.storage.corpus_versions import CorpusHead, Rules
    from console.client.corpora import FileRecord
    from console.client.session import Session

Name = Annotated[str, typer.Argument(metavar="NAME", help="The corpus.", show_default=False)]
Labels = Annotated[
    list[str] | None,
    typer.Option(
        "--label",
        metavar="PATTERN=LABEL",
        help="Files that only jobs with this label see: 'salaries/*=hr'; repeatable.",
    ),
]

app = typer.Typer(
    help="Documents in the store: versioned, indexed once, read by every worker.",
    no_args_is_help=True,
)


@app.command(
    epilog=examples(
        "corpus add reports ./documents",
        "corpus add reports s3://bucket/reports",
        "corpus add staff ./staff --label 'salaries/*=hr'",
    )
)
def add(
    name: Name,
    source: Annotated[
        str, typer.Argument(metavar="SOURCE", help="A folder, or s3://, gs://, az://, file://.")
    ],
    labels: Labels = None,
    as_json: Json = False,
) -> ExitCode:
    """Put the documents of a folder or a bucket into the store, and index them."""
    if "://" not in source:
        images = client.session.read_settings().ocr
        source = str(client.validation.check_folder(source, images))
    return _publish(name, source, client.corpora.read_rules(labels or []), as_json=as_json)


@app.command(epilog=examples("corpus refresh reports"))
def refresh(name: Name, labels: Labels = None, as_json: Json = False) -> ExitCode:
    """Bring a corpus up to date with its source; only what changed is read."""
    settings = client.session.prepare_settings()
    head = asyncio.run(client.corpora.find(settings, name))
    return _publish(
        name, head.source, client.corpora.read_rules(labels) if labels else None, as_json=as_json
    )


@app.command("list", epilog=examples("corpus list"))
def list_corpora(as_json: Json = False) -> None:
    """List the corpora of the store."""
    settings = client.session.prepare_settings()
    heads = asyncio.run(client.corpora.list_heads(settings))
    if as_json:
        print(json.dumps([head.model_dump(mode="json") for head in heads], indent=2))
        return
    for head in heads:
        print(_describe(head))
    if not heads:
        print(f"No corpora: `{COMMAND} corpus add NAME SOURCE` adds one.")


@app.command(epilog=examples("corpus show reports", "corpus show reports --json"))
def show(name: Name, as_json: Json = False) -> None:
    """Show a corpus and its files."""
    settings = client.session.prepare_settings()
    head, files = asyncio.run(client.corpora.list_files(settings, name))
    if as_json:
        print(
            json.dumps(
                {**head.model_dump(mode="json"), "listing": list(map(asdict, files))}, indent=2
            )
        )
        return
    print(_describe(head))
    for pattern, labels in head.rules.items():
        print(f"  only with {', '.join(labels)}: {pattern}")
    for file in files:
        print(f"  {file.path}{_remark(file)}")


@app.command(epilog=examples("corpus remove reports"))
def remove(name: Name, as_json: Json = False) -> None:
    """Forget a corpus. Its source stays, and jobs that read one of its versions go on."""
    settings = client.session.prepare_settings()
    asyncio.run(client.corpora.remove(settings, name))
    done = f"The corpus {name} is removed; jobs that read it go on."
    print(json.dumps({"name": name, "command": "remove"}) if as_json else done)


def _publish(name: str, source: str, rules: Rules | None, *, as_json: bool) -> ExitCode:
    stream, job_id = message_stream(as_json), f"corpus-{name}"
    settings = client.session.prepare_settings()
    progress = partial(say, stream=stream)

    async def action(session: Session) -> None:
        head = await client.corpora.publish(
            settings, name, source, rules=rules, on_progress=progress
        )
        queue = client.session.find_task_queue(settings, job_id)
        ready = await client.corpora.index(session.client, head, queue, progress)
        say(f"{_describe(head)}: {ready.documents:,} documents", stream)
        for file in ready.unreadable:
            say(f"  could not be read: {file.uri}: {file.reason}", stream)
        if as_json:
            found = ready.model_dump(
                mode="json", include={"documents", "unreadable", "unreadable_count"}
            )
            print(json.dumps(head.model_dump(mode="json") | found))

    return client.session.run(
        action,
        settings=settings,
        job_id=job_id,
        on_interrupt=f"\nStopped; `{COMMAND} corpus add {name} {source}` goes on with it.",
    )


def _describe(head: CorpusHead) -> str:
    size = f"{head.files:,} files, {head.bytes:,} bytes"
    return f"{head.name}  version {head.version[:12]}  {size}  {head.updated}  {head.source}"


def _remark(file: FileRecord) -> str:
    shown = f"  [{', '.join(file.labels)}]" if file.labels else ""
    return f"{shown}  ({file.problem})" if file.problem else shown
