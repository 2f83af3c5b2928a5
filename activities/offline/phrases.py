"""Words, sentences, noun phrases and names in English text.

Pure functions of text: the same text gives the same result in the same order, on any machine.
`words` and `content_terms` are what all comparing is done on; `noun_phrases` and `capitalised`
keep the text's own spelling, for people to read.
"""

from __future__ import annotations

import re
from functools import lru_cache
from math import sqrt
from typing import NamedTuple

from activities.offline.lexicon import (
    HOMOGRAPHS,
    QUESTION_WORDS,
    STOP,
    VERBS,
)
from activities.offline.stemming import stem

WORD = re.compile(r"\d+(?:[.,]\d+)+|[^\W_]+(?:['’][^\W_]+)*")

_SENTENCE_END = re.compile(
    r"(?<=[.!?])[\"'”’)\]]*\s+(?=[\"'“‘(\[]?[A-Z0-9])|\n\s*\n|\n(?=\s*[-*•#])"
)
_ABBREVIATION = re.compile(
    r"(?:\b(?:[A-Z]|Mr|Mrs|Ms|Dr|St|No|vs|etc|Inc|Ltd|Co|approx|e\.g|i\.e))\.$"
)


class Name(NamedTuple):
    """A named thing and where it stands in the text."""

    text: str
    start: int
    end: int


def words(text: str) -> list[str]:
    """The words of a text in lower case, numbers whole, hyphens apart."""
    return [m.group().replace("’", "'") for m in WORD.finditer(text.lower())]


def content_terms(text: str) -> list[str]:
    """Roots of the words that carry topic, in order and with repeats."""
    terms: list[str] = []
    before = ""
    for word in words(text):
        # "A well" and "the will" are things.
        thing = word in HOMOGRAPHS and before in _BEFORE_THINGS
        if (word not in _EMPTY or thing) and (len(word) > 1 or word.isdigit()):
            terms.append(stem(word))
        before = word
    return terms


_EMPTY = STOP | QUESTION_WORDS
_BEFORE_THINGS = frozenset({"a", "an", "the", "this", "our", "its", "their", "each", "no"})


def similarity(a: str, b: str) -> float:
    """0 nothing in common, 1 the same terms: cosine of the two texts' sets of roots."""
    one, other = _term_set(a), _term_set(b)
    if not one or not other:
        return 0.0
    return len(one & other) / sqrt(len(one) * len(other))


@lru_cache(maxsize=50_000)
def _term_set(text: str) -> frozenset[str]:
    return frozenset(content_terms(text))


def sentences(text: str) -> list[str]:
    """A plain split at sentence ends, paragraph breaks and bullets; good enough for a brief."""
    parts: list[str] = []
    for part in _SENTENCE_END.split(text):
        part = part.strip()
        if parts and _ABBREVIATION.search(parts[-1]):
            parts[-1] += f" {part}"
        elif part:
            parts.append(part)
    return parts


def noun_phrases(text: str) -> list[str]:
    """Noun-like runs of one to five words as they stand in the text, in order, with repeats."""
    phrases: list[str] = []
    run: list[str] = []
    before = ""
    end = 0
    for match in WORD.finditer(text):
        word, low = match.group(), match.group().lower().replace("’", "'")
        between = text[end : match.start()]
        end = match.end()
        # A hyphen joins a compound; any other mark, or a line's end, closes the phrase.
        if between.strip(" \t-") or "\n" in between or between.startswith(" -"):
            phrases += _closed(run)
            run = []
        # "Form 204", "Boeing 737": a number after a name is part of it, a year is not.
        numbered = bool(run) and run[-1][0].isupper() and low.isdigit() and len(low) != 4
        thing = low in HOMOGRAPHS and before in _BEFORE_THINGS
        if numbered or thing or _noun_like(low, before, bool(run)):
            run.append(("-" if between == "-" and run else "") + word)
        else:
            phrases += _closed(run)
            run = []
        before = low
    return phrases + _closed(run)


def _noun_like(word: str, before: str, inside: bool) -> bool:
    if word in STOP or word in QUESTION_WORDS or word in VERBS or len(word) < 2:
        return False
    if word.endswith(("'ve", "'re", "'ll", "'d", "'m", "n't")):
        return False
    if word[0].isdigit() and not any(c.isalpha() for c in word):
        return False
    if word.endswith("ly") and len(word) > 5:
        return False
    if word.endswith("ed") and len(word) > 4:
        # A participle opens a phrase ("connected vehicles"); after a noun or "has" it is a verb.
        return not inside and before not in {"has", "have", "had", "is", "are", "was", "were", "be"}
    return True


def _closed(run: list[str]) -> list[str]:
    while run and (run[-1].lower().endswith("ed") and len(run[-1]) > 4):
        run = run[:-1]
    if not run or len(run) > 6:
        return []
    return [" ".join(run).replace(" -", "-")]


_LINKS = frozenset({"of", "de", "du", "la", "van", "von", "der", "del", "&"})
_INITIAL = re.compile(r"(?:^|[.!?:;•|]\s*[\"'“‘(\[]*|[\n\r]\s*[-*•#\d.()\"“]*\s*)$")


def capitalised(text: str) -> list[Name]:
    """Named things with their spans; a common word that merely opens a sentence is not one.

    A lone capitalised word at a sentence's start counts only where the text has it so elsewhere
    too, or where it could not be a common word ("NATO", "iOS", "B2B").
    """
    marks = list(WORD.finditer(text))
    lower = {m.group() for m in marks if m.group()[0].islower()}
    runs: list[list[int]] = []
    for i, match in enumerate(marks):
        if not _proper(match.group()):
            continue
        if runs and _joined(text, marks, runs[-1][-1], i):
            runs[-1].append(i)
        else:
            runs.append([i])
    firsts = {run[0]: bool(_INITIAL.search(text[: marks[run[0]].start()][-12:])) for run in runs}
    inside = {marks[run[0]].group() for run in runs if not firsts[run[0]]}
    names: list[Name] = []
    for run in runs:
        first = marks[run[0]].group()
        if firsts[run[0]] and first not in inside and not _unmistakable(first):
            common = first.lower() in STOP | QUESTION_WORDS | VERBS or first.lower() in lower
            if common or len(run) == 1:
                run = run[1:]
        while run and marks[run[0]].group().lower() in STOP | QUESTION_WORDS:
            run = run[1:]
        if run:
            start, end = marks[run[0]].start(), marks[run[-1]].end()
            names.append(Name(text[start:end], start, end))
    return names


def _proper(word: str) -> bool:
    return word != "I" and (word[0].isupper() or _unmistakable(word))


def _unmistakable(word: str) -> bool:
    bare = re.sub(r"['’]s$", "", word)
    inner = any(c.isupper() for c in bare[1:])
    return (inner and len(bare) > 1) or (bare[0].isupper() and any(c.isdigit() for c in bare))


def _joined(text: str, marks: list[re.Match[str]], last: int, here: int) -> bool:
    """Whether two capitalised words belong to one name."""
    if marks[last].group().endswith(("'s", "’s")) and here - last > 1:
        return False
    gap = text[marks[last].end() : marks[here].start()]
    if here - last == 1:
        return bool(re.fullmatch(r" |-| & |\. ", gap)) and (
            gap != ". " or len(marks[last].group()) < 3
        )
    middle = [m.group().lower() for m in marks[last + 1 : here]]
    return (
        len(middle) <= 2
        and set(middle) <= _LINKS | {"the"}
        and middle[0] in _LINKS
        and (not re.search(r"[^\w\s]", gap))
    )
