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
from activities.offline.furniture import is_field, states_nothing
from activities.offline.language import capitalised, words

LONGEST_WINDOW = 85
"""Words. A claim longer than this is a page, not a statement."""
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
_LEANS = re.compile(
    r"^(?:(?:on|in|at|for|with|by|from|of|after|before|during|under|to|besides|despite) "
    r"(?:this|that|these|those|such|both|it|them)\b(?! (?:year|quarter|month|week|country))|"
    r"(?:when|if|as|because|since|while|once|where) (?:it|they|he|she|this|that|these|those)\b|"
    r"(?:it|its|they|their|them|he|his|she|her|this|that|these|those|such|both|neither|"
    r"the (?:latter|former|same|results?|figures?|number|rate|increase|decrease|reduction|"
    r"improvement|change|rest|remainder|sum|amount|total|estimate|excess)\b(?! of| for| in)|"
    r"as a result|consequently|therefore|thus|hence|accordingly|similarly|likewise|instead|"
    r"however|nevertheless|conversely|by contrast|in contrast|for (?:example|instance)|"
    r"in (?:turn|addition|other words)|additionally|moreover|furthermore|also|meanwhile|then|"
    r"another|others|one of (?:them|these)|here|there (?:it|they)|of which|"
    r"(?:the )?(?:first|second|third)(?: one)? (?:is|was|has|says)|"
    r"and|but|so|or|yet|who|which)\b)",
    re.I,
)
# "In 2024 the company had five, among them …": five what stands in the sentence before.
_BARE_COUNT = re.compile(
    r"\b(?:had|has|were|was|saw|recorded|counted|made) "
    r"(?:two|three|four|five|six|seven|eight|nine|ten|\d+)(?:[,;](?!\d)|\.$)",
    re.I,
)
_TIMED_THIS = re.compile(
    r"^(?:this|that|these|those) (?:year|quarter|month|week|summer|winter|spring|autumn|decade)\b",
    re.I,
)
_MARKS = re.compile(
    r"^(?:[-*+•·▪◦‣●○■□➢✓>#|]+|\(?\d{1,2}[.)]|\([a-z]\)|[a-z]\)|§ ?\d+[.\d]*|"
    r"\d{1,2}(?:\.\d{1,2}){1,3}\.?(?= [A-Z][a-z ])|(?:DECISION|ACTION|NOTE|NB|N\.B\.):)\s+"
)
# Residue of Markdown, reStructuredText, HTML and wikis.
_EMPHASIS = re.compile(
    r"\*\*|(?<!\w)__(?=\w)|(?<=\w)__(?!\w)|`|(?<!\w)\*(?=\w)|(?<=[\w.,!?])\*(?!\w)|"
    r"\[\^[\w-]+\]:?|(?<!\w):(?!rfc|pep)[a-z]+:(?=[\w/`])|(?<=\w)_+(?=[\s,.;:)]|$)|"
    r"!?\[([^\]]+)\]\([^)]*\)"
)
# Quotation marks as typewriters have them, and marks set off by a space.
_TYPED = re.compile(r"(``\s*|\s*'')|\s+[,.;:!?](?=\s|$)")
_TAG = re.compile(r"</?[a-z]\w*(?: [^<>]*)?/?>")
_NUMBERED = re.compile(r"(?<!\w):(rfc|pep):`?(?=\d)")
_STRESSED = re.compile(r"(?<!\w)_([^_\s](?:[^_]*[^_\s])?)_(?!\w)")
_EDIT = re.compile(r"^.{0,80}?\[ ?edit ?\]\s*(?=[A-Z\"“])|\s*\[ ?edit ?\]")
# "The Wall The Wall is a film", "Rome (city) Rome is": the title of the page, glued to its text.
_DOUBLED = re.compile(r"^(.{3,80}?)(?: \([^()]{2,60}\))? (?=\1\b)")
_GLUED = re.compile(
    r"^(?:(?:[A-Z][\w&’'/-]*|and|of|for|the|in|to|with|on|&|-|–)[:,]?\s+){3,12}?"
    r"(?=(?:In|The|As|Our|We|By|This|At|To|For|With|During|An|A|Since|From|While|Through|Over)\s+"
    r"[a-z0-9Q])"
)
_FIGURE = re.compile(
    r"[$€£¥]\s?\d|\d[\d.,]*\s?(?:%|percent|per cent|million|billion|thousand|bn|[kmgt]wh?\b|x\b)|"
    r"\d[\d,.]*\d|\b\d+\b",
    re.I,
)
_YEAR = re.compile(r"\b(?:1[5-9]|20)\d\d\b|\bQ[1-4]\b|\bH[12]\b|\b\d{1,2}:\d\d\b")
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
        return 0.8 if figures(text) and count <= 120 else 0.3
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
def leans(sentence: str) -> bool:
    """Whether a sentence says what it is about only together with the one before it."""
    text = plain(sentence)
    return bool(_BARE_COUNT.search(text)) or (
        bool(_LEANS.match(text)) and not _TIMED_THIS.match(text)
    )


@lru_cache(maxsize=20_000)
def figures(sentence: str) -> int:
    """How many figures a sentence gives; years and quarters alone measure nothing."""
    return len(_FIGURE.findall(_YEAR.sub(" ", sentence)))


def is_labelled(text: str) -> bool:
    """A line that opens with a label or a number of its own: "Value: …", "2025/04-3: …"."""
    return bool(_LABELLED.match(text))


def unglued(text: str) -> str:
    """The sentence without a heading that lost its line break: "Next Steps In 2024 we …"."""
    found = _GLUED.match(text)
    if found and sum(word[0].isupper() for word in found.group().split()) >= 3:
        return text[found.end() :]
    return text


@lru_cache(maxsize=20_000)
def plain(sentence: str) -> str:
    """The sentence without list marks and Markdown residue, white space folded."""
    text = _TYPED.sub(lambda m: '"' if m.lastindex else m[0].strip(), _TAG.sub(" ", sentence))
    text = " ".join(text.split())
    text = _NUMBERED.sub(lambda m: f"{m[1].upper()} ", text)
    text = _EDIT.sub("", _EMPHASIS.sub(r"\1", _STRESSED.sub(r"\1", text)))
    text = _MARKS.sub("", text.strip()).strip()
    return _DOUBLED.sub("", text) if text[:1].isupper() else text
