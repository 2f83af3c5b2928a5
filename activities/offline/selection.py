"""Which of the ranked passages a facet shows: the best, no two that say the same."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from activities.offline.passages import Passage
from activities.offline.question import content_words
from activities.offline.scoring import Scored

_SAME = 0.6
_PER_DOCUMENT, _PER_DOCUMENT_SPREAD = 4, 3
_WORTH, _WORTH_SPREAD = 0.45, 0.6
"""The share of the best passage's score below which a passage is not shown."""


def select(ranked: Sequence[Scored], limit: int, *, spread: bool) -> list[Scored]:
    """At most `limit` passages, best first; `spread` takes fewer of each document, from more."""
    chosen: list[Scored] = []
    taken: Counter[str] = Counter()
    most = _PER_DOCUMENT_SPREAD if spread else _PER_DOCUMENT
    least = ranked[0].score * (_WORTH_SPREAD if spread else _WORTH) if ranked else 0.0
    bags: list[frozenset[str]] = []
    for own in ranked:
        if len(chosen) >= limit or own.score < least:
            break
        bag = frozenset(content_words(own.passage.text))
        if taken[own.passage.source_id] >= most or any(_overlap(bag, other) for other in bags):
            continue
        if any(_repeats(own.passage, other.passage) for other in chosen):
            continue
        taken[own.passage.source_id] += 1
        chosen.append(own)
        bags.append(bag)
    return chosen


def _repeats(one: Passage, other: Passage) -> bool:
    """Whether two passages of one document share a sentence."""
    if one.source_id != other.source_id:
        return False
    return not set(one.sentences).isdisjoint(other.sentences)


def _overlap(one: frozenset[str], other: frozenset[str]) -> bool:
    return len(one & other) > _SAME * min(len(one), len(other))
