"""What a run found, case by case, kept as JSON under `out/quality/RUN/`.

A case that was run by the same code, with the same settings, over the same content is not run
again. Each file appears whole or not at all, so a run may be broken off at any moment.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from benchmarks.quality.intervals import Estimate, Pair, estimate
from benchmarks.quality.sets import (
    PRECISION,
    ROOT,
    Case,
    Measure,
    Options,
    Outcome,
    QualitySet,
    SetDescription,
)

RUNS = ROOT / "out" / "quality"
EVERYTHING = "all"
_CODE = ("workflows", "activities", "benchmarks/quality", "worker.py", "starter.py")

JsonObject = dict[str, Any]


class UnknownRun(Exception):
    """There are no results under this name; the message says how to make some."""


@dataclass(frozen=True)
class Result:
    """A case's measures, as they are kept."""

    case: str
    group: str
    digest: str
    measures: dict[str, Pair]
    notes: JsonObject
    made_by: str = ""

    @classmethod
    def read(cls, path: Path) -> Result:
        told = json.loads(path.read_text("utf-8"))
        told["measures"] = {name: (p, w) for name, (p, w) in told["measures"].items()}
        return cls(**told)


class Results:
    """The results of one run of one set."""

    def __init__(self, folder: Path, made_by: str = "") -> None:
        self._folder = folder
        self._made_by = made_by

    def clear(self) -> None:
        shutil.rmtree(self._folder, ignore_errors=True)

    def find(self, case: Case) -> Result | None:
        """The case's result, if it need not be run again."""
        path = self._path(case.id)
        try:
            kept = Result.read(path)
        except (OSError, ValueError, KeyError, TypeError):
            return None
        same = (kept.digest, kept.made_by) == (case.digest, self._made_by)
        return kept if same else None

    def keep(self, case: Case, outcome: Outcome) -> Result:
        result = Result(
            case.id, case.group, case.digest, dict(outcome.measures), outcome.notes, self._made_by
        )
        path = self._path(case.id)
        path.parent.mkdir(parents=True, exist_ok=True)
        draft = path.with_name(f".{path.name}.{os.getpid()}")
        draft.write_text(json.dumps(vars(result), indent=1, ensure_ascii=False), "utf-8")
        draft.replace(path)
        return result

    def read_all(self) -> list[Result]:
        return [Result.read(path) for path in sorted(self._folder.glob("*.json"))]

    def _path(self, case_id: str) -> Path:
        plain = re.sub(r"[^\w.-]+", "-", case_id)[:80]
        mark = hashlib.sha256(case_id.encode()).hexdigest()[:6]
        return self._folder / f"{plain}-{mark}.json"


@dataclass(frozen=True)
class Figure:
    """One line of a table."""

    set: str
    group: str
    measure: Measure
    estimate: Estimate
    cases: str
    """Tells what it was counted over: figures over other cases are not comparable."""


def compute_figures(
    kind: SetDescription | type[QualitySet], results: Sequence[Result]
) -> list[Figure]:
    """All figures of a set, by group; groups also together where the set says so."""
    groups: dict[str, list[Result]] = {}
    for result in results:
        groups.setdefault(result.group, []).append(result)
    if kind.pooled and len(groups) > 1:
        groups[EVERYTHING] = list(results)
    found = []
    for group, members in groups.items():
        counted_over = _digest(members)
        for measure in kind.measures:
            if measure.whole and group != EVERYTHING and EVERYTHING in groups:
                continue
            counted = [r.measures[measure.name] for r in members if measure.name in r.measures]
            if (figure := estimate(counted, measure.share)) is not None:
                found.append(Figure(kind.name, group, measure, figure, counted_over))
    return found


def pool_precision(results: Sequence[Result]) -> list[Figure]:
    """How many of all contradictions told are real, over the sets that know which are."""
    counted = [result for result in results if PRECISION.name in result.measures]
    total = estimate([result.measures[PRECISION.name] for result in counted])
    if total is None:
        return []
    return [Figure(EVERYTHING, "contradictions told", PRECISION, total, _digest(counted))]


def _digest(results: Sequence[Result]) -> str:
    told = "".join(sorted(f"{result.case}:{result.digest}" for result in results))
    return hashlib.sha256(told.encode()).hexdigest()[:12]


def fingerprint(options: Options) -> str:
    """A fingerprint of the code and of what it was asked to do."""
    asked = json.dumps(
        [options.model, options.judge, options.request, options.size, options.without],
        sort_keys=True, default=str,
    )  # fmt: skip
    return hashlib.sha256(f"{code()}{asked}".encode()).hexdigest()[:12]


@cache
def code() -> str:
    """A fingerprint of what decides the figures."""
    digest = hashlib.sha256()
    for place in _CODE:
        for path in _files(ROOT / place):
            digest.update(str(path.relative_to(ROOT)).encode() + path.read_bytes())
    return digest.hexdigest()[:12]


def _files(place: Path) -> Iterator[Path]:
    if place.is_file():
        yield place
    else:
        yield from sorted(p for p in place.rglob("*") if p.suffix in (".py", ".md"))


def find_run(name: str, runs: Path = RUNS) -> Path:
    """Where a run is kept; raises `UnknownRun` where there is none."""
    given = Path(name)
    folder = given if given.is_dir() else runs / name
    if not folder.is_dir():
        known = ", ".join(sorted(p.name for p in runs.glob("*") if p.is_dir())) or "none yet"
        raise UnknownRun(
            f"there are no results under {name!r} (known: {known}); make them with"
            f" `python -m benchmarks.quality --run {name}`, or name a folder of results"
        )
    return folder


def write_figures(found: Sequence[Figure], options: Options, folder: Path) -> Path:
    """The figures of a set, for machines: `SET.json` beside the folder of its cases."""
    told = {
        "model": options.model,
        "judge": options.judge,
        "request": options.request,
        "code": code(),
        "figures": [
            {
                "set": figure.set,
                "group": figure.group,
                "measure": figure.measure.name,
                "better": figure.measure.better,
                "wanted": figure.measure.wanted_in(figure.group),
                **vars(figure.estimate),
            }
            for figure in found
        ],
    }
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{found[0].set}.json"
    path.write_text(json.dumps(told, indent=1, ensure_ascii=False) + "\n", "utf-8")
    return path
