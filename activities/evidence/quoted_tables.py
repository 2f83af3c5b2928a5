"""Rows of one table of one document, as claims quote them: `Column: value; Column: value.`

They share their columns, so that their numbers can be drawn and their cells compared.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import islice

from activities.evidence.quantities.amounts import Quantity, read
from activities.evidence.quantities.units import is_hard, unit_after
from activities.sources.chunks import SECTION_MARK
from workflows.contracts.evidence import Claim, Source
from workflows.contracts.result import Chart, ChartPoint, Comparison, ComparisonRow

MAX_POINTS = 24
MAX_COLUMNS = 6
LEAST_TIMES = 3
"""Two values are a difference, three begin to be a course."""
_PER_TABLE = 2
"""Charts of one table."""
_LONGEST_CELL, _LONGEST_NAME = 160, 48
_WHOLE = re.compile(r"(?:sub)?totals?\b|sum\b|all\b|average\b|mean\b|overall\b|whole\b", re.I)
# Numbers that name or order something, and measure nothing.
_NO_MEASURE = re.compile(
    r"(?:id|no|nr|number|code|rank|year|month|week|day|date|time|phone|zip|page|version|class|"
    r"latitude|longitude|status|address|series|basis)s?\.?",
    re.I,
)
_NUMBERING = re.compile(r"^\d+(?:\.\d+)*[.)]?\s+")
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

    def title(self, sources: Mapping[str, Source]) -> str:
        source = sources.get(self.source_id)
        return self.section.rpartition(SECTION_MARK)[2] or (
            source.title if source else self.subject
        )


def collect_tables(claims: Iterable[Claim]) -> Iterator[QuotedTable]:
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
            if table.rows.setdefault(subject, dict(cells)) != dict(cells):
                broken.add(key)  # one subject has several rows: the first column does not name it
            table.claim_ids.setdefault(subject, []).append(claim.id)
    for key, table in tables.items():
        if key not in broken and 1 < len(table.rows) <= MAX_POINTS:
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


def chart_table(table: QuotedTable, sources: Mapping[str, Source]) -> list[Chart]:
    return list(islice(_chart_columns(table, sources), _PER_TABLE))


def _chart_columns(table: QuotedTable, sources: Mapping[str, Source]) -> Iterator[Chart]:
    """A chart for each column of numbers in one unit; totals stand in the comparison table."""
    parts = {name: row for name, row in table.rows.items() if not _WHOLE.match(name)}
    for column in table.columns:
        amounts = {
            name: _read_cell(column, row[column]) for name, row in parts.items() if column in row
        }
        units = {amount.unit if amount else None for amount in amounts.values()}
        if len(amounts) < 2 or len(units) != 1 or None in units:
            continue
        days = {n: m[0].first for n in amounts if (m := read(n)[0]) and m[0].text == n}
        is_course = len(days) == len(amounts)
        if is_course and len(amounts) < LEAST_TIMES:
            continue
        points = [
            make_point(name, amount, parts[name][column], table.claim_ids[name], days.get(name, 0))
            for name, amount in amounts.items()
            if amount
        ]
        yield Chart(
            kind="over_time" if is_course else "side_by_side",
            title=f"{table.title(sources)}: {column}, by {table.subject.lower()}".lstrip(": "),
            facet_id=table.facet_id,
            points=tuple(sorted(points, key=lambda point: point.day)),
        )


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
    return amounts[0] if has_unit or words[0].endswith("s") else None


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
