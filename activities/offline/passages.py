"""Which sentences of a passage are worth quoting, and which of them belong together.

`usable` rates one sentence from 0 (heading, navigation, greeting, fragment, question, words meant
for a machine) to 1 (a plain statement). `windows` gives runs of one to three adjacent sentences
that can stand alone: a sentence that leans on the one before it takes that one along.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache

from activities.offline.conversation import Hit
from activities.offline.cues import addresses_machine
from activities.offline.furniture import is_code, is_field, states_nothing
from activities.offline.language import capitalised, words
from activities.offline.leaning import leans
from activities.offline.predicates import is_fragment
from activities.offline.residue import plain, unglued

LONGEST_WINDOW = 85
"""Words. A claim longer than this is a page, not a statement."""
_TITLED = 0.6
"""The share of capitalised words from which a line without a verb is the name of something."""
_DANGLING = 0.5
"""What is left of a statement's worth where what it points at cannot be quoted with it."""

_ROW = re.compile(r"^[^:;]{1,60}: [^;]+; [^:;]{1,60}: ")
# Words of intent and praise: a sentence of these and no figure or name says nothing checkable.
_VAGUE = re.compile(
    r"\b(?:commit(?:ted|ment)\w*|well-positioned|cutting-edge|best-in-class|world-class|robust\w*|"
    r"state-of-the-art|holistic|comprehensive\w*|seamless\w*|synerg\w+|leverag\w+|empower\w*|"
    r"proactive\w*|excellence|testament|paramount|crucial\w*|essential\w*|vital\w*|pivotal\w*|"
    r"imperative|critical\w*|important\w*|ever-\w+|today's|landscape|journey|unlock\w*|striv\w+|"
    r"game.chang\w+|moving forward|move forward|going forward|underscor\w+|demonstrat\w+|"
    r"reflect\w*|highlight\w*|showcas\w+|enhanc\w+|ensur\w+|strengthen\w*|safeguard\w*|"
    r"foster\w*|optimi[sz]\w+|streamlin\w+|effective\w*|efficien\w+|success\w*|significant\w*|"
    r"substantial\w*|key|goals?|focus\w*|aims?|trust|values?|vision|mission|priorit\w+|potential|"
    r"opportunit\w+|innovat\w+|strateg\w+|initiatives?|by (?:\w+ )?\w{4,}ing|we (?:can|will|must|"
    r"should|need|aim|hope|believe)|will (?:continue|be)|need to|can (?:help|lead|improve)|"
    r"continu(?:e|es|ing|ous|ously)|i (?:feel|believe|think|am)|as (?:we|you)|evolving|"
    r"underlin\w+)\b",
    re.I,
)
_FIGURE = re.compile(
    r"[$€£¥]\s?\d|\d[\d.,]*\s?(?:%|percent|per cent|million|billion|thousand|bn|[kmgt]wh?\b|x\b)|"
    r"\d[\d,.]*\d|\b\d+\b|"
    r"\b(?:one|two|three|four|five|six|seven|eight|nine|ten|twenty|fifty) "
    r"(?:per cent|percent|hundred|thousand|million|billion)\b",
    re.I,
)
_YEAR = re.compile(r"\b(?:1[5-9]|20)\d\d\b|\bQ[1-4]\b|\bH[12]\b|\b\d{1,2}:\d\d\b")
# "SF-182", "Rule #9", "SHA-256", "step 3": which one, not how many.
_NUMBER_AS_NAME = re.compile(
    r"\b(?!(?:EUR|USD|GBP|CAD|AUD|CHF|US)\d)[a-z]+-?\d[\w./-]*|#\d+|"
    r"\b(?:rule|rfc|section|step|page|article|figure|table|chapter|part|level|appendix|play|"
    r"version|item|option|case|form|no\.) \(?\d[\d.]*",
    re.I,
)
_DATED = re.compile(r"\b\d{1,2}(?:st|nd|rd|th)? (?=[A-Z][a-z]{2,8}\b)|\b[A-Z][a-z]{2,8} \d{1,2}\b")
_LABELLED = re.compile(r"^[\w/.-]+(?: [\w/.-]+){0,2}: ")
_END = re.compile(r"[.!…][\"'”’)\]*_]*$")


@dataclass(frozen=True)
class Document:
    """All that was seen of one source, as runs of adjacent sentences."""

    source_id: str
    title: str
    date: str | None
    kind: str
    runs: tuple[tuple[str, ...], ...]

    @property
    def sentences(self) -> list[str]:
        return list(dict.fromkeys(s for run in self.runs for s in run))


@dataclass(frozen=True)
class Window:
    """One to three adjacent sentences of a document, verbatim, and the heading above them."""

    source_id: str
    sentences: tuple[str, ...]
    heading: str
    quality: float

    @property
    def text(self) -> str:
        return " ".join(unglued(plain(sentence)) for sentence in self.sentences)


def gather(hits: Iterable[Hit]) -> list[Document]:
    """Hits by source, in the order they were first seen; a run inside a longer one is dropped."""
    seen: dict[str, list[Hit]] = {}
    for hit in hits:
        seen.setdefault(hit.source_id, []).append(hit)
    documents = []
    for source_id, found in seen.items():
        runs = list(dict.fromkeys(tuple(s.text for s in hit.sentences) for hit in found))
        longest_first = sorted(runs, key=len, reverse=True)
        kept: list[tuple[str, ...]] = []
        for run in longest_first:
            if run and not any(set(run) <= set(other) for other in kept):
                kept.append(run)
        first = found[0]
        ordered = tuple(run for run in runs if run in kept)
        documents.append(Document(source_id, first.title, first.date, first.kind, ordered))
    return documents


def windows(document: Document) -> list[Window]:
    """Every run of sentences that may become a claim; runs overlap, the caller chooses."""
    found: dict[tuple[str, ...], Window] = {}
    for run in document.runs:
        heading = ""
        for i, sentence in enumerate(run):
            if is_heading(sentence):
                heading = sentence
            quality = usable(sentence)
            if quality < 0.3:
                continue
            span = _standing(run, i)
            if leans(run[span[0]]):
                quality *= _DANGLING
            picked = run[span[0] : span[1]]
            found.setdefault(picked, Window(document.source_id, picked, heading, quality))
    return list(found.values())


def _standing(run: Sequence[str], i: int) -> tuple[int, int]:
    """From where to where the sentence at `i` can stand alone."""
    first, end = i, i + 1
    size = len(run[i].split())
    if is_row(run[i]):
        return first, end
    while first > 0 and i - first < 2:
        before = run[first - 1]
        if not leans(run[first]) and not _takes_up(run[first], before):
            break
        if usable(before) < 0.3 or is_row(before) or size + len(before.split()) > LONGEST_WINDOW:
            break
        size += len(before.split())
        first -= 1
    # What a sentence says is often measured in the next one.
    while end < len(run) and end - first < 3:
        after = run[end]
        size += len(after.split())
        if size > LONGEST_WINDOW or usable(after) < 0.4 or is_row(after):
            break
        if not (leans(after) and figures(after)):
            break
        end += 1
    return first, end


def _takes_up(sentence: str, before: str) -> bool:
    """Whether "The airport …" speaks of "an airport" that the sentence before has introduced."""
    found = _DEFINITE.match(plain(sentence))
    if not found or found[1] not in before:
        return False
    introduced = rf"\b(?:an?|its|one) (?:[\w-]+ ){{0,6}}{re.escape(found[1])}\b"
    return bool(re.search(introduced, before))


_DEFINITE = re.compile(
    r"The ([a-z]{3,}) (?:is|was|are|were|had|have|will|would|can|could|also|now|\w+s|\w+ed)\b"
)


@lru_cache(maxsize=20_000)
def usable(sentence: str) -> float:
    """How well a sentence serves as a statement of fact, from 0 to 1."""
    text = plain(sentence)
    count = len(words(text))
    if count < 4 or is_field(text) or addresses_machine(text):
        return 0.0
    if is_row(text):
        return 0.8 if figures(text) and count <= 60 and not is_code(text) else 0.2
    if states_nothing(text) or is_heading(sentence):
        return 0.0
    if count > 16 and _capitals(text) > 0.8:
        return 0.1  # a menu, or a list of names
    letters = sum(c.isalpha() or c.isspace() for c in text)
    if letters < 0.6 * len(text) or count > 110:
        return 0.1
    score = 1.0
    if not _END.search(text):
        # Bullets carry no full stop; a cut-off line ends in a joining word or mark.
        cut_off = text.endswith((",", ":", ";", "-", "–", "(")) or words(text)[-1] in _JOINING
        score *= 0.2 if cut_off else 0.75
    if text[0].islower() or text[0] in ",;:)]":
        score *= 0.4 if _END.search(text) else 0.2
    if text[0] == "(" or text.count("(") != text.count(")"):
        score *= 0.5  # an aside, or half of one
    if count < 7 and not figures(text):
        score *= 0.6
    if not _END.search(text) and count < 12 and not figures(_DATED.sub(" ", text)):
        score *= 0.4
    if is_fragment(text):
        # A figure makes a telegram of it: "Revenue up 12% on the year".
        titled = _capitals(text) > _TITLED
        score *= 0.85 if figures(text) and not titled else 0.25
    if is_labelled(text):
        # "Value: EUR 24.7 million" does not say of what.
        score *= 0.7
    return score * substance(text)


_JOINING = frozenset({"a", "an", "and", "as", "at", "but", "by", "for", "from", "in", "into", "of",
                      "on", "or", "our", "the", "their", "to", "with"})  # fmt: skip


def _capitals(text: str) -> float:
    tokens = [token for token in text.split() if token[0].isalpha()]
    return sum(token[0].isupper() for token in tokens) / max(1, len(tokens))


@lru_cache(maxsize=20_000)
def substance(text: str) -> float:
    """How checkable a statement is: figures first, then names and dates, intent and praise last."""
    if figures(text):
        return 1.0
    specific = 0.85 if _YEAR.search(text) or capitalised(text) else 0.75
    vague = len(_VAGUE.findall(text)) / max(1.0, len(text.split()) / 8)
    return specific * max(0.5, 1 - 0.22 * vague)


@lru_cache(maxsize=20_000)
def is_heading(sentence: str) -> bool:
    """A short line that ends no sentence and is written like a title."""
    text = plain(sentence)
    tokens = text.split()
    if _END.search(text) or is_row(text) or len(tokens) > 14:
        return False
    if sentence.lstrip().startswith("#") or len(tokens) < 5 or text.isupper():
        return True
    long = [token for token in tokens if len(token) > 3 and token[0].isalpha()]
    return sum(token[0].isupper() for token in long) > 0.6 * len(long)


def is_row(sentence: str) -> bool:
    """A table's row written as `Column: value; Column: value.`"""
    return bool(_ROW.match(sentence))


@lru_cache(maxsize=20_000)
def figures(sentence: str) -> int:
    """How many figures a sentence gives; years and numbers that name things measure nothing."""
    return len(_FIGURE.findall(_YEAR.sub(" ", _NUMBER_AS_NAME.sub(" ", sentence))))


def is_labelled(text: str) -> bool:
    """A line that opens with a label or a number of its own: "Value: …", "2025/04-3: …"."""
    return bool(_LABELLED.match(text))
