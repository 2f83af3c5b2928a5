"""What a small folder deals with: its documents in groups that speak of the same, and their names.

Where there are hundreds of documents a sub-domain shows as a phrase that many of them share; where
there are a dozen, one document may be all there is on a sub-domain. Here documents are joined by
the words that tell them from the rest, and a group is named by the word it uses most and the
others hardly.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from math import log, sqrt

from activities.offline import dimensions
from activities.offline.labels import Label, names_of
from activities.offline.lexicon import VERBS
from activities.offline.questions import GENERIC_STEMS
from activities.offline.stemming import stem
from activities.offline.topicality import Passage

_HARDLY_ANY = 4
_TOGETHER = 0.16
_BESIDE = 0.62
_CLOSE = 0.78
_ACTS = frozenset(stem(verb) for verb in VERBS)
_SIDES = frozenset(term for side in dimensions.SHOWN for term in side.vocabulary)


@dataclass(frozen=True)
class Group:
    title: str
    terms: frozenset[str]
    """The roots of its title."""
    documents: frozenset[str]
    passages: frozenset[int]
    weight: float


def groups_of(passages: Sequence[Passage], known: Iterable[str]) -> list[Group]:
    """The groups of these passages' documents, the nearest to the question first."""
    subject = frozenset(known)
    passages = _cut(passages)
    counts: dict[str, Counter[str]] = {}
    for passage in passages:
        counts.setdefault(passage.source_id, Counter()).update(passage.terms)
    frequency = Counter(term for own in counts.values() for term in own)
    rarity = {term: log(1 + len(counts) / n) for term, n in frequency.items()}
    vectors = {
        source: {
            term: (1 + log(n)) * rarity[term]
            for term, n in own.items()
            if term not in subject | GENERIC_STEMS | _ACTS and term.isalpha() and len(term) > 2
        }
        for source, own in counts.items()
    }
    labels = names_of(passages, subject)
    found: list[Group] = []
    for sources in _joined(vectors):
        members = frozenset(i for i, p in enumerate(passages) if p.source_id in sources)
        named = _named(sources, labels, counts, len(counts))
        if named:
            nearness = dict.fromkeys(sources, 0.0)
            for i in members:
                source = passages[i].source_id
                nearness[source] = max(nearness[source], passages[i].weight)
            found.append(
                Group(
                    title=named[0],
                    terms=named[1],
                    documents=frozenset(sources),
                    passages=members,
                    weight=sum(nearness.values()) / len(sources) * (1 + log(len(sources)) / 2),
                )
            )
    return sorted(found, key=lambda g: (-g.weight, g.title))


def _cut(passages: Sequence[Passage]) -> Sequence[Passage]:
    """Of hardly any documents each passage stands for itself: they are long and speak of much."""
    if len({p.source_id for p in passages}) > _HARDLY_ANY:
        return passages
    return [replace(p, source_id=f"{p.source_id}-{i}") for i, p in enumerate(passages)]


def _joined(vectors: dict[str, dict[str, float]]) -> list[list[str]]:
    """Documents joined while the nearest two groups are near, by their average likeness."""
    length = {s: sqrt(sum(w * w for w in own.values())) or 1.0 for s, own in vectors.items()}
    near = {
        (a, b): sum(w * vectors[b][t] for t, w in vectors[a].items() if t in vectors[b])
        / (length[a] * length[b])
        for a, b in combinations(vectors, 2)
    }
    groups = [[source] for source in vectors]

    def likeness(pair: tuple[list[str], list[str]]) -> float:
        one, other = pair
        total = sum(near[(a, b) if (a, b) in near else (b, a)] for a in one for b in other)
        return total / (len(one) * len(other))

    while len(groups) > 1:
        best = max(combinations(groups, 2), key=likeness)
        if likeness(best) < _TOGETHER:
            break
        groups.remove(best[1])
        best[0].extend(best[1])
    return groups


def _named(
    sources: Sequence[str], labels: Sequence[Label], counts: dict[str, Counter[str]], total: int
) -> tuple[str, frozenset[str]] | None:
    rated: list[tuple[float, Label]] = []
    own = set(sources)
    for label in labels:
        inside = label.documents & own
        mass = {s: min(counts[s][root] for root in label.key) for s in label.documents}
        # What speaks for a group stands in half of it at least, and hardly outside.
        here = sum(mass[s] for s in inside)
        if len(inside) * 2 < len(own) or (sum(mass.values()) > 2 * here and total > 4):
            continue
        told = sum(log(1 + min(counts[s][root] for root in label.key)) for s in inside)
        lone = told <= log(2) * len(inside) and not label.titles & own
        if lone:
            continue  # said once in passing
        score = told / len(own) * log(1 + total / len(label.documents))
        score *= 1 + 0.8 * len(label.titles & own) / len(own)
        score *= 1.25 if set(label.key) & _SIDES else 1.0
        score *= (1.0, 1.25, 1.2)[len(label.key) - 1]
        rated.append((score, label))
    rated.sort(key=lambda pair: (-pair[0], pair[1].key))
    if not rated:
        return None
    best, first = rated[0]
    # One word says little: where the documents mostly use it in a phrase, the phrase is the name.
    best, first = next(
        ((s, x) for s, x in rated if set(x.key) > set(first.key) and s >= _CLOSE * best),
        (best, first),
    )
    beside = next(
        (
            label
            for score, label in rated[1:6]
            if score >= (_BESIDE if label.titles & own else _CLOSE) * best
            and not set(label.key) & set(first.key)
        ),
        None,
    )
    title = first.heading + (f" and {beside.heading}" if beside else "")
    terms = frozenset(first.key) | frozenset(beside.key if beside else ())
    return title[0].upper() + title[1:], terms
