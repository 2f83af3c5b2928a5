"""Figures over time, in `trend.jsonl` beside this file: a change that lowers quality is seen.

A line is one figure of one version over certain cases. `find_falls` holds a new figure against the
last line with the same set, group, measure, model and cases: worse than that line's interval allows
is a fall. Times are left out, for machines differ; so are figures over other data.
"""

from __future__ import annotations

import json
import subprocess
import tomllib
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from benchmarks.quality.results import Figure
from benchmarks.quality.sets import ROOT

TREND = Path(__file__).with_name("trend.jsonl")
_EXACT = 1e-9

JsonObject = dict[str, Any]
Key = tuple[str, str, str, str, str]


def record(found: Iterable[Figure], model: str, path: Path = TREND) -> int:
    """Append the figures; says how many lines were added. What the last line says already is not
    said again."""
    last = _last(path)
    version, commit = _version(), _commit()
    lines = []
    for figure in found:
        if figure.measure.timed:
            continue
        told = figure.estimate
        line = {
            "version": version, "commit": commit, "model": model, "set": figure.set,
            "group": figure.group, "measure": figure.measure.name, "value": round(told.value, 4),
            "low": round(told.low, 4), "high": round(told.high, 4), "n": told.n,
            "cases": figure.cases,
        }  # fmt: skip
        before = last.get(_key(line))
        if before is None or before["value"] != line["value"]:
            lines.append(json.dumps(line, ensure_ascii=False))
    if lines:
        with path.open("a", encoding="utf-8") as file:
            file.write("\n".join(lines) + "\n")
    return len(lines)


def find_falls(found: Sequence[Figure], model: str, path: Path = TREND) -> tuple[list[str], int]:
    """What got worse than the last line's interval, in words; and how many could be compared."""
    last = _last(path)
    complaints = []
    compared = 0
    for figure in found:
        measure, told = figure.measure, figure.estimate
        before = last.get((model, figure.set, figure.group, measure.name, figure.cases))
        if before is None or measure.timed or not measure.better:
            continue
        compared += 1
        lower = measure.better == "lower"
        worse = (
            told.value > before["high"] + _EXACT if lower else told.value < before["low"] - _EXACT
        )
        if worse:
            complaints.append(
                f"{figure.set}, {figure.group}: {measure.name} went from {before['value']:.3f}"
                f" ({before['low']:.3f} to {before['high']:.3f}, version {before['version']},"
                f" {before['commit']}) to {told.value:.3f}"
            )
    return complaints, compared


def _last(path: Path) -> dict[Key, JsonObject]:
    if not path.exists():
        return {}
    lines = [json.loads(line) for line in path.read_text("utf-8").splitlines() if line.strip()]
    return {_key(line): line for line in lines}


def _key(line: JsonObject) -> Key:
    return line["model"], line["set"], line["group"], line["measure"], line["cases"]


def _version() -> str:
    told = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    return str(told["project"]["version"])


def _commit() -> str:
    """The commit the figures were made on, with a + where files were changed since."""
    try:
        told = subprocess.run(
            ["git", "describe", "--always", "--abbrev=10", "--dirty=+", "--exclude=*"],
            cwd=ROOT, capture_output=True, text=True, check=True,
        )  # fmt: skip
    except (OSError, subprocess.CalledProcessError):
        return ""
    return told.stdout.strip()
