"""The draft and its gate: what a report must hold before anyone reads it.

    every [n] resolves
    every paragraph of fact is cited
    every contradiction shows all its sides, cited
    every gap that is not closed is named
    no number that stands in no cited claim

`faults` lists what is broken in words that can be sent back to the writer; `repair` mends it
without a model, and what it returns has no faults. A paragraph set wholly in italics is a remark
about the research, not a fact, and needs no citation.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from pydantic import Field

from activities.evidence.ledger import Ledger
from activities.evidence.quantities.amounts import numbers_missing
from activities.evidence.quotes import fold
from workflows.contracts.evidence import Claim, Contradiction, Record, Side
from workflows.contracts.state import Gap

CITATION = re.compile(r"\[(\d{1,5})\]")
_PARAGRAPHS = re.compile(r"\n\s*\n")
CODE_BLOCK = re.compile(r"^```.*?^```[ \t]*$", re.M | re.S)
_LIST_ITEM = re.compile(r"^\s*(?:[-*+]|\d+[.)])\s+")
_SENTENCE = re.compile(r"(?<=[.!?…])(?:\s*(?:\[\d+\])+)?\s+(?=[^\s\[])")
_NAMED = 0.7


class Section(Record):
    facet_id: str
    markdown: str


class Entry(Record):
    """A contradiction as the writer tells it."""

    contradiction_id: str
    markdown: str


class Draft(Record):
    """A report in parts."""

    title: str
    summary: str
    sections: tuple[Section, ...] = ()
    contradictions: tuple[Entry, ...] = ()
    gaps: str = ""
    mended: tuple[str, ...] = Field(default=())
    """What the gate repaired, because the writer did not."""


@dataclass(frozen=True)
class Evidence:
    """What a draft is held against."""

    ledger: Ledger
    gaps: tuple[Gap, ...]

    @property
    def unclosed(self) -> list[Gap]:
        return [gap for gap in self.gaps if gap.status != "closed"]


@dataclass(frozen=True)
class Fault:
    """One thing wrong, and where: `summary`, `gaps`, a facet's id or a contradiction's."""

    kind: str
    where: str
    text: str

    def __str__(self) -> str:
        return f"{self.where}: {self.text}"


def faults(draft: Draft, evidence: Evidence) -> list[Fault]:
    """Everything that keeps the draft from passing; empty where it may be read."""
    support = _Support(evidence.ledger)
    found = list(_prose_faults("summary", draft.summary, support))
    for section in draft.sections:
        found += _prose_faults(section.facet_id, section.markdown, support)
    entries = {entry.contradiction_id: entry.markdown for entry in draft.contradictions}
    for contradiction in evidence.ledger.contradictions:
        entry = entries.get(contradiction.id, "")
        found += _entry_faults(contradiction, entry, support)
    known = {c.id for c in evidence.ledger.contradictions}
    found += [
        Fault("unknown", cid, "no such contradiction in the ledger")
        for cid in entries
        if cid not in known
    ]
    found += [
        Fault("unresolved", "gaps", f"[{n}] names no source")
        for n in _cited(draft.gaps)
        if n not in support.numbers
    ]
    found += [
        Fault("gap", "gaps", f"this gap is not named: {gap.text}")
        for gap in evidence.unclosed
        if not _names(draft.gaps, gap.text)
    ]
    return found


def repair(draft: Draft, evidence: Evidence) -> Draft:
    """The draft without its faults, and a note of each repair."""
    before = faults(draft, evidence)
    if not before:
        return draft
    support = _Support(evidence.ledger)
    summary = _mended_prose(draft.summary, support) or "_The evidence follows by facet._"
    sections = tuple(
        section.model_copy(update={"markdown": _mended_prose(section.markdown, support)
                           or "_Nothing that could be cited was found for this facet._"})
        for section in draft.sections
    )  # fmt: skip
    entries = {entry.contradiction_id: entry.markdown for entry in draft.contradictions}
    contradictions = tuple(
        Entry(
            contradiction_id=c.id,
            markdown=tell(c, evidence.ledger)
            if list(_entry_faults(c, entries.get(c.id, ""), support))
            else entries[c.id],
        )
        for c in evidence.ledger.contradictions
    )
    gaps = CITATION.sub(lambda m: m.group() if int(m.group(1)) in support.numbers else "",
                        draft.gaps)  # fmt: skip
    unnamed = [gap for gap in evidence.unclosed if not _names(gaps, gap.text)]
    gaps = "\n".join([gaps.rstrip(), *(f"- {gap.text}" for gap in unnamed)]).strip()
    return draft.model_copy(
        update={
            "summary": summary,
            "sections": sections,
            "contradictions": contradictions,
            "gaps": gaps,
            "mended": (*draft.mended, *dict.fromkeys(str(fault) for fault in before)),
        }
    )


def tell(contradiction: Contradiction, ledger: Ledger) -> str:
    """A contradiction in plain words, all sides cited; what stands where the writer's does not."""
    lines = [f"- {_one_side(side, ledger)}" for side in contradiction.sides]
    # The reason is the verifier's reading of both sides, so it carries all their citations.
    cites = marks(ledger.cites(sid for side in contradiction.sides for sid in side.source_ids))
    reason = contradiction.explanation.rstrip(". ")
    return "\n".join([*lines, f"- Why they may differ: {reason}. {cites}"])


def _one_side(side: Side, ledger: Ledger) -> str:
    return f"{fold(side.text).rstrip('. ')}. {marks(ledger.cites(side.source_ids))}"


def marks(numbers: Iterable[int]) -> str:
    return "".join(f"[{n}]" for n in numbers)


class _Support:
    """What each citation number lets a paragraph say."""

    def __init__(self, ledger: Ledger) -> None:
        self.numbers: set[int] = set()
        self._claims: dict[int, list[Claim]] = {}
        self._about: dict[int, str] = {}
        self._source: dict[int, str] = {n: sid for sid, n in ledger.numbers.items()}
        for claim in ledger.citable():
            for n in ledger.cites(claim.source_ids):
                self.numbers.add(n)
                self._claims.setdefault(n, []).append(claim)
        for source_id, n in ledger.numbers.items():
            source = ledger.sources[source_id]
            self._about[n] = f"{source.title} {source.date or ''} {source.uri}"
        self._told: dict[str, str] = {
            c.id: " ".join([c.about, c.explanation,
                            *(f"{s.text} {' '.join(s.context.model_dump().values())}"
                              for s in c.sides)])
            for c in ledger.contradictions
        }  # fmt: skip

    def texts(self, cited: Iterable[int]) -> list[str]:
        """What the cited sources and claims say, each within quotation marks: a number that opens a
        passage is part of what it says, not the number of a list item."""
        said: list[str] = []
        for n in cited:
            said.append(self._about.get(n, ""))
            for claim in self._claims.get(n, ()):
                said.append(claim.text)
                said += [text for quote in claim.quotes for text in (quote.section, quote.text)]
        return [f"“{fold(text)}”" for text in said]

    def source(self, n: int) -> str | None:
        return self._source.get(n)

    def told(self, contradiction_id: str) -> list[str]:
        return [self._told[contradiction_id]] if contradiction_id in self._told else []


def paragraphs(markdown: str) -> Iterator[str]:
    """Paragraphs, and each item of a list for itself; no headings, no remarks, no code blocks."""
    for block in _PARAGRAPHS.split(CODE_BLOCK.sub("", markdown).strip()):
        for piece in _pieces(block):
            if piece.strip() and not _is_heading(piece) and not _is_remark(piece):
                yield piece


def _pieces(block: str) -> list[str]:
    """A block's list items (or table rows), each with its continuation lines, or the block."""
    pieces: list[list[str]] = []
    for line in block.splitlines():
        if not pieces or _LIST_ITEM.match(line) or _is_heading(line) or _is_heading(pieces[-1][0]):
            pieces.append([line])
        else:
            pieces[-1].append(line)
    return ["\n".join(piece) for piece in pieces]


def _is_heading(piece: str) -> bool:
    return piece.lstrip().startswith("#")


def _is_remark(piece: str) -> bool:
    text = _LIST_ITEM.sub("", piece).strip()
    return len(text) > 2 and text[0] == text[-1] == "_" and "_" not in text[1:-1]


def _cited(markdown: str) -> list[int]:
    return list(dict.fromkeys(int(n) for n in CITATION.findall(markdown)))


def _prose_faults(
    where: str, markdown: str, support: _Support, told: Iterable[str] = ()
) -> Iterator[Fault]:
    for paragraph in paragraphs(markdown):
        cited = _cited(paragraph)
        start = fold(paragraph)[:90]
        for n in cited:
            if n not in support.numbers:
                yield Fault("unresolved", where, f"[{n}] names no source, in “{start}…”")
        if not cited:
            yield Fault("uncited", where, f"a paragraph of fact has no citation: “{start}…”")
            continue
        for number in _unsupported(paragraph, cited, support, told):
            yield Fault("number", where, f"{number} stands in no claim cited there, in “{start}…”")


def _unsupported(
    passage: str, cited: Iterable[int], support: _Support, told: Iterable[str] = ()
) -> list[str]:
    bare = CITATION.sub(" ", _LIST_ITEM.sub("", passage))
    return numbers_missing(bare, [*support.texts(cited), *told])


def _entry_faults(contradiction: Contradiction, entry: str, support: _Support) -> Iterator[Fault]:
    shown = {support.source(n) for n in _cited(entry)}
    for side in contradiction.sides:
        if not shown & set(side.source_ids):
            yield Fault("side", contradiction.id, f"this side is not shown and cited: {side.text}")
    if entry:
        yield from _prose_faults(contradiction.id, entry, support, support.told(contradiction.id))


def _names(markdown: str, gap_text: str) -> bool:
    """True where the words of the gap stand together in one paragraph or item."""
    wanted = set(re.findall(r"\w+", gap_text.lower()))
    return any(
        len(wanted & set(re.findall(r"\w+", piece.lower()))) >= _NAMED * len(wanted)
        for block in _PARAGRAPHS.split(markdown)
        for piece in _pieces(block)
    )


def _mended_prose(markdown: str, support: _Support) -> str:
    """Facts without a citation and sentences with unsupported numbers are taken out."""
    blocks = []
    for block in _PARAGRAPHS.split(markdown.strip()):
        pieces = (_mended_piece(piece, support) for piece in _pieces(block))
        blocks.append("\n".join(piece for piece in pieces if piece.strip()))
    return "\n\n".join(block for block in blocks if block.strip())


def _mended_piece(piece: str, support: _Support) -> str:
    if not piece.strip() or _is_heading(piece) or _is_remark(piece):
        return piece
    piece = CITATION.sub(lambda m: m.group() if int(m.group(1)) in support.numbers else "", piece)
    cited = _cited(piece)
    if not cited:
        return ""
    if not _unsupported(piece, cited, support):
        return piece
    marker = _LIST_ITEM.match(piece)
    head = marker.group() if marker else ""
    kept = [s for s in split_sentences(piece[len(head) :])
            if not _unsupported(s, cited, support)]  # fmt: skip
    mended = head + " ".join(kept)
    left = _cited(mended)
    # Taking a sentence out takes its citation along: what stays must stand on what is left.
    return mended if left and not _unsupported(mended, left, support) else ""


def split_sentences(text: str) -> list[str]:
    """Sentences with the citations that follow them."""
    ends = [match.end() for match in _SENTENCE.finditer(text)]
    return [text[a:b].strip() for a, b in zip([0, *ends], [*ends, len(text)], strict=True)]


def sections_by_facet(draft: Draft) -> Mapping[str, str]:
    return {section.facet_id: section.markdown for section in draft.sections}
