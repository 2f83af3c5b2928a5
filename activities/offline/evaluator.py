"""The offline evaluator: a facet is adequate where a passage of the right kind answers it.

What has only related passages is thin; in the first round it becomes a gap, so that the report says
so and a follow-up may look once more.
"""

from __future__ import annotations

from activities.offline.conversation import Conversation, JsonObject, Reply

_MOST = 2


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
    return Reply({"judgements": judgements, "gaps": [_gap(facet) for facet in thin[:_MOST]]})


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
