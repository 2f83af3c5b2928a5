"""Groups of claims that differ, answered from what the finder of conflicts found.

`judge_relations` answers `RelationsAnswer`. The relation is the finder's own. Every side is kept,
with value, date, definition and population as far as the words around it say, and with the likely
reason. No side is called right. Claims that can all be right are qualified, and so are the sides of
a contradiction that their words explain; where nothing does they are contradicted.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from activities.evidence.conflicts.value_relations import explain
from activities.evidence.quantities.dates import moments
from activities.evidence.text.sentences import sentences
from activities.offline.request import Conversation, JsonObject, Reply

_DEFINITION = re.compile(
    r"\b(?:(?:including|includes?|excluding|excludes?|not counting|counting|net of|without|"
    r"defined as|measured as|calculated as|counted as|before tax|after tax)(?:\s+[\w’'%-]+){1,6}|"
    r"(?:gross|net|nominal|audited|unaudited|preliminary|provisional|revised|planned|budgeted|"
    r"estimated|projected|average|median|peak)(?:\s+[\w’'-]+){1,2}|"
    r"(?:this|that|it|the (?:sum|figure|total|amount|estimate)) "
    r"(?:is the|covers?|contains?|counts?|does not (?:cover|contain|count)) [^.;]{5,240})",
    re.IGNORECASE,
)
_POPULATION = re.compile(
    r"\b(?:(?:among|for all|covering|sample of|survey of)\s+(?!them\b|these\b|those\b)"
    r"(?:[\w,’'-]+\s?){2,5}|\d[\d,.]*\s+(?:respondents|participants|patients|households|employees))",
    re.IGNORECASE,
)
_NOTES = {
    "other_period": "holds for its own period",
    "superseded": "one of the claims beside it replaces the other",
    "other_entity": "speaks of another thing of the same name",
    "other_definition": "holds as its source defines it",
}


def judge_relations(conversation: Conversation) -> Reply:
    brief = conversation.brief
    claims = {claim["id"]: claim for claim in brief["claims"]}
    # The finder has seen all claims of the job: what comes without sides does not differ for it.
    return Reply(
        {"groups": [_difference(group, claims) for group in brief["groups"] if group["sides"]]}
    )


def _difference(found: JsonObject, claims: Mapping[str, JsonObject]) -> JsonObject:
    entries = {claim_id: claims[claim_id] for claim_id in found["claim_ids"]}
    contexts = [_context(entries[side["claim_ids"][0]], side["value"]) for side in found["sides"]]
    cause, explanation = _reason(found, contexts)
    relation = found["relation"]
    if relation != "contradicts":
        verdict, confidence, note = "qualified", 0.7, _NOTES[relation]
    elif cause in ("unexplained", "error"):
        verdict, confidence = "contradicted", 0.4
        note = "other sources give a different value, and nothing in them explains it"
    else:
        verdict, confidence = "qualified", 0.6
        note = f"other sources give a different value; the likely reason is {cause}"
    sided = {cid for side in found["sides"] for cid in side["claim_ids"]}
    rulings = [
        _ruling(cid, verdict, confidence, note)
        if cid in sided
        else _ruling(cid, "supported", 0.6, "takes no side")
        for cid in entries
    ]
    return {
        "group": found["group"],
        "claim_ids": list(entries),
        "relation": relation,
        "about": str(found["about"]),
        "sides": [
            _side(side, entries, context, found["kind"])
            for side, context in zip(found["sides"], contexts, strict=True)
        ],
        "cause": cause,
        "explanation": explanation,
        "rulings": rulings,
    }


def _side(
    side: JsonObject, entries: Mapping[str, JsonObject], context: str, kind: str
) -> JsonObject:
    text = _sentence(entries[side["claim_ids"][0]]["text"], side["value"])
    named = moments(text)
    return {
        "text": text,
        "claim_ids": list(side["claim_ids"]),
        "value": side["value"] if kind != "polarity" else "",
        "date": side["date"] or (named[0].text if named else ""),
        "definition": _find(_DEFINITION, text, context, side["value"]),
        "population": _find(_POPULATION, text, context, side["value"]),
    }


def _reason(found: JsonObject, contexts: Sequence[str]) -> tuple[str, str]:
    """The likeliest cause; the first side is set against each other one."""
    first, *others = found["sides"]
    guesses = [
        explain(
            contexts[0], context, found["kind"], first["value"], side["value"],
            first["date"] or None, side["date"] or None,
        )
        for side, context in zip(others, contexts[1:], strict=True)
    ]  # fmt: skip
    best = next((guess for guess in guesses if guess.cause != "unexplained"), guesses[0])
    return best.cause, best.text


def _sentence(text: str, value: str) -> str:
    """The sentence of a claim that gives the value; all of it where none does alone."""
    return next((part for part in sentences(text) if value in part), text)


def _context(entry: JsonObject, value: str) -> str:
    """The claim's sentence with the two that follow it in the stored text."""
    text = _sentence(entry["text"], value)
    for quote in entry["quotes"]:
        lines = [x for x in str(quote.get("context", "")).splitlines() if not x.startswith("#")]
        parts = sentences(" ".join(lines))
        for i, part in enumerate(parts):
            if text in part or part in text:
                return " ".join(dict.fromkeys([*parts[i : i + 3], text]))
    return text


def _find(pattern: re.Pattern[str], text: str, context: str, value: str) -> str:
    """The words of a pattern nearest to the value: in its own sentence first, else beside it."""
    for where in (text, context):
        if found := pattern.search(where.replace(value, " ") if value else where):
            return " ".join(found.group().split()).rstrip(" ,.;")
    return ""


def _ruling(claim_id: str, verdict: str, confidence: float, notes: str) -> JsonObject:
    return {"claim_id": claim_id, "verdict": verdict, "confidence": confidence, "notes": notes}
