"""Charts and comparison tables, made by code from verified claims.

A wrong chart is worse than none, so values stand together only where the sources themselves put
them side by side:

1. rows of one table of one document, quoted as `Column: value; Column: value.`;
2. sentences that say the same of one thing at several times, or of several things at one time, and
   differ in nothing else than the value and the time or the name;
3. the sides of a contradiction, where each side gives one amount in the same unit.

If two claims give different values for one place of a chart, there is no chart.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice, pairwise
from typing import TypeVar

from activities.evidence.conflicts.statements import is_negated, locate_terms
from activities.evidence.quantities.amounts import Quantity, numbers_missing, read, same_number
from activities.evidence.quantities.dates import Moment
from activities.evidence.quoted_tables import (
    LEAST_TIMES,
    MAX_COLUMNS,
    MAX_POINTS,
    chart_table,
    collect_tables,
    compare_rows,
    make_point,
)
from activities.evidence.text.names import names
from activities.evidence.text.sentences import sentences
from activities.evidence.text.terms import detect_language
from workflows.contracts.evidence import Claim, Contradiction, Quote, Source, Verdict
from workflows.contracts.result import Chart, ChartPoint, Comparison, ComparisonRow

MAX_CHARTS = MAX_TABLES = 8
_PER_TABLE = 2
"""Charts of one table."""
# "Up to 300" and "at least 300" are not values that can be drawn beside 300.
_BOUND = re.compile(
    r"(?:\b(?:over|under|up to|(?:more|less|fewer|other) than|at (?:least|most)|above|below|by|"
    r"from|another)|[<>≤≥+±])\s*$",
    re.I,
)
_Key = TypeVar("_Key")
_PRONOUN = re.compile(r"(?:it|they|he|she|we|this|that|these|those|its|their|his|her|our)\b", re.I)


def find_charts(
    claims: Iterable[Claim],
    contradictions: Iterable[Contradiction],
    sources: Mapping[str, Source],
    surroundings: Mapping[Quote, tuple[str, str]],
) -> tuple[list[Chart], list[Comparison]]:
    """The charts and tables of these claims, which are those that the report may cite;
    `surroundings` is what stands before and after a quote in its source."""
    known = {claim.id: claim for claim in claims}
    contradictions = list(contradictions)
    disputed = {id_ for item in contradictions for id_ in item.claim_ids}
    settled = [
        claim
        for claim in known.values()
        if claim.verdict is Verdict.SUPPORTED and claim.id not in disputed
    ]
    tables = list(collect_tables(settled, surroundings))
    statements = _group_statements(settled)
    charts = [
        *_chart_disputes(contradictions, known, sources),
        *(chart for group in statements for chart in _chart_statements(group)),
        *(chart for table in tables for chart in islice(chart_table(table, sources), _PER_TABLE)),
    ]
    comparisons = [
        *filter(None, (compare_rows(table, sources) for table in tables)),
        *_compare_statements(statements),
    ]
    legible = [chart for chart in charts if len(chart.points) <= MAX_POINTS]
    return legible[:MAX_CHARTS], comparisons[:MAX_TABLES]


# --- the sides of a contradiction ----------------------------------------------------------------


def _chart_disputes(
    contradictions: Iterable[Contradiction],
    claims: Mapping[str, Claim],
    sources: Mapping[str, Source],
) -> Iterator[Chart]:
    for item in contradictions:
        points, units = [], set()
        for side in item.sides:
            held = [claims[id_] for id_ in side.claim_ids if id_ in claims]
            amount = _whole_amount(side.context.value)
            quotes = [quote.text for claim in held for quote in claim.quotes]
            if amount is None or not held or numbers_missing(side.context.value, quotes):
                break
            units.add(amount.unit)
            label = next((sources[s].title for s in side.source_ids if s in sources), "")
            points.append(
                make_point(label, amount, side.context.value, [claim.id for claim in held])
            )
        if len(points) == len(item.sides) and len(units) == 1:
            facet = claims[points[0].claim_ids[0]].facet_id
            yield Chart(
                kind="contested",
                title=item.about,
                facet_id=facet,
                contradiction_id=item.id,
                points=tuple(points),
            )


def _whole_amount(text: str) -> Quantity | None:
    """The amount that is all of the text, in a unit of its own."""
    moments, amounts = read(text)
    if moments or len(amounts) != 1 or amounts[0].unit in ("", "clock"):
        return None
    return None if _BOUND.search(text[: amounts[0].start]) else amounts[0]


# --- sentences of one form -----------------------------------------------------------------------


@dataclass(frozen=True)
class _Statement:
    """One sentence with one amount, about the thing that it names first."""

    claim: Claim
    text: str
    form: tuple[tuple[str, ...], str]
    """Its terms without names and values, and the unit."""
    names: tuple[str, ...]
    amount: Quantity
    moment: Moment | None

    @property
    def period(self) -> tuple[int, int]:
        return (self.moment.first, self.moment.last) if self.moment else (0, 0)

    @property
    def value(self) -> str:
        return self.text[self.amount.start : self.amount.end]

    def blank(self, *words: str) -> str:
        """The sentence as a heading: … stands for its value and for these words."""
        start, end = self.amount.start, self.amount.end
        text = f"{self.text[:start]}…{self.text[end:]}"
        for word in filter(None, words):
            text = text.replace(word, "…", 1)
        return text.rstrip(" .")


def _group_statements(claims: Sequence[Claim]) -> list[list[_Statement]]:
    """Sentences of one form, in the order of the claims."""
    language = detect_language(" ".join(claim.text for claim in claims[:200]))
    groups: dict[tuple[tuple[str, ...], str], list[_Statement]] = {}
    for claim in claims:
        for sentence in sentences(claim.text):
            if found := _read_statement(claim, " ".join(sentence.split()), language):
                groups.setdefault(found.form, []).append(found)
    return [group for group in groups.values() if len(group) > 1]


def _read_statement(claim: Claim, text: str, language: str) -> _Statement | None:
    moments, quantities = read(text)
    amounts = [amount for amount in quantities if not amount.label]
    if len(amounts) != 1 or len(moments) > 1 or _PRONOUN.match(text) or is_negated(text):
        return None
    (amount,) = amounts
    if amount.unit in ("", "clock") or _BOUND.search(text[: amount.start]):
        return None
    masked = _mask(text, ((amount.start, amount.end), *((m.start, m.end) for m in moments)))
    named = names(masked)
    outside = [
        token
        for token in locate_terms(masked, language)
        if not any(n.start <= token.start < n.start + len(n.text) for n in named)
    ]
    # The sentence begins with what it is about, and says at least two words of it.
    if not named or any(t.start < named[0].start for t in outside) or len(outside) < 2:
        return None
    return _Statement(
        claim=claim,
        text=text,
        form=(tuple(sorted(token.term for token in outside)), amount.unit),
        names=tuple(name.text for name in named),
        amount=amount,
        moment=moments[0] if moments else None,
    )


def _mask(text: str, spans: Iterable[tuple[int, int]]) -> str:
    for start, end in spans:
        text = f"{text[:start]}{' ' * (end - start)}{text[end:]}"
    return text


def _chart_statements(group: Sequence[_Statement]) -> Iterator[Chart]:
    courses: dict[tuple[str, ...], list[_Statement]] = {}
    rivals: dict[tuple[object, ...], list[_Statement]] = {}
    for one in group:
        rivals.setdefault((one.period, one.names[1:]), []).append(one)
        if one.moment:
            courses.setdefault(one.names, []).append(one)
    for course in courses.values():
        by_period = _merge((one.period, one) for one in course)
        if by_period and len(by_period) >= LEAST_TIMES and _follow(by_period):
            first = course[0]
            yield Chart(
                kind="over_time",
                title=first.blank(first.moment.text if first.moment else ""),
                facet_id=first.claim.facet_id,
                points=tuple(
                    _make_statement_point(by_period[period], by_period[period][0].moment)
                    for period in sorted(by_period)
                ),
            )
    for side in rivals.values():
        by_name = _merge((one.names[0], one) for one in side)
        if by_name and len(by_name) > 1:
            yield Chart(
                kind="side_by_side",
                title=side[0].blank(side[0].names[0]),
                facet_id=side[0].claim.facet_id,
                points=tuple(_make_statement_point(same) for same in by_name.values()),
            )


def _make_statement_point(same: Sequence[_Statement], moment: Moment | None = None) -> ChartPoint:
    first = same[0]
    label = moment.text if moment else first.names[0]
    ids = [one.claim.id for one in same]
    return make_point(label, first.amount, first.value, ids, moment.first if moment else 0)


def _merge(pairs: Iterable[tuple[_Key, _Statement]]) -> dict[_Key, list[_Statement]] | None:
    """The statements by their place; None where two of one place give different values."""
    places: dict[_Key, list[_Statement]] = {}
    for key, one in pairs:
        same = places.setdefault(key, [])
        if same and not same_number(same[0].amount, one.amount):
            return None
        same.append(one)
    return places


def _follow(periods: Iterable[tuple[int, int]]) -> bool:
    """Whether the periods follow each other; a year and a month within it do not."""
    ordered = sorted(periods)
    return all(one[1] < two[0] for one, two in pairwise(ordered))


def _compare_statements(groups: Iterable[Sequence[_Statement]]) -> Iterator[Comparison]:
    """Several sentences of one form each about the same things: a column for each form."""
    columns: dict[Collection[str], list[dict[str, list[_Statement]]]] = {}
    for group in groups:
        by_name = _merge((one.names[0], one) for one in group if len(one.names) == 1)
        if by_name and len(by_name) > 1 and len({one.period for one in group}) == 1:
            columns.setdefault(frozenset(by_name), []).append(by_name)
    for same in (found[:MAX_COLUMNS] for found in columns.values() if len(found) > 1):
        heads = [next(iter(column.values()))[0] for column in same]
        yield Comparison(
            title=", ".join(same[0]),
            facet_id=heads[0].claim.facet_id,
            subject="",
            attributes=tuple(head.blank(head.names[0]) for head in heads),
            rows=tuple(
                ComparisonRow(
                    subject=name,
                    cells=tuple(column[name][0].value for column in same),
                    claim_ids=tuple(
                        dict.fromkeys(one.claim.id for column in same for one in column[name])
                    ),
                )
                for name in same[0]
            ),
        )
