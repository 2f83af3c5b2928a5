"""Records the histories of this version: `python -m tests.histories.record [--replace]`.

Real server, real worker, a script at the wire. What it writes to `tests/histories/<version>/` needs
nothing beside it to be replayed, and names neither the machine nor the person it was recorded on.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import os
import shutil
import sys
import tempfile
import tomllib
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from temporalio.client import Client, WorkflowExecutionStatus, WorkflowHistory
from temporalio.testing import WorkflowEnvironment

from console.client import corpora
from console.devserver.server import SEARCH_ATTRIBUTES, find_binary
from console.runtime.data_converter import data_converter
from tests.histories.jobs import KINDS, LONG, Recorded
from tests.histories.scrubbing import clean
from tests.job.conftest import Office, documents
from workflows.config.settings import Settings

HERE = Path(__file__).parent
IDENTITY = "recorder"
EARLY = ("--dynamic-config-value", "limit.historyCount.suggestContinueAsNew=35")


def version() -> str:
    project = tomllib.loads((HERE.parent.parent / "pyproject.toml").read_text("utf-8"))
    return str(project["project"]["version"])


async def recorded(
    kinds: Iterable[Recorded], server: Sequence[str] = ()
) -> dict[str, dict[str, Any]]:
    """The histories of all runs of these jobs and of their passes, by the names of their files."""
    settings = Settings.read({"RESEARCH_HOME": "home"})
    arguments = ["--log-level", "error", *server]
    for name in SEARCH_ATTRIBUTES:
        arguments += ["--search-attribute", f"{name}=Keyword"]
    async with await WorkflowEnvironment.start_local(
        identity=IDENTITY,
        data_converter=data_converter(settings),
        dev_server_existing_path=str(find_binary()),
        dev_server_extra_args=arguments,
    ) as env:
        # Jobs name the corpus: where its documents lie must not stand in a history.
        await corpora.publish(settings, "documents", os.path.join(os.getcwd(), "documents"))
        office = Office(env.client, settings, Path("documents"))
        histories: dict[str, dict[str, Any]] = {}
        for kind in kinds:
            job = await kind(office)
            histories |= {name: clean(h) for name, h in await _of_job(env.client, job)}
            print(f"{kind.__name__}: {(kind.__doc__ or '').strip()}")
    return histories


async def _of_job(client: Client, job: str) -> list[tuple[str, WorkflowHistory]]:
    runs = await _runs(client, job)
    found = [(job if n == 0 else f"{job}-run-{n + 1}", history) for n, history in enumerate(runs)]
    n = 1
    while passes := await _runs(client, f"{job}/pass-{n}"):
        found.append((f"{job}-pass-{n}", passes[-1]))
        n += 1
    return found


async def _runs(client: Client, workflow_id: str) -> list[WorkflowHistory]:
    """The histories of all runs under this id, the oldest first. Lists lag: wait for the last."""
    for _ in range(100):
        runs = [run async for run in client.list_workflows(f'WorkflowId = "{workflow_id}"')]
        if all(run.status is not WorkflowExecutionStatus.RUNNING for run in runs):
            break
        await asyncio.sleep(0.1)
    runs.sort(key=lambda run: run.start_time)
    return [
        await client.get_workflow_handle(workflow_id, run_id=run.run_id).fetch_history()
        for run in runs
    ]


async def record() -> dict[str, dict[str, Any]]:
    return await recorded(KINDS) | await recorded(LONG, EARLY)


def main() -> int:
    parser = argparse.ArgumentParser(description="Record the histories of this version.")
    parser.add_argument("--replace", action="store_true", help="record an unreleased version anew")
    replace = parser.parse_args().replace
    target = HERE / version()
    if target.exists() and not replace:
        print(
            f"{target.name} is recorded already. If it is released, raise the version in"
            " pyproject.toml first; if not, say --replace.",
            file=sys.stderr,
        )
        return 2
    with tempfile.TemporaryDirectory() as place, contextlib.chdir(place):
        documents(Path("documents"))
        histories = asyncio.run(record())
    shutil.rmtree(target, ignore_errors=True)
    target.mkdir()
    for name, history in histories.items():
        (target / f"{name}.json").write_text(json.dumps(history, indent=1) + "\n", "utf-8")
    print(f"{len(histories)} histories in {target.relative_to(HERE.parent.parent)}")
    return 0


if __name__ == "__main__":
    code = main()
    sys.stdout.flush()
    # Temporal's core may abort the interpreter at exit.
    os._exit(code)
