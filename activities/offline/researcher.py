"""One facet researched: search broadly, score, aim at what is missing, then claim what was read.

`research` answers `ResearchAnswer`. Each cycle scores every source 0–1 with its reason and says
what is missing; the next takes on the documents' own terms and leaves out what scored below 0.2.
Claims are verbatim windows that hold the ask's distinctive terms. Where no document holds them the
answer has no claims, says so, and names what was looked for.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass

from activities.offline.conversation import Conversation, JsonObject
from activities.offline.cues import hedges, scope
from activities.offline.language import (
    capitalised,
    content_terms,
    noun_phrases,
    similarity,
    stem,
    words,
)
from activities.offline.lexicon import GENERIC
from activities.offline.passages import (
    Window,
    gather,
    is_row,
    plain,
    substance,
    usable,
)
from activities.offline.relevance import Aim, aim_at, synonyms
from activities.offline.scoring import (
    GOOD,
    USELESS,
    Scored,
    entities,
    listed,
    score,
    told,
    uncovered,
)
from activities.offline.transport import Reply, UseTools
from workflows.evidence import AUTHORITY

ENOUGH = 3
_READS = 8
_FLOOR = 0.55
"""Of a good window's worth: fewer claims are better than claims beside the point."""
_HOLLOW = 0.6
"""Below this a sentence is intent or praise, and must be close to the ask to be claimed."""
# Complaints about an answer's form, as against a follow-up question.
_FAULT = re.compile(r"does not stand in|copy it exactly|validation error|schema", re.I)
_SAME = 0.82
"""From this likeness on two windows say the same thing."""


def research(conversation: Conversation) -> UseTools | Reply:
    brief = conversation.brief
    sent_back = [c for c in conversation.complaints if _FAULT.search(c)]
    if sent_back and conversation.last_answer:
        return Reply(_without_faults(conversation.last_answer, "\n".join(sent_back)))
    aim = _aim(conversation)
    scored = score(gather(conversation.hits), aim)
    missing = uncovered(aim, scored)
    if _may_search(conversation) and not _enough(scored, missing, aim):
        queries = _queries(conversation, aim, scored, missing)
        if queries:
            return UseTools(_searches(queries, scored))
    if unread := _unread(conversation, aim, scored):
        return UseTools(tuple(("read", {"source_id": sid}) for sid in unread))
    chosen = _choose(scored, aim, brief)
    return Reply(_answer(chosen, scored, missing, aim, brief))


# --- retrieval ----------------------------------------------------------------------------------


def _aim(conversation: Conversation) -> Aim:
    brief = conversation.brief
    frequency: dict[str, int] = {}
    documents = 0
    for call in conversation.searches():
        frequency.update(call.report.get("terms", {}))
        documents = max(documents, int(call.report.get("documents", 0)))
    ask = " ".join([brief["ask"], *(c for c in conversation.complaints if not _FAULT.search(c))])
    facet = brief["facet"]
    title = facet["title"] if brief["ask"] == facet["question"] else ""
    return aim_at(brief["question"], title, ask, frequency, documents)


def _may_search(conversation: Conversation) -> bool:
    searches = conversation.searches()
    done = len({call.turn for call in searches})
    refused = any(call.error for call in searches)
    left = min((int(c.report.get("cycles_left", 1)) for c in searches if not c.error), default=1)
    return (
        "search" in conversation.tools
        and not refused
        and left > 0
        and (done < int(conversation.brief.get("cycles", 3)))
    )


def _enough(scored: list[Scored], missing: list[str], aim: Aim) -> bool:
    """Three good sources and nothing missing that some document is known to hold."""
    good = sum(1 for s in scored if s.score >= GOOD)
    findable = [t for t in missing if aim.frequency.get(t, 0) > 0]
    return good >= ENOUGH and not findable


def _queries(
    conversation: Conversation, aim: Aim, scored: list[Scored], missing: list[str]
) -> list[tuple[str, str]]:
    """The next cycle's searches as (query, aim); none that was asked before."""
    brief = conversation.brief
    approach = brief.get("approach", "first")
    asked = {frozenset(content_terms(str(c.input["query"]))) for c in conversation.searches()}
    if not conversation.searches():
        wanted = _first_queries(brief, aim, approach)
    else:
        wanted = _refined(aim, scored, missing, brief)
    queries: list[tuple[str, str]] = []
    for query, purpose in wanted:
        key = frozenset(content_terms(query))
        if key and key not in asked:
            asked.add(key)
            queries.append((query, purpose))
    return queries[: 1 if approach == "narrower" else 3]


def _unread(conversation: Conversation, aim: Aim, scored: list[Scored]) -> list[str]:
    """Documents worth reading beyond the passage that was found: one turn, before answering."""
    reads = [call for call in conversation.calls if call.name == "read"]
    if reads or "read" not in conversation.tools:
        return []
    best = [s for s in scored if s.score >= USELESS and (s.best or aim.titled(s.document.title))]
    return [s.document.source_id for s in best[:_READS]]


def _first_queries(brief: JsonObject, aim: Aim, approach: str) -> list[tuple[str, str]]:
    subject = " ".join(_subject(brief["question"]))
    title = brief["facet"]["title"]
    ask = brief["ask"]
    core = " ".join(aim.surface.get(t, t) for t in aim.core)
    if approach == "narrower":
        return [(core, "the core of the question")]
    if approach == "broader":
        wide = [w for t in aim.core for w in (aim.surface.get(t, t), *synonyms(t))]
        return [
            (" ".join(wide), "other words for the same things"),
            (f"{title} {subject}", "the subject at large"),
            (brief["question"], "the whole question"),
        ]
    return [
        (ask, "the question as asked"),
        (f"{title} {subject}", "the facet within its subject"),
        (brief["question"], "the question around it"),
    ]


def _subject(question: str) -> list[str]:
    """The question's own names, or else its first things."""
    names = [name.text for name in capitalised(question)]
    return (names or noun_phrases(question))[:3]


def _refined(
    aim: Aim, scored: list[Scored], missing: list[str], brief: JsonObject
) -> list[tuple[str, str]]:
    subject = " ".join(_subject(brief["question"])[:1])
    core = [aim.surface.get(t, t) for t in aim.core[:3]]
    wanted: list[tuple[str, str]] = []
    wanting = [aim.surface.get(t, t) for t in missing] or core[:2]
    for name in entities(aim, scored)[:2]:
        wanted.append((" ".join([name, *wanting[:3]]), f"{name}: named, not explained"))
    if missing:
        lacking = [aim.surface.get(t, t) for t in missing[:4]]
        wide = [w for t in missing[:4] for w in synonyms(t)]
        purpose = f"still missing: {', '.join(lacking)}"
        wanted.insert(1, (" ".join([*lacking, *wide]), purpose))
    for phrase in _own_terms(aim, scored)[:2]:
        wanted.append((" ".join([phrase, *core]), f"the documents' own term “{phrase}”"))
    wanted.append((" ".join([*core, subject]), "the heart of the question"))
    return wanted


def _own_terms(aim: Aim, scored: list[Scored]) -> list[str]:
    """Phrases frequent in good hits and rare in the others."""
    good: Counter[str] = Counter()
    other: Counter[str] = Counter()
    for source in scored:
        held = {p.lower() for s in source.document.sentences for p in noun_phrases(plain(s))}
        (good if source.score >= 0.5 else other).update(held)
    general = {stem(word) for word in GENERIC}
    telling = {
        phrase: good[phrase] / (1 + other[phrase])
        for phrase in good
        if " " in phrase
        and good[phrase] >= 2
        and not set(content_terms(phrase)) <= set(aim.weights) | general
        and aim.coverage(phrase) > 0
    }
    return sorted(telling, key=lambda p: (-telling[p], p))


def _searches(
    queries: list[tuple[str, str]], scored: list[Scored]
) -> tuple[tuple[str, JsonObject], ...]:
    exclude = [s.document.source_id for s in scored if s.score < USELESS]
    calls: list[tuple[str, JsonObject]] = []
    for query, purpose in queries:
        arguments: JsonObject = {"query": query, "aim": purpose}
        if exclude:
            arguments["exclude"] = exclude
        if scored and not calls:
            # One account of the cycle before is enough for the record.
            arguments["scores"] = told(scored)
        calls.append(("search", arguments))
    return tuple(calls)


# --- claims -------------------------------------------------------------------------------------


@dataclass
class Chosen:
    """A claim in the making: a window, its worth, and others that say the same."""

    worth: float
    window: Window
    source: Scored
    also: list[Window]


def _choose(scored: list[Scored], aim: Aim, brief: JsonObject) -> list[Chosen]:
    """The best windows, few per document, none twice, none known already."""
    pool = [
        (worth * (0.6 + 0.4 * source.score), window, source)
        for source in scored
        if source.score >= (0.3 if source.linked else 0.4)
        for worth, window in source.best
    ]
    pool.sort(key=lambda item: (-item[0], item[1].source_id, item[1].sentences))
    if not pool:
        return []
    floor = _FLOOR * _level(pool)
    limit = int(brief.get("max_claims", 10))
    known = [str(text) for text in brief.get("known_claims", ())]
    per_document = 3 if len({w.source_id for _, w, _ in pool}) < 5 else 2
    chosen: list[Chosen] = []
    taken: Counter[str] = Counter()
    for worth, window, source in pool:
        if len(chosen) >= limit:
            break
        if worth < floor * (0.8 if source.linked else 1.0):
            continue
        if worth < 1.5 * floor and max(map(substance, window.sentences)) < _HOLLOW:
            continue
        if any(_alike(window.text, text) for text in known):
            continue
        twin = next((c for c in chosen if _alike(c.window.text, window.text)), None)
        if twin:
            if twin.window.source_id != window.source_id and _same_figures(twin.window, window):
                twin.also.append(window)
            continue
        if any(set(window.sentences) & set(c.window.sentences) for c in chosen):
            continue
        if taken[window.source_id] >= per_document:
            continue
        taken[window.source_id] += 1
        chosen.append(Chosen(worth, window, source, []))
    return chosen


def _level(pool: list[tuple[float, Window, Scored]]) -> float:
    """What a good window is worth here: the mean of the three best documents' best."""
    best: dict[str, float] = {}
    for worth, window, _ in pool:
        best.setdefault(window.source_id, worth)
    top = list(best.values())[:3]
    return sum(top) / len(top)


def _alike(one: str, other: str) -> bool:
    return one in other or other in one or similarity(one, other) >= _SAME


def _same_figures(one: Window, other: Window) -> bool:
    return _digits(one.text) == _digits(other.text)


def _digits(text: str) -> set[str]:
    return {word for word in words(text) if word[0].isdigit()}


def _answer(
    chosen: list[Chosen], scored: list[Scored], missing: list[str], aim: Aim, brief: JsonObject
) -> JsonObject:
    wanted = _in_words(missing, aim)
    best = chosen[0].worth if chosen else 1.0
    claims = [_claim(c, best, aim, str(brief.get("today", ""))) for c in chosen]
    if not claims and not wanted:
        wanted = _in_words(list(aim.core), aim) or [brief["ask"]]
    return {
        "summary": _summary(chosen, wanted),
        "claims": claims,
        "scores": told(scored),
        "missing": wanted,
        "exhausted": not claims or bool(wanted),
        "next_step": f"Look beyond these documents for: {listed(wanted)}." if wanted else "",
    }


def _in_words(terms: list[str], aim: Aim) -> list[str]:
    """Missing terms as the ask's own phrases."""
    said: dict[str, None] = {}
    for term in terms:
        phrase = next((p for p in aim.phrases if term in content_terms(p)), None)
        said.setdefault((phrase or aim.surface.get(term, term)).strip(), None)
    return list(said)


def _summary(chosen: list[Chosen], missing: list[str]) -> str:
    if not chosen:
        return f"The documents hold nothing on {listed(missing)}."
    lead = [c.window.text for c in chosen if not is_row(c.window.sentences[0])] or [
        c.window.text for c in chosen
    ]
    return " ".join(lead[:3])[:1000]


def _claim(chosen: Chosen, best: float, aim: Aim, today: str) -> JsonObject:
    window = chosen.window
    authority = AUTHORITY.get(chosen.source.document.kind, 0.5)
    agreement = min(len({w.source_id for w in chosen.also}), 2)
    hedged = hedges(window.text, today)
    directness = aim.coverage(window.text, chosen.source.document.title, only=aim.core)
    confidence = 0.25 + 0.3 * authority + 0.25 * directness + 0.1 * agreement
    confidence -= 0.1 * bool(hedged)
    # One quote a sentence: list marks may stand between them in the stored copy.
    return {
        "text": window.text,
        "quotes": [
            {"source_id": w.source_id, "text": sentence}
            for w in (window, *chosen.also)
            for sentence in w.sentences
            if usable(sentence) > 0
        ],
        "confidence": round(min(max(confidence, 0.1), 0.95), 2),
        "relevance": round(min(1.0, 0.3 + 0.7 * chosen.worth / best), 2),
        "uncertain": hedged,
        "not_to_overstate": scope(window.text),
    }


def _without_faults(answer: JsonObject, complaint: str) -> JsonObject:
    """The answer without the quotes that were sent back, and without claims left bare."""
    claims = []
    for claim in answer.get("claims", ()):
        quotes = [q for q in claim["quotes"] if q["text"][:200] not in complaint]
        if quotes:
            claims.append({**claim, "quotes": quotes})
    return {**answer, "claims": claims, "exhausted": answer.get("exhausted", False) or not claims}
