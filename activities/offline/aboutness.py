"""What whole documents are about, as against what they mention.

A document is about something that its title names, or whose words come back again and again in
what was found of it. Documents weigh by how much they have to do with the question.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Sequence

from activities.offline.language import content_terms
from activities.offline.topicality import Passage

_DENSE = 3.5
"""Of a hundred words that carry topic: so many make a document be about them."""
_TITLED = 0.6
_ABOUT = 0.6
_MOST = 1.5


class Documents:
    """The documents that passages were found in."""

    def __init__(self, passages: Sequence[Passage]) -> None:
        self.weight: dict[str, float] = {}
        self.titles: dict[str, frozenset[str]] = {}
        self._counts: dict[str, Counter[str]] = {}
        self._texts = [passage.text for passage in passages]
        for passage in passages:
            source = passage.source_id
            self.weight[source] = max(self.weight.get(source, 0.0), passage.weight)
            self.titles.setdefault(source, frozenset(content_terms(passage.title)))
            self._counts.setdefault(source, Counter()).update(passage.terms)
        self._length = {source: max(60, sum(c.values())) for source, c in self._counts.items()}

    def __len__(self) -> int:
        return len(self.weight)

    def about(self, terms: Collection[str], together: bool = False) -> dict[str, float]:
        """The documents that are about any of these terms; `together`: that hold all of them."""
        found: dict[str, float] = {}
        for source, counts in self._counts.items():
            held = [counts[term] for term in terms]
            count = max(held, default=0) if together else sum(held)
            if count < 2 or (together and not all(held)):
                continue
            titled = any(term in self.titles[source] for term in terms)
            dense = 100 * count / self._length[source] / _DENSE if count > 2 else 0.0
            score = dense + _TITLED * titled
            if score >= _ABOUT:
                found[source] = min(score, _MOST)
        return found

    def titled(self, terms: Collection[str], sources: Iterable[str]) -> int:
        """How many of these documents have one of the terms in their title."""
        return sum(any(t in self.titles[source] for t in terms) for source in sources)

    def worth(self, about: dict[str, float], seen: Collection[str] = ()) -> float:
        """What a set of documents adds to those already seen."""
        return sum(
            score * self.weight[source] * (0.25 if source in seen else 1.0)
            for source, score in about.items()
        )

    def holding(self, term: str, sources: Iterable[str]) -> set[str]:
        """Those of the documents that use a term more than once, or in their title."""
        return {s for s in sources if self._counts[s][term] > 1 or term in self.titles[s]}

    def nearness(self, sources: Collection[str]) -> float:
        """How much these documents have to do with the question, on average."""
        return sum(self.weight[source] for source in sources) / len(sources) if sources else 0.0

    def word(self, noun: str) -> str:
        """A noun as the documents mostly write it: in the plural where that is common, or CO2."""
        begins = re.compile(rf"\b{re.escape(noun)}s?\b", re.I)
        forms = Counter(form for text in self._texts for form in begins.findall(text))
        many = sum(n for form, n in forms.items() if form.lower() == f"{noun}s")
        if many * 10 >= sum(forms.values()) > 0:
            return f"{noun}s"
        top = min(forms, key=lambda form: (-forms[form], form), default=noun)
        return top if any(c.isupper() for c in top[1:]) else noun
