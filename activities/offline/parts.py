"""A question split into the parts it names, each with its subject restored."""

from __future__ import annotations

import re
from dataclasses import dataclass

from activities.evidence.text.sentences import sentences
from activities.evidence.text.stopwords import STOP_WORDS, detect_language
from activities.evidence.text.terms import WORD
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
    r"(?P<one>[\w'’+#. -]{2,40}?)\s+(?:versus|vs\.?|compares? (?:to|with))\s+"
    r"(?P<other>[\w'’+#. -]{2,40})",
    re.I,
)
_COMPARED = re.compile(r"\s*,\s*(?:and\s+)?|\s+(?:and|with|to|or|und|mit)\s+", re.I)
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
_PRONOUN = re.compile(r"\b(?:it|they|them|this|these|those|its|their)\b", re.I)
# "the costs, risks and benefits of X": three or more things asked of one subject.
_NOUNS = re.compile(
    r"^(?P<head>(?:what|which) (?:is|are|were|was) the )"
    r"(?P<list>[\w -]+(?:, [\w -]+)+,? and [\w -]+?)"
    r"(?P<tail> (?:of|for|in|to|at) .+)$",
    re.I,
)
_ARTICLE = re.compile(r"^(?:the|an?)\s+", re.I)
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
            subject = _key_words(asked[0]) if found else ""
            found += _parts(sentence.rstrip("?. "), subject)
    if len(found) > 1:
        return found
    only = asked[0] if len(asked) == 1 and is_on("parts") else text
    return [Part(_title(only), only)]


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
        named = _CRITERIA.split(found["things"])[0]
        things = [thing.strip(" .") for thing in _COMPARED.split(named) if content_words(thing)]
        start, end = found.start("things"), found.start("things") + len(named)
    else:
        return []
    if len(things) < 2 or not all(things):
        return []
    return [Part(_title(thing), f"{text[:start]}{thing}{text[end:]}") for thing in things]


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
    clauses = [clause for clause in _clauses(sentence) if content_words(clause)]
    if len(clauses) > 1 and re.search(rf"\b{_WH}\b", clauses[0], re.I):
        first = _key_words(clauses[0])
        return [_part(clauses[0], subject), *(_part(clause, first) for clause in clauses[1:])]
    return [_part(sentence, subject)]


def _listed_parts(sentence: str) -> list[Part]:
    """The parts that stand after a colon, or as the nouns asked of one subject; else none."""
    head, colon, tail = sentence.partition(": ")
    if colon:
        items = _clauses(tail) if re.match(rf"{_WH}\b", tail, re.I) else _LISTED.split(tail)
        items = [item for item in items if content_words(item)]
        if len(items) > 1:
            return [_part(item, _subject(head)) for item in items]
    if found := _NOUNS.match(sentence):
        things = [t for t in _LISTED.split(found["list"]) if content_words(t)]
        named = [_ARTICLE.sub("", thing) for thing in things]
        return [_part(f"{found['head']}{thing}{found['tail']}", "") for thing in named]
    return []


def _clauses(text: str) -> list[str]:
    """Clauses that open with a question word; "what it costs and how it is paid" is one item."""
    return [clause.strip(" ,;") for clause in _CLAUSE.split(text) if clause.strip(" ,;")]


def _subject(text: str) -> str:
    """What the first part asks about, in its own words."""
    rest = _SCAFFOLD.sub("", text)
    rest = rest if rest != text else _OPENING.sub("", text)
    return " ".join(rest.split()[:_LONGEST_SUBJECT]).strip(" ,")


def _key_words(text: str) -> str:
    """The words of a text as it writes them, without function words."""
    stop = STOP_WORDS[detect_language(text)]
    return " ".join(word for word in WORD.findall(text) if word.lower() not in stop)


def _part(text: str, subject: str) -> Part:
    text = text.strip(" ,;.?")
    question = text
    if subject and (
        _PRONOUN.search(text) or not set(content_words(subject)) & set(content_words(text))
    ):
        question = f"{text} ({subject})"
    return Part(_title(text), f"{question[:1].upper()}{question[1:]}?")


def _title(text: str) -> str:
    text = text.strip(" ?.") or text
    return f"{text[:1].upper()}{text[1:]}"[:160]
