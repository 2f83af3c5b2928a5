"""The offline evaluator: does the draft answer the question, and what exactly is still missing?

Every facet is judged from its claims: adequate, thin or absent, with the reason. Of what
`shortfalls` finds the gravest become gaps: none that was asked before, however it ended, one of a
facet, and so few that a pass costs a fraction of the first round.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain

from activities.offline.conversation import Conversation, JsonObject
from activities.offline.language import content_terms
from activities.offline.questions import Question, listing, read_question
from activities.offline.shortfalls import (
    Shortfall,
    behind,
    contradictions,
    counted,
    lacking_in,
    lone,
    reported,
    terms_of,
    unanswered,
    unexplained_names,
    untouched,
)
from activities.offline.transport import Reply

_MOST = 3
_FACETS_A_GAP = 4
"""A follow-up costs about as much as a facet's research: a pass must stay below a third of it."""
_PER_FACET = 1
_SAME_QUESTION = 0.75
_FORMULAS = frozenset(
    content_terms("documents hold other sources say definition period method differ figures")
)
_KEPT_OUT = frozenset({"contradicted", "failed"})
_OVER = frozenset({"absent", "failed"})


def evaluate(conversation: Conversation) -> Reply:
    """The judgements, and a few gaps, the gravest first."""
    brief = conversation.brief
    question = read_question(str(brief.get("question", "")))
    facets: list[JsonObject] = list(brief.get("facets", ()))
    claims = [c for c in brief.get("claims", ()) if c.get("verdict") not in _KEPT_OUT]
    by_facet = {f["id"]: [c for c in claims if c["facet_id"] == f["id"]] for f in facets}
    known: list[JsonObject] = list(brief.get("gaps", ()))
    late = int(brief.get("pass", 0)) > 0
    found = chain(
        unanswered(facets, by_facet, question),
        untouched(facets, by_facet, claims, question),
        reported(facets, by_facet, claims, question),
        [] if late else contradictions(brief.get("contradictions", ()), facets),
        [] if late else behind(facets, by_facet, question),
        [] if late else lone(facets, by_facet, claims, question),
        [] if late else unexplained_names(facets, claims, question),
    )
    most = max(1, min(_MOST, len(facets) // _FACETS_A_GAP))
    return Reply(
        {
            "judgements": [_judged(f, by_facet[f["id"]]) for f in facets],
            "gaps": [
                {"facet_id": g.facet_id, "kind": g.kind, "text": g.text, "question": g.question}
                for g in _chosen(found, known, question)[:most]
            ],
        }
    )


def _judged(facet: JsonObject, claims: Sequence[JsonObject]) -> JsonObject:
    sources = {n for claim in claims for n in claim.get("cite", ())}
    lacking = lacking_in(facet, terms_of(claims)) if claims else []
    if not claims:
        depth = "absent"
        reason = facet.get("reason") or "No claim was found for it."
    elif len(claims) < 2 or len(sources) < 2 or lacking:
        depth = "thin"
        reason = f"{counted(len(claims), 'claim')} from {counted(len(sources), 'source')}"
        reason += f", and nothing on {listing(lacking[:3])}." if lacking else "."
    else:
        depth = "adequate"
        reason = f"{counted(len(claims), 'claim')} from {counted(len(sources), 'source')}."
    return {
        "facet_id": facet["id"],
        "addressed": bool(claims),
        "depth": depth,
        "reason": str(reason),
    }


def _chosen(
    found: Iterator[Shortfall], known: Sequence[JsonObject], question: Question
) -> list[Shortfall]:
    """Those not asked before, the gravest first and one of a facet."""
    common = set(content_terms(question.subject)) | _FORMULAS
    over = {gap["facet_id"] for gap in known if gap.get("status") in _OVER}
    chosen: list[Shortfall] = []
    for gap in sorted(found, key=lambda g: (g.rank, g.facet_id, g.question)):
        # A facet that was searched again in vain is not sent out a third time as a whole.
        if gap.kind == "missing" and gap.facet_id in over:
            continue
        of_facet = [g for g in chosen if g.facet_id == gap.facet_id]
        asked = [str(g["question"]) for g in known] + [g.question for g in chosen]
        if len(of_facet) >= _PER_FACET or any(
            _repeats(gap.question, other, common) for other in asked
        ):
            continue
        chosen.append(gap)
    return chosen


def _repeats(one: str, other: str, common: set[str]) -> bool:
    """The same question, but for the subject and the phrasing that all of them share."""
    if " ".join(one.lower().split()) == " ".join(other.lower().split()):
        return True
    a, b = (set(content_terms(text)) - common for text in (one, other))
    return bool(a and b) and len(a & b) >= _SAME_QUESTION * (len(a) * len(b)) ** 0.5
