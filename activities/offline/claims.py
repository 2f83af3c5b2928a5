"""Claims: the best windows of what was read, few per document, none twice, none beside the point.

`choose` picks them and joins to each the windows of other documents that say the same; `claimed`
writes one as `ClaimAnswer` wants it, with confidence, hedges and scope taken from its words.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from activities.offline.conversation import JsonObject
from activities.offline.cues import hedges, scope
from activities.offline.disagreements import disagreements
from activities.offline.language import capitalised, content_terms, similarity, words
from activities.offline.passages import Window, substance, usable
from activities.offline.relevance import Aim
from activities.offline.scoring import Scored
from workflows.contracts.evidence import AUTHORITY

_FLOOR = 0.6
"""Of a good window's worth: fewer claims are better than claims beside the point."""
_HOLLOW = 0.6
"""Below this a sentence is intent or praise, and must be close to the ask to be claimed."""
_SAME = 0.82
"""From this likeness on two windows say the same thing."""


@dataclass
class Chosen:
    """A claim in the making: a window, its worth, and others that say the same."""

    worth: float
    window: Window
    source: Scored
    also: list[Window]


def choose(
    scored: list[Scored], aim: Aim, brief: JsonObject, *, all_sides: bool = True
) -> list[Chosen]:
    """The best windows, few per document, none twice, none known already."""
    pool = [
        (worth * (0.6 + 0.4 * source.score), window, source)
        for source in scored
        if source.score >= (0.3 if source.linked else 0.4)
        for worth, window in source.best
    ]
    pool.sort(key=lambda item: (-item[0], item[1].source_id, item[1].sentences))
    if not pool:
        return []
    floor = _FLOOR * _level(pool)
    limit = int(brief.get("max_claims", 10))
    known = [str(text) for text in brief.get("known_claims", ())]
    per_document = 3 if len({w.source_id for _, w, _ in pool}) < 5 else 2
    most = limit * 3 // 4
    chosen = _all_sides(scored, aim, _level(pool), most, known) if all_sides else []
    taken: Counter[str] = Counter()
    for worth, window, source in pool:
        if len(chosen) >= limit:
            break
        if worth < floor * (0.8 if source.linked else 1.0):
            continue
        if worth < 1.5 * floor and max(map(substance, window.sentences)) < _HOLLOW:
            continue
        if any(_alike(window.text, text) for text in known):
            continue
        twin = next((c for c in chosen if _alike(c.window.text, window.text)), None)
        if twin:
            if twin.window.source_id != window.source_id:
                _join(twin, window, source)
            continue
        if any(set(window.sentences) & set(c.window.sentences) for c in chosen):
            continue
        if taken[window.source_id] >= per_document:
            continue
        taken[window.source_id] += 1
        chosen.append(Chosen(worth, window, source, []))
    return sorted(chosen, key=lambda c: -c.worth)


def _all_sides(
    scored: list[Scored], aim: Aim, level: float, most: int, known: list[str]
) -> list[Chosen]:
    """Where sources disagree, every side is claimed, before anything else is."""
    sources = {s.document.source_id: s for s in scored}
    chosen: list[Chosen] = []
    for found in disagreements(scored, aim):
        new = [
            side
            for side in found.sides
            if not any(_alike(side[0].text, text) for text in known)
            and not any(side[0].sentences == c.window.sentences for c in chosen)
        ]
        worth = level * min(1.0, found.nearness)
        if len(chosen) + len(new) <= most:
            chosen += [
                Chosen(worth, first, sources[first.source_id], others) for first, *others in new
            ]
    return chosen


def _join(twin: Chosen, window: Window, source: Scored) -> None:
    """Two sources say the same: the one of better standing speaks, the other supports it."""
    if _authority(source) > _authority(twin.source):
        twin.window, twin.source, window = window, source, twin.window
    twin.also.append(window)


def _authority(source: Scored) -> float:
    return AUTHORITY.get(source.document.kind, 0.5)


def _level(pool: list[tuple[float, Window, Scored]]) -> float:
    """What a good window is worth here: the mean of the three best documents' best."""
    best: dict[str, float] = {}
    for worth, window, _ in pool:
        best.setdefault(window.source_id, worth)
    top = list(best.values())[:3]
    return sum(top) / len(top)


def _alike(one: str, other: str) -> bool:
    """Whether two texts say the same thing: the same words, and no other figure or name."""
    if one in other or other in one:
        return True
    return similarity(one, other) >= _SAME and _values(one) == _values(other)


def _values(text: str) -> frozenset[str]:
    figures = (word for word in words(text) if word[0].isdigit())
    names = (root for name in capitalised(text) for root in content_terms(name.text))
    return frozenset((*figures, *names))


def claimed(chosen: Chosen, best: float, aim: Aim, today: str) -> JsonObject:
    window = chosen.window
    authority = _authority(chosen.source)
    agreement = min(len({w.source_id for w in chosen.also}), 2)
    hedged = hedges(window.text, today)
    directness = aim.coverage(window.text, chosen.source.document.title, only=aim.core)
    confidence = 0.25 + 0.3 * authority + 0.25 * directness + 0.1 * agreement
    confidence -= 0.1 * bool(hedged)
    # One quote a sentence: list marks may stand between them in the stored copy.
    return {
        "text": window.text,
        "quotes": [
            {"source_id": w.source_id, "text": sentence}
            for w in (window, *chosen.also)
            for sentence in w.sentences
            if usable(sentence) > 0
        ],
        "confidence": round(min(max(confidence, 0.1), 0.95), 2),
        "relevance": round(min(1.0, 0.3 + 0.7 * chosen.worth / best), 2),
        "uncertain": hedged,
        "not_to_overstate": scope(window.text),
    }
