"""What a set is, and which there are.

A set has cases; a case run gives measures, each a pair (part, whole) as `intervals` counts them.
Where its data is not at hand, `cases` raises `MissingData` with what to do about it.
"""

from __future__ import annotations

import hashlib
import json
import os
import random
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, Protocol

from benchmarks.quality.intervals import Pair

ROOT = Path(__file__).resolve().parents[2]
DATA_VARIABLE = "RESEARCH_BENCH_DATA"

JsonObject = dict[str, Any]


class MissingData(Exception):
    """The data of a set is not here; the message says where it is looked for."""

    @classmethod
    def of(cls, what: str, where: Path) -> MissingData:
        return cls(
            f"no {what} in {where}; name a folder that holds them with --data or {DATA_VARIABLE}"
        )


@dataclass(frozen=True)
class Options:
    """What a run was asked for."""

    data: Path = field(default_factory=lambda: find_data(None))
    model: str = "offline"
    judge: str | None = None
    """The model that judges reports by the rubric; None where none is to."""
    request: JsonObject = field(default_factory=dict)
    """Further fields of a job's request, as `--set` gave them."""
    questions: Path | None = None
    parallel: int = 2
    size: int = 100_000
    """Documents of the synthetic corpus."""
    without: str = ""
    """The family of the offline engine's rules that is switched off."""


@dataclass(frozen=True)
class Case:
    """One question of a set. `group` is what it is counted under."""

    id: str
    group: str
    content: Any = None

    @property
    def digest(self) -> str:
        """Tells cases of the same name in other data apart."""
        told = json.dumps([self.id, self.content], sort_keys=True, default=str)
        return hashlib.sha256(told.encode()).hexdigest()[:12]


@dataclass(frozen=True)
class Outcome:
    """What running a case came to."""

    measures: Mapping[str, Pair]
    notes: JsonObject = field(default_factory=dict)
    """What a person would want to look at: what was found, a judge's reasons."""


@dataclass(frozen=True)
class Measure:
    """What a figure is called, which way is better, and what it is held against."""

    name: str
    better: Literal["higher", "lower", ""] = "higher"
    wanted: float | Mapping[str, float] | None = None
    """The figure to reach, for all groups or by group."""
    baseline: str | Mapping[str, str] = ""
    """What others reach, in words."""
    timed: bool = False
    """Differs from machine to machine, so no trend is kept of it."""
    share: bool = True
    """Lies between 0 and 1; else it is a number of something."""
    whole: bool = False
    """Said of all groups together only."""

    def wanted_in(self, group: str) -> float | None:
        return self.wanted.get(group) if isinstance(self.wanted, Mapping) else self.wanted

    def baseline_in(self, group: str) -> str:
        known = self.baseline
        return known if isinstance(known, str) else known.get(group, "")


PRECISION = Measure("precision", wanted=0.9)
"""Of the contradictions a report tells, those that are real: also counted over all sets."""

Run = Callable[[Case], Awaitable[Outcome]]


class SetDescription(Protocol):
    """What a table needs to know of a set."""

    name: str
    measures: tuple[Measure, ...]
    pooled: bool
    """Whether the groups are also counted together."""


class QualitySet(SetDescription, Protocol):
    """One kind of measurement."""

    def __init__(self, options: Options) -> None: ...

    def cases(self, limit: int | None, seed: int) -> list[Case]:
        """All cases, or `limit` of each group, drawn by `seed`; raises `MissingData`."""

    def start(self) -> AbstractAsyncContextManager[Run]:
        """What runs a case, while what it stands on is open."""


def find_data(given: str | None) -> Path:
    """Where the public sets are: as given, as the environment says, or beside the project."""
    chosen = given or os.environ.get(DATA_VARIABLE)
    return Path(chosen).resolve() if chosen else ROOT.parent / "shared" / "data"


def draw_cases(cases: Sequence[Case], limit: int | None, seed: int) -> list[Case]:
    """At most `limit` cases of each group, by chance but always the same, in their order."""
    if limit is None:
        return list(cases)
    kept: set[str] = set()
    for group in dict.fromkeys(case.group for case in cases):
        mine = [case.id for case in cases if case.group == group]
        kept.update(random.Random(f"{seed}:{group}").sample(mine, min(limit, len(mine))))
    return [case for case in cases if case.id in kept]


def list_sets() -> dict[str, type[QualitySet]]:
    """All sets in the order they run: the quick ones first."""
    # Here, because the sets' modules need this one.
    from benchmarks.quality.answers import Answers
    from benchmarks.quality.conflicts import Conflicts
    from benchmarks.quality.contradictions import Contradictions
    from benchmarks.quality.enterprise import Enterprise
    from benchmarks.quality.finder import Finder
    from benchmarks.quality.jobs import Jobs
    from benchmarks.quality.reference import Reference
    from benchmarks.quality.retrieval import Retrieval
    from benchmarks.quality.scale import Scale
    from benchmarks.quality.sentences import Sentences
    from benchmarks.quality.topics import Topics

    kinds: tuple[type[QualitySet], ...] = (
        Finder, Retrieval, Topics, Jobs, Enterprise, Answers, Contradictions, Conflicts,
        Reference, Sentences, Scale,
    )  # fmt: skip
    return {kind.name: kind for kind in kinds}
