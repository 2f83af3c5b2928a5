"""A question split into the parts it names, each with its subject restored."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from activities.evidence.text.sentences import sentences
from activities.evidence.text.stopwords import STOP_WORDS
from activities.offline.families import is_on
from activities.offline.question import Question, content_words
from workflows.contracts.facets import QuestionKind

_WH = (
    r"(?:how|what|when|where|why|who|whom|whose|which|whether|wie|was|wann|wo|warum|wer|welche\w*)"
)
_CLAUSE = re.compile(rf"(?:,|;)?\s+(?:and|or|und|oder)\s+(?={_WH}\b)|[,;]\s+(?={_WH}\b)", re.I)
_LISTED = re.compile(r"\s*[,;]\s*(?:and\s+|or\s+|und\s+|oder\s+)?|\s+(?:and|or|und|oder)\s+", re.I)
_BETWEEN = re.compile(
    r"(?:compare[ds]?|comparing|comparison (?:of|between)|differences? between"
    r"|unterschiede? zwischen|vergleich\w*)\s+(?P<things>[^?.:;]+)",
    re.I,
)
_VERSUS = re.compile(
    r"(?P<one>[\w'’+#. -]{2,40}?)\s+(?:versus|vs\.?)\s+(?P<other>[\w'’+#. -]{2,40})", re.I
)
_COMPARING = re.compile(
    r"\b(?:compar\w+|versus|vs|differen\w+|better|differs?|vergleich\w*|unterschied\w*)\b", re.I
)
_CRITERIA = re.compile(
    r"\s+(?:in terms of|with respect to|with regard to|regarding|for|on|by|when|as to)\s+", re.I
)
_SCAFFOLD = re.compile(
    r"^.*?\b(?:what (?:is|do we|do you|does one) know\w*|what is known|tell (?:me|us)|overview"
    r"|everything|all|report|summary|learn|find out)\b.{0,20}?\b(?:about|of|on)\s+",
    re.I,
)
_OPENING = re.compile(
    rf"^(?:[^?:]{{0,160}},\s+)?{_WH}\b\s*(?:(?:is|are|was|were|do|does|did|can|could|should|would|will"
    r"|must|may|has|have|had|to)\b\s*)?(?:(?:i|we|you|one|they)\b\s*)?",
    re.I,
)
_PRONOUN = re.compile(r"\b(?:it|they|them|this|these|those)\b", re.I)
_POSSESSIVE = re.compile(r"\b(?:its|their)\b", re.I)
# "the costs, risks and benefits of X": three or more things asked of one subject.
_NOUNS = re.compile(
    r"^(?P<head>(?:what|which) (?:is|are|were|was) the )"
    r"(?P<list>[\w -]+(?:, [\w -]+)+,? and [\w -]+)"
    r"(?P<tail> (?:of|for|in|to|at) .+)$",
    re.I,
)
_LONGEST_SUBJECT = 14


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
        # Statements before a question say what it is about; they stand in every facet's brief.
        for sentence in asked or [text]:
            subject = " ".join(content_words(asked[0])) if found else ""
            found += _parts(sentence.rstrip("?. "), subject)
    if len(found) > 1:
        return found
    only = asked[0] if len(asked) == 1 and is_on("parts") else text
    return [Part(_title(only), only)]


def compared_things(text: str) -> list[str]:
    """The things a comparison sets side by side, in the question's own words."""
    if Question(text).kind is not QuestionKind.COMPARISON:
        return []
    if found := _BETWEEN.search(text):
        things = _CRITERIA.split(found["things"])[0]
        listed = re.split(r"\s*,\s*(?:and\s+)?|\s+(?:and|with|to|or|und|mit)\s+", things)
        return [thing.strip(" .") for thing in listed if content_words(thing)]
    found = _VERSUS.search(text)
    return [_run(found["one"], -1), _run(found["other"], 0)] if found else []


def criteria(text: str, things: Sequence[str]) -> str:
    """What a comparison asks of each thing: its words without the things and the comparing."""
    named = {word for thing in things for word in content_words(thing)}
    kept = [w for w in content_words(_COMPARING.sub(" ", text)) if w not in named]
    return " ".join(kept)


def _run(text: str, which: int) -> str:
    """The first (0) or last (-1) run of words that no function word breaks."""
    runs: list[list[str]] = [[]]
    for word in text.split():
        if word.lower() in STOP_WORDS["en"]:
            runs.append([])
        else:
            runs[-1].append(word)
    return " ".join([run for run in runs if run][which])


def _parts(sentence: str, subject: str = "") -> list[Part]:
    head, colon, tail = sentence.partition(": ")
    if colon:
        items = _clauses(tail) if re.match(rf"{_WH}\b", tail, re.I) else _LISTED.split(tail)
        items = [item for item in items if content_words(item)]
        if len(items) > 1:
            return [_part(item, _subject(head)) for item in items]
    if found := _NOUNS.match(sentence):
        things = [t for t in _LISTED.split(found["list"]) if content_words(t)]
        return [_part(f"{found['head']}{thing}{found['tail']}", "") for thing in things]
    clauses = [clause for clause in _clauses(sentence) if content_words(clause)]
    if len(clauses) > 1 and re.search(rf"\b{_WH}\b", clauses[0], re.I):
        first = " ".join(content_words(clauses[0]))
        return [_part(clauses[0], subject), *(_part(clause, first) for clause in clauses[1:])]
    return [_part(sentence, subject)]


def _clauses(text: str) -> list[str]:
    """Clauses that open with a question word; "what it costs and how it is paid" is one item."""
    return [clause.strip(" ,;") for clause in _CLAUSE.split(text) if clause.strip(" ,;")]


def _subject(text: str) -> str:
    """What the first part asks about, in its own words."""
    rest = _SCAFFOLD.sub("", text)
    rest = rest if rest != text else _OPENING.sub("", text)
    return " ".join(rest.split()[:_LONGEST_SUBJECT]).strip(" ,")


def _part(text: str, subject: str) -> Part:
    text = text.strip(" ,;.?")
    question = text
    if subject and _PRONOUN.search(text):
        question = _PRONOUN.sub(lambda _: subject, text, count=1)
    elif subject and (
        _POSSESSIVE.search(text) or not set(content_words(subject)) & set(content_words(text))
    ):
        question = f"{text} ({subject})"
    return Part(_title(text), f"{question[:1].upper()}{question[1:]}?")


def _title(text: str) -> str:
    text = text.strip(" ?.")
    return f"{text[:1].upper()}{text[1:]}"[:160]
