"""Start-up: `starter.py --help`, what imports cost, and `run` from the shell to its first subagent.

The job's own history has the times, on the same clock as the shell's. The second run is that of a
warm machine: files are cached and compiled, and the state folder is there. What a worker loads
beside its first work is in "first review_plan", which the planner has to be done for.
"""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from typing import Any

from temporalio.api.enums.v1 import EventType
from temporalio.client import Client

from benchmarks.engines.processes import ROOT, clean
from console.devserver.server import run_dev_server

HELP_LIMIT, RUN_LIMIT = 0.3, 2.0
QUESTION = "What is known about the charging of electric ferries?"
IMPORTS = ("console.cli.app", "console.cli.run", "worker", "anthropic", "temporalio.worker")
TRIES = 5
SHOWN = 6


@dataclass
class Imports:
    """What importing a module costs, by the package whose files are run."""

    seconds: float = 0.0
    cpu: float = 0.0
    """Seconds of processor of an interpreter that does nothing else: the same on a busy machine."""
    packages: Counter[str] = field(default_factory=Counter)
    """Microseconds."""


def helped() -> dict[str, float]:
    """`--help`: seconds by the clock and of the processor."""
    took = [_timed("starter.py", "--help") for _ in range(TRIES)]
    clock, cpu = [t for t, _ in took], [c for _, c in took]
    return {"seconds": round(median(clock), 3), "best": round(min(clock), 3),
            "cpu_seconds": round(median(cpu), 3)}  # fmt: skip


def imported(module: str) -> Imports:
    found = read_imports(
        subprocess.run(
            [sys.executable, "-X", "importtime", "-c", f"import {module}"],
            cwd=ROOT, env=_env(), check=True, capture_output=True, text=True,
        ).stderr
    )  # fmt: skip
    found.cpu = min(_timed("-c", f"import {module}")[1] for _ in range(TRIES))
    return found


def _timed(*arguments: str) -> tuple[float, float]:
    """Seconds by the clock and of the processor until such an interpreter ends."""
    began, before = time.perf_counter(), os.times()
    subprocess.run(
        [sys.executable, *arguments],
        cwd=ROOT, env=_env(), check=True, stdout=subprocess.DEVNULL,
    )  # fmt: skip
    took, after = time.perf_counter() - began, os.times()
    user = after.children_user - before.children_user
    return took, user + after.children_system - before.children_system


def _env() -> dict[str, str]:
    """With bytecode kept, as it is unless somebody says otherwise."""
    return {n: value for n, value in clean().items() if n != "PYTHONDONTWRITEBYTECODE"}


def read_imports(told: str) -> Imports:
    """The interpreter's own account, one line a module: own time, with what it imports, name."""
    found = Imports()
    for line in told.splitlines():
        if not line.startswith("import time:") or "self [us]" in line:
            continue
        own, _, name = line.removeprefix("import time:").split("|")
        found.packages[name.strip().partition(".")[0]] += int(own)
        found.seconds += int(own) / 1e6
    return found


def run_from_shell(home: Path, job: str) -> dict[str, float]:
    """Seconds from the command to each step of its job."""
    began = time.time()
    subprocess.run(
        [sys.executable, "starter.py", "run", QUESTION, "--corpus", str(ROOT / "sample_corpus"),
         "--out", str(home / "out"), "--max-passes", "0", "--id", job],
        cwd=ROOT, env=_env() | {"RESEARCH_HOME": str(home)}, check=True,
        stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
    )  # fmt: skip
    whole = time.time() - began
    with run_dev_server(home) as running:
        steps = asyncio.run(_steps(running.address, job))
    since = {name: at - began for name, at in steps.items()} | {"the command has ended": whole}
    return {name: round(at, 3) for name, at in sorted(since.items(), key=lambda item: item[1])}


async def _steps(address: str, job: str) -> dict[str, float]:
    """When the job was started, and each kind of its activities for the first time."""
    steps: dict[str, float] = {}
    names: dict[int, str] = {}
    client = await Client.connect(address)
    async for event in client.get_workflow_handle(job).fetch_history_events():
        at = event.event_time.ToMicroseconds() / 1e6
        if event.event_type == EventType.EVENT_TYPE_WORKFLOW_EXECUTION_STARTED:
            steps["the job is started"] = at
        elif event.event_type == EventType.EVENT_TYPE_ACTIVITY_TASK_SCHEDULED:
            kind = event.activity_task_scheduled_event_attributes.activity_type.name
            names[event.event_id] = kind
        elif event.event_type == EventType.EVENT_TYPE_ACTIVITY_TASK_STARTED:
            asked = event.activity_task_started_event_attributes.scheduled_event_id
            steps.setdefault(f"first {names[asked]}", at)
    return steps


def table(found: dict[str, Any]) -> str:
    helping, run = found["help"], found["run"]
    lines = [
        f"`starter.py --help`: {helping['seconds']} s (best {helping['best']}, processor"
        f" {helping['cpu_seconds']}); wanted under {HELP_LIMIT} s.",
        "",
        "| `run`, seconds since the command | cold | warm |",
        "| --- | --- | --- |",
        *(f"| {name} | {run['cold'].get(name, '')} | {at} |" for name, at in run["warm"].items()),
        "",
        "| import | seconds | processor | most of it, ms |",
        "| --- | --- | --- | --- |",
    ]
    for module, one in found["imports"].items():
        most = ", ".join(f"{name} {ms:g}" for name, ms in list(one["packages"].items())[:SHOWN])
        lines.append(f"| {module} | {one['seconds']} | {one['cpu_seconds']} | {most} |")
    return "\n".join(lines)
