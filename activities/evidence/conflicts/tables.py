"""Rows of tables, and lines that state nothing.

A row reads "Vessel: MV Tern; Car spaces: 84.": cells with their column heads. What stands in its
cells without a number is its key: rows with different keys are about different things, whatever
their columns. Heads of letters and page numbers are no statements at all.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

from activities.evidence.quantities.amounts import read
from activities.evidence.words import stem, word_list

_CELL = re.compile(r"(?P<head>[A-Za-z0-9][^:;|\n]{0,70}?):\s+(?P<text>\S.*)", re.DOTALL)
_PARTS = re.compile(r";\s+(?=[A-Za-z0-9][^:;]{0,70}:\s)")
# Cells that speak about the row rather than name it.
_REMARK = re.compile(
    r"\b(?:remarks?|notes?|comments?|status|justification|reasons?|description|details|impact|"
    r"explanation|summary|source of data|explained|taken up)\b",
    re.IGNORECASE,
)
# A number under one of these heads names the row.
_NAMING = re.compile(
    r"\b(?:no|nos|number of item|nr|id|year|month|quarter|week|date|day|season|period|winter|"
    r"summer|lot|rank|code|phase|stage|version|minute|time|hour|step|row|page|route|line|since|"
    r"until|age|group|level|question|case|scenario)\b\.?",
    re.IGNORECASE,
)
_LETTER_HEAD = re.compile(
    r"(?:^|\s)(?:From|To|Cc|CC|Bcc|Subject|Sent|Date|Reply-To|Message-ID|Folder|Email ID|Re):\s"
)
_NO_STATEMENT = re.compile(
    r"\W*(?:(?:page|p\.|sheet|slide)\s*\d+(?:\s*(?:of|/)\s*\d+)?"
    r"|(?:from|to|cc|bcc|subject|sent|date|received|printed|retrieved|accessed|author|"
    r"last updated|updated|published|document (?:no|number|id)|reference|ref|file|our ref|"
    r"your ref|telephone|phone|tel|fax|about the columns)\b\.?\s*:.*"
    r"|(?:section|chapter|table|figure|annex|appendix|part)\s+[\dA-Z][\d.]*\W*)",
    re.IGNORECASE | re.DOTALL,
)
_UNITS = word_list(
    "eur usd gbp nok sek dkk million billion thousand per cent percent mw kw mwh kwh tonnes km m"
)
_TIME = re.compile(
    r"\b(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)[a-z]*\b|\b[A-Z][a-z]+day\b"
    r"|\b(?:Spring|Summer|Autumn|Winter|Week|Month|Quarter|Year)\b"
)
# A key that any table may have: it names a row only beside another.
_ANYWHERE = word_list("total sum all other others average mean year yes no none overall sample")


@dataclass(frozen=True, slots=True)
class Cell:
    """A cell with the head of its column."""

    head: str
    text: str

    @property
    def measured(self) -> tuple[str, str]:
        """The head without its unit, and the unit: "Cost of works, EUR million"."""
        name, _, unit = self.head.rpartition(", ")
        if unit and all(w.lower() in _UNITS for w in re.findall(r"\w+", unit)):
            return name, unit
        if all(w.lower() in _UNITS for w in re.findall(r"\w+", self.head)):
            return "", self.head
        return self.head, ""

    @property
    def column(self) -> str:
        return " ".join(stem(w) for w in re.findall(r"\w+", self.head))


@dataclass(frozen=True, slots=True)
class Row:
    """A row taken apart: what names it, what it gives for each column, and all its heads."""

    heads: tuple[str, ...]
    keys: tuple[Cell, ...]
    values: tuple[Cell, ...]

    @property
    def name(self) -> str:
        return ", ".join(" ".join(cell.text.split()) for cell in self.keys[:3])


def rows_in(line: str) -> list[str]:
    """The rows of a line that holds several, one after the other; the line itself otherwise."""
    head, colon, _ = line.strip().partition(": ")
    if not colon or len(head) > 40 or ";" in head:
        return [line]
    return re.split(rf"(?<=\.)\s+(?={re.escape(head)}: )", line)


@lru_cache(maxsize=16384)
def row_of(line: str) -> Row | None:
    """The line as a row; nothing where it is running text."""
    parts = _PARTS.split(line.strip().rstrip("."))
    if len(parts) < 2:
        return None
    cells: list[Cell] = []
    for part in parts:
        found = _CELL.fullmatch(part.strip().removeprefix("- "))
        if found is None:
            return None
        cells.append(Cell(found["head"].strip(), found["text"].strip()))
    values = [cell for cell in cells if _is_value(cell)]
    keys = [cell for cell in cells if cell not in values and not _REMARK.search(cell.head)]
    return Row(tuple(cell.head.lower() for cell in cells), tuple(keys), tuple(values))


def _is_value(cell: Cell) -> bool:
    """Whether the cell gives a number or a date, and hardly anything beside it."""
    if _NAMING.search(cell.head) or _REMARK.search(cell.head):
        return False
    dates, amounts = read(cell.text)
    if any(q.unit == "clock" for q in amounts):
        return False  # a line of a timetable is named by its times
    given = sum(m.end - m.start for m in dates) + sum(q.end - q.start for q in amounts[:2])
    return bool(given) and 2 * given >= len(cell.text)


def same_row(a: Row, b: Row, column: Cell) -> bool:
    """Whether two rows are about one thing, so that one column cannot hold two values.

    Cells under one head must agree. Where the column does not say what is measured ("EUR million",
    "2024") the rows must come from tables of one shape; where it does, a row may have more keys
    than the other.
    """
    heads = {cell.head.lower(): _folded(cell) for cell in a.keys}
    if any(heads.get(cell.head.lower(), _folded(cell)) != _folded(cell) for cell in b.keys):
        return False
    ours, theirs = ({_folded(cell) for cell in row.keys if _names(cell)} for row in (a, b))
    if not ours & theirs:
        return False
    if not re.search(r"[A-Za-z]{3}", _TIME.sub("", column.measured[0])):
        return ours == theirs and a.heads == b.heads
    return ours <= theirs or theirs <= ours


def _names(cell: Cell) -> bool:
    return re.search(r"[A-Za-z]{2}", cell.text) is not None and _folded(cell) not in _ANYWHERE


def _folded(cell: Cell) -> str:
    return " ".join(re.findall(r"\w+", cell.text.lower()))


def states_nothing(line: str) -> bool:
    """Whether a line is the head of a letter, a page number or a heading's number."""
    line = line.strip()
    if line.startswith(("#", ":")) or line.isupper() or _NO_STATEMENT.fullmatch(line):
        return True
    return len(_LETTER_HEAD.findall(line)) > 1
