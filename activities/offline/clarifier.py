"""What a vague question leaves open: which of the documents' subjects is meant, and which years.

A question is vague where its few words stand in several documents. What is suggested are the titles
and headings of these documents.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from activities.offline.question import Question
from activities.offline.request import Conversation, Hit, JsonObject, Reply, UseTools

_FEW_TERMS = 2
_MANY_DOCUMENTS = 3
_MOST = 4
_LONGEST = 100
_NUMBERING = re.compile(r"^[\d.]+\s+")
_PERIOD = re.compile(
    r"\b(?:1[5-9]|20)\d\d\b|\b(?:now|today|currently?|latest|newest|recent(?:ly)?|last|next|since"
    r"|until|before|after|ever|history|heute|derzeit|aktuell\w*|seit|bis|vor|nach)\b",
    re.I,
)


def clarify(conversation: Conversation) -> UseTools | Reply:
    question = Question(str(conversation.brief["question"]))
    asked = question.main_terms
    if len(asked) > _FEW_TERMS or "search" not in conversation.tools:
        return Reply({"questions": []})
    if not conversation.calls:
        return UseTools((("search", {"query": question.text, "aim": "what it could mean"}),))
    hits = [
        hit
        for hit in conversation.hits
        if not asked or asked & question.terms_of(" ".join((hit.title, hit.section, *hit.blocks)))
    ]
    if len({hit.source_id for hit in hits}) < _MANY_DOCUMENTS:
        return Reply({"questions": []})
    return Reply({"questions": _questions(question, asked, hits)})


def _questions(question: Question, asked: frozenset[str], hits: Sequence[Hit]) -> list[JsonObject]:
    titles = _distinct((hit.title for hit in hits), asked)
    sections = (_NUMBERING.sub("", hit.section.rpartition(" › ")[2]) for hit in hits)
    found = {
        "Which of these do you mean?": titles,
        "What matters most to you about it?": _distinct(sections, asked, titles),
        "For which period?": [] if _PERIOD.search(question.text) else _years(hits),
    }
    return [{"text": t, "suggestions": choices} for t, choices in found.items() if len(choices) > 1]


def _distinct(texts: Iterable[str], asked: frozenset[str], others: Sequence[str] = ()) -> list[str]:
    """Texts that add words of their own, to the question and to each other; those that share words
    with the question first."""
    known = [set(Question(text).terms) for text in others]
    found: list[str] = []
    for text in sorted(texts, key=lambda text: asked.isdisjoint(Question(text).terms)):
        own = set(Question(text).terms)
        if (
            0 < len(text) <= _LONGEST
            and own - asked
            and not any(own <= one or one <= own for one in known)
        ):
            known.append(own)
            found.append(text)
    return found[:_MOST]


def _years(hits: Iterable[Hit]) -> list[str]:
    """The newest years that the documents are dated by, and all of them together."""
    years = sorted({hit.date[:4] for hit in hits if hit.date}, reverse=True)
    return [*years[: _MOST - 1], f"{years[-1]} to {years[0]}"] if len(years) > 1 else years
