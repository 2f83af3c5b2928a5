"""The offline planner: searches broadly, then splits a question by what it asks and what is there.

Three sources, in this order: what the question names (always a facet, also where the documents hold
nothing, so that its absence is found and said), what the documents show (themes that several of
them share and that bear on the question), and what its kind needs (periods for a timeline, sides
for a comparison, costs and risks for a decision). A narrow fact is one facet.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from activities.offline import dimensions
from activities.offline.aboutness import Documents
from activities.offline.conversation import Conversation
from activities.offline.facets import Draft, as_facets, joined
from activities.offline.grammar import trimmed
from activities.offline.kinds import deciding, explaining, fact, general, periods, sides
from activities.offline.language import capitalised, content_terms, similarity
from activities.offline.parts import (
    core_parts,
    covered,
    named_draft,
    named_parts,
    phrase_of,
    shown_groups,
    shown_themes,
)
from activities.offline.questions import Aspect, Question, read_question
from activities.offline.subdomains import one_side, subdomains
from activities.offline.themes import Landscape
from activities.offline.topicality import (
    SMALL,
    Passage,
    families,
    foreign,
    gather,
    on_topic,
    shared_names,
    with_namesakes,
)
from activities.offline.transport import Reply, UseTools
from workflows.contracts.facets import QuestionKind

_MOST_QUERIES = 14
_TARGET = {"quick": 4, "standard": 8, "deep": 12}
"""How many facets are aimed at; what the question names may go beyond, up to the cap."""
_FIRST_LOOK = 80
"""Passages enough to see where to search next."""
_PLACES = 3
"""Kept for what the documents show and the question does not name."""
_SOME = 5


_ASKS = re.compile(
    r"(?:how|who|where|when) (?:do|does|did|is|are|was|were|has|have)\b|how (?:should|must|to)\b|"
    r"how can (?:i|we|you|one)\b|what should\b.+\bdo\b|.*\b(?:best|good) (?:practices?|ways?)\b|"
    r".*\brecommended (?:ways?|practices?|approach)\b",
    re.I,
)
""" "How does A get B?", "how should A be done?": one question, not a matter to be surveyed."""


def plan(conversation: Conversation) -> UseTools | Reply:
    """Two turns of searching at most, then the plan."""
    brief = conversation.brief
    question = read_question(str(brief.get("question", "")))
    done = conversation.searches()
    can_search = "search" in conversation.tools and not any(call.error for call in done)
    if can_search and not done:
        return _search(_broad(question))
    if foreign(done, question.core):
        return _reply(question, [fact(question)])
    found = gather(done, question.core)
    if question.kind is QuestionKind.OVERVIEW:
        found = with_namesakes(found, question.text)
    if can_search and len({call.turn for call in done}) == 1:
        asked_before = {str(call.input.get("query", "")) for call in done}
        first = _landscape(question, on_topic(found, _FIRST_LOOK))
        more = [q for q in _deeper(question, first) if q not in asked_before]
        if more:
            return _search(more)
    view = _landscape(question, on_topic(found))
    most = int(brief.get("max_facets", 10))
    target = min(most, _TARGET.get(str(brief.get("effort")), 7))
    drafts = _fitted(_drafts(question, view, Documents(found), target, most), most)
    return _reply(question, _told_apart(drafts))


def _reply(question: Question, drafts: Sequence[Draft]) -> Reply:
    facets = [facet.model_dump(mode="json") for facet in as_facets(drafts, question)]
    return Reply({"kind": question.kind.value, "facets": facets})


def _landscape(question: Question, passages: Sequence[Passage]) -> Landscape:
    """What the passages deal with, beyond the subject and whatever the question calls by name."""
    names = " ".join(name.text for name in capitalised(question.text))
    known = families(content_terms(f"{question.subject} {names}"), [p.terms for p in passages])
    return Landscape(passages, {form for forms in known.values() for form in forms})


def _search(queries: Sequence[str]) -> UseTools:
    return UseTools(
        tuple(
            ("search", {"query": query, "aim": "See what the documents hold on this."})
            for query in list(dict.fromkeys(queries))[:_MOST_QUERIES]
        )
    )


def _broad(question: Question) -> list[str]:
    """The question, what it names, and the sides that any matter has."""
    subject = question.subject
    queries = [question.text]
    if question.kind is QuestionKind.FACT:
        return queries
    queries += [subject] if subject else []
    queries += [f"{thing} {subject}".strip() for thing in question.things]
    queries += [f"{phrase_of(a)} {subject}".strip() for a in question.aspects]
    queries += [name.text for name in capitalised(question.text)[:3]]
    queries += [f"{subject} {' '.join(d.words[:5])}".strip() for d in dimensions.SHOWN]
    return queries


def _deeper(question: Question, view: Landscape) -> list[str]:
    """What looked promising, so that each is seen at its full size: themes, and sides of the matter
    in the words the documents have for them."""
    if question.kind is QuestionKind.FACT:
        return []
    queries = [f"{' '.join(t.phrases[:3])} {question.subject}".strip() for t in view.themes(8)]
    if question.kind not in (QuestionKind.OVERVIEW, QuestionKind.DECISION):
        return queries
    seen = Counter(term for passage in view.passages for term in passage.terms)
    told = [
        " ".join(
            side.spelled[t]
            for t in sorted(side.vocabulary & seen.keys(), key=lambda t: (-seen[t], t))[:4]
        )
        for side in dimensions.SHOWN
    ]
    queries = queries[:5] + _shared_names(question, view)
    return queries + [f"{query} {question.subject}".strip() for query in told if query]


def _shared_names(question: Question, view: Landscape) -> list[str]:
    """In a small folder: names that several documents share, which lead on to the others."""
    if question.kind is not QuestionKind.OVERVIEW:
        return []
    holders = shared_names(view.passages, question.text)
    return sorted(holders, key=lambda name: (-len(holders[name]), name))[:3]


def _drafts(
    question: Question, view: Landscape, documents: Documents, target: int, most: int
) -> list[Draft]:
    if question.kind is QuestionKind.FACT:
        return [fact(question)]
    named = named_parts(question, view, documents, most)
    if not named and len(documents) > SMALL and _ASKS.match(question.text):
        return [fact(question)]  # in a large folder its sides are other matters' sides too
    if question.kind is QuestionKind.COMPARISON and (things := sides(question, view)):
        # The criteria stand in every side's question; only questions of their own are left.
        return things + [d for d in named if d.asks]
    if question.kind is QuestionKind.TIMELINE and (stretches := periods(question, view)):
        return stretches + named
    if question.kind is QuestionKind.CAUSE:
        kept = named + explaining(question, view, named)
        room = 0 if question.closed else target - len(kept)
        kept += _shown(question, view, documents, kept)[: max(room, 0)]
    elif question.closed and question.kind is QuestionKind.OVERVIEW:
        return named  # the list is what is asked for
    else:
        kept = _surveyed(question, view, documents, named, target, most)
    asked = len(documents) > SMALL and any(draft.asks for draft in kept)
    enough = (one_side(question) or question.closed or asked) and kept
    return kept if enough else kept + _spare(question, view, documents, kept, target)


def _surveyed(
    question: Question,
    view: Landscape,
    documents: Documents,
    named: list[Draft],
    target: int,
    most: int,
) -> list[Draft]:
    """What is named, what a decision needs, and what the documents show besides."""
    kept = list(named)
    if not named and one_side(question):
        kept = [named_draft(Aspect(trimmed(question.subject)), view, documents)]
    # "How should A be done, and who does it?" wants that told, not weighed.
    if question.kind is QuestionKind.DECISION and not (question.closed and named):
        kept = core_parts(question, view, named) + kept
        kept += deciding(question, view, kept)[: max(most - _PLACES - len(kept), 0)]
    if question.closed:
        return kept  # the list is what is asked for
    # Named parts may fill the target; what the documents show has places of its own.
    room = min(most, max(target, len(kept) + _PLACES)) - len(kept)
    kept += subdomains(question, view, documents, kept, room, most - len(kept))
    if one_side(question):
        return kept
    themes = _shown(question, view, documents, kept)
    if len(documents) > SMALL or question.kind is not QuestionKind.OVERVIEW:
        target = min(target, _SOME)
    elif not named:
        target = most  # each document may be all there is on its part of the matter
    return kept + themes[: max(target - len(kept), 0)]


def _shown(
    question: Question, view: Landscape, documents: Documents, kept: list[Draft]
) -> list[Draft]:
    """What the documents deal with: in a small folder by document, else by what many share."""
    found = shown_groups(question, view, kept) if len(documents) <= SMALL else []
    if len(documents) <= SMALL and question.kind is QuestionKind.DECISION:
        return found
    return found + shown_themes(view, documents, [*kept, *found])


def _spare(
    question: Question, view: Landscape, documents: Documents, kept: list[Draft], target: int
) -> list[Draft]:
    """For a plan of hardly anything: the sides that any matter has, the best documented first."""
    least = min(3, target)
    if len(kept) >= least:
        return []
    sides = general(question, view, documents)
    return [d for d in sides if not covered(d, kept)][: least - len(kept)]


def _told_apart(drafts: Sequence[Draft]) -> list[Draft]:
    """Each phrase with one facet only, and none that is another facet's name."""
    taken = {term: i for i, d in enumerate(drafts) for term in content_terms(d.title)}
    result: list[Draft] = []
    for index, draft in enumerate(drafts):
        own: list[str] = []
        for phrase in draft.phrases:
            terms = set(content_terms(phrase))
            if all(taken.get(term, index) == index for term in terms):
                own.append(phrase)
                taken.update(dict.fromkeys(terms, index))
            if len(own) == 4:
                break
        result.append(replace(draft, phrases=tuple(own)))
    return result


def _fitted(drafts: list[Draft], most: int) -> list[Draft]:
    """Within the cap: the weakest that the question does not name go first, then twins join."""
    drafts = list(drafts)
    while len(drafts) > max(most, 1):
        spare = [d for d in drafts if not d.named]
        if spare:
            drafts.remove(min(spare, key=lambda d: (d.weight, d.title)))
            continue
        pairs = [
            (similarity(a.about, b.about), -abs(i - j), -i, -j)
            for i, a in enumerate(drafts)
            for j, b in enumerate(drafts)
            if i < j
        ]
        _, _, i, j = max(pairs)
        drafts[-i] = joined(drafts[-i], drafts[-j])
        del drafts[-j]
    return drafts
