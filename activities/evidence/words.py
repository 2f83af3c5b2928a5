"""Words as the comparing modules see them: tokens with places, light stems, capitalised names.

Everything here is plain English grammar: stop words, suffixes, capital letters. Nothing knows a
topic. Results keep the order of the text, so that what is built on them never depends on hashing.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

WORD = re.compile(r"[A-Za-z\u00c0-\u024f]+(?:['\u2019][A-Za-z]+)?")
_TOKEN = re.compile(r"[^\W\d_]\w*(?:['\u2019][A-Za-z]+)?|\d[\w.,]*\w|\d")
# A single line break inside running text is a space; before a list, a table row or a heading, or
# after a line that ended, it ends a sentence as an empty line does.
_SENTENCE = re.compile(
    r"(?<=[.!?;])[\"')\]\u201d*_]*\s+(?=[\"'(\[\u201c]?[A-Z0-9])|(?<=\s\.)\s+"
    r"|\s*\n\s*\n\s*|(?<=[.!?;:|])\s*\n|\n(?=\s*(?:[-*+#|>=~]|\d+[.)]\s))"
)
_ABBREVIATION = re.compile(
    r"(?:\b(?:Mr|Mrs|Ms|Dr|St|No|Nos|Jr|Sr|vs|etc|approx|ca|Inc|Ltd|Co|Corp|Gen|Col|Lt|Prof|Rev|"
    r"Jan|Feb|Mar|Apr|Jun|Jul|Aug|Sep|Sept|Oct|Nov|Dec|e\.g|i\.e|[A-Z]))\.$"
)
# A name is a run of capitalised words, initials and the small words that join them.
_CAPITALISED = (
    r"(?:(?:[A-Z]|Mr|Mrs|Ms|Dr|St|Jr|Sr|Lt|Gen|Col|Prof|Rev)\.(?=\s)"
    r"|[A-Z\u00c0-\u00de][\w\u00c0-\u024f'\u2019&]*(?:[-\u2013/][A-Z0-9]\w*)*)"
)
_NAME = re.compile(
    rf"(?<![\w-]){_CAPITALISED}"
    rf"(?:\s+(?:(?:of|de|la|le|du|der|den|van|von|the|al|and|y|for|&)\s+){{0,2}}{_CAPITALISED})*"
)


def word_list(text: str) -> frozenset[str]:
    """A lexicon written as running text."""
    return frozenset(text.split())


STOP = word_list(
    """a about above across after again against all almost along already also although always am
    among an and any are as at away back be became because become becomes been before being below
    between both but by came can cannot could did do does doing done down during each either else
    even ever every few first for from further gave get gets give given gives go goes got had has
    have having he her here hers herself him himself his how however i if in instead into is it
    its itself just last later least less like made make makes many may me might mine more most
    much must my near need neither new next no nor not now of off often on once one only onto or
    other others our ours out over own per perhaps put rather same say says second see seem
    seemed seems several shall she should since so some soon still such take taken than that the
    their theirs them then there therefore these they this those though through thus to together
    too toward towards two under until up upon us use used very via was we well were what when
    where whether which while who whom whose why will with within without would yet you your
    yours according mr mrs ms today currently recently approximately around roughly nearly total"""
)
NEGATIONS = word_list(
    """not no never none neither nor cannot without n't nobody nothing nowhere hardly lacks lack
    lacking fails failed fail failing denies denied deny refuses refused refuse"""
)
_NEGATED = re.compile(
    r"\b(?:" + "|".join(sorted(NEGATIONS - {"n't"})) + r")\b(?!\.\s?[\dA-Z])|n['\u2019]t\b", re.I
)
# Words that start a sentence with a capital and are no part of a name.
_NOT_NAMES = STOP | word_list(
    """january february march april may june july august september october november december
    monday tuesday wednesday thursday friday saturday sunday spring summer autumn winter yes
    according despite although meanwhile today yesterday tomorrow"""
)


_IRREGULAR = {
    "began": "begin", "begun": "begin", "built": "build", "rebuilt": "rebuild", "ran": "run",
    "rose": "rise", "risen": "rise", "fell": "fall", "fallen": "fall", "grew": "grow",
    "grown": "grow", "took": "take", "taken": "take", "gave": "give", "went": "go", "came": "come",
    "met": "meet", "held": "hold", "led": "lead", "paid": "pay", "sold": "sell", "bought": "buy",
    "won": "win", "wrote": "write", "written": "write", "drew": "draw", "drawn": "draw",
    "lost": "lose", "spent": "spend", "sent": "send", "sank": "sink", "sunk": "sink",
    "broke": "break", "broken": "break", "drove": "drive", "driven": "drive", "chose": "choose",
    "chosen": "choose", "knew": "know", "known": "know", "caught": "catch", "burnt": "burn",
}  # fmt: skip


@lru_cache(maxsize=65536)
def stem(word: str) -> str:
    """Fold endings so that `routes`, `route` and `routed` meet; and past forms fold too."""
    w = word.lower().replace("\u2019", "'")
    if w.endswith("'s"):
        w = w[:-2]
    w = w.replace("'", "")
    w = _IRREGULAR.get(w, w)
    if len(w) <= 3:
        return w
    if w.endswith("ies"):
        w = w[:-3] + "y"
    elif w.endswith(("sses", "shes", "ches", "xes")):
        w = w[:-2]
    elif w.endswith("s") and not w.endswith(("ss", "us", "is")):
        w = w[:-1]
    for ending in ("ing", "ed", "er", "or", "ment", "ion", "ly"):
        if w.endswith(ending) and len(w) - len(ending) >= 4:
            w = w[: -len(ending)]
            break
    if w.endswith("me") and len(w) > 6:
        w = w[:-2]
    if len(w) > 4 and w[-1] in "ey":
        w = w[:-1]
    if len(w) > 4 and w[-1] == w[-2] and w[-1] not in "aeiou":
        w = w[:-1]
    return w


def tokens(text: str) -> Iterator[tuple[str, int, int]]:
    """Words and figures with their place."""
    for found in _TOKEN.finditer(text):
        yield found.group(), found.start(), found.end()


def stems(text: str) -> list[str]:
    """The content words of a text, folded, in order, without stop words and figures."""
    return [stem(word) for word in WORD.findall(text) if len(word) > 1 and word.lower() not in STOP]


def sentences(text: str) -> list[tuple[int, int]]:
    """Places of the sentences; an abbreviation or an initial does not end one."""
    spans: list[tuple[int, int]] = []
    start = 0
    for gap in _SENTENCE.finditer(text):
        if _ABBREVIATION.search(text, max(start, gap.start() - 8), gap.start()):
            continue
        if text[start : gap.start()].strip():
            spans.append((start, gap.start()))
        start = gap.end()
    if text[start:].strip():
        spans.append((start, len(text)))
    return spans


def negated(text: str) -> bool:
    """Whether an odd number of negations stands in the text."""
    return len(_NEGATED.findall(text)) % 2 == 1


@dataclass(frozen=True, slots=True)
class Name:
    """A run of capitalised words and where it stands."""

    text: str
    start: int
    end: int

    @property
    def key(self) -> tuple[str, ...]:
        """The words that carry the name, folded."""
        return _key(self.text)


@lru_cache(maxsize=16384)
def _key(name: str) -> tuple[str, ...]:
    return tuple(
        w.lower().removesuffix("'s").removesuffix("\u2019s").rstrip(".")
        for w in re.split(r"[\s/\u2013-]+", name)
        if w and w.lower() not in STOP
    )


def names(text: str) -> list[Name]:
    """Capitalised names; a common word that merely opens a sentence is none."""
    found: list[Name] = []
    for run in _NAME.finditer(text):
        start, end = run.span()
        words = run.group().split()
        while words and words[0].rstrip(".").lower() in _NOT_NAMES:
            gap = text.find(words[1], start + len(words[0])) if len(words) > 1 else end
            start = gap
            words = words[1:]
        while words and words[-1].rstrip(".").lower() in _NOT_NAMES:
            end = text.rfind(words[-1], start, end)
            words = words[:-1]
        if not words:
            continue
        label = text[start:end].strip()
        label = label.rstrip(".,") if not re.search(r"\b[A-Z]\.$", label) else label
        if len(label) > 1:
            found.append(Name(label, start, start + len(label)))
    return found
