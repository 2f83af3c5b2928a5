"""A draft of the report in parts, and the sentences in it: each with its place and its citations.

The sentence is the unit of the gate: it is judged, sent back and replaced alone. A table row, a
heading and the title count as sentences; code blocks hold none.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

from pydantic import Field

from activities.evidence.quotes import fold
from activities.evidence.text.sentences import split_sentences
from workflows.contracts.evidence import Record
from workflows.contracts.result import Calculation

CITATION = re.compile(r"\[(\d{1,5})\]")
CODE_BLOCK = re.compile(r"(^```.*?^```[ \t]*$)", re.M | re.S)
SUMMARY, CONCLUSION, GAPS, TITLE = "summary", "conclusion", "gaps", "title"
"""The parts that belong to no facet and no contradiction."""

_CODE = re.compile(r"(^```.*?^```[ \t]*$|`[^`\n]+`)", re.M | re.S)
_NUMBERS = r"\^?\d{1,5}(?:\s*[-\u2013\u2014]\s*\^?\d{1,5})?"
_CITATIONS = re.compile(rf"\[\s*({_NUMBERS}(?:\s*[,;]\s*{_NUMBERS})*)\s*\](?:\((?:[^()\s]*)\))?")
_RANGE = re.compile(r"\^?(\d+)(?:\s*[-\u2013\u2014]\s*\^?(\d+))?")
_FOOTNOTE = re.compile(r"^\[\^\d{1,5}\]:.*$\n?", re.M)
_MOST_IN_RANGE = 40

_LIST_ITEM = re.compile(r"\s*(?:[-*+\u2022]|\d{1,3}[.)])\s+(?:\[[ xX]\]\s+)?")
_HEADING = re.compile(r"\s{0,3}#{1,6}\s")
_TOP_HEADING = re.compile(r"^#{1,2}(?=\s)", re.M)
_BOLD_LINE = re.compile(r"\s*\*\*[^*\n]+\*\*:?\s*")
_SEPARATOR = re.compile(r"\s*\|?\s*:?-{2,}:?\s*(?:\|\s*:?-*:?\s*)*")
_RULE = re.compile(r"\s*(?:[-*_]\s*){3,}")
_LEAD = re.compile(r"\*\*[^*\n]{1,80}\*\*[.:]?")
_BOLD = re.compile(r"\*\*[^*\n]+\*\*")

Kind = Literal["title", "heading", "remark", "row", "prose"]


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
    conclusion: str = ""
    """What the facets add up to."""
    contradictions: tuple[Entry, ...] = ()
    gaps: str = ""
    calculations: tuple[Calculation, ...] = ()
    mended: tuple[str, ...] = Field(default=())
    """What the gate repaired, because the writer did not."""
    unjudged: str = ""
    """Why no judge has read the sentences; empty where one has."""

    def parts(self) -> dict[str, str]:
        """The prose of the report by part, in reading order; gaps and contradictions apart."""
        return {
            SUMMARY: self.summary,
            **{section.facet_id: section.markdown for section in self.sections},
            CONCLUSION: self.conclusion,
        }


@dataclass(frozen=True)
class Sentence:
    """One statement of a part, and where it stands in the part's Markdown."""

    where: str
    kind: Kind
    text: str
    start: int
    end: int
    block_cites: tuple[int, ...]
    """The citations of its paragraph, list item or table."""
    block_end: int

    @property
    def cites(self) -> tuple[int, ...]:
        return cited(self.text)

    @property
    def uncited(self) -> str:
        """The text without citations; brackets of its own are unescaped."""
        return CITATION.sub(" ", self.text).replace("\\[", "[").replace("\\]", "]")

    @property
    def bare(self) -> str:
        """The words without citations and the marks around them."""
        text = self.uncited
        return fold(re.sub(r"[*`|]+|(?<!\w)_+|_+(?!\w)|^\s*#+", " ", text))

    @property
    def key(self) -> tuple[str, str]:
        return self.where, fold(self.text)


def normalize_citations(markdown: str) -> str:
    """The text with every usual form of citation as `[1][2]`; code is left alone.

    Accepted are `[1, 2]`, `[1; 2]`, `[1-3]`, `[^1]` and `[1](address)`; the list of footnotes that
    belongs to `[^1]` is left out, as the report has a list of sources.
    """

    def normalize(prose: str) -> str:
        return _CITATIONS.sub(_spell_out, _FOOTNOTE.sub("", prose))

    return edit_prose(markdown, normalize, _CODE)


def demote_headings(markdown: str) -> str:
    """The text of a part with its headings below the part's own, which is of the second level."""
    return edit_prose(markdown, lambda prose: _TOP_HEADING.sub("###", prose))


def edit_prose(
    markdown: str, edit: Callable[[str], str], code: re.Pattern[str] = CODE_BLOCK
) -> str:
    """The text with everything edited that is not code."""
    pieces = code.split(markdown)
    pieces[::2] = map(edit, pieces[::2])
    return "".join(pieces)


def _spell_out(found: re.Match[str]) -> str:
    numbers: list[int] = []
    for first, last in _RANGE.findall(found[1]):
        start, end = int(first), int(last or first)
        if not start <= end < start + _MOST_IN_RANGE:
            return found[0]
        numbers += range(start, end + 1)
    return marks(dict.fromkeys(numbers))


def cited(markdown: str) -> tuple[int, ...]:
    """The numbers that are cited, in order; a number in code is no citation."""
    found = CITATION.findall(_CODE.sub("", markdown))
    return tuple(dict.fromkeys(int(n) for n in found))


def marks(numbers: Iterable[int]) -> str:
    return "".join(f"[{n}]" for n in numbers)


def all_sentences(draft: Draft) -> list[Sentence]:
    """The title's, the parts' and the contradictions' sentences, in reading order."""
    title = fold(draft.title)
    found = [Sentence(TITLE, "title", title, 0, len(title), cited(title), len(title))]
    for where, markdown in draft.parts().items():
        found += sentences_of(where, markdown)
    for entry in draft.contradictions:
        found += sentences_of(entry.contradiction_id, entry.markdown)
    return found


def sentences_of(where: str, markdown: str) -> list[Sentence]:
    """The sentences of a part, with their places in its Markdown."""
    found: list[Sentence] = []
    for kind, start, end in _blocks(markdown):
        text = markdown[start:end]
        if kind == "row":
            found += _rows(where, text, start)
        elif kind == "prose":
            found += _prose(where, text, start)
        else:
            found.append(Sentence(where, kind, text, start, end, cited(text), end))
    return found


def _blocks(markdown: str) -> Iterator[tuple[Kind, int, int]]:
    """Paragraphs, list items, tables and headings, each with its span."""
    begin: int | None = None
    end = 0
    table = False
    for start, stop, line in _lines(markdown):
        is_row = line.lstrip().startswith("|") or bool(table and "|" in line)
        starts = bool(_LIST_ITEM.match(line) or _HEADING.match(line)) or is_row != table
        if begin is not None and (
            not line.strip() or starts or _HEADING.match(markdown[begin:end])
        ):
            yield _kind(markdown[begin:end], table), begin, end
            begin = None
        if not line.strip() or _RULE.fullmatch(line):
            table = False
            continue
        table = is_row
        begin, end = (start if begin is None else begin), stop
    if begin is not None:
        yield _kind(markdown[begin:end], table), begin, end


def _lines(markdown: str) -> Iterator[tuple[int, int, str]]:
    """Start, end and text of each line; the lines of a code block are blank."""
    code = [block.span() for block in CODE_BLOCK.finditer(markdown)]
    start = 0
    for line in markdown.splitlines(keepends=True):
        inside = any(a <= start < b for a, b in code)
        yield start, start + len(line.rstrip()), "" if inside else line.rstrip()
        start += len(line)


def _kind(block: str, table: bool) -> Kind:
    if table:
        return "row"
    if _HEADING.match(block) or _BOLD_LINE.fullmatch(block):
        return "heading"
    return "remark" if _is_remark(block) else "prose"


def _is_remark(block: str) -> bool:
    """A paragraph set wholly in italics is a remark about the research."""
    marker = _LIST_ITEM.match(block)
    text = block[marker.end() if marker else 0 :].strip()
    mark = text[:1]
    return len(text) > 2 and mark in ("_", "*") and text[-1] == mark and mark not in text[1:-1]


def _rows(where: str, table: str, offset: int) -> Iterator[Sentence]:
    """The rows of a table; the first line above a separator names the columns."""
    lines = list(_lines(table))
    cites = cited(table)
    for n, (start, end, line) in enumerate(lines):
        is_head = n + 1 < len(lines) and _SEPARATOR.fullmatch(lines[n + 1][2])
        if not is_head and not _SEPARATOR.fullmatch(line):
            place = offset + start
            yield Sentence(where, "row", line, place, offset + end, cites, offset + len(table))


def _prose(where: str, block: str, offset: int) -> Iterator[Sentence]:
    """The sentences of a paragraph or list item, each with the citations that follow it."""
    marker = _LIST_ITEM.match(block)
    head = marker.end() if marker else 0
    cites = cited(block)
    # Without its citations, so that none of them begins a sentence.
    plain = CITATION.sub(lambda found: " " * len(found[0]), block[head:])
    # A question mark in bold words, such as a title, ends no sentence.
    bold = [span.span() for span in _BOLD.finditer(plain)]
    starts = [
        start for start, _ in split_sentences(plain) if not any(a < start < b for a, b in bold)
    ] or [0]
    # A bold lead goes with the sentence behind it.
    led = {b for a, b in pairwise(starts) if _LEAD.fullmatch(plain[a:b].strip())}
    starts = [start for start in starts if start not in led]
    for first, last in zip(starts, [*starts[1:], len(plain)], strict=True):
        begin = head + (0 if first == starts[0] else first)
        text = block[begin : head + last]
        start = offset + begin
        end = start + len(text.rstrip())
        yield Sentence(where, "prose", text.rstrip(), start, end, cites, offset + len(block))
