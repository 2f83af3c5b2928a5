"""How much of a question a claim tells, so that the most relevant one comes first.

A word of the question that few of the claims hold tells them apart, and counts most; one that all
of them hold, as the name of a folder's only subject, counts little. The title of a source says what
its sentences are about, and counts for half.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from math import log

from activities.offline.language import content_terms
from activities.offline.vocabulary import FILLER, SOFT

_TITLED, _GENERAL = 0.5, 0.4


class Gist:
    """One question, weighed by the claims that were found for it."""

    def __init__(self, question: str, texts: Iterable[str]) -> None:
        self.question = question
        held = [frozenset(content_terms(text)) for text in texts]
        counts = Counter(term for terms in held for term in terms)
        asked = {term for term in content_terms(question) if term not in FILLER}
        # A word that no claim holds parts none of them.
        self._weights = {
            t: (_GENERAL if t in SOFT else 1.0) * log(1 + len(held) / counts[t])
            for t in sorted(asked)
            if counts[t]
        }

    def share(self, text: str, title: str = "") -> float:
        """The share of the question's weight that a text holds, its source's title beside it."""
        said, above = set(content_terms(text)), set(content_terms(title))
        total = sum(self._weights.values())
        held = sum(
            weight * (1.0 if term in said else _TITLED if term in above else 0.0)
            for term, weight in self._weights.items()
        )
        return held / total if total else 1.0
