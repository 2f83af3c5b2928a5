"""Passages that searches found, weighed by how much of the question they hold.

A folder holds other matters too, and a broad search brings them along; `on_topic` keeps them out of
what a plan is made from.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import log

from activities.offline.conversation import ToolCall
from activities.offline.language import content_terms, noun_phrases, stem
from activities.offline.lexicon import VERBS
from activities.offline.questions import GENERIC_STEMS

ON_TOPIC = 0.45
"""Of the best passage's share of the question; below it a passage is about something else."""
_ENOUGH = 36
_BEST = 25
_TERMS = 15
_KIN = 0.9
_ACTS = frozenset(stem(verb) for verb in VERBS)
_MANY = 120


@dataclass(frozen=True)
class Passage:
    source_id: str
    title: str
    kind: str
    text: str
    terms: Counter[str]
    weight: float
    """How much of the question it holds, or of what goes with it; 1 for the fullest."""


def gather(calls: Sequence[ToolCall], question: str) -> list[Passage]:
    """Every passage found, once, weighed by the question's terms that it holds."""
    frequency: dict[str, int] = {}
    documents = 1
    for call in calls:
        documents = max(documents, int(call.report.get("documents", 1)))
        for word, count in call.report.get("terms", {}).items():
            for term in content_terms(str(word)):
                frequency[term] = max(frequency.get(term, 0), int(count))
    # A rare word of the question must not outweigh all its others, hence the cap.
    asked = {
        term: min(2.5, log(1 + (documents - n + 0.5) / (n + 0.5)))
        for term in set(content_terms(" ; ".join(noun_phrases(question)))) - GENERIC_STEMS
        if (n := frequency.get(term, 1)) > 0
    }
    raw: dict[tuple[str, str], tuple[str, str, str, Counter[str]]] = {}
    for call in calls:
        for hit in call.hits:
            text = "\n".join(sentence.text for sentence in hit.sentences)
            if (hit.source_id, text) not in raw:
                terms = _terms_of(f"{hit.title}\n{text}")
                raw[hit.source_id, text] = (hit.title, hit.kind, text, terms)
    found = list(raw.values())
    weights = _shares([terms for *_, terms in found], asked)
    kin = _kindred(list(zip((source for source, _ in raw), found, strict=True)), weights, asked)
    # A document need not use the question's words: those that its best passages use count too.
    related = _shares([terms for *_, terms in found], kin)
    return [
        Passage(source, title, kind, text, terms, max(own, _KIN * more))
        for ((source, _), (title, kind, text, terms)), own, more in zip(
            raw.items(), weights, related, strict=True
        )
    ]


def _shares(passages: Sequence[Counter[str]], asked: dict[str, float]) -> list[float]:
    """How much of these terms each passage holds, 1 for the fullest tenth."""
    held = [
        sum(weight * terms[term] / (terms[term] + 1.5) for term, weight in sorted(asked.items()))
        for terms in passages
    ]
    best = sorted(held)[len(held) * 9 // 10] if held else 0.0
    return [min(1.0, share / best) if best else float(not asked) for share in held]


def _kindred(
    passages: Sequence[tuple[str, tuple[str, str, str, Counter[str]]]],
    weights: Sequence[float],
    asked: dict[str, float],
) -> dict[str, float]:
    """The question's terms, and those that its best passages have more than the others do."""
    ranked = sorted(range(len(passages)), key=lambda i: (-weights[i], i))
    best = set(ranked[:_BEST])
    everywhere: dict[str, set[str]] = {}
    among: dict[str, set[str]] = {}
    for i, (source, (*_, terms)) in enumerate(passages):
        for term in terms:
            everywhere.setdefault(term, set()).add(source)
            if i in best:
                among.setdefault(term, set()).add(source)
    documents = len({source for source, _ in passages})
    near = len({passages[i][0] for i in best})
    rated: dict[str, float] = {}
    for term, sources in among.items():
        share, usual = len(sources) / near, len(everywhere[term]) / documents
        if len(sources) > 2 and share > 1.15 * usual and share >= 0.25 and term.isalpha():
            rated[term] = share * log(1 + share / usual)
    own = [t for t in rated if t not in GENERIC_STEMS and t not in _ACTS]
    chosen = sorted(own, key=lambda t: (-rated[t], t))[:_TERMS]
    # The question's own words stay the measure; the others together weigh as much.
    total = sum(asked.values()) or 1.0
    scale = total / (sum(rated[t] for t in chosen) or 1.0)
    kin = {term: rated[term] * scale for term in chosen}
    return {t: asked.get(t, 0.0) + kin.get(t, 0.0) for t in sorted({*asked, *kin})}


def on_topic(passages: Sequence[Passage]) -> list[Passage]:
    """The passages that bear on the question; a few weaker ones where there are hardly any."""
    strong = [p for p in passages if p.weight >= ON_TOPIC]
    if len(strong) > _MANY:
        floor = sorted((p.weight for p in strong), reverse=True)[_MANY]
        return [p for p in strong if p.weight > floor] or strong[:_MANY]
    if len(strong) >= _ENOUGH:
        return strong
    ranked = sorted(range(len(passages)), key=lambda i: (-passages[i].weight, i))[:_ENOUGH]
    return [passages[i] for i in sorted(ranked) if passages[i].weight >= ON_TOPIC * 0.7]


@lru_cache(maxsize=4096)
def _terms_of(text: str) -> Counter[str]:
    return Counter(content_terms(text))
