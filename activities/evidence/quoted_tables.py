"""Rows of one table of one document, as claims quote them: `Column: value; Column: value.`

They share their columns, so that their numbers can be drawn and their cells compared.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from activities.evidence.quantities.amounts import Quantity, read
from activities.evidence.quantities.units import is_hard, unit_after
from activities.sources.chunks import SECTION_MARK
from workflows.contracts.evidence import Claim, Quote, Source
from workflows.contracts.result import Chart, ChartPoint, Comparison, ComparisonRow

MAX_POINTS = 24
MAX_COLUMNS = 6
LEAST_TIMES = 3
"""Two values are a difference, three begin to be a course."""
_LONGEST_CELL, _LONGEST_NAME = 160, 48
_WHOLE = re.compile(r"(?:sub)?totals?\b|sum\b|all\b|average\b|mean\b|overall\b|whole\b", re.I)
# Numbers that name or order something, and measure nothing.
_NO_MEASURE = re.compile(
    r"(?:id|no|nr|number|code|rank|year|month|week|day|date|time|phone|zip|page|version|class|"
    r"latitude|longitude|status|address|series|basis|value|result|figure|total|detail|note)s?\.?",
    re.I,
)
# Where such a column differs from row to row, the first column does not say all a number is of.
_PART_OF_KEY = re.compile(
    r"\b(?:year|quarter|month|week|period|date|item|measure|metric|indicator|kpi|category|unit|"
    r"currency|scenario|case|variable|parameter)s?\b",
    re.I,
)
_NUMBERING = re.compile(r"^\d+(?:\.\d+)*[.)]?\s+")
_PLAIN_NUMBER = re.compile(r"[-−+]?[$€£]?\d[\d.,' ]*%?")
_COLUMN = re.compile(rf"([^\W\d_][^:;]{{0,{_LONGEST_NAME}}}): (?=\S)")


@dataclass
class QuotedTable:
    """Quoted rows of one table, by their first column; a row holds its cells by column."""

    source_id: str
    section: str
    subject: str
    """The name of the first column."""
    facet_id: str
    rows: dict[str, dict[str, str]] = field(default_factory=dict)
    claim_ids: dict[str, list[str]] = field(default_factory=dict)

    @property
    def columns(self) -> list[str]:
        return list(dict.fromkeys(name for row in self.rows.values() for name in row))

    @property
    def days(self) -> dict[str, int]:
        """The first day of each subject that is a time."""
        return {n: m[0].first for n in self.rows if (m := read(n)[0]) and m[0].text == n}

    def varies(self, column: str) -> bool:
        return len({row.get(column) for row in self.rows.values()}) > 1

    def title(self, sources: Mapping[str, Source]) -> str:
        """The heading above it, or else the document's title."""
        heading = _NUMBERING.sub("", self.section.rpartition(SECTION_MARK)[2])
        return heading or (sources[self.source_id].title if self.source_id in sources else "")


def collect_tables(
    claims: Iterable[Claim], surroundings: Mapping[Quote, tuple[str, str]]
) -> Iterator[QuotedTable]:
    tables: dict[tuple[str, str, str], QuotedTable] = {}
    broken = set()
    for claim in claims:
        for quote in claim.quotes:
            row = _read_row(quote.text)
            if row is None:
                continue
            (column, subject), *cells = row.items()
            key = quote.source_id, quote.section, column
            table = tables.setdefault(key, QuotedTable(*key, facet_id=claim.facet_id))
            beside = "\n".join(surroundings.get(quote, ()))
            is_repeated = f"{column}: {subject};" in beside
            if is_repeated or table.rows.setdefault(subject, dict(cells)) != dict(cells):
                broken.add(key)  # one subject has several rows: the first column does not name it
            table.claim_ids.setdefault(subject, []).append(claim.id)
    for key, table in tables.items():
        if key not in broken and 1 < len(table.rows) <= MAX_POINTS:
            if len(table.days) == len(table.rows):
                table.rows = dict(sorted(table.rows.items(), key=lambda row: table.days[row[0]]))
            yield table


def _read_row(text: str) -> dict[str, str] | None:
    """The cells of a quoted row by column; None where it is not one row of several columns."""
    found = list(_COLUMN.finditer(text))
    starts = [hit for hit in found if hit.start() == 0 or text[: hit.start()].endswith("; ")]
    if len(starts) < 2 or starts[0].start() != 0 or "\n" in text.strip():
        return None
    ends = [*(hit.start() for hit in starts[1:]), len(text)]
    cells = {
        hit[1].strip(): text[hit.end() : end].strip().rstrip(";.").strip()
        for hit, end in zip(starts, ends, strict=True)
    }
    return cells if len(cells) == len(starts) and all(cells.values()) else None


def chart_table(table: QuotedTable, sources: Mapping[str, Source]) -> Iterator[Chart]:
    """A chart for each column of numbers in one unit; totals stand in the comparison table."""
    parts = {name: row for name, row in table.rows.items() if not _WHOLE.match(name)}
    is_course = len(table.days) == len(parts)
    amounts = {column: _read_column(column, parts) for column in table.columns}
    others = [
        column
        for column, found in amounts.items()
        if not found and table.varies(column) and not _is_numeric(column, parts)
    ]
    # A course is one of the same thing: whatever else stands in its rows stays the same.
    if any(is_course or _PART_OF_KEY.search(column) for column in others):
        return
    for column, found in amounts.items():
        if len(found) < (LEAST_TIMES if is_course else 2):
            continue
        yield Chart(
            kind="over_time" if is_course else "side_by_side",
            title=f"{table.title(sources)}: {column}, by {table.subject.lower()}".lstrip(": "),
            facet_id=table.facet_id,
            points=tuple(
                make_point(
                    name,
                    amount,
                    parts[name][column],
                    table.claim_ids[name],
                    table.days[name] if is_course else 0,
                )
                for name, amount in found.items()
            ),
        )


def _is_numeric(column: str, rows: Mapping[str, Mapping[str, str]]) -> bool:
    return all(_PLAIN_NUMBER.fullmatch(row.get(column, "0")) for row in rows.values())


def _read_column(column: str, rows: Mapping[str, Mapping[str, str]]) -> dict[str, Quantity]:
    """The amounts of a column by row; empty where they are not all amounts of one unit."""
    read_cells = {n: _read_cell(column, row[column]) for n, row in rows.items() if column in row}
    amounts = {name: amount for name, amount in read_cells.items() if amount}
    is_one_unit = len({amount.unit for amount in amounts.values()}) == 1
    return amounts if is_one_unit and len(amounts) == len(read_cells) else {}


def _read_cell(column: str, cell: str) -> Quantity | None:
    """The amount that is all of a cell; its unit stands in the cell or in the column's name."""
    moments, amounts = read(cell)
    if moments or len(amounts) != 1 or amounts[0].text != cell or _NO_MEASURE.fullmatch(column):
        return None
    words = re.split(r"[\s,()\[\]]+", column)
    tails = (" ".join(words[n:]) for n in range(len(words)))
    has_unit = is_hard(amounts[0].unit) or any(
        is_hard(unit_after(f"1 {tail}", 1, "")[0]) for tail in tails
    )
    counts = any(word.endswith("s") for word in (words[0], words[-1]))
    return amounts[0] if has_unit or counts else None


def compare_rows(table: QuotedTable, sources: Mapping[str, Source]) -> Comparison | None:
    columns = [
        column for column in table.columns if sum(column in row for row in table.rows.values()) > 1
    ][:MAX_COLUMNS]
    if len(columns) < 2:
        return None
    return Comparison(
        title=table.title(sources),
        facet_id=table.facet_id,
        subject=table.subject,
        attributes=tuple(columns),
        rows=tuple(
            ComparisonRow(
                subject=name,
                cells=tuple(row.get(column, "")[:_LONGEST_CELL] for column in columns),
                claim_ids=tuple(dict.fromkeys(table.claim_ids[name])),
            )
            for name, row in table.rows.items()
        ),
    )


def make_point(
    label: str, amount: Quantity, text: str, claim_ids: Iterable[str], day: int = 0
) -> ChartPoint:
    return ChartPoint(
        label=" ".join(label.split()),
        text=" ".join(text.split()),
        value=amount.value,
        high=amount.high,
        day=day,
        claim_ids=tuple(dict.fromkeys(claim_ids)),
    )
