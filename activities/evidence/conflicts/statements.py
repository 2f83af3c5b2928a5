"""Claims read into sentences with the terms, names, amounts and dates they hold."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from activities.evidence.quantities.amounts import Quantity, read, same_number
from activities.evidence.quantities.dates import Moment, same_moment
from activities.evidence.quantities.units import compatible
from activities.evidence.text.names import Name, names
from activities.evidence.text.sentences import split_sentences
from activities.evidence.text.stopwords import STOP_WORDS, detect_language
from activities.evidence.text.terms import WORD, term
from workflows.evidence import Claim

_NEGATION = re.compile(
    r"\b(?:not|no|never|none|neither|nor|cannot|without|nobody|nothing|hardly|lacks?|lacked|fails?|"
    r"failed|denies|denied|nicht|kein\w*|nie)\b|n['’]t\b",
    re.IGNORECASE,
)
# "not only", "no later than", "No. 5" and "not to be confused with" deny nothing.
_NO_NEGATION = re.compile(
    r"\b(?:not only|not just|not necessarily|no (?:later|earlier|more|less|fewer|longer than)|"
    r"no\.\s?\d|not to be confused|whether or not|if not|why not|no matter|no doubt)\b",
    re.IGNORECASE,
)
_CODE = re.compile(r"[=<>{}\[\]_#@\\`|]|\(\)|::")


@dataclass(frozen=True, slots=True)
class Token:
    """A content word: its term and its place in the sentence."""

    term: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Document:
    """What is known of the document a claim stands in."""

    title: str = ""
    date: str = ""
    superseded: bool = False


@dataclass(frozen=True)
class Statement:
    """One sentence of a claim."""

    claim: int
    """The place of the claim in the list that is compared."""
    text: str
    context: frozenset[str]
    """Terms of all claims of the same documents and of the documents' titles."""
    title: frozenset[str]
    origins: frozenset[str]
    language: str
    superseded: bool

    @cached_property
    def tokens(self) -> tuple[Token, ...]:
        return tuple(locate_terms(self.text, self.language))

    @cached_property
    def terms(self) -> frozenset[str]:
        return frozenset(token.term for token in self.tokens)

    @cached_property
    def names(self) -> tuple[Name, ...]:
        return tuple(names(self.text))

    @cached_property
    def moments(self) -> tuple[Moment, ...]:
        return tuple(m for m in read(self.text)[0] if m.precision != "yearless")

    @cached_property
    def amounts(self) -> tuple[Quantity, ...]:
        return tuple(q for q in read(self.text)[1] if not q.label)

    @cached_property
    def is_prose(self) -> bool:
        """Whether it is text: markup and program code are not compared."""
        return len(_CODE.findall(self.text)) <= max(1, len(self.text) // 60)

    @cached_property
    def is_negated(self) -> bool:
        return is_negated(self.text)


@dataclass(frozen=True)
class Value:
    """A date, an amount, a name or a ruling that a statement gives."""

    statement: Statement
    kind: str
    text: str
    start: int
    amount: Quantity | None = None
    moment: Moment | None = None
    name: frozenset[str] = frozenset()

    @property
    def end(self) -> int:
        return self.start + len(self.text)


def read_claims(
    claims: Sequence[Claim], documents: Mapping[str, Document], origins: Mapping[str, str]
) -> list[list[Statement]]:
    """The statements of each claim, in order."""
    language = detect_language(" ".join(claim.text for claim in claims[:200]))
    titles = {
        source: frozenset(t.term for t in locate_terms(document.title, language))
        for source, document in documents.items()
    }
    spoken: dict[str, set[str]] = {}
    for claim in claims:
        for source in claim.source_ids:
            held = spoken.setdefault(source, set(titles.get(source, ())))
            held.update(token.term for token in locate_terms(claim.text, language))
    found = []
    for place, claim in enumerate(claims):
        spans = split_sentences(claim.text) or [(0, len(claim.text))]
        sources = claim.source_ids
        title = frozenset[str]().union(*(titles.get(source, ()) for source in sources))
        context = frozenset[str]().union(*(spoken[source] for source in sources))
        home = frozenset(origins.get(source, source) for source in sources)
        old = all(documents[source].superseded for source in sources if source in documents)
        old = old and any(source in documents for source in sources)
        found.append(
            [
                Statement(
                    place, " ".join(claim.text[start:end].split()), context, title, home, language, old
                )
                for start, end in spans
            ]
        )
    return found


def locate_terms(text: str, language: str) -> Iterable[Token]:
    """The content words of a text with their places; function words are left out."""
    stop = STOP_WORDS[language]
    for found in WORD.finditer(text):
        word = found[0].lower()
        if word not in stop:
            yield Token(term(word, language), found.start(), found.end())


def is_negated(text: str) -> bool:
    """Whether an odd number of negations stands in the text."""
    return len(_NEGATION.findall(_NO_NEGATION.sub(" ", text))) % 2 == 1


def comparable(a: Value, b: Value) -> bool:
    """Whether two values can be held against each other: one kind, and for amounts one unit."""
    if a.amount and b.amount:
        return compatible(a.amount.unit, b.amount.unit)
    return a.kind == b.kind


def same_value(a: Value, b: Value) -> bool:
    """Whether two values of one kind can be the same fact: rounding and short names forgiven."""
    if a.amount and b.amount:
        return same_number(a.amount, b.amount)
    if a.moment and b.moment:
        return same_moment(a.moment, b.moment)
    if a.name and b.name:
        return bool(a.name & b.name)
    return a.text == b.text
