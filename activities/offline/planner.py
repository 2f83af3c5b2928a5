"""The offline planner: the question leads.

A facet is the question itself, each part it names, or each thing it compares. Only a question that
is openly broad gets more: headings and titles of documents that share its terms. Notes and pinned
facts of the asker change the plan where a reader can see it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from activities.offline.conversation import Conversation, Hit
from activities.offline.parts import Part, split_comparison, split_question
from activities.offline.passages import HEADING
from activities.offline.question import Question
from activities.offline.transport import Reply, UseTools
from workflows.contracts.facets import Facet, QuestionKind

_LONGEST_HEADING = 80
_MOST_HEADINGS = 4
_WITHOUT = re.compile(
    r"\b(?:drop|without|leave out|remove|skip|not interested in|ignore|no need for|ohne)\b"
    r"(?: the| any)?\s+(?P<what>[^.;,]+)",
    re.I,
)


def plan(conversation: Conversation) -> UseTools | Reply:
    brief = conversation.brief
    question = str(brief["question"])
    if "search" in conversation.tools and not conversation.calls:
        query = {"query": question, "aim": "what the documents hold on the question"}
        return UseTools((("search", query),))
    notes = [*brief.get("notes", ()), *conversation.notes]
    facets = _facets(question, conversation.hits, notes, brief.get("pinned", ()))
    return Reply(
        {
            "kind": _kind(question, len(facets)),
            "facets": [facet.model_dump(mode="json") for facet in facets],
        }
    )


def facets_of_question(question: str) -> list[Facet]:
    """The facets the question itself names: one for each part or thing compared."""
    if parts := split_comparison(question):
        # What sets the things side by side is found by the whole question alone.
        whole = _facet(split_question(question)[0], 1, "The question itself.")
        reason = "One of the things the question compares."
        return [whole, *(_facet(part, n, reason) for n, part in enumerate(parts, 2))]
    parts = split_question(question)
    reason = "Named in the question." if len(parts) > 1 else "The question itself."
    return [_facet(part, n, reason) for n, part in enumerate(parts, 1)]


def _facets(
    question: str, hits: Sequence[Hit], notes: Iterable[str], pinned: Iterable[str]
) -> list[Facet]:
    facets = facets_of_question(question)
    asked = Question(question)
    if len(facets) == 1 and asked.is_broad:
        for heading, title in _headings(asked, hits):
            part = Part(heading, f"{heading} ({question.rstrip('?. ')})?")
            reason = f"A heading in “{title}”, found by the question's words."
            facets.append(_facet(part, len(facets) + 1, reason))
    for note in notes:
        facets = _with_note(facets, note)
    known = "; ".join(str(fact).rstrip(".") for fact in pinned)
    if known:
        facets = [
            facet.model_copy(update={"boundary": f"{facet.boundary} Known already: {known}."[:800]})
            for facet in facets
        ]
    return facets


def _with_note(facets: list[Facet], note: str) -> list[Facet]:
    """The facets as a note wants them: without what it drops, else with what it asks for."""
    dropped = _WITHOUT.search(note)
    if dropped:
        unwanted = set(Question(dropped["what"]).terms)
        kept = [f for f in facets if not unwanted <= set(Question(f"{f.title} {f.question}").terms)]
        return kept or facets
    if not Question(note).terms:
        return facets
    part = Part(note.strip(" .?")[:160], f"{note.strip(' .?')}?")
    return [*facets, _facet(part, len(facets) + 1, "Asked for in a note on the plan.")]


def _headings(question: Question, hits: Sequence[Hit]) -> list[tuple[str, str]]:
    """Headings and titles in sight that share a term with the question and add one of their own."""
    asked = {own for own, weight in question.terms.items() if weight >= 1}
    found: dict[frozenset[str], tuple[str, str]] = {}
    for hit in hits:
        within = [block[mark.end() :] for block in hit.blocks if (mark := HEADING.match(block))]
        for heading in (hit.section.rpartition(" › ")[2], *within, hit.title):
            own = frozenset(Question(heading).terms)
            if len(heading) <= _LONGEST_HEADING and own & asked and own - asked:
                found.setdefault(own, (heading, hit.title))
    return list(found.values())[:_MOST_HEADINGS]


def _facet(part: Part, number: int, reason: str) -> Facet:
    name = re.sub(r"[^a-z0-9]+", "-", part.title.lower()).strip("-")[:40].strip("-")
    return Facet(
        id=f"{number}-{name}" if name else f"{number}-facet",
        title=part.title,
        question=part.question[:1200],
        boundary="Only this; the other facets cover what else the question asks.",
        prefer="documents whose titles or headings speak of it, the latest and most official first",
        reason=reason,
    )


def _kind(question: str, facets: int) -> QuestionKind:
    kind = Question(question).kind
    return QuestionKind.OVERVIEW if kind is QuestionKind.FACT and facets > 1 else kind
