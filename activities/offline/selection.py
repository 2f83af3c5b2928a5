"""Which of the ranked passages a facet shows: the best, no two that say the same.

Two documents that use the same words and give another figure or name do not say the same: both are
shown, so that the reader sees that they differ.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from activities.evidence.text.names import names
from activities.evidence.text.terms import words
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
    said: list[_Said] = []
    for own in ranked:
        if len(chosen) >= limit or own.score < least:
            break
        if taken[own.passage.source_id] >= most:
            continue
        new = _Said(own)
        if not any(new.repeats(before) for before in said):
            taken[own.passage.source_id] += 1
            chosen.append(own)
            said.append(new)
    return chosen


class _Said:
    """What a passage says: its words, its sentences, and the figures and names of its core."""

    def __init__(self, scored: Scored) -> None:
        self._source_id = scored.passage.source_id
        self._words = frozenset(content_words(scored.passage.text))
        self._sentences = frozenset(scored.passage.sentences)
        self._values = _values(scored.core)

    def repeats(self, before: _Said) -> bool:
        shared = len(self._words & before._words)
        is_alike = shared > _SAME * min(len(self._words), len(before._words))
        if self._source_id != before._source_id:
            return is_alike and self._values <= before._words
        return is_alike or not self._sentences.isdisjoint(before._sentences)


def _values(sentence: str) -> frozenset[str]:
    """The figures and the words of names in a sentence."""
    named = {word for name in names(sentence) for word in name.key}
    return frozenset(named | {word for word in words(sentence) if not word.isalpha()})
