"""What each family of rules of the offline engine is worth: the same cases with it and without it.

`--without FAMILY` runs the sets with one family switched off. `--ablate` runs them with everything,
then once without each family, and prints the figures that fall. Each run is a process of its own,
so that nothing the engine has read stays from one to the next. A family without which no figure
falls is not worth its lines.
"""

from __future__ import annotations

import importlib
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from benchmarks.quality.intervals import difference
from benchmarks.quality.results import Results
from benchmarks.quality.sets import ROOT, Measure, list_sets
from benchmarks.quality.tables import ResultPair, group_pairs, take_pairs

VARIABLE = "RESEARCH_OFFLINE_WITHOUT"
_FAMILIES = "activities.offline.rule_families"


def read_families() -> tuple[str, ...]:
    """The families' names, as the engine gives them."""
    try:
        names: tuple[str, ...] = importlib.import_module(_FAMILIES).FAMILIES
    except ModuleNotFoundError:
        raise ValueError(f"the offline engine names no families of rules ({_FAMILIES})") from None
    return names


def check_family(name: str) -> str:
    if name not in (known := read_families()):
        raise ValueError(f"there is no family {name!r}; choose from {', '.join(known)}")
    return name


def ablate(arguments: Sequence[str], sets: Sequence[str], out: Path, run: str) -> int:
    """Run the sets with everything and without each family, and print which figures fall."""
    command = [sys.executable, "-m", "benchmarks.quality"]
    command += [argument for argument in arguments if argument != "--ablate"]
    families = read_families()
    runs = {"": run, **{family: f"{run}-without-{family}" for family in families}}
    for family, name in runs.items():
        without = ["--without", family] if family else []
        ended = subprocess.run([*command, *without, "--run", name], cwd=ROOT, check=False)
        if ended.returncode not in (0, 1):
            return ended.returncode
    for family in families:
        lines = list(list_falls(out / run, out / runs[family], sets))
        print(f"without {family}:")
        print("\n".join(lines or ["  no figure falls: no measurement defends these rules"]))
    return 0


def list_falls(whole: Path, part: Path, sets: Sequence[str]) -> Iterator[str]:
    """The figures that are worse in the second run; a star where the interval of the difference
    leaves out zero."""
    for name, kind in list_sets().items():
        if sets and name not in sets:
            continue
        pairs = take_pairs(Results(whole / name).read_all(), Results(part / name).read_all())
        for group, members in group_pairs(kind, pairs, by_group=not kind.pooled).items():
            for measure in kind.measures:
                if line := _describe_fall(measure, members):
                    yield f"  {name}, {group}: {measure.name} {line}"


def _describe_fall(measure: Measure, members: Sequence[ResultPair]) -> str:
    if not measure.better or measure.timed:
        return ""
    nothing = (0.0, 0.0)
    before = [one.measures.get(measure.name, nothing) for one, _ in members]
    after = [other.measures.get(measure.name, nothing) for _, other in members]
    change = difference(before, after)
    if change is None or not change.value or (change.value > 0) == (measure.better == "higher"):
        return ""
    first = sum(part for part, _ in before) / sum(whole for _, whole in before)
    star = "*" if change.low > 0 or change.high < 0 else ""
    return (
        f"{first:.3f} → {first + change.value:.3f}"
        f" ({change.value:+.3f}, {change.low:+.3f} to {change.high:+.3f}){star}"
    )
