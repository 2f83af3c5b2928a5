"""Sub-domains that found passages show: themes, named in the documents' own words.

Labels come first: a phrase that several documents share is a seed, the passages that hold it are
its theme, and phrases that live in the same passages are joined to it. So every theme has a name a
reader knows from the documents. Passages weigh by how much of the question they hold.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from activities.offline.labels import Label, labels_of
from activities.offline.language import content_terms
from activities.offline.questions import GENERIC_STEMS
from activities.offline.topicality import Passage
from activities.offline.usage import Key

_SEEDS = 60
_TOGETHER = 0.6


@dataclass(frozen=True)
class Theme:
    title: str
    phrases: tuple[str, ...]
    """What is distinctive of it, in the documents' words, strongest first."""
    terms: frozenset[str]
    passages: frozenset[int]
    documents: frozenset[str]
    weight: float


class Landscape:
    """What a set of passages deals with."""

    def __init__(self, passages: Sequence[Passage], known: Iterable[str]) -> None:
        """`known` terms are the subject itself; they name no theme."""
        self.passages = tuple(passages)
        self.known = frozenset(known)
        self._labels, self._nouns = labels_of(self.passages, self.known)

    def themes(self, most: int) -> list[Theme]:
        """Strongest first."""
        found: list[tuple[Label, list[Label]]] = []
        for label in self._labels[:_SEEDS]:
            home = next((more for seed, more in found if _belongs(label, seed)), None)
            if home is None:
                found.append((label, []))
            else:
                home.append(label)
        themes = [_theme(seed, more, self._labels, self.passages) for seed, more in found]
        return sorted(themes, key=lambda t: (-t.weight, t.title))[:most]

    def nouns(self) -> list[str]:
        """The roots of single words that could name a theme, whatever they weigh."""
        return [label.key[0] for label in self._nouns]

    def theme_of(self, root: str) -> Theme:
        """The theme that one of `nouns` names."""
        label = next(label for label in self._nouns if label.key[0] == root)
        return _theme(label, [], self._labels, self.passages)

    def holding(self, text: str) -> frozenset[int]:
        """The passages that hold a phrase's words, or most of them where it has many."""
        terms = list(dict.fromkeys(content_terms(text)))
        fresh = [t for t in terms if t not in self.known] or terms
        own = [t for t in fresh if t not in GENERIC_STEMS] or fresh
        need = len(own) if len(own) < 3 else len(own) - len(own) // 3
        return frozenset(
            i
            for i, passage in enumerate(self.passages)
            if own and sum(t in passage.terms for t in own) >= need
        )

    def phrases(self, members: frozenset[int], without: Iterable[str], most: int) -> list[str]:
        """What these passages speak of more than the others do, in the documents' words."""
        taken = set(without) | self.known
        rated: list[tuple[float, Key, str]] = []
        for label in self._labels:
            both = len(label.passages & members)
            if both < min(2 if len(label.key) > 1 else 3, len(members)):
                continue
            lift = both / len(label.passages) - len(members) / max(1, len(self.passages))
            if lift > 0:
                worth = lift * both**0.5 * label.score * (1.0 if len(label.key) > 1 else 0.4)
                rated.append((-worth, label.key, label.name))
        chosen: list[str] = []
        for _, key, name in sorted(rated):
            if not set(key) & taken:
                chosen.append(name)
                taken |= set(key)
        return chosen[:most]

    def tied(self, members: frozenset[int], without: Iterable[str], most: int = 2) -> list[str]:
        """Phrases that hardly stand anywhere but in these passages, and in many of them."""
        least = max(4, len(members) // 5)
        strong = [
            label
            for label in self._labels
            if len(label.key) > 1
            and len(label.passages & members) >= max(least, 0.8 * len(label.passages))
            and len({self.passages[i].source_id for i in label.passages & members}) > 2
        ]
        if len(members) * 2 > len(self.passages):
            return []  # what is tied to most passages is tied to nothing
        names = {label.name for label in strong}
        return [name for name in self.phrases(members, without, 8) if name in names][:most]


def _belongs(label: Label, seed: Label) -> bool:
    both = len(label.passages & seed.passages)
    shared = both / min(len(label.passages), len(seed.passages))
    if set(label.key) & set(seed.key) - GENERIC_STEMS:
        return shared >= 0.3
    return shared >= _TOGETHER and both / len(label.passages | seed.passages) >= 0.25


def _theme(
    seed: Label, more: list[Label], labels: Sequence[Label], passages: Sequence[Passage]
) -> Theme:
    phrases = [seed]
    for label in more:
        if not any(set(label.key) & set(p.key) for p in phrases):
            phrases.append(label)
    partner = next((p for p in phrases[1:] if len(p.passages & seed.passages) > 1), None)
    # One word says little: where the documents mostly use it in a phrase, the phrase is the name.
    least = len(seed.passages) * (0.3 if len(seed.key) == 1 else 0.5)
    fuller = [x for x in labels if set(seed.key) < set(x.key) and len(x.passages) >= least]
    name = (fuller[0] if fuller else seed).heading
    title = f"{name} and {partner.heading}" if partner and " " not in name else name
    members = set(seed.passages)
    for index in set().union(*(p.passages for p in more)) - members:
        # Two of a theme's further phrases make a passage its own as well.
        if sum(index in p.passages for p in phrases[1:]) > 1:
            members.add(index)
    return Theme(
        title=title[0].upper() + title[1:],
        phrases=tuple(p.name for p in phrases[:6]),
        terms=frozenset(t for p in phrases[:3] for t in p.key),
        passages=frozenset(members),
        documents=frozenset(passages[i].source_id for i in members),
        weight=sum(passages[i].weight for i in members) ** 0.5 * seed.score,
    )
