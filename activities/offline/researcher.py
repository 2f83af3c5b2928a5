"""One facet researched: search broadly, score, aim at what is missing, then claim what was read.

`research` answers `ResearchAnswer`. Each cycle scores every source 0–1 with its reason and says
what is missing; the next takes on the documents' own terms and leaves out what scored below 0.2.
Claims are verbatim windows that hold the ask's distinctive terms. Where no document holds them the
answer has no claims, says so, and names what was looked for.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import replace

from activities.offline.claims import Chosen, choose, claimed
from activities.offline.conversation import Conversation, JsonObject
from activities.offline.language import (
    capitalised,
    content_terms,
    noun_phrases,
    stem,
    words,
)
from activities.offline.lexicon import GENERIC, STOP
from activities.offline.passages import gather, is_row
from activities.offline.relevance import Aim, aim_at
from activities.offline.residue import plain
from activities.offline.scoring import (
    GOOD,
    USELESS,
    Scored,
    entities,
    in_reading_order,
    listed,
    score,
    told,
    uncovered,
)
from activities.offline.transport import Reply, UseTools
from activities.offline.vocabulary import is_general, synonyms

ENOUGH = 3
_CHECKS = 8
_ELSEWHERE = "What other documents say of:"
_READS = 8
# Complaints about an answer's form, as against a follow-up question.
_FAULT = re.compile(r"does not stand in|copy it exactly|validation error|schema", re.I)


def research(conversation: Conversation) -> UseTools | Reply:
    brief = conversation.brief
    sent_back = [c for c in conversation.complaints if _FAULT.search(c)]
    if sent_back and conversation.last_answer:
        return Reply(_without_faults(conversation.last_answer, "\n".join(sent_back)))
    if conversation.follow_ups:
        return _asked_on(conversation)
    aim = _aim(conversation)
    scored = score(gather(conversation.hits), aim)
    missing = uncovered(aim, scored)
    if conversation.last_call:
        return Reply(_answer(choose(scored, aim, brief), scored, missing, aim, conversation))
    if _may_search(conversation) and not _enough(scored, missing, aim):
        queries = _queries(conversation, aim, scored, missing)
        if queries:
            return UseTools(_searches(queries, scored))
    if unread := _unread(conversation, aim, scored):
        return UseTools(tuple(("read", {"source_id": sid}) for sid in unread))
    if _may_check(conversation):
        # Which of these are disputed is looked into once others have been heard.
        checks = _cross_checks(choose(scored, aim, brief, all_sides=False))
        if checks:
            return UseTools(_searches(checks, scored, exclude=False))
    chosen = choose(scored, aim, brief)
    return Reply(_answer(chosen, scored, missing, aim, conversation))


def _asked_on(conversation: Conversation) -> UseTools | Reply:
    """A follow-up: an ask of its own over all that was read; what was answered is known."""
    brief = conversation.brief
    told = [claim["text"] for answer in conversation.answers for claim in answer.get("claims", ())]
    brief = {
        **brief,
        "ask": _wanted(conversation.follow_ups[-1]),
        "known_claims": [*brief.get("known_claims", ()), *told],
    }
    conversation = replace(conversation, brief=brief)
    aim = _aim(conversation)
    scored = score(gather(conversation.hits), aim)
    if not conversation.last_call and _may_go_on(conversation):
        return UseTools(_searches([(brief["ask"], "what was asked next")], scored, exclude=False))
    missing = uncovered(aim, scored)
    return Reply(_answer(choose(scored, aim, brief), scored, missing, aim, conversation))


def _wanted(question: str) -> str:
    """What is asked for: where a sentence leads up to it with a colon, what comes after that."""
    parts = [part.partition(": ")[2] or part for part in re.split(r"(?<=[.?!])\s+", question)]
    return " ".join(parts)


def _may_go_on(conversation: Conversation) -> bool:
    """One cycle is granted with each follow-up."""
    searches = conversation.searches()
    done = len({call.turn for call in searches})
    granted = int(conversation.brief.get("cycles", 3)) + len(conversation.follow_ups)
    return (
        "search" in conversation.tools
        and done < granted
        and not any(call.turn >= conversation.since for call in searches)
    )


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
    # The last cycle is kept for what others say of what was found.
    cycles = max(1, int(conversation.brief.get("cycles", 3)) - 1)
    return "search" in conversation.tools and not refused and left > 0 and done < cycles


def _may_check(conversation: Conversation) -> bool:
    searches = conversation.searches()
    return (
        "search" in conversation.tools
        and conversation.brief.get("approach") != "narrower"
        and not any(call.error for call in searches)
        and min((int(c.report.get("cycles_left", 0)) for c in searches), default=0) > 0
        and not any(str(c.input.get("aim", "")).startswith(_ELSEWHERE) for c in searches)
    )


def _cross_checks(chosen: list[Chosen]) -> list[tuple[str, str]]:
    """What other documents say of the same thing: one search for each of the best claims."""
    checks = []
    for claim in chosen:
        text = plain(claim.window.sentences[0])
        if not is_row(text):
            terms = (w for w in words(text) if not w[0].isdigit() and w not in STOP)
            checks.append((" ".join(terms), f"{_ELSEWHERE} {text[:120]}"))
    return checks[:_CHECKS]


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
    return queries[: 1 if approach == "narrower" else 4]


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
        (title, "the facet by its name"),
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
    queries: list[tuple[str, str]], scored: list[Scored], *, exclude: bool = True
) -> tuple[tuple[str, JsonObject], ...]:
    useless = [s.document.source_id for s in scored if s.score < USELESS] if exclude else []
    calls: list[tuple[str, JsonObject]] = []
    for query, purpose in queries:
        arguments: JsonObject = {"query": query, "aim": purpose}
        if useless:
            arguments["exclude"] = useless
        if scored and not calls:
            # One account of the cycle before is enough for the record.
            arguments["scores"] = told(scored)
        calls.append(("search", arguments))
    return tuple(calls)


# --- the answer -----------------------------------------------------------------------------------


def _answer(
    chosen: list[Chosen],
    scored: list[Scored],
    missing: list[str],
    aim: Aim,
    conversation: Conversation,
) -> JsonObject:
    brief = conversation.brief
    searched = [[hit.source_id for hit in call.hits] for call in conversation.searches()]
    # Where something was found, a general word beside it is not a hole.
    lacking = [t for t in missing if not (chosen and is_general(t))]
    wanted = _in_words(lacking, aim)
    best = chosen[0].worth if chosen else 1.0
    claims = [claimed(c, best, aim, str(brief.get("today", ""))) for c in chosen]
    if not claims and not wanted:
        wanted = _in_words(list(aim.core), aim) or [brief["ask"]]
    return {
        "summary": _summary(chosen, wanted),
        "claims": claims,
        "scores": told(in_reading_order(scored, searched)),
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


def _without_faults(answer: JsonObject, complaint: str) -> JsonObject:
    """The answer without the quotes that were sent back, and without claims left bare."""
    claims = []
    for claim in answer.get("claims", ()):
        quotes = [q for q in claim["quotes"] if q["text"][:200] not in complaint]
        if quotes:
            claims.append({**claim, "quotes": quotes})
    return {**answer, "claims": claims, "exhausted": answer.get("exhausted", False) or not claims}
