"""Growth: `python -m benchmarks.growth [--only facets …] [--most 500] [--json FILE]`.

Every curve is measured on this project's own server and worker, with a model that answers at once.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import math
import os
import platform
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

from benchmarks.engines.measure import calibration
from benchmarks.engines.ours import Ours
from benchmarks.engines.processes import ROOT, cpu_seconds
from benchmarks.growth import library
from benchmarks.growth.curves import Curve, table
from benchmarks.growth.jobs import Jobs, Took
from benchmarks.growth.library import MOST_CLAIMS, TOWNS, Shape

FACETS = (1, 5, 10, 20, 40, 60)
CLAIMS = (10, 30, 100, 300, 1000, 3000)
PASSES = (0, 1, 2, 3, 4, 5, 6)
AT_ONCE = (1, 10, 50, 100, 200, 500)
DOCUMENTS = (100, 1000, 10_000, 100_000)
_LIBRARY = "benchmarks.quality.scale"
E_ = TypeVar("E_", bound=Ours)


def facets(tries: int) -> list[Curve]:
    return _sizes("facets", [(n, Shape(n, 10, 0)) for n in FACETS], tries)


def claims(tries: int) -> list[Curve]:
    """As many claims a facet as a job allows, and as many facets as that takes."""
    shapes = []
    for n in CLAIMS:
        count = math.ceil(n / MOST_CLAIMS)
        shapes.append((n, Shape(count, n // count, 0)))
    return _sizes("claims", shapes, tries)


def passes(tries: int) -> list[Curve]:
    return _sizes("rounds (1 + passes)", [(n + 1, Shape(10, 10, n)) for n in PASSES], tries)


def _sizes(of: str, shapes: Sequence[tuple[int, Shape]], tries: int) -> list[Curve]:
    took: dict[int, list[Took]] = {}
    with _opened(Jobs()) as office:
        for n, shape in shapes:
            took[n] = [office.job(shape) for _ in range(tries)]
    return [
        _curve(of, "job", "s", {n: min(t.seconds for t in all_) for n, all_ in took.items()}),
        _curve(of, "processor", "s", {n: min(t.cpu for t in all_) for n, all_ in took.items()}),
    ]


def at_once(most: int) -> list[Curve]:
    """The topology of the engines' table, so many jobs at the same moment."""
    seconds, cpu, slowest = {}, {}, {}
    with _opened(Ours()) as engine:
        for n in (n for n in AT_ONCE if n <= most):
            used, began = _cpu(engine), time.perf_counter()
            each = engine.jobs([f"grow-{n}-{k}" for k in range(n)], 0.0)
            seconds[n] = time.perf_counter() - began
            cpu[n], slowest[n] = _cpu(engine) - used, max(each)
    return [
        _curve("jobs at once", "all of them", "s", seconds),
        _curve("jobs at once", "processor", "s", cpu),
        _curve("jobs at once", "slowest job", "s", slowest),
    ]


def documents(most: int) -> list[Curve]:
    """Index and search by the measurement of large corpora; a job over the same kind of library."""
    if importlib.util.find_spec(_LIBRARY.rpartition(".")[0]) is None:
        return [Curve("documents", "index and search", "", (), f"not here: {_LIBRARY}")]
    scale: Any = importlib.import_module(_LIBRARY)
    found: dict[int, dict[str, float]] = {}
    first, again = {}, {}
    for n in (n for n in DOCUMENTS if n <= most):
        command = [sys.executable, "-m", _LIBRARY, str(n), "1"]
        told = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True)
        found[n] = json.loads(told.stdout)
        with tempfile.TemporaryDirectory() as place, _opened(Jobs()) as office:
            scale.Invented(scale.random.Random(1)).write(Path(place), n - len(TOWNS))
            library.write_documents(Path(place))
            first[n] = office.job(Shape(5, 10, 0), Path(place)).seconds
            again[n] = office.job(Shape(5, 10, 0), Path(place)).seconds
    return [
        *(_curve("documents", name, "", {n: values[name] for n, values in found.items()})
          for name in ("index, seconds", "search p95, ms", "memory, MB")),
        _curve("documents", "first job, index and all", "s", first),
        _curve("documents", "job", "s", again),
    ]  # fmt: skip


@contextmanager
def _opened(engine: E_) -> Iterator[E_]:
    with tempfile.TemporaryDirectory() as place:
        try:
            engine.open(Path(place))
            yield engine
        finally:
            engine.close()


def _cpu(engine: Ours) -> float:
    return sum(cpu_seconds(pid) for pid in engine.pids().values())


def _curve(of: str, measure: str, unit: str, points: dict[int, float]) -> Curve:
    return Curve(of, measure, unit, tuple((n, round(y, 4)) for n, y in points.items()))


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.growth")
    parser.add_argument("--tries", type=int, default=2, help="of every size; the best counts")
    parser.add_argument("--most", type=int, default=AT_ONCE[-1], help="jobs at once")
    parser.add_argument("--documents", type=int, default=DOCUMENTS[-1], help="the largest corpus")
    parser.add_argument("--only", nargs="*", help="some of the curves, by what grows")
    parser.add_argument("--json", type=Path)
    given = parser.parse_args()
    # Asked to end, it still ends the server and the worker it started.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    all_of_them: dict[str, Callable[[], list[Curve]]] = {
        "facets": lambda: facets(given.tries),
        "claims": lambda: claims(given.tries),
        "passes": lambda: passes(given.tries),
        "jobs": lambda: at_once(given.most),
        "documents": lambda: documents(given.documents),
    }
    curves: list[Curve] = []
    slowness = [calibration()]
    for name, measured in all_of_them.items():
        if not given.only or name in given.only:
            curves += (found := measured())
            slowness.append(calibration())
            # While the next is measured, which can take minutes.
            print(table(found), file=sys.stderr, flush=True)
    print(table(curves))
    print(f"\n{os.cpu_count()} cores; calibration {slowness} ms.")
    if given.json:
        machine = {"cores": os.cpu_count(), "system": platform.platform(),
                   "python": platform.python_version(), "calibration_ms": slowness}  # fmt: skip
        told = {"machine": machine, "curves": [curve.told() for curve in curves]}
        given.json.write_text(json.dumps(told, indent=1) + "\n", "utf-8")


if __name__ == "__main__":
    main()
