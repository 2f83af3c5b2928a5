"""Groups of claims judged."""

from __future__ import annotations

from activities.offline.conversation import Conversation, JsonObject
from activities.offline.transport import Reply


def verify(conversation: Conversation) -> Reply:
    return Reply({"groups": [_judge(group) for group in conversation.brief["groups"]]})


def _judge(group: JsonObject) -> JsonObject:
    ids = [entry["id"] for entry in group["claims"]]
    return {
        "claim_ids": ids,
        "relation": "different_things",
        "about": str(group.get("about", "")),
        "sides": [],
        "cause": "unexplained",
        "explanation": "",
        "rulings": [
            {"claim_id": each, "verdict": "supported", "confidence": 0.7, "notes": ""}
            for each in ids
        ],
    }
