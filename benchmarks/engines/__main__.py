"""Engines side by side: `python -m benchmarks.engines [--jobs 50] [--rounds 3] [--json FILE]`.

Every engine runs the same topology with the same stub model, in turns, in one run. Others than this
project and bare asyncio take part where what they need is installed; each is a module of its own
that keeps to `engine.Engine`.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import signal
import sys
import tempfile
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from benchmarks.engines import measure, others
from benchmarks.engines.bare import Bare
from benchmarks.engines.engine import Engine
from benchmarks.engines.ours import Ours

ENGINES: tuple[type[Engine], ...] = (Bare, Ours, *others.OTHERS)


def run(kinds: Sequence[type[Engine]], jobs: int, rounds: int, kills: int) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as place, ExitStack() as stack:
        engines = [kind() for kind in kinds]
        for n, engine in enumerate(engines):
            folder = Path(place) / str(n)
            folder.mkdir()
            engine.open(folder)
            stack.callback(engine.close)
        figures = [measure.Figures() for _ in engines]
        slowness = [measure.calibration()]
        for _ in range(rounds):
            for engine, gathered in zip(engines, figures, strict=True):
                measure.alone(engine, gathered, 3)
                measure.at_once(engine, gathered, jobs)
            slowness.append(measure.calibration())
        for _ in range(kills):
            for engine, gathered in zip(engines, figures, strict=True):
                measure.killed(engine, gathered)
        tables = []
        for engine, gathered in zip(engines, figures, strict=True):
            # What is beyond the critical path, at 0 s a turn, is all of it.
            tables.append(gathered.table(engine))
    return {
        "machine": {
            "cores": os.cpu_count(),
            "python": platform.python_version(),
            "system": platform.platform(),
            "calibration_ms": slowness,
        },
        "jobs_at_once": jobs,
        "rounds": rounds,
        "engines": tables,
    }


def told(found: dict[str, Any]) -> str:
    head = (
        "engine", "overhead, 0 s model", f"{measure.TURN} s turns", "jobs/s", "CPU per job",
        "peak memory", "events", "tasks", "actions", "stored", "paid twice (finished)", "progress",
    )  # fmt: skip
    rows = [head, ("---",) * len(head)]
    for e in found["engines"]:
        rows.append((
            e["engine"],
            _ms(e["overhead_seconds"]),
            f"{_s(e['job_seconds_with_turns'])} (best {e['best_possible_with_turns']:g} s)",
            _plain(e["jobs_per_second"]),
            _ms(e["cpu_seconds_per_job"]),
            f"{sum(e['peak_megabytes'].values())} MB",
            f"{e['history_events']} ({e['history_bytes'] // 1000} KB)",
            str(e["workflow_tasks"]),
            str(e["actions"]),
            f"{e['stored_bytes_per_job'] // 1000} KB",
            f"{_plain(e['turns_paid_twice'])} ({e['finished_turns_paid_twice']})",
            _s(e["seconds_to_progress"]),
        ))  # fmt: skip
    for name, words in found.get("absent", {}).items():
        rows.append((name, words, *[""] * (len(head) - 2)))
    machine = found["machine"]
    return "\n".join(["| " + " | ".join(row) + " |" for row in rows]) + (
        f"\n\n{found['jobs_at_once']} jobs at once on {machine['cores']} cores, "
        f"{found['rounds']} rounds; medians (from–to). Calibration {machine['calibration_ms']} ms."
    )


def _ms(s: dict[str, float] | None) -> str:
    return f"{s['median'] * 1000:.0f} ms ({s['min'] * 1000:.0f}–{s['max'] * 1000:.0f})" if s else ""


def _s(s: dict[str, float] | None) -> str:
    return f"{s['median']:.2f} s ({s['min']:.2f}–{s['max']:.2f})" if s else ""


def _plain(s: dict[str, float] | None) -> str:
    return f"{s['median']:.2f} ({s['min']:.2f}–{s['max']:.2f})" if s else ""


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.engines")
    parser.add_argument("--jobs", type=int, default=50)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--kills", type=int, default=3)
    parser.add_argument("--only", help="one engine, by its name")
    parser.add_argument("--json", type=Path)
    given = parser.parse_args()
    # Asked to end, it still ends the servers and workers it started.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    kinds = [kind for kind in ENGINES if given.only in (None, kind.name)]
    absent = others.absent(kinds)
    kinds = [kind for kind in kinds if kind.name not in absent]
    found = run(kinds, given.jobs, given.rounds, given.kills) | {"absent": absent}
    print(told(found))
    if given.json:
        given.json.write_text(json.dumps(found, indent=1) + "\n", "utf-8")


if __name__ == "__main__":
    main()
