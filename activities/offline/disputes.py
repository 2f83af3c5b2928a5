"""Contradictions as the findings meet them: each is marked once, with what the others say.

A disputed point stands once in the sections, in the words of its strongest claim, followed by the
other values. All sides in full, with their reasons, stand in the part that is kept for them.
"""

from __future__ import annotations

from collections.abc import Sequence

from activities.offline.appendix import listed
from activities.offline.conversation import JsonObject
from activities.offline.language import similarity
from activities.offline.prose import Cited, clean, marks

_SAME_WORDS = 0.6


class Disputes:
    """Which claims take sides, and which contradictions have been marked."""

    def __init__(self, brief: JsonObject) -> None:
        self._all: list[JsonObject] = list(brief["contradictions"])
        self._sides = {
            claim["id"]: found
            for claim in brief["claims"]
            if (found := self._side(claim["text"], claim["cite"]))
        }
        self._marked: set[str] = set()

    def of(self, claim: Cited) -> JsonObject | None:
        found = self._sides.get(claim.id)
        return found[0] if found else None

    def is_told(self, claim: Cited) -> bool:
        """Whether the point has been made already, by this side or another."""
        dispute = self.of(claim)
        return dispute is not None and dispute["id"] in self._marked

    def mark(self, claim: Cited) -> str:
        """What follows the first claim of a contradiction; nothing after the others."""
        dispute = self.of(claim)
        if dispute is None or dispute["id"] in self._marked:
            return ""
        self._marked.add(dispute["id"])
        return f" (Contested: {self.others(claim)}.)"

    def others(self, claim: Cited) -> str:
        """What the other sides say, in as few words as they allow."""
        dispute, own = self._sides[claim.id]
        rest = [side for i, side in enumerate(dispute["sides"]) if i != own]
        values = [f"{side['value']} {marks(side['cite'])}" for side in rest if side.get("value")]
        cites = list(dict.fromkeys(n for side in rest for n in side["cite"]))
        who = "another source says" if len(cites) == 1 else "others say"
        if len(values) == len(rest):
            return f"{who} {listed(values)}"
        return f"{who} otherwise {marks(cites)}"

    def _side(self, text: str, cite: Sequence[int]) -> tuple[JsonObject, int] | None:
        for dispute in self._all:
            for i, side in enumerate(dispute["sides"]):
                if set(side["cite"]) & set(cite) and (
                    similarity(side["text"], text) >= _SAME_WORDS
                    or clean(side["text"]).rstrip(".") in clean(text)
                ):
                    return dispute, i
        return None


def in_order(brief: JsonObject) -> list[JsonObject]:
    """The contradictions in the order of the question's parts, as the sections come."""
    place = {facet["id"]: i for i, facet in enumerate(brief["facets"])}
    return sorted(
        brief["contradictions"],
        key=lambda c: min((place.get(f, len(place)) for f in c.get("facet_ids", ())), default=99),
    )
