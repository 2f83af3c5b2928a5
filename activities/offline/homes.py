"""Which part of the question a claim belongs under.

A claim is found while one part is researched, and may say what its neighbour asks. It moves where
the neighbour's title holds clearly more of its words; a part is never left without any.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from activities.offline.appendix import ANSWERED
from activities.offline.conversation import JsonObject
from activities.offline.language import content_terms
from activities.offline.prose import Cited
from activities.offline.vocabulary import kinship

_CLEARLY = 0.5
_KIN = 0.6


def settled(claims: Sequence[Cited], facets: Sequence[JsonObject]) -> list[Cited]:
    """The claims in their order, each under the part that it answers."""
    titles = _distinctive(facets)
    held = Counter(claim.facet_id for claim in claims)
    placed: list[Cited] = []
    for claim in claims:
        roots = frozenset(content_terms(claim.text))
        fits = {fid: _share(terms, roots) for fid, terms in titles.items()}
        best = max(fits, key=lambda fid: fits[fid], default=claim.facet_id)
        better = fits.get(best, 0.0) - fits.get(claim.facet_id, 0.0) >= _CLEARLY
        if better and held[claim.facet_id] > 1:
            held[claim.facet_id] -= 1
            held[best] += 1
            claim = replace(claim, facet_id=best)
        placed.append(claim)
    return placed


def _distinctive(facets: Sequence[JsonObject]) -> dict[str, frozenset[str]]:
    """The words that tell a part's title from the others'; parts without findings take none in."""
    titles = {f["id"]: frozenset(content_terms(f["title"])) for f in facets}
    shared = Counter(term for terms in titles.values() for term in terms)
    answered = {f["id"] for f in facets if f["status"] in ANSWERED}
    return {
        fid: own
        for fid, terms in titles.items()
        if fid in answered and (own := frozenset(t for t in terms if shared[t] == 1))
    }


def _share(terms: frozenset[str], roots: frozenset[str]) -> float:
    held = sum(any(kinship(term, root) >= _KIN for root in roots) for term in terms)
    return held / len(terms)
