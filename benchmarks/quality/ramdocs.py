"""RAMDocs: questions with documents that give several valid, conflicting or wrong answers.

A line of `ramdocs*.jsonl` has a `question` and `documents[]`, of which `type` is correct, misinfo
or noise and `answer` what the document says. The labels are used for measuring only. Answers are
equal when they are the same after case and punctuation are folded.

Of `ramdocs-dev`, the first half was used for tuning an earlier version; no document of the second
was read, but its totals were printed. So the halves are counted apart.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from itertools import combinations
from pathlib import Path

from benchmarks.quality.gold import normalize
from benchmarks.quality.sets import Case, JsonObject, MissingData

Truth = dict[str, str]
"""The labelled answer of each document, nothing for noise."""
DocumentPair = tuple[str, str]


def read_cases(data: Path) -> list[Case]:
    """All lines of all files, by halves; raises `MissingData`."""
    files = sorted(data.glob("ramdocs*.jsonl"))
    if not files:
        raise MissingData.of("ramdocs*.jsonl", data)
    found = []
    for path in files:
        rows = [json.loads(line) for line in path.read_text("utf-8").splitlines() if line]
        for n, row in enumerate(rows):
            half = "first" if n < len(rows) // 2 else "second"
            found.append(Case(f"{path.stem}-{n:04d}", f"{path.stem}, {half} half", row))
    return found


def name_document(n: int) -> str:
    return f"document-{n:02d}"


def read_truth(documents: Sequence[JsonObject]) -> Truth:
    return {
        name_document(n): "" if document["type"] == "noise" else normalize(document["answer"])
        for n, document in enumerate(documents)
    }


def differ(pair: DocumentPair, truth: Truth) -> bool:
    """Whether two documents give different answers, neither of them noise."""
    one, other = truth[pair[0]], truth[pair[1]]
    return bool(one and other) and one != other


def list_conflicts(truth: Truth) -> set[DocumentPair]:
    """All pairs of documents with different answers."""
    return {pair for pair in combinations(sorted(truth), 2) if differ(pair, truth)}
