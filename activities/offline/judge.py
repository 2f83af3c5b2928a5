"""The judge without a model: a claim is entailed only if it stands in its quotes.

`judge_claims` answers `EntailmentAnswer`, `judge_gaps` answers `GapRulingsAnswer`. Nothing is read
into a text: what does not stand there is not supported, and a gap is closed only by claims that
hold the words of its question where the researcher misses nothing.
"""

from __future__ import annotations

from activities.evidence.text.terms import terms, words
from activities.offline.request import Conversation, JsonObject, Reply
from workflows.contracts.evidence import AUTHORITY

_WEAK = 0.3
"""Sources of less authority than this are weak."""
_RELATED = 0.5
"""The share of a question's terms that a claim must hold to answer it."""


def judge_claims(conversation: Conversation) -> Reply:
    claims = conversation.brief["claims"]
    quotes = [quote for claim in claims for quote in claim["quotes"]]
    weak = {
        quote["source_id"]: f"{quote['kind']}, which nobody has checked"
        for quote in quotes
        if AUTHORITY.get(quote["kind"], 0.5) < _WEAK
    }
    return Reply(
        {
            "claims": [_judge(claim) for claim in claims],
            "weak_sources": [{"source_id": sid, "reason": why} for sid, why in weak.items()],
        }
    )


def _judge(claim: JsonObject) -> JsonObject:
    if stands_in_quotes(claim["text"], [quote["text"] for quote in claim["quotes"]]):
        return {"claim_id": claim["id"], "verdict": "entailed"}
    reason = "its words do not stand in its quotes"
    return {"claim_id": claim["id"], "verdict": "unsupported", "reason": reason}


def stands_in_quotes(text: str, quotes: list[str]) -> bool:
    """Whether the claim is made of its quotes: their words, in their order, none beside."""
    claimed = " ".join(words(text))
    return f" {claimed} " in f" {' '.join(' '.join(words(quote)) for quote in quotes)} "


def judge_gaps(conversation: Conversation) -> Reply:
    return Reply({"gaps": [_rule(gap) for gap in conversation.brief["gaps"]]})


def _rule(gap: JsonObject) -> JsonObject:
    asked = set(terms(gap["question"]))
    held = max(
        (len(asked & set(terms(claim["text"]))) / max(1, len(asked))
         for claim in gap["new_claims"]),
        default=0.0,
    )  # fmt: skip
    missing = "; ".join(gap["missing"])
    if held < _RELATED:
        status, reason = "absent", "no new claim holds what was asked for"
    elif missing:
        status, reason = "partly", f"not found: {missing}"
    else:
        status, reason = "closed", "new claims hold what was asked for"
    return {"gap_id": gap["id"], "status": status, "reason": reason}
