"""How words are used in passages: as noun or verb, in passing or as the topic, in capitals or not.

A passage is read once, however often it is looked at again: a search's second look sees most of the
same passages, and the reading is the planner's longest computing.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, field
from functools import lru_cache

from activities.offline.language import WORD, noun_phrases, stem, words
from activities.offline.lexicon import STOP, listed

Key = tuple[str, ...]

_MARKUP = re.compile(r"\S*@\S*|https?://\S+|www\.\S+|[|<>{}`*_=]+")
_OPENS = re.compile(r"[.!?\n]")
_BEFORE_VERBS = listed("to will would can could should must may might we they i you not also")
_BEFORE_NOUNS = listed("the a an of in for on by with our their its this these from between per no")
_AFTER_VERBS = listed("the a an its their his her our your this these it them")


@dataclass
class Reading:
    """What one passage, or many of them, tell of their words."""

    verb: Counter[str] = field(default_factory=Counter)
    noun: Counter[str] = field(default_factory=Counter)
    last: Counter[str] = field(default_factory=Counter)
    within: Counter[str] = field(default_factory=Counter)
    held: Counter[str] = field(default_factory=Counter)
    dense: Counter[str] = field(default_factory=Counter)
    small: Counter[str] = field(default_factory=Counter)
    large: Counter[str] = field(default_factory=Counter)

    def add(self, other: Reading) -> None:
        self.verb.update(other.verb)
        self.noun.update(other.noun)
        self.last.update(other.last)
        self.within.update(other.within)
        self.held.update(other.held)
        self.dense.update(other.dense)
        self.small.update(other.small)
        self.large.update(other.large)

    def names(self, key: Key) -> bool:
        """Whether a phrase can be the name of something: no verb at its ends, no adjective last."""
        if any(self.verb[root] > self.noun[root] for root in (key[0], key[-1])):
            return False
        return self.last[key[-1]] * 3 >= self.within[key[-1]]

    def spelled(self, forms: Counter[str]) -> str:
        form = min(forms, key=lambda f: (-forms[f], f))
        return " ".join(w.lower() if self._common(w) else w for w in form.split())

    def _common(self, word: str) -> bool:
        # "Crew" that opens a heading is a common word; "iPhone" beside iphone in an address is not.
        small, large = self.small[word.lower()], self.large[word.lower()]
        if any(c.isupper() for c in word[1:]):
            return small > large
        return not large or small * 4 > large

    def topical(self, root: str) -> float:
        """A topic's words come back within a passage; words used in passing do not."""
        return self.dense[root] / self.held[root] if self.held[root] else 0.0


@lru_cache(maxsize=1024)
def read(text: str) -> tuple[Reading, tuple[tuple[Key, str], ...]]:
    """How a passage uses its words, and every phrase in it of up to three words, as it stands."""
    text = _MARKUP.sub(" ; ", text)
    phrases = noun_phrases(text)
    found = _used(text)
    for phrase in phrases:
        stems = [stem(part) for part in words(phrase)]
        found.within.update(stems)
        found.last.update(stems[-1:])
    return found, tuple(spans(phrases))


def _used(text: str) -> Reading:
    found = Reading()
    here: Counter[str] = Counter()
    before = ""
    end = 0
    for match in WORD.finditer(text):
        written = match.group()
        low = written.lower()
        # A capital that opens a sentence or a line tells nothing about the word.
        if end and not _OPENS.search(text, end, match.start()):
            (found.small if written.islower() else found.large)[low] += 1
        end = match.end()
        word = low.replace("’", "'")
        root = stem(word)
        here[root] += 1
        if before in _BEFORE_VERBS:
            found.verb[root] += 1
        elif before in _BEFORE_NOUNS:
            found.noun[root] += 1
        if word in _AFTER_VERBS and before not in STOP:
            found.verb[stem(before)] += 1
        before = word
    found.held.update(here.keys())
    found.dense.update(root for root, count in here.items() if count > 1)
    return found


def spans(phrases: list[str]) -> list[tuple[Key, str]]:
    """The phrases and their parts of one to three words, each with its roots."""
    found: list[tuple[Key, str]] = []
    for phrase in phrases:
        parts = phrase.split()
        stems = [stem(part.lower()) for part in parts]
        for size in (1, 2, 3):
            for start in range(len(parts) - size + 1):
                key = tuple(stems[start : start + size])
                if len(set(key)) == size:
                    found.append((key, " ".join(parts[start : start + size])))
    return found
