"""The outcomes of research that found nothing, with ways on made from what was tried."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, TypeVar

from activities.agent.conversation import Answered, Ending, Unanswered
from activities.agent.retrieval import WEB
from activities.agent.schemas import ResearchAnswer
from activities.agent.toolbox import Toolbox
from activities.evidence.text.terms import terms
from workflows.contracts.activity_io import ResearchBrief
from workflows.contracts.outcomes import (
    Alternative,
    AlternativeKind,
    Failed,
    NoResults,
    Refused,
    TimedOut,
)

_REMEDIES: dict[Ending, str] = {
    "refused": "rephrase the question, or research this facet by hand",
    "out_of_budget": "raise the budget",
    "finished": "run again without finishing early",
    "malformed": "use another model for the researcher",
}
_CLAUSE = re.compile(r"[,;:?.]\s+|\s+(?:and|und|sowie|as well as)\s+", re.I)
_YEAR = re.compile(r"\b(?:19|20)\d\d\b")
_PERIOD = re.compile(
    r"\b(?:since|between|until|the (?:last|past)|decade|seit|zwischen|bis)\b", re.I
)
_LISTED = 4
_LONGEST = 400

_Failure = TypeVar("_Failure", bound=TimedOut | NoResults | Refused | Failed)
_Way = Callable[[ResearchBrief, Toolbox], Alternative | None]
"""Makes an alternative from what was tried; None where it does not apply."""


def time_out(brief: ResearchBrief, tools: Toolbox) -> TimedOut:
    reason = f"no answer within {brief.seconds:g} s"
    ways = (_narrower, _shorter_period, _other_terms)
    return _fail(TimedOut, brief, tools, reason, ways, seconds=brief.seconds)


def no_answer(brief: ResearchBrief, tools: Toolbox, reply: Unanswered) -> Refused | Failed:
    """The subagent ended without an answer that can be used."""
    kind: type[Refused | Failed] = Refused if reply.why == "refused" else Failed
    is_final = reply.why in ("refused", "out_of_budget", "finished")
    ways = () if is_final else (_narrower, _other_terms, _shorter_period, _other_source)
    return _fail(kind, brief, tools, reply.detail, ways, _REMEDIES.get(reply.why))


def nothing_found(
    brief: ResearchBrief, tools: Toolbox, reply: Answered[ResearchAnswer]
) -> NoResults | Failed:
    """The subagent answered without a claim that can be used."""
    log = tools.log
    if any(answer.claims for answer in reply.answers):
        cut_short = f" ({reply.cut_short})" if reply.cut_short else ""
        reason = f"none of the quotes stand in their sources{cut_short}"
        return _fail(Failed, brief, tools, reason, (_narrower, _other_source), "use another model")
    if not log.answered or reply.cut_short:
        # The search did not take place or did not end, so nothing can be called absent.
        why = "its searches failed" if log.queries() else "it answered without searching"
        reason = f"the subagent found nothing because {reply.cut_short or why}"
        remedy = "look at the worker's log, then ask again"
        ways = (_narrower, _other_terms, _other_source)
        return _fail(Failed, brief, tools, reason, ways, remedy)
    return _fail(
        NoResults,
        brief,
        tools,
        "the sources hold nothing on it",
        (_other_terms, _broader, _shorter_period, _other_source),
        "add documents about it",
        queries=log.queries(),
        exhausted=reply.answer.exhausted,
    )


def _fail(
    kind: type[_Failure],
    brief: ResearchBrief,
    tools: Toolbox,
    reason: str,
    ways: tuple[_Way, ...],
    remedy: str | None = None,
    **more: Any,
) -> _Failure:
    return kind(
        asked=brief.ask,
        reason=f"{reason}; {describe_search(tools)}",
        alternatives=_alternatives(brief, tools, ways, remedy),
        **list_searches(tools),
        **more,
    )


def describe_search(tools: Toolbox) -> str:
    """What was really searched, and what failed."""
    searched = tools.log.searched
    queries = "; ".join(f"“{query.partition(': ')[2]}”" for query in searched[:_LISTED])
    told = f"searched {queries}" if queries else "nothing was searched"
    trouble = "".join(f"; {problem}" for problem in tools.log.problems[:3])
    return f"{told}; {len(tools.sources)} documents came into sight{trouble}"


def list_searches(tools: Toolbox) -> dict[str, tuple[str, ...]]:
    """What every outcome says of its searches."""
    return {"searched": tuple(tools.log.searched), "problems": tuple(tools.log.problems)}


def _alternatives(
    brief: ResearchBrief, tools: Toolbox, ways: tuple[_Way, ...], remedy: str | None
) -> tuple[Alternative, ...]:
    """The ways that lead to a search not made yet; then what only a person can do."""
    tried = {_fold(query) for query in tools.log.queries()} | {_fold(brief.ask)}
    found: list[Alternative] = []
    for way in ways:
        alternative = way(brief, tools)
        if alternative and _fold(alternative.query) not in tried:
            tried.add(_fold(alternative.query))
            found.append(alternative)
    if remedy or not found:
        found.append(Alternative(kind="operator", text=remedy or "ask a narrower question"))
    return tuple(found)


def _narrower(brief: ResearchBrief, _: Toolbox) -> Alternative | None:
    """The part of the question with the most words of its own, or its heading."""
    clauses = [clause for clause in _CLAUSE.split(brief.ask) if len(set(terms(clause))) > 1]
    part = max(clauses, key=lambda clause: len(set(terms(clause)))) if len(clauses) > 1 else ""
    words = f"{brief.facet.title}: {part}" if part else brief.facet.title
    return _search("narrower", f"ask only for a part of it: {words}", words)


def _broader(brief: ResearchBrief, _: Toolbox) -> Alternative | None:
    words = f"{brief.ask} {brief.job.question}"
    return _search("broader", "look for anything on the subject, in the question's words", words)


def _other_terms(brief: ResearchBrief, tools: Toolbox) -> Alternative | None:
    """The ask's words that the documents know, with the words of what came into sight."""
    known = [word for word, count in tools.log.terms.items() if count][:_LISTED]
    asked = set(terms(brief.ask))
    titles = [source.title for source in tools.sources.values()]
    titles += [hit.title for hit in tools.candidates]
    theirs = dict.fromkeys(word for title in titles for word in title.split() if word.isalpha())
    fresh = [word for word in theirs if len(word) > 3 and not set(terms(word)) & asked][:_LISTED]
    if not fresh:
        return None
    words = " ".join([*known, *fresh])
    return _search("other_terms", f"use the sources' own words: {words}", words)


def _shorter_period(brief: ResearchBrief, _: Toolbox) -> Alternative | None:
    """The latest year of a question that spans several."""
    years = sorted(set(_YEAR.findall(brief.ask)))
    if not years or (len(years) == 1 and not _PERIOD.search(brief.ask)):
        return None
    year = years[-1] if len(years) > 1 else brief.job.today[:4]
    words = f"{brief.facet.title} {year}"
    return _search("shorter_period", f"ask for {year} alone", words)


def _other_source(brief: ResearchBrief, tools: Toolbox) -> Alternative | None:
    """A page that was found and not opened; else the web, where only documents were searched."""
    if tools.candidates:
        page = tools.candidates[0]
        return _search("other_source", f"open {page.url}", f"{page.title} {page.url}")
    if brief.job.web is not None and not any(s.startswith(WEB) for s in tools.log.searched):
        return _search("other_source", "search the web for it", f"{brief.facet.title} report")
    if brief.facet.prefer:
        words = f"{brief.facet.title} {brief.facet.prefer}"
        return _search("other_source", f"look for {brief.facet.prefer}", words)
    return None


def _search(kind: AlternativeKind, text: str, query: str) -> Alternative:
    return Alternative(kind=kind, text=text[:_LONGEST], query=query[:_LONGEST])


def _fold(text: str) -> str:
    return " ".join(text.lower().split())
