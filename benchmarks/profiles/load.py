"""The worker at load, under a profile: whose code its time goes to, and which of its threads."""

from __future__ import annotations

import json
import os
import signal
import sysconfig
import time
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.engines.ours import Ours
from benchmarks.engines.processes import ROOT, cpu_seconds, until

TOP = 15
_TICKS = os.sysconf("SC_CLK_TCK")
_GROUPS = {
    "temporalio": "Temporal SDK",
    "google": "protobuf",
    "pydantic": "pydantic",
    "pydantic_core": "pydantic",
    "anthropic": "anthropic client",
    "httpx2": "anthropic client",
    "httpcore2": "anthropic client",
    "anyio": "anthropic client",
    "opentelemetry": "OpenTelemetry",
    "obstore": "store",
}
_COMPILED = {
    "pydantic_core": "pydantic",
    "temporal_sdk_bridge": "Temporal SDK",
    "google": "protobuf",
    "_upb": "protobuf",
    "sqlite3": "SQLite",
    "_asyncio": "asyncio",
    "select.epoll": "asyncio",
    "obstore": "store",
}
_STDLIB = {"asyncio": "asyncio", "selectors": "asyncio", "json": "json"}


@dataclass(frozen=True)
class Load:
    jobs: int
    seconds: float
    cpu: float
    """Of the worker, seconds."""
    threads: dict[str, float]
    """Seconds of processor by the threads' name."""
    own: list[tuple[str, str, float]]
    """File, function, seconds in the function itself; those first that took most."""

    @property
    def groups(self) -> dict[str, float]:
        """The share of each group of packages."""
        summed: defaultdict[str, float] = defaultdict(float)
        for file, name, seconds in self.own:
            summed[group(file, name)] += seconds
        all_ = sum(summed.values()) or 1.0
        return {name: s / all_ for name, s in sorted(summed.items(), key=lambda item: -item[1])}

    def told(self) -> dict[str, Any]:
        all_ = sum(seconds for *_, seconds in self.own) or 1.0
        return {
            "jobs": self.jobs,
            "seconds": round(self.seconds, 3),
            "worker_cpu_ms_per_job": round(1000 * self.cpu / self.jobs, 1),
            "threads_cpu_ms_per_job": {
                name: round(1000 * s / self.jobs, 1) for name, s in self.threads.items()
            },
            "groups": {name: round(share, 3) for name, share in self.groups.items()},
            "functions": [
                {"where": short(file), "function": name, "share": round(seconds / all_, 4)}
                for file, name, seconds in self.own[:TOP]
            ],
        }


class Profiled(Ours):
    """This project's engine, with a worker that looks at itself."""

    def _program(self) -> Sequence[str]:
        return ("benchmarks.profiles.profiled_worker", str(self.log), str(self.profile))

    @property
    def profile(self) -> Path:
        return self._folder / "profile.json"

    def turn(self) -> None:
        os.kill(self._worker.pid, signal.SIGUSR1)


def loaded(engine: Profiled, jobs: int) -> Load:
    pid = engine.pids()["worker"]
    cpu, threads = cpu_seconds(pid), by_thread(pid)
    engine.turn()
    began = time.perf_counter()
    engine.jobs([f"load-{n}" for n in range(jobs)], 0.0)
    seconds = time.perf_counter() - began
    used, after = cpu_seconds(pid) - cpu, by_thread(pid)
    engine.turn()
    until(engine.profile.exists, "the profile is written")
    own = [(str(f), str(name), float(s)) for f, name, s in json.loads(engine.profile.read_text())]
    grown = {name: s - threads.get(name, 0.0) for name, s in after.items()}
    most = dict(sorted(grown.items(), key=lambda item: -item[1]))
    return Load(jobs, seconds, used, most, sorted(own, key=lambda one: -one[2]))


def by_thread(pid: int) -> dict[str, float]:
    """Seconds of processor by the name of the thread; numbered ones are one."""
    found: defaultdict[str, float] = defaultdict(float)
    for task in Path(f"/proc/{pid}/task").iterdir():
        try:
            head, _, tail = (task / "stat").read_text().rpartition(")")
        except OSError:
            continue
        fields = tail.split()
        name = head.partition("(")[2].rstrip("0123456789-_ ")
        main = task.name == str(pid)
        found["main" if main else name] += (int(fields[11]) + int(fields[12])) / _TICKS
    return dict(found)


def group(file: str, name: str) -> str:
    """Whose code a function is; compiled ones are told by their name."""
    if not file:
        return next((whose for mark, whose in _COMPILED.items() if mark in name), "built in")
    if "/site-packages/" in file:
        package = file.rpartition("/site-packages/")[2].partition("/")[0].removesuffix(".py")
        return _GROUPS.get(package, package)
    if file.startswith(str(ROOT / "benchmarks")):
        return "the stub"
    if file.startswith(str(ROOT)):
        return "our code"
    stdlib = sysconfig.get_path("stdlib")
    if file.startswith(stdlib):
        module = file.removeprefix(stdlib).strip("/").partition("/")[0].removesuffix(".py")
        return _STDLIB.get(module, "standard library")
    return "generated code" if file.startswith("<") else "other"


def short(file: str) -> str:
    for mark in ("/site-packages/", f"{sysconfig.get_path('stdlib')}/", f"{ROOT}/"):
        if mark in file:
            return file.rpartition(mark)[2]
    return file


def table(load: Load) -> str:
    told = load.told()
    threads: Iterable[str] = (
        f"{name} {ms:g}" for name, ms in told["threads_cpu_ms_per_job"].items() if ms >= 1
    )
    lines = [
        f"{load.jobs} jobs in {load.seconds:.1f} s; processor of the worker by job"
        f" {told['worker_cpu_ms_per_job']} ms, by thread: {', '.join(threads)} ms.",
        "",
        "| Python code of | share |",
        "| --- | --- |",
        *(f"| {name} | {share:.0%} |" for name, share in load.groups.items() if share >= 0.01),
        "",
        "| function, own time | where | share |",
        "| --- | --- | --- |",
        *(f"| {f['function']} | {f['where']} | {f['share']:.1%} |" for f in told["functions"]),
    ]
    return "\n".join(lines)
