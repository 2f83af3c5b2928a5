"""The offline planner: the question leads.

A facet is the question itself, each part it names, or each thing it compares. Only a question that
is openly broad gets more: headings and titles of documents that share its terms. Notes and pinned
facts of the asker change the plan where a reader can see it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from textwrap import shorten

from activities.evidence.text.sentences import sentences
from activities.evidence.text.terms import STOP_WORDS, WORD, detect_language
from activities.offline.passages import HEADING
from activities.offline.question import (
    ASKING,
    BROAD,
    FACTS,
    Question,
    asking_clause,
    content_words,
)
from activities.offline.request import Conversation, Hit, Reply, UseTools
from activities.offline.rule_families import is_on
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
    kind, is_split = Question(question).kind, len(facets) > 1
    return Reply(
        {
            "kind": QuestionKind.OVERVIEW if is_split and kind is QuestionKind.FACT else kind,
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
    asked = question.main_terms
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


_WH = (
    r"(?:how|what|when|where|why|who|whom|whose|which|whether|wie|was|wann|wo|warum|wer|welche\w*)"
)
# "…, when the error says nothing" is a condition, "…, when was it built" a question.
_NO_CONDITION = r"(?!(?:when|where) (?!is|are|was|were|do|does|did|can|will|should|has|had))"
_ASKS = rf"(?={_NO_CONDITION}{_WH}\b(?!,))"
_CLAUSE = re.compile(rf"(?:,|;)?\s+(?:and|or|und|oder)\s+{_ASKS}|[,;]\s+{_ASKS}", re.I)
_CONNECTOR = re.compile(r"[,;]?\s+(?:and|or|und|oder)\s+$|[,;]\s+$", re.I)
_OWN_TERMS, _PAIR = 2, 3
_REFERS = re.compile(r"\b(?:it|they|them|this|that|these|those|such|there)\b", re.I)
_LISTED = re.compile(r"\s*[,;]\s*(?:and\s+|or\s+|und\s+|oder\s+)?|\s+(?:and|or|und|oder)\s+", re.I)
_BETWEEN = re.compile(
    r"(?:compare[ds]?|comparing|comparison (?:of|between)|differences? between"
    r"|unterschiede? zwischen|vergleich\w*)\s+(?P<things>(?:[^?.:;]|\.(?=\w))+)",
    re.I,
)
_VERSUS = re.compile(
    r"(?P<one>[\w'’+#. -]{2,40}?)\s+(?:versus|(?-i:vs\.?)|compares? (?:to|with))\s+"
    r"(?P<other>[\w'’+#. -]{2,40})",
    re.I,
)
_COMPARED = re.compile(r"\s*,\s*(?:and\s+)?|\s+(?:and|with|to|or|und|mit)\s+", re.I)
_CRITERIA = re.compile(
    r"\s+(?:in terms of|with respect to|with regard to|regarding|for|on|by|when|as to)\s+", re.I
)
# Three or more things of which one thing is asked: "the costs, risks and benefits of X", or "what
# do ships, cables and turbines cost", where a word each names them.
_NOUNS = tuple(
    re.compile(pattern, re.I)
    for pattern in (
        r"^(?P<head>(?:what|which) (?:is|are|were|was) the )"
        r"(?P<list>[\w -]+(?:, [\w -]+)+,? and [\w -]+?)"
        r"(?P<tail> (?:of|for|in|to|at) .+)$",
        r"^(?P<head>(?:what|when|where|why|how(?: \w+)?) (?:do|did|can|should) )"
        r"(?P<list>\w+(?:, \w+)+,? and \w+)"
        r"(?P<tail> \w.+)$",
    )
)
_ARTICLE = re.compile(r"^(?:the|an?)\s+", re.I)


@dataclass(frozen=True)
class Part:
    """One thing that is asked, as the question words it and as a question of its own."""

    title: str
    question: str


def split_question(text: str) -> list[Part]:
    """The parts a question names; the question itself where it names one thing."""
    text = " ".join(text.split())
    asked = [s for s in sentences(text) if s.endswith("?")]
    found: list[Part] = []
    if is_on("parts"):
        for sentence in asked or [text]:
            subject = _key_words(asked[0]) if found else ""
            found += _parts(sentence.rstrip("?. "), subject)
    if len(found) > 1:
        return found
    # What a person tells before the question is what it is about.
    return [Part(_title(asked[0] if len(asked) == 1 else text), text)]


def split_comparison(text: str) -> list[Part]:
    """A part for each thing that is compared: the question with this thing in place of them all."""
    text = " ".join(text.split())
    if Question(text).kind is not QuestionKind.COMPARISON:
        return []
    if found := _VERSUS.search(text):
        things = [_run(found["one"], -1), _run(found["other"], 0)]
        start = text.index(things[0], found.start("one"))
        end = text.index(things[1], found.start("other")) + len(things[1])
    elif found := _BETWEEN.search(text):
        named = _CRITERIA.split(_CLAUSE.split(found["things"])[0])[0]
        things = [thing.strip(" .") for thing in _COMPARED.split(named) if content_words(thing)]
        start, end = found.start("things"), found.start("things") + len(named)
    else:
        return []
    if len(things) < 2 or not all(map(_NAMED.search, things)):
        return []
    return [Part(_title(thing), f"{text[:start]}{thing}{text[end:]}") for thing in things]


# A thing has a name: "between 0 and 2" compares values of one.
_NAMED = re.compile(r"[^\W\d_]")


def _run(text: str, which: int) -> str:
    """The first (0) or last (-1) run of words that no function word breaks."""
    runs: list[list[str]] = [[]]
    for word in text.split():
        if word.lower() in STOP_WORDS["en"]:
            runs.append([])
        else:
            runs[-1].append(word)
    return " ".join(([run for run in runs if run] or [[]])[which])


def _parts(sentence: str, subject: str = "") -> list[Part]:
    if listed := _listed_parts(sentence):
        return listed
    clauses = _clauses(sentence)
    # What somebody tells before he asks is no part.
    asked = asking_clause(clauses[0])
    if len(clauses) > 1 and re.match(ASKING, asked, re.I) and content_words(asked):
        first = _key_words(clauses[0])
        return [_part(clauses[0], subject), *(_part(clause, first) for clause in clauses[1:])]
    return [_part(sentence, subject)]


def _listed_parts(sentence: str) -> list[Part]:
    """The parts that stand after a colon, or as the nouns asked of one subject; else none."""
    head, _, tail = sentence.partition(": ")
    items = _clauses(tail) if re.match(rf"{_WH}\b", tail, re.I) else _LISTED.split(tail)
    items = list(filter(content_words, items))
    if len(items) > 1:
        return [_part(item, _key_words(BROAD.sub(" ", head))) for item in items]
    if found := next(filter(None, (pattern.match(sentence) for pattern in _NOUNS)), None):
        named = [_ARTICLE.sub("", t) for t in _LISTED.split(found["list"]) if content_words(t)]
        return [_part(f"{found['head']}{thing}{found['tail']}", "") for thing in named]
    return []


def _clauses(text: str) -> list[str]:
    """Clauses that open with a question word; one that asks for no fact and has no subject of its
    own, such as "what was done about them" or "why is it wrong", stays with that before it. So
    does a second one that speaks of the first, as in "how do I raise that limit": what answers
    one mostly answers both."""
    starts = [0, *(found.end() for found in _CLAUSE.finditer(text)), len(text)]
    clauses: list[str] = []
    for start, end in pairwise(starts):
        clause = text[start:end]
        own, first = Question(clause), Question(clauses[0] if clauses else clause)
        refers = len(starts) <= _PAIR and _REFERS.search(clause) is not None
        fewest = 1 if first.wants in FACTS else _OWN_TERMS
        has_subject = len(own.main_terms) >= fewest and not refers
        stands_alone = has_subject or (own.wants in FACTS and first.wants in FACTS)
        if clauses and not (stands_alone and content_words(clauses[-1])):
            clauses[-1] += clause
        else:
            clauses.append(clause)
    return [_CONNECTOR.sub("", clause).strip(" ,;") for clause in clauses]


def _key_words(text: str) -> str:
    """The words of a text as it writes them, without function words."""
    stop = STOP_WORDS[detect_language(text)]
    return " ".join(word for word in WORD.findall(text) if word.lower() not in stop)


def _part(text: str, subject: str) -> Part:
    text = text.strip(" ,;.?")
    question = text
    if subject and (
        _REFERS.search(text) or not set(content_words(subject)) & set(content_words(text))
    ):
        question = f"{text} ({subject})"
    return Part(_title(text), f"{question[:1].upper()}{question[1:]}?")


def _title(text: str) -> str:
    text = text.strip(" ?.") or text
    return shorten(f"{text[:1].upper()}{text[1:]}", 160, placeholder=" …")


_COVERED = 0.6


def review(conversation: Conversation) -> Reply:
    brief = conversation.brief
    facets = [Facet.model_validate(facet) for facet in brief["plan"]["facets"]]
    covered = [set(Question(f"{facet.title} {facet.question}").terms) for facet in facets]
    taken = {facet.id for facet in facets}
    changes = []
    named = facets_of_question(str(brief["question"]))
    for note in brief.get("notes", ()):
        named = _with_note(named, note)
    for wanted in named:
        terms = set(Question(wanted.title).terms)
        if any(len(terms & own) >= _COVERED * len(terms) for own in covered):
            continue
        name = wanted.id if wanted.id not in taken else f"{wanted.id[:60]}-2"
        changes.append(
            {
                "action": "add",
                "facet_ids": [],
                "facet": wanted.model_copy(update={"id": name}).model_dump(mode="json"),
                "reason": f"The question names “{wanted.title}”, and no facet covers it.",
            }
        )
    return Reply({"changes": changes})
