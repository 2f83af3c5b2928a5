"""Claims read into sentences with the terms, names, amounts and dates they hold."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal

from activities.evidence.quantities.amounts import Quantity, read, same_number
from activities.evidence.quantities.dates import Moment, same_moment
from activities.evidence.quantities.units import compatible
from activities.evidence.text.names import Name, names
from activities.evidence.text.sentences import split_sentences
from activities.evidence.text.terms import STOP_WORDS, WORD, detect_language, term
from workflows.contracts.evidence import Claim

Kind = Literal["number", "date", "name", "polarity"]
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
_CODE = re.compile(r"[=<>{}\[\]_#@\\`|]|\(\)|::|:[\w-]+:")


@dataclass(frozen=True, slots=True)
class Token:
    """A content word: its term and its place in the sentence."""

    term: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Document:
    """What is known of a source beside its text."""

    title: str = ""
    edition: tuple[str, str] = ("", "")
    """The file's name without its version or year, and that version."""
    origin: str = ""
    """The source it is a copy of; empty where it is none."""
    superseded: bool = False
    """It calls itself out of date."""


@dataclass(frozen=True)
class Statement:
    """One sentence of a claim."""

    claim: int
    """The place of the claim in the list that is compared."""
    text: str
    context: frozenset[str]
    """Terms of all claims of the same documents and of the documents' titles."""
    title: frozenset[str]
    language: str
    documents: Mapping[str, Document]

    @cached_property
    def titles(self) -> frozenset[str]:
        return frozenset(document.title for document in self.documents.values())

    @cached_property
    def headwords(self) -> frozenset[str]:
        """The terms of its documents' titles, without what stands in brackets."""
        heads = " ".join(title.partition(" (")[0] for title in self.titles)
        return _terms(heads, self.language)

    @cached_property
    def origins(self) -> frozenset[str]:
        return frozenset(document.origin or s for s, document in self.documents.items())

    @cached_property
    def editions(self) -> frozenset[tuple[str, str]]:
        return frozenset(document.edition for document in self.documents.values())

    @cached_property
    def superseded(self) -> bool:
        return all(document.superseded for document in self.documents.values())

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
    def subject(self) -> frozenset[str]:
        """The terms of its names and of its documents' titles."""
        found = (term(word, self.language) for name in self.names for word in name.key)
        return self.title.union(found)

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
    kind: Kind
    text: str
    start: int
    amount: Quantity | None = None
    moment: Moment | None = None
    name: frozenset[str] = frozenset()
    counted: bool = False
    """It answers how many there are of something."""

    @property
    def end(self) -> int:
        return self.start + len(self.text)


def read_claims(
    claims: Sequence[Claim], documents: Mapping[str, Document]
) -> list[list[Statement]]:
    """The statements of each claim, in order."""
    language = detect_language(" ".join(claim.text for claim in claims[:200]))
    known = {s: documents.get(s, Document()) for claim in claims for s in claim.source_ids}
    titles = {s: _terms(document.title, language) for s, document in known.items()}
    context = {source: set(title) for source, title in titles.items()}
    for claim in claims:
        held = _terms(claim.text, language)
        for source in claim.source_ids:
            context[source] |= held
    found = []
    for place, claim in enumerate(claims):
        sources = claim.source_ids
        shared = Statement(
            claim=place,
            text=claim.text,
            context=frozenset[str]().union(*map(context.__getitem__, sources)),
            title=frozenset[str]().union(*map(titles.__getitem__, sources)),
            language=language,
            documents={source: known[source] for source in sources},
        )
        found.append([replace(shared, text=text) for text in _sentences(claim.text)])
    return found


def _sentences(text: str) -> list[str]:
    spans = split_sentences(text) or [(0, len(text))]
    return [" ".join(text[start:end].split()) for start, end in spans]


def _terms(text: str, language: str) -> frozenset[str]:
    return frozenset(token.term for token in locate_terms(text, language))


def locate_terms(text: str, language: str) -> Iterator[Token]:
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
