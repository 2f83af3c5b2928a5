"""Statements in sight that cannot all be right as they stand, so that every side is claimed.

A good reader who meets two figures for one thing notes both. `disagreements` holds all usable
sentences that a facet's searches brought against each other, with the rules the ledger itself uses,
and returns the windows of each side.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from activities.evidence.conflicts import Candidate, candidates
from activities.offline.coexistence import Side, coexist
from activities.offline.leaning import leans
from activities.offline.passages import Window, is_row, usable
from activities.offline.relevance import Aim
from activities.offline.scoring import Scored
from workflows.contracts.evidence import Claim, Quote

_NEAR, _NARROWLY, _FAR = 0.3, 0.5, 0.1
_TIED = 0.3
"""Of the best document's hold on the question: from here on a document is on its subject."""
_PER_SIDE = 3
_PLAIN = 0.5


@dataclass(frozen=True)
class Disagreement:
    """Its sides, each with windows of the documents that hold it, the best one first."""

    sides: tuple[tuple[Window, ...], ...]
    nearness: float
    """How much it has to do with the ask, from 0 to 1."""


def disagreements(scored: Sequence[Scored], aim: Aim) -> list[Disagreement]:
    """The nearest first; what is only on the question's subject comes last, but it comes.

    A contradiction that nobody claims is lost to the report.
    """
    seen: dict[str, tuple[Window, Scored]] = {}
    for source in scored:
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
    tied = _tied(scored, aim)
    found = [
        Disagreement(_sides(candidate, seen), _nearness(candidate, seen, aim, tied))
        for candidate in candidates(claims, dates=dates)
        if not coexist(candidate.kind, _told(candidate, seen))
    ]
    return sorted((d for d in found if d.nearness > 0), key=lambda d: -d.nearness)


def _told(candidate: Candidate, seen: Mapping[str, tuple[Window, Scored]]) -> list[Side]:
    return [
        Side(
            seen[side.claim_ids[0]][0].text,
            side.value,
            frozenset(seen[key][0].source_id for key in side.claim_ids),
            frozenset(seen[key][1].document.title for key in side.claim_ids),
        )
        for side in candidate.sides
    ]


def _tied(scored: Sequence[Scored], aim: Aim) -> set[str]:
    held = {
        s.document.source_id: aim.at_large(" ".join([s.document.title, *s.document.sentences]))
        for s in scored
    }
    least = _TIED * max(held.values(), default=0.0)
    return {source_id for source_id, share in held.items() if share >= least}


def _nearness(
    candidate: Candidate, seen: Mapping[str, tuple[Window, Scored]], aim: Aim, tied: set[str]
) -> float:
    """How much of the ask's distinctive terms the nearest side holds.

    What holds none of them but stands in a document on the question's subject is far, not nothing.
    """
    sides = [seen[key] for key in candidate.claim_ids]
    near = max(aim.coverage(w.text, s.document.title, only=aim.core) for w, s in sides)
    if near >= (_NARROWLY if aim.narrow else _NEAR):
        return near
    # One narrow question has no subject at large.
    return _FAR if not aim.narrow and any(w.source_id in tied for w, _ in sides) else 0.0


def _sides(
    candidate: Candidate, seen: Mapping[str, tuple[Window, Scored]]
) -> tuple[tuple[Window, ...], ...]:
    """Every side with a few of its documents, those that serve the ask best first."""
    sides = []
    for side in candidate.sides:
        by_source = {seen[key][0].source_id: key for key in reversed(side.claim_ids)}
        best = sorted(by_source.values(), key=lambda key: (-seen[key][1].score, key))
        sides.append(tuple(seen[key][0] for key in best[:_PER_SIDE]))
    return tuple(sides)
