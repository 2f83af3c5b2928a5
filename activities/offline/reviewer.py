"""The offline reviewer: a mechanical second look at a plan, before anything is spent on it.

It reads the question afresh and asks three things of the plan. Is a part the question names covered
by no facet? Then one is added. Do two facets ask nearly the same? Then they are joined. Has a facet
nothing of the question in it, and nothing found that speaks for it? Then it goes. A sound plan gets
no changes.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import combinations

from activities.offline import dimensions
from activities.offline.conversation import Conversation, JsonObject
from activities.offline.facets import Draft, as_facets, joined
from activities.offline.language import content_terms
from activities.offline.parts import named_draft
from activities.offline.questions import GENERIC_STEMS, Question, read_question
from activities.offline.themes import Landscape
from activities.offline.transport import Reply
from workflows.contracts.facets import Facet, QuestionKind
from workflows.rules.plan import twins

_FOUND = re.compile(
    r"\b[1-9]\d* of the \d+ passages|\bpassages? found\b|\bnamed in the question\b", re.I
)


def review(conversation: Conversation) -> Reply:
    brief = conversation.brief
    question = read_question(str(brief.get("question", "")))
    drafted = brief.get("plan", {})
    facets = [Facet.model_validate(facet) for facet in drafted.get("facets", ())]
    most = int(brief.get("max_facets", 10))
    changes = _surplus(question, facets) if question.kind is QuestionKind.FACT else []
    if not changes and question.kind is not QuestionKind.FACT:
        changes += _twins(facets)
        gone = {fid for change in changes for fid in change["facet_ids"]}
        changes += _strangers(question, [f for f in facets if f.id not in gone])
        left = len(facets) - len(changes)
        changes += _missing(question, facets)[: max(most - left, 0)]
    return Reply({"changes": changes})


def _surplus(question: Question, facets: Sequence[Facet]) -> list[JsonObject]:
    """A narrow fact needs one facet: the one that asks most of the question."""
    asked = set(content_terms(question.text))
    ranked = sorted(facets, key=lambda f: -len(asked & set(content_terms(f.question))))
    return [
        _change(
            "drop", [facet.id], "The question asks for one fact; one facet asks for it already."
        )
        for facet in ranked[1:]
    ]


def _twins(facets: Sequence[Facet]) -> list[JsonObject]:
    changes: list[JsonObject] = []
    gone: set[str] = set()
    alike = {(one.id, other.id) for one, other in twins(facets)}
    for one, other in combinations(facets, 2):
        same = (one.id, other.id) in alike or _same_title(one, other)
        if gone & {one.id, other.id} or not same:
            continue
        gone |= {one.id, other.id}
        merged = one.model_copy(
            update={
                "title": one.title if _within(other.title, one.title) else _both(one, other),
                "reason": f"{one.reason} Joined with “{other.title}”, which asks nearly the same."[
                    :600
                ],
                "depends_on": tuple(
                    d
                    for d in dict.fromkeys((*one.depends_on, *other.depends_on))
                    if d not in {one.id, other.id}
                ),
            }
        )
        reason = f"“{one.title}” and “{other.title}” ask nearly the same."
        changes.append(_change("merge", [one.id, other.id], reason, merged))
    return changes


def _same_title(one: Facet, other: Facet) -> bool:
    a, b = set(content_terms(one.title)), set(content_terms(other.title))
    return bool(a) and a == b


def _within(part: str, whole: str) -> bool:
    return set(content_terms(part)) <= set(content_terms(whole))


def _both(one: Facet, other: Facet) -> str:
    a = Draft(one.title, one.title, "-", "-")
    return joined(a, Draft(other.title, other.title, "-", "-")).title[:160]


def _strangers(question: Question, facets: Sequence[Facet]) -> list[JsonObject]:
    """Facets off topic: nothing of the question in them, and no passage that speaks for them."""
    asked = set(content_terms(question.text)) - GENERIC_STEMS
    if not asked:
        return []
    off = [
        facet
        for facet in facets
        if not asked & set(content_terms(f"{facet.title} {facet.question}"))
        and not _FOUND.search(facet.reason)
    ]
    if len(off) == len(facets):
        return []  # a plan that shares no word with its question is in other words, not off topic
    reason = "It shares nothing with the question's subject, and no document found speaks for it."
    return [_change("drop", [facet.id], f"“{facet.title}”: {reason}") for facet in off]


def _missing(question: Question, facets: Sequence[Facet]) -> list[JsonObject]:
    """Parts and sides the question names that no facet takes up."""
    covered = [set(content_terms(f"{f.title} {f.question}")) for f in facets]
    subject = set(content_terms(question.subject))
    view = Landscape((), subject)
    lacking: list[Draft] = []
    for aspect in question.aspects:
        own = set(content_terms(aspect.text))
        # The subject stands in every facet's question; it is the rest that makes the part.
        telling = (own - subject - GENERIC_STEMS) or (own - subject) or own
        # "How A and B work" may be two facets; then each has its half.
        if not any(len(telling & terms) * 2 > len(telling) for terms in covered) and not (
            telling <= set().union(*covered)
        ):
            lacking.append(named_draft(aspect, view))
    for thing in question.things:
        own = set(content_terms(thing))
        if not any(own <= terms for terms in covered):
            lacking.append(
                Draft(
                    title=thing[0].upper() + thing[1:],
                    about=thing,
                    reason="One of the things the question compares.",
                    prefer=dimensions.prefer("", []),
                    named=True,
                    side=bool(question.aspects),
                )
            )
    taken = {facet.id for facet in facets}
    added = [f for f in as_facets(lacking, question) if f.id not in taken]
    return [
        _change("add", [], f"The question names “{f.title}”, and no facet covers it.", _plain(f))
        for f in added
    ]


def _plain(facet: Facet) -> Facet:
    """Without dependencies: their ids are those of facets that are in no plan."""
    return facet.model_copy(
        update={
            "depends_on": (),
            "reason": "Named in the question and missing from the plan.",
            "boundary": "Only this part: the other facets cover what else the question asks.",
        }
    )


def _change(
    action: str, facet_ids: list[str], reason: str, facet: Facet | None = None
) -> JsonObject:
    return {
        "action": action,
        "facet_ids": facet_ids,
        "facet": facet.model_dump(mode="json") if facet else None,
        "reason": reason,
    }
