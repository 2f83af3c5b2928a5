"""Phrases that could name a theme, with where they stand and what they are worth.

A name is weighed by how many documents share it, how much of the question their passages hold, and
whether its words come back within a passage, as a topic's do.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from math import log

from activities.offline.language import WORD, noun_phrases, stem, words
from activities.offline.lexicon import ADJECTIVE_ENDINGS, STOP, VERBS, listed
from activities.offline.questions import GENERIC_STEMS
from activities.offline.topicality import Passage

Key = tuple[str, ...]

_MARKUP = re.compile(r"\S*@\S*|https?://\S+|www\.\S+|[|<>{}`*_=]+")
_OPENS = re.compile(r"[.!?\n]")
_BEFORE_VERBS = listed("to will would can could should must may might we they i you not also")
_BEFORE_NOUNS = listed("the a an of in for on by with our their its this these from between per no")
_AFTER_VERBS = listed("the a an its their his her our your this these it them")


@dataclass
class Label:
    """What is known of one phrase across the passages."""

    key: Key
    forms: Counter[str] = field(default_factory=Counter)
    passages: set[int] = field(default_factory=set)
    documents: set[str] = field(default_factory=set)
    titles: set[str] = field(default_factory=set)
    score: float = 0.0

    name: str = ""
    """Its commonest spelling, with capitals only where the documents always write them."""

    @property
    def is_name(self) -> bool:
        return any(c.isupper() for c in self.name) or self._proper

    @property
    def _proper(self) -> bool:
        """Written with capitals throughout, as a programme or a place is."""
        capitals = sum(
            n for form, n in self.forms.items() if sum(w[0].isupper() for w in form.split()) > 1
        )
        return capitals * 3 > sum(self.forms.values()) * 2

    @property
    def heading(self) -> str:
        """Its name as a heading has it: the plural, where the documents use it about as often."""
        top = max(self.forms.values(), default=0)
        plural = [f for f, n in sorted(self.forms.items()) if f.lower() == f"{self.name.lower()}s"
                  and n * 4 >= top]  # fmt: skip
        return f"{self.name}s" if plural else self.name


class _Use:
    """How words are used in these passages: as noun or verb, in passing or as the topic."""

    def __init__(self) -> None:
        self._verb: Counter[str] = Counter()
        self._noun: Counter[str] = Counter()
        self._last: Counter[str] = Counter()
        self._any: Counter[str] = Counter()
        self._held: Counter[str] = Counter()
        self._dense: Counter[str] = Counter()
        self._small: Counter[str] = Counter()
        self._large: Counter[str] = Counter()

    def read(self, text: str) -> None:
        before = ""
        here: Counter[str] = Counter()
        end = 0
        for match in WORD.finditer(text):
            # A capital that opens a sentence or a line tells nothing about the word.
            if not _OPENS.search(text, end, match.start()) and end:
                written = self._small if match.group().islower() else self._large
                written[match.group().lower()] += 1
            end = match.end()
            word = match.group().lower().replace("’", "'")
            root = stem(word)
            here[root] += 1
            if before in _BEFORE_VERBS:
                self._verb[root] += 1
            elif before in _BEFORE_NOUNS:
                self._noun[root] += 1
            if word in _AFTER_VERBS and before not in STOP:
                self._verb[stem(before)] += 1
            before = word
        self._held.update(here.keys())
        self._dense.update(root for root, count in here.items() if count > 1)

    def phrase(self, phrase: str) -> None:
        stems = [stem(part) for part in words(phrase)]
        self._any.update(stems)
        self._last.update(stems[-1:])

    def names(self, key: Key) -> bool:
        """Whether a phrase can be the name of something: no verb at its ends, no adjective last."""
        if any(self._verb[root] > self._noun[root] for root in (key[0], key[-1])):
            return False
        return self._last[key[-1]] * 3 >= self._any[key[-1]]

    def spelled(self, forms: Counter[str]) -> str:
        form = min(forms, key=lambda f: (-forms[f], f))
        return " ".join(w.lower() if self._common(w) else w for w in form.split())

    def _common(self, word: str) -> bool:
        # "Crew" that opens a heading is a common word; "iPhone" beside iphone in an address is not.
        small, large = self._small[word.lower()], self._large[word.lower()]
        if any(c.isupper() for c in word[1:]):
            return small > large
        return not large or small * 4 > large

    def topical(self, root: str) -> float:
        """A topic's words come back within a passage; words used in passing do not."""
        return self._dense[root] / self._held[root] if self._held[root] else 0.0


def labels_of(
    passages: Sequence[Passage], known: frozenset[str]
) -> tuple[list[Label], list[Label]]:
    """Phrases that could name a theme, best first; and all single nouns among what was found."""
    labels: dict[Key, Label] = {}
    use = _Use()
    for index, passage in enumerate(passages):
        use.read(_MARKUP.sub(" ; ", passage.text))
        for phrase in _phrases_of(passage.text):
            use.phrase(phrase)
            _count(labels, phrase, index, passage.source_id)
        for phrase in noun_phrases(passage.title):
            _count(labels, phrase, index, passage.source_id, title=True)
    documents = {passage.source_id for passage in passages}
    least = 2 if len(documents) > 3 else 1
    kept = [
        label
        for label in labels.values()
        if len(label.documents) >= least and not set(label.key) <= known and use.names(label.key)
    ]
    for label in kept:
        label.name = use.spelled(label.forms) if label.forms else ""
        # A label's passages are all that hold its words, side by side or not.
        if sum(not _general(root, known) for root in label.key) > 1:
            label.passages.update(
                i for i, p in enumerate(passages) if all(root in p.terms for root in label.key)
            )
            label.documents.update(passages[i].source_id for i in label.passages)
        label.score = _score(label, passages, known, use)
    _without_parts_of_names(kept)
    nouns = [x for x in kept if len(x.key) == 1 and len(x.documents) > 2 and _plain_noun(x, known)]
    rated = sorted((x for x in kept if x.score > 0), key=lambda x: (-x.score, x.key))
    return rated, sorted(nouns, key=lambda x: (-len(x.documents), x.key))


def _without_parts_of_names(labels: Sequence[Label]) -> None:
    """ "Crossing programme" is no theme where it is the end of "Quiet Crossing programme"."""
    names = [label for label in labels if len(label.key) > 2 and label.is_name]
    for label in labels:
        if len(label.key) == 2 and any(
            label.key in (name.key[:2], name.key[1:])
            and len(name.passages & label.passages) * 2 > len(label.passages)
            for name in names
        ):
            label.score = 0.0


def _plain_noun(label: Label, known: frozenset[str]) -> bool:
    word = label.name.lower()
    small = sum(n for form, n in label.forms.items() if form.islower())
    return (
        len(word) > 3
        and small * 5 >= sum(label.forms.values()) * 4
        and word.isalpha()
        and not any(c.isupper() for c in label.name)
        and not _general(label.key[0], known)
        and word not in VERBS
        and not word.endswith((*ADJECTIVE_ENDINGS, "ly", "ed"))
    )


@lru_cache(maxsize=4096)
def _phrases_of(text: str) -> tuple[str, ...]:
    # Kept because a second look at the same search reads the same passages again.
    return tuple(noun_phrases(_MARKUP.sub(" ; ", text)))


def _count(
    labels: dict[Key, Label], phrase: str, index: int, document: str, title: bool = False
) -> None:
    parts = phrase.split()
    stems = [stem(part.lower()) for part in parts]
    for size in (1, 2, 3):
        for start in range(len(parts) - size + 1):
            key = tuple(stems[start : start + size])
            if len(set(key)) < size:
                continue
            label = labels.get(key)
            if label is None:
                label = labels[key] = Label(key)
            label.passages.add(index)
            label.documents.add(document)
            if title:
                label.titles.add(document)
            else:
                label.forms[" ".join(parts[start : start + size])] += 1


def _general(root: str, known: frozenset[str]) -> bool:
    """Whether a root says nothing of its own; a compound does where one of its parts does."""
    return all(stem(part) in GENERIC_STEMS | known for part in root.split("-"))


def _score(label: Label, passages: Sequence[Passage], known: frozenset[str], use: _Use) -> float:
    form = label.name
    parts = form.lower().split()
    own = [root for root in label.key if not _general(root, known)]
    if not parts or not own or "'" in form or "’" in form:
        return 0.0
    if any(len(p) < 3 or p[0].isdigit() for p in parts) and not label.is_name:
        return 0.0
    if parts[0] in VERBS or parts[-1] in VERBS or label.key[0] in GENERIC_STEMS:
        return 0.0
    if label.is_name and not (form.isupper() and form.isalpha() and 2 < len(form) < 6):
        return 0.0  # persons and firms fill documents; a subject rarely divides into them
    if len(parts) == 1 and parts[0].endswith(ADJECTIVE_ENDINGS):
        return 0.0
    if len(label.passages) * 2 > len(passages) > 8:
        return 0.0  # what half of all passages hold is the subject, not a part of it
    topical = sum(use.topical(root) for root in own) / len(own)
    if len(parts) == 1 and topical < (0.4 if len(label.titles) > 1 else 0.6):
        return 0.0
    weight = sum(passages[i].weight for i in label.passages)
    score = weight**0.5 * log(1 + len(label.documents))
    score *= log(1 + len(passages) / len(label.passages)) * (0.2 + topical)
    score *= (0.6, 1.8, 1.9)[len(parts) - 1] * (1 + min(2, len(label.titles)) * 0.5)
    score *= 0.4 ** (len(parts) - len(own))
    if parts[-1].endswith(ADJECTIVE_ENDINGS) or any(p.endswith(("ly", "ed")) for p in parts):
        score *= 0.6
    if label.is_name:
        score *= 0.4
    return float(score)
