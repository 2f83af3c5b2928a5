"""Groups of claims that bear on each other, judged from their words and the text around them.

`verify` answers `VerifierAnswer`. The same thing with different values is a contradiction: all
sides are kept, with value, date, definition and population as far as the words around them say,
and with the likely reason. No side is called right. Where the words explain the difference the
claims are qualified, where nothing does they are contradicted; a group that cannot be told apart
is unclear and its claims stay unverified, which is not refuted.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from activities.evidence.conflicts import Candidate, agree, candidates, explain
from activities.evidence.quantities import compatible, moments, quantities
from activities.offline.coexistence import Side, coexist
from activities.offline.conversation import Conversation, JsonObject
from activities.offline.language import sentences
from activities.offline.passages import is_row
from activities.offline.transport import Reply
from workflows.contracts.evidence import Claim, Quote

_DEFINITION = re.compile(
    r"\b(?:(?:including|includes?|excluding|excludes?|not including|not counting|counting|net of|"
    r"exclusive of|inclusive of|without|defined as|measured as|calculated as|expressed as|"
    r"counted as|before tax|after tax)\s+(?:[\w’'%-]+\s?){1,6}|"
    r"(?:gross|net|nominal|audited|unaudited|preliminary|provisional|revised|planned|budgeted|"
    r"actual|estimated|projected|contracted|list|catalogue|average|median|peak)\s+"
    r"(?:[\w’'-]+\s?){1,2}|"
    r"(?:this|that|it|the (?:sum|figure|total|amount|estimate)) "
    r"(?:is the|covers?|contains?|counts?|leaves out|does not (?:cover|contain|count)) "
    r"[^.;]{5,240})",
    re.I,
)
_POPULATION = re.compile(
    r"\b(?:(?:among|amongst|for all|covering|surveyed?|sample of|survey of)\s+"
    r"(?!them\b|these\b|those\b)(?:the\s+)?(?:[\w,’'-]+\s?){2,5}|\d[\d,.]*\s+(?:respondents|participants|passengers|patients|"
    r"households|employees|sites|stores|vehicles|buses|schools|hospitals|firms|companies)\b)",
    re.I,
)
# Beside the value and not with it, "150 passengers" and "without a ticket" explain nothing.
_CRUMB = re.compile(r"\d[\d,.]* \w+|without an? \w+|(?:\w+ ){0,2}\w+ed (?:the|an?) \w+", re.I)
_TRAILING = re.compile(r"\s+(?:and|or|the|a|an|of|in|on|at|to|for|with|is|are|was|were|by)$", re.I)
# "The old ferry" on one side does not make its figure an old one.
_EXPLAINED = frozenset({"definition", "period", "population", "method", "superseded"})


def verify(conversation: Conversation) -> Reply:
    brief = conversation.brief
    return Reply({"groups": [_judge(group, brief["question"]) for group in brief["groups"]]})


def _judge(group: JsonObject, question: str) -> JsonObject:
    told: list[JsonObject] = group["claims"]
    claims = [_claim(entry) for entry in told]
    found = _conflict(group, claims, question)
    if found is not None and not _rows_of_one_table(told):
        if not coexist(found.kind, _sides(found, told)):
            return _contradiction(group, told, found)
        return _without_conflict(group, "different_things", "supported", 0.7,
                                 "may hold beside the claims that differ from it")  # fmt: skip
    if all(agree(a, b) for i, a in enumerate(claims) for b in claims[i + 1 :]):
        return _without_conflict(group, "agreement", "supported", 0.8,
                                 "says the same as the claims beside it")  # fmt: skip
    if _rows_of_one_table(told) or _speak_of_different_things(claims):
        return _without_conflict(group, "different_things", "supported", 0.7,
                                 "speaks of another thing than the claims beside it")  # fmt: skip
    return _without_conflict(group, "unclear", "unverified", 0.4,
                             "whether the claims beside it bear on it cannot be told")  # fmt: skip


def _claim(entry: JsonObject) -> Claim:
    quotes = tuple(Quote(source_id=q["source_id"], text=q["text"]) for q in entry["quotes"])
    return Claim(id=entry["id"], facet_id=entry["facet_id"], text=entry["text"], quotes=quotes)


def _conflict(group: JsonObject, claims: Sequence[Claim], question: str) -> Candidate | None:
    """The widest conflict the claims hold: by their own words, else as answers to the question."""
    dates = {q["source_id"]: q.get("date") for entry in group["claims"] for q in entry["quotes"]}
    found = candidates(claims, dates=dates)
    for asked in (str(group.get("about", "")), question):
        if not found and asked:
            # Claims of several facets are set against each other only under one question.
            one = [claim.model_copy(update={"facet_id": "asked"}) for claim in claims]
            found = candidates(one, questions={"asked": asked}, dates=dates)
    same_kind = [c for c in found if c.kind == group.get("kind")] or found
    return max(same_kind, key=lambda c: (len(set(c.claim_ids)), c.about), default=None)


def _sides(found: Candidate, told: Sequence[JsonObject]) -> list[Side]:
    entries = {entry["id"]: entry for entry in told}
    return [
        Side(
            _saying(entries[side.claim_ids[0]]["text"], side.value),
            side.value,
            frozenset(q["source_id"] for cid in side.claim_ids for q in entries[cid]["quotes"]),
            frozenset(q["title"] for cid in side.claim_ids for q in entries[cid]["quotes"]),
        )
        for side in found.sides
    ]


def _rows_of_one_table(told: Sequence[JsonObject]) -> bool:
    """A table's rows are about different things, or it would not be one."""
    sources = {q["source_id"] for entry in told for q in entry["quotes"]}
    return len(sources) == 1 and all(is_row(entry["text"]) for entry in told)


def _speak_of_different_things(claims: Sequence[Claim]) -> bool:
    """Whether no two claims give amounts or dates that could be set against each other."""
    for i, one in enumerate(claims):
        for other in claims[i + 1 :]:
            if any(
                compatible(a.unit, b.unit)
                for a in quantities(one.text)
                for b in quantities(other.text)
            ):
                return False
            if moments(one.text) and moments(other.text):
                return False
    return True


# --- a contradiction ----------------------------------------------------------------------------


def _contradiction(group: JsonObject, told: list[JsonObject], found: Candidate) -> JsonObject:
    entries = {entry["id"]: entry for entry in told}
    sides = []
    around: list[str] = []
    for position in found.sides:
        own = [entries[cid] for cid in position.claim_ids]
        text = _saying(own[0]["text"], position.value)
        context = _near(own[0], text)
        around.append(context)
        stated = moments(text)
        sides.append(
            {
                "text": text,
                "claim_ids": list(position.claim_ids),
                "value": position.value if found.kind != "polarity" else "",
                "date": position.date or (stated[0].text if stated else ""),
                "definition": _cue(_DEFINITION, text, context, position.value),
                "population": _cue(_POPULATION, text, context, position.value),
            }
        )
    cause, explanation = _reason(found, around)
    verdict = "qualified" if cause in _EXPLAINED else "contradicted"
    note = (
        f"holds as its source defines it; others give a different value ({cause})"
        if verdict == "qualified"
        else "other sources give a different value, and nothing in them explains it"
    )
    sided = set(found.claim_ids)
    rulings = [_ruling(e["id"], verdict, 0.6 if verdict == "qualified" else 0.4, note)
               for e in told if e["id"] in sided]  # fmt: skip
    rulings += [_ruling(e["id"], "supported", 0.6, "takes no side in the conflict beside it")
                for e in told if e["id"] not in sided]  # fmt: skip
    return {
        "claim_ids": [e["id"] for e in told],
        "relation": "contradiction",
        "about": _named(str(group.get("about") or found.about)),
        "sides": sides,
        "cause": cause,
        "explanation": explanation,
        "rulings": rulings,
    }


_ASKED = re.compile(
    r"(?P<what>.+?) (?:do|does|did) (?P<who>.+?) (?:use|have|need|cost|take|earn|get|make|carry|"
    r"produce|emit|employ|sell|pay|spend|receive|hold)\b(?P<rest>.*)"
)


def _named(about: str) -> str:
    """ "energy does the ferry use per crossing", a question cut short, as "the ferry: energy …"."""
    found = _ASKED.fullmatch(about)
    return f"{found['who']}: {found['what']}{found['rest']}" if found else about


def _reason(found: Candidate, around: Sequence[str]) -> tuple[str, str]:
    """The likeliest cause; the first side is set against each other one."""
    first = found.sides[0]
    guesses = []
    for side, context in zip(found.sides[1:], around[1:], strict=True):
        dates = (first.date or None, side.date or None)
        values = (first.value, side.value)
        guesses.append(explain(around[0], context, found.kind, *values, *dates))
    explained = [g for g in guesses if g.cause != "unexplained"] or guesses[:1]
    # The same reason against a third side says nothing new.
    told = {g.cause: g.text for g in reversed(explained)}
    likeliest = explained[0].cause
    return likeliest, " ".join(dict.fromkeys([told[likeliest], *told.values()]))


def _saying(text: str, value: str) -> str:
    """The sentence of a claim that gives the value; all of it where none does alone."""
    return next((s for s in sentences(text) if value in s), text)


def _near(entry: JsonObject, text: str) -> str:
    """The claim's sentence with what follows it in the stored text: there a value is explained."""
    for quote in entry["quotes"]:
        lines = str(quote.get("context", "")).splitlines()
        # A heading is nobody's definition, and would run into the sentence below it.
        told = " ".join(" ".join(line.split()) for line in lines if not line.startswith("#"))
        parts = sentences(told)
        for i, part in enumerate(parts):
            if text in part or part in text:
                return " ".join(dict.fromkeys([*parts[i : i + 3], text]))
    return text


def _cue(pattern: re.Pattern[str], text: str, context: str, value: str) -> str:
    """The cue words nearest the value: in its own sentence first, else beside it."""
    for where in (text, context):
        found = pattern.search(where.replace(value, " ")) if value else pattern.search(where)
        if found:
            phrase = " ".join(found.group().split()).rstrip(" ,.;")
            while (shorter := _TRAILING.sub("", phrase)) != phrase:
                phrase = shorter
            if where == text or not _CRUMB.fullmatch(phrase):
                return phrase
    return ""


# --- everything else ----------------------------------------------------------------------------


def _without_conflict(
    group: JsonObject, relation: str, verdict: str, confidence: float, note: str
) -> JsonObject:
    ids = [entry["id"] for entry in group["claims"]]
    return {
        "claim_ids": ids,
        "relation": relation,
        "about": str(group.get("about", "")),
        "sides": [],
        "cause": "unexplained",
        "explanation": "",
        "rulings": [_ruling(cid, verdict, confidence, note) for cid in ids],
    }


def _ruling(claim_id: str, verdict: str, confidence: float, notes: str) -> JsonObject:
    return {"claim_id": claim_id, "verdict": verdict, "confidence": confidence, "notes": notes}
