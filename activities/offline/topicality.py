"""Passages that searches found, weighed by how much of the question they hold.

A folder holds other matters too, and a broad search brings them along; `on_topic` keeps them out of
what a plan is made from.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from math import log

from activities.offline.conversation import ToolCall
from activities.offline.language import capitalised, content_terms, noun_phrases, stem
from activities.offline.lexicon import VERBS
from activities.offline.questions import GENERIC_STEMS

SMALL = 24
"""Up to so many documents a folder is read document by document."""
ON_TOPIC = 0.45
"""Of the best passage's share of the question; below it a passage is about something else."""
_ENOUGH = 36
_BEST = 25
_TERMS = 15
_LIFT = 1.15
_ALIKE = 5
_KIN = 1.3
"""A third of what the best documents share makes a document one of theirs."""
_ACTS = frozenset(stem(verb) for verb in VERBS)
_MANY = 130
_UNHEARD = 0.6
_HARDLY = 0.34
_FEW_THINGS = 6
"""Of the question's words: so many in no document, or so few in the fullest, make it foreign."""


@dataclass(frozen=True)
class Passage:
    source_id: str
    title: str
    kind: str
    text: str
    terms: Counter[str]
    weight: float
    """How much of the question it holds, or of what goes with it; 1 for the fullest."""


def _counted(calls: Sequence[ToolCall]) -> dict[str, int]:
    """How many documents hold each term that was searched for."""
    counts: dict[str, int] = {}
    for call in calls:
        for word, count in call.report.get("terms", {}).items():
            for term in content_terms(str(word)):
                counts[term] = max(counts.get(term, 0), int(count))
    return counts


def foreign(calls: Sequence[ToolCall], question: str) -> bool:
    """Whether the documents are about something else altogether.

    Most of the question's words stand in none of them, or no document has more than a few of them:
    then what the documents show is beside the question.
    """
    counts = _counted(calls)
    asked = [t for t in dict.fromkeys(content_terms(question)) if t in counts]
    things = [t for t in asked if t not in GENERIC_STEMS | _ACTS]
    if not things:
        return False  # "an overview of the documents" fits any
    held: dict[str, set[str]] = {}
    for call in calls:
        for hit in call.hits:
            terms = _terms_of("\n".join([hit.title, *(s.text for s in hit.sentences)]))
            held.setdefault(hit.source_id, set()).update(t for t in things if t in terms)
    fullest = max((len(own) for own in held.values()), default=0)
    unheard = sum(not counts[t] for t in things)
    # A question that lists many parts finds them in many documents, none of which has them all.
    scattered = len(things) <= _FEW_THINGS and fullest < _HARDLY * len(things)
    return unheard >= _UNHEARD * len(things) or scattered


def gather(calls: Sequence[ToolCall], question: str) -> list[Passage]:
    """Every passage found, once, weighed by the question's terms that it holds."""
    frequency = _counted(calls)
    documents = max([1, *(int(call.report.get("documents", 1)) for call in calls)])
    # A rare word of the question must not outweigh all its others, hence the cap.
    asked = {
        term: min(2.5, log(1 + (documents - n + 0.5) / (n + 0.5)))
        for term in set(content_terms("; the ".join(["", *noun_phrases(question)]))) - GENERIC_STEMS
        if (n := frequency.get(term, 1)) > 0
    }
    raw: dict[tuple[str, str], tuple[str, str, str, Counter[str]]] = {}
    for call in calls:
        for hit in call.hits:
            text = "\n".join(sentence.text for sentence in hit.sentences)
            if (hit.source_id, text) not in raw:
                terms = _terms_of(f"{hit.title}\n{text}")
                raw[hit.source_id, text] = (hit.title, hit.kind, text, terms)
    counted = [terms for *_, terms in raw.values()]
    own = _shares(counted, asked, families(asked, counted))
    named = {t for name in capitalised(question) for t in content_terms(name.text)}
    # Where only a name is asked for, the matter is all that goes with it; else what tells it apart.
    kin = _kinship([source for source, _ in raw], counted, own, asked, float(set(asked) <= named))
    return [
        Passage(source, title, kind, text, terms, max(share, min(1.0, _KIN * kin[source])))
        for ((source, _), (title, kind, text, terms)), share in zip(raw.items(), own, strict=True)
    ]


def families(asked: Iterable[str], passages: Sequence[Counter[str]]) -> dict[str, tuple[str, ...]]:
    """For each term of a question the roots that begin alike: "electrification", "electric"."""
    spoken = sorted({term for terms in passages for term in terms if len(term) >= _ALIKE})
    begun: dict[str, list[str]] = {}
    for term in spoken:
        begun.setdefault(term[:_ALIKE], []).append(term)
    return {
        term: (
            term,
            *(
                other
                for other in begun.get(term[:_ALIKE], ())
                if other != term
                and (other.startswith(term) or term.startswith(other))
                and abs(len(other) - len(term)) < _ALIKE
            ),
        )
        for term in asked
    }


def _shares(
    passages: Sequence[Counter[str]],
    asked: dict[str, float],
    forms: dict[str, tuple[str, ...]],
) -> list[float]:
    """How much of the question's terms each passage holds, 1 for the fullest tenth."""
    held: list[float] = []
    for terms in passages:
        share = 0.0
        for term, weight in sorted(asked.items()):
            count = sum(terms[form] for form in forms[term])
            share += weight * count / (count + 1.5)
        held.append(share)
    best = sorted(held)[len(held) * 9 // 10] if held else 0.0
    return [min(1.0, share / best) if best else 1.0 for share in held]


def _kinship(
    sources: Sequence[str],
    passages: Sequence[Counter[str]],
    own: Sequence[float],
    asked: dict[str, float],
    usual_too: float,
) -> dict[str, float]:
    """How much each document shares with the best passages, 1 for the fullest tenth.

    A document on the matter need not use the question's words. Those its best passages have more
    often than the others do are the matter's own.
    """
    held: dict[str, set[str]] = {}
    for source, terms in zip(sources, passages, strict=True):
        held.setdefault(source, set()).update(terms)
    ranked = sorted(range(len(passages)), key=lambda i: (-own[i], i))[:_BEST]
    near: dict[str, set[str]] = {}
    for i in ranked:
        near.setdefault(sources[i], set()).update(passages[i])
    everywhere = Counter(term for terms in held.values() for term in terms)
    among = Counter(term for terms in near.values() for term in terms)
    rated: dict[str, float] = {}
    for term, count in among.items():
        share, usual = count / len(near), everywhere[term] / len(held)
        telling = term in asked or (share > _LIFT * usual and count > 2)
        if telling and share >= 0.25 and term.isalpha() and term not in GENERIC_STEMS | _ACTS:
            rated[term] = share * log(max(_LIFT, usual_too + share / usual))
    chosen = sorted(rated, key=lambda t: (-rated[t], t))[:_TERMS]
    shares = {
        source: sum(rated[term] for term in chosen if term in terms)
        for source, terms in held.items()
    }
    best = sorted(shares.values())[len(shares) * 9 // 10] if shares else 0.0
    return {source: min(1.0, share / best) if best else 0.0 for source, share in shares.items()}


def on_topic(passages: Sequence[Passage], most: int = _MANY) -> list[Passage]:
    """The passages that bear on the question; a few weaker ones where there are hardly any."""
    strong = [p for p in passages if p.weight >= ON_TOPIC]
    if len(strong) > most:
        floor = sorted((p.weight for p in strong), reverse=True)[most]
        return [p for p in strong if p.weight > floor] or strong[:most]
    if len(strong) >= _ENOUGH:
        return strong
    ranked = sorted(range(len(passages)), key=lambda i: (-passages[i].weight, i))[:_ENOUGH]
    return [passages[i] for i in sorted(ranked) if passages[i].weight >= ON_TOPIC * 0.7]


def shared_names(passages: Sequence[Passage], question: str) -> dict[str, set[str]]:
    """In a small folder: names beyond the question's that several documents share."""
    if len({p.source_id for p in passages}) > SMALL:
        return {}
    asked = set(content_terms(question))
    holders: dict[str, set[str]] = {}
    for passage in passages:
        for name in capitalised(passage.text):
            if not asked & set(content_terms(name.text)):
                holders.setdefault(name.text, set()).add(passage.source_id)
    return {name: sources for name, sources in holders.items() if len(sources) > 1}


def with_namesakes(passages: Sequence[Passage], question: str) -> list[Passage]:
    """The passages; one that shares a name with two that bear on the question bears on it too.

    A document on the shut cannery need not name the lake; that both name the town must do.
    """
    near = {p.source_id for p in passages if p.weight >= ON_TOPIC}
    names = [n for n, own in shared_names(passages, question).items() if len(own & near) > 1]
    return [
        replace(p, weight=ON_TOPIC)
        if p.weight < ON_TOPIC and any(name in p.text for name in names)
        else p
        for p in passages
    ]


@lru_cache(maxsize=4096)
def _terms_of(text: str) -> Counter[str]:
    return Counter(content_terms(text))
