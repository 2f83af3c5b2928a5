"""The offline evaluator: a facet is adequate where a passage of the right kind answers it.

What has only related passages is thin; in the first round it becomes a gap, so that the report says
so and a follow-up may look once more.
"""

from __future__ import annotations

from activities.evidence.text.terms import terms
from activities.offline.request import Conversation, JsonObject, Reply

_MOST = 2
_MOST_TERMS = 0.6


def evaluate(conversation: Conversation) -> Reply:
    brief = conversation.brief
    facets: list[JsonObject] = list(brief.get("facets", ()))
    counts = {facet["id"]: 0 for facet in facets}
    for claim in brief.get("claims", ()):
        for facet_id in (claim["facet_id"], *claim.get("also_for", ())):
            counts[facet_id] = counts.get(facet_id, 0) + (claim.get("verdict") != "failed")
    judgements = [_judge(facet, counts[facet["id"]]) for facet in facets]
    asked = {gap["facet_id"] for gap in brief.get("gaps", ())}
    thin = [
        facet
        for facet, judged in zip(facets, judgements, strict=True)
        if judged["depth"] == "thin" and facet["id"] not in asked and not brief.get("pass")
    ]
    return Reply(
        {
            "judgements": judgements,
            "gaps": [_gap(facet) for facet in thin[:_MOST]],
            "rubric": [_judge_point(point, brief["claims"]) for point in brief.get("rubric", ())],
        }
    )


def _judge_point(point: JsonObject, claims: list[JsonObject]) -> JsonObject:
    """A point is met where one cited passage holds all its terms, partly where it holds most."""
    wanted = set(terms(point["text"]))
    shares = [len(wanted & set(terms(claim["text"]))) / max(1, len(wanted)) for claim in claims]
    best = max(range(len(claims)), key=lambda i: shares[i], default=None)
    share = shares[best] if best is not None else 0.0
    status = "met" if share == 1 else "partly" if share >= _MOST_TERMS else "not_met"
    found = best is not None and status != "not_met"
    return {
        "point": point["point"],
        "status": status,
        "reason": "A passage holds its words." if found else "No passage holds its words.",
        "cite": claims[best]["cite"] if found and best is not None else [],
        "facet_id": claims[best]["facet_id"] if found and best is not None else "",
    }


def _judge(facet: JsonObject, claims: int) -> JsonObject:
    missing = "; ".join(str(point) for point in facet.get("missing", ()))
    if not claims:
        depth, reason = "absent", facet.get("reason") or "No passage was found for it."
    elif missing:
        depth, reason = "thin", f"{claims} related passages; not found: {missing}"
    else:
        depth, reason = "adequate", f"{claims} passages, one of which answers it."
    return {
        "facet_id": facet["id"],
        "addressed": claims > 0,
        "depth": depth,
        "reason": str(reason),
    }


def _gap(facet: JsonObject) -> JsonObject:
    missing = "; ".join(str(point) for point in facet["missing"])
    return {
        "facet_id": facet["id"],
        "kind": "thin",
        "text": f"“{facet['title']}” has related passages only; not found: {missing}."[:600],
        "question": str(facet["question"])[:600],
    }
