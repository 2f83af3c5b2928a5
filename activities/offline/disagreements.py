"""Statements in sight that cannot all be right as they stand, so that every side is claimed.

A good reader who meets two figures for one thing notes both. `disagreements` holds all usable
sentences that a facet's searches brought against each other, with the rules the ledger itself uses,
and returns the windows of each side.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from activities.offline.passages import Window, is_row, leans, usable
from activities.offline.relevance import Aim
from activities.offline.scoring import GOOD, USELESS, Scored
from workflows.conflicts import Candidate, candidates
from workflows.evidence import Claim, Quote

_ON_TOPIC = 0.25
"""The share of the ask's weight that one side must hold, unless its document is all about it."""
_PER_SIDE = 1
_PLAIN = 0.5


@dataclass(frozen=True)
class Disagreement:
    """Windows of all its sides, and how near to the ask it is, from 0 to 1."""

    windows: tuple[Window, ...]
    nearness: float


def disagreements(scored: Sequence[Scored], aim: Aim) -> list[Disagreement]:
    """The nearest first; none that has nothing to do with the ask."""
    seen: dict[str, tuple[Window, Scored]] = {}
    for source in scored:
        if source.score < USELESS:
            continue
        for sentence in source.document.sentences:
            quality = usable(sentence)
            if quality >= _PLAIN and not leans(sentence) and not is_row(sentence):
                window = Window(source.document.source_id, (sentence,), "", quality)
                seen[f"s{len(seen)}"] = (window, source)
    claims = [
        Claim(
            id=key,
            facet_id="",
            text=window.text,
            quotes=(Quote(source_id=window.source_id, text=window.sentences[0]),),
        )
        for key, (window, _) in seen.items()
    ]
    dates = {s.document.source_id: s.document.date for s in scored}
    found = [
        Disagreement(_windows(candidate, seen), _nearness(candidate, seen, aim))
        for candidate in candidates(claims, dates=dates)
    ]
    near = [d for d in found if d.nearness >= _ON_TOPIC]
    return sorted(near, key=lambda d: -d.nearness)


def _nearness(candidate: Candidate, seen: dict[str, tuple[Window, Scored]], aim: Aim) -> float:
    """How much the nearest side has to do with the ask."""
    near = 0.0
    for key in candidate.claim_ids:
        window, source = seen[key]
        share = aim.coverage(window.text, source.document.title)
        near = max(near, share, _ON_TOPIC if source.score >= GOOD else 0.0)
    return near


def _windows(candidate: Candidate, seen: dict[str, tuple[Window, Scored]]) -> tuple[Window, ...]:
    """Some of every side, from documents of the best standing; a copy of one adds nothing."""
    chosen: list[Window] = []
    for side in candidate.sides:
        by_source = {seen[key][0].source_id: key for key in reversed(side.claim_ids)}
        best = sorted(by_source.values(), key=lambda key: (-seen[key][1].score, key))
        chosen += [seen[key][0] for key in best[:_PER_SIDE]]
    return tuple(chosen)
