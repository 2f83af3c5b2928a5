"""The judge without a model: a claim is entailed only if it stands in its quotes.

A gap is closed only by claims that hold the words of its question where the researcher misses
nothing. A facet is adequate where a passage of the right kind answers it; with related passages
only it is thin, and in the first round a gap. A sentence of a draft is entailed by its words in
what it cites.

Contradictions are what the finder of conflicts found: every side with what the words around it say
of it, and the likely reason. No side is called right; sides that a reason explains are qualified.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from statistics import median

from activities.evidence.conflicts.value_relations import explain
from activities.evidence.quantities.dates import moments
from activities.evidence.text.sentences import sentences
from activities.evidence.text.terms import detect_language, terms, words
from activities.offline.question import Question
from activities.offline.request import Conversation, JsonObject, Reply
from workflows.contracts.evidence import AUTHORITY

_WEAK = 0.3
"""Sources of less authority than this are weak."""
_RELATED = 0.5
"""The share of a question's terms that a claim must hold to answer it."""
_COVERED = 0.2
"""Of the ask's terms in all claims; below it they speak of something else."""
_SUPPORTED = 0.4
"""The median confidence below which one could not proceed."""
_RELEVANT = 0.3
"""Below this relevance a claim does not support an answer."""
_LISTED, _MOST_GAPS = 6, 2
_MOST_TERMS = 0.6
"""The share of a rubric point's terms in one passage that meets it in part."""
_LEAD = re.compile(r"^\s*(?:[-*+]\s+)?\*\*[^*\n]+\*\*:?")
_CITATION = re.compile(r"\[\d{1,5}\]")
_SAID_OF_SIDES = frozenset({"dated", "likely", "reason", "why", "they", "may", "differ"})
_OWN = frozenset({"title", "heading", "remark"})

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


def judge_claims(conversation: Conversation) -> Reply:
    brief = conversation.brief
    claims = brief["claims"]
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
            "findings": _judge_findings(brief) if "asked" in brief else None,
        }
    )


def _judge_findings(brief: JsonObject) -> JsonObject:
    """The four questions about an answer."""
    asked = brief["asked"]
    claims = [*brief["claims"], *asked["other_claims"]]
    quotes = [quote["text"] for claim in brief["claims"] for quote in claim["quotes"]]
    texts = [claim["text"] for claim in claims]
    coverage, uncovered = _cover(Question(asked["ask"]), " ".join((*texts, *quotes)))
    confidence = [c["confidence"] for c in claims if c["relevance"] >= _RELEVANT]
    answers = coverage >= _COVERED
    proceed = bool(confidence) and median(confidence) >= _SUPPORTED
    reason = "" if proceed else "most are weakly supported"
    return {
        "answers": answers,
        "critical": asked["said"]["critical"],
        "leads": [],
        "proceed": proceed,
        "reason": reason if answers else f"they do not speak of {', '.join(uncovered)}",
    }


def _cover(ask: Question, told: str) -> tuple[float, list[str]]:
    """The share of the ask's terms that were told of, and words that were not.

    Where the two are in different languages their words cannot be compared.
    """
    missing = [
        ask.surface[t] for t in ask.terms if t in ask.surface and t not in ask.terms_of(told)
    ]
    if not ask.terms or detect_language(ask.text) != detect_language(told):
        return 1.0, []
    return 1 - len(missing) / len(ask.terms), missing[:_LISTED]


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


# --- relations ---------------------------------------------------------------------------------


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


# --- drafts --------------------------------------------------------------------------------------


def judge_draft(conversation: Conversation) -> Reply:
    brief = conversation.brief
    sides = {contradiction["id"]: contradiction for contradiction in brief["contradictions"]}
    return Reply(
        {
            "verdicts": [
                _judge_sentence(sentence, brief["claims"], sides) for sentence in brief["sentences"]
            ],
            "named_gaps": [],
        }
    )


def _judge_sentence(
    sentence: JsonObject, claims: list[JsonObject], sides: dict[str, JsonObject]
) -> JsonObject:
    said = words(_CITATION.sub(" ", _LEAD.sub("", sentence["text"])))
    cited = set(sentence["cite"])
    texts = [
        " ".join(words(text))
        for claim in claims
        if cited & set(claim["cite"])
        for text in (claim["text"], *claim["quotes"])
    ]
    if sentence["kind"] in _OWN or any(" ".join(said) in text for text in texts):
        return {"id": sentence["id"], "verdict": "entailed"}
    if contradiction := sides.get(sentence["part"]):
        # An entry is put together from what is known of each side.
        known = set(words(" ".join([*texts, *_strings(contradiction)]))) | _SAID_OF_SIDES
        if set(said) <= known:
            return {"id": sentence["id"], "verdict": "entailed"}
    return {
        "id": sentence["id"],
        "verdict": "unsupported",
        "reason": "it does not stand in a claim that is cited there",
    }


def _strings(value: object) -> list[str]:
    if isinstance(value, str):
        return [value]
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return [text for one in inner for text in _strings(one)]


def evaluate(conversation: Conversation) -> Reply:
    brief = conversation.brief
    facets: list[JsonObject] = list(brief.get("facets", ()))
    counts = {facet["id"]: 0 for facet in facets}
    for claim in brief.get("claims", ()):
        for facet_id in (claim["facet_id"], *claim.get("also_for", ())):
            counts[facet_id] = counts.get(facet_id, 0) + (claim.get("verdict") != "failed")
    judgements = [_judge_facet(facet, counts[facet["id"]]) for facet in facets]
    asked = {gap["facet_id"] for gap in brief.get("gaps", ())}
    thin = [
        facet
        for facet, judged in zip(facets, judgements, strict=True)
        if judged["depth"] == "thin" and facet["id"] not in asked and not brief.get("pass")
    ]
    return Reply(
        {
            "judgements": judgements,
            "gaps": [_gap(facet) for facet in thin[:_MOST_GAPS]],
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


def _judge_facet(facet: JsonObject, claims: int) -> JsonObject:
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
