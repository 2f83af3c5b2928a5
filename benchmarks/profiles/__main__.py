"""Profiles: `python -m benchmarks.profiles [--only startup] [--jobs 50] [--json FILE]`."""

from __future__ import annotations

import argparse
import json
import os
import platform
import signal
import sys
import tempfile
from pathlib import Path
from typing import Any

from benchmarks.engines.measure import TURN, calibration
from benchmarks.profiles import job, load, startup

ALL = ("job", "load", "startup")


def of_a_job(folder: Path) -> dict[str, Any]:
    engine = job.Remembered()
    found = {}
    try:
        engine.open(folder)
        for seconds in (0.0, TURN):
            name = f"profiled-{seconds}"
            engine.jobs([name], seconds)
            spent = job.spent(*(engine.history(run) for run in (name, f"{name}/pass-1")))
            print(job.table(f"one job, turns of {seconds} s", spent), end="\n\n")
            found[f"turns of {seconds} s"] = spent.told()
    finally:
        engine.close()
    return found


def at_load(folder: Path, jobs: int) -> dict[str, Any]:
    engine = load.Profiled()
    try:
        engine.open(folder)
        found = load.loaded(engine, jobs)
    finally:
        engine.close()
    print(load.table(found), end="\n\n")
    return found.told()


def of_a_start(folder: Path) -> dict[str, Any]:
    imports = {module: startup.imported(module) for module in startup.IMPORTS}
    found = {
        "help": startup.helped(),
        "imports": {
            module: {
                "seconds": round(one.seconds, 3),
                "cpu_seconds": round(one.cpu, 3),
                "packages": {name: us / 1000 for name, us in one.packages.most_common(20)},
            }
            for module, one in imports.items()
        },
        "run": {
            which: startup.run_from_shell(folder / "home", which) for which in ("cold", "warm")
        },
    }
    print(startup.table(found), end="\n\n")
    return found


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.profiles")
    parser.add_argument("--only", nargs="*", choices=ALL, default=ALL)
    parser.add_argument("--jobs", type=int, default=50, help="at once, for the worker at load")
    parser.add_argument("--json", type=Path)
    given = parser.parse_args()
    # Asked to end, it still ends the server and the worker it started.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    found: dict[str, Any] = {
        "machine": {"cores": os.cpu_count(), "system": platform.platform(),
                    "python": platform.python_version(), "calibration_ms": calibration()}
    }  # fmt: skip
    for name in given.only:
        with tempfile.TemporaryDirectory() as place:
            folder = Path(place)
            match name:
                case "job":
                    found["job"] = of_a_job(folder)
                case "load":
                    found["load"] = at_load(folder, given.jobs)
                case _:
                    found["startup"] = of_a_start(folder)
    print(f"{os.cpu_count()} cores; calibration {found['machine']['calibration_ms']} ms.")
    if given.json:
        given.json.write_text(json.dumps(found, indent=1) + "\n", "utf-8")


if __name__ == "__main__":
    main()
