"""Dates of documents, as ISO `yyyy`, `yyyy-mm` or `yyyy-mm-dd`.

Only dates that say what they are count: a labelled line, a field of the file, the file's name. Any
other date in a text says what the text is about, not when it was written. Where day and month
cannot be told apart, the year alone is kept.
"""

from __future__ import annotations

import re
from datetime import date

from activities.evidence.text.months import MONTH_PATTERN, MONTHS

_MONTH = rf"(?P<month>{MONTH_PATTERN})\.?"
_YEAR = r"(?P<year>1[5-9]\d\d|20\d\d)"
_DAY = r"(?P<day>[0-3]?\d)(?:st|nd|rd|th|\.)?"
_YEAR_AND_MONTH = re.compile(rf"(?<!\d){_YEAR}-(?P<month>[01]\d)(?![\d-])")
_FORMS = tuple(
    re.compile(form, re.IGNORECASE)
    for form in (
        rf"(?<!\d){_YEAR}[-/.](?P<month>[01]?\d)[-/.](?P<day>[0-3]?\d)(?!\d)",
        rf"\b{_DAY} (?:of )?{_MONTH},? {_YEAR}\b",
        rf"\b{_MONTH} {_DAY},? {_YEAR}\b",
        rf"(?<!\d)(?P<day>[0-3]?\d)\.(?P<month>[01]?\d)\.{_YEAR}(?!\d)",
        rf"(?<!\d)(?P<first>[0-3]?\d)[/-](?P<second>[0-3]?\d)[/-]{_YEAR}(?!\d)",
        _YEAR_AND_MONTH.pattern,
        rf"\b{_MONTH},? {_YEAR}\b",
    )
)
_COMPACT = re.compile(r"(?<!\d)(?P<year>20\d\d|19\d\d)(?P<month>[01]\d)(?P<day>[0-3]\d)(?!\d)")
_BARE_YEAR = re.compile(rf"\s*{_YEAR}\s*$")
# "Published: …", "Minutes 25-77 | Approved on 3 May 2024", "**Last updated** …".
_LABEL = re.compile(
    r"(?:^|[.;,|·•(–—]\s*)[\s>*_:#|-]*(?:date of publication|date|dated|published|publication date|"
    r"posted|updated|last updated|last modified|last reviewed|issued|approved|adopted|released|"
    r"release date|created|exported|meeting date|sent|signed|effective date|effective|"
    r"datum|stand|veröffentlicht|aktualisiert)"
    r"(?: on)?[*_]*\s*(?P<mark>[:|]|\s-\s|\s|$)[\s*_|]*",
    re.IGNORECASE,
)
_SENTENCE_END = re.compile(r"[.;|)](?:\s|$)|$")
_HEAD_LINES = 15
_LONGEST_LINE = 300
_LONGEST_DATE = 45


def find_date(text: str) -> str | None:
    """The first date in a short text such as a field or a byline."""
    best: tuple[int, str] | None = None
    for form in _FORMS:
        if found := form.search(text):
            iso = _iso(found.groupdict())
            # Full forms come first, so a month and year inside a full date never win.
            if iso is not None and (best is None or found.start() < best[0]):
                best = (found.start(), iso)
    if best is not None:
        return best[1]
    if found := _COMPACT.search(text):
        return _iso(found.groupdict())
    bare = _BARE_YEAR.match(text)
    return bare["year"] if bare else None


def head_date(text: str) -> str | None:
    """The date that a labelled line near the top of a text gives it."""
    lines = [line for line in text[:6000].split("\n") if line.strip()][:_HEAD_LINES]
    for line in lines:
        for label in _LABEL.finditer(line[:_LONGEST_LINE]):
            rest = line[label.end() :]
            end = _SENTENCE_END.search(rest)
            # Without a colon, "Updated" may begin a longer sentence.
            if label["mark"] in ":|" or (end is not None and end.start() <= _LONGEST_DATE):
                found = find_date(rest[:_LONGEST_DATE])
                if found is not None:
                    return found
    return None


def name_date(name: str) -> str | None:
    """A date or a month in a file name."""
    readable = re.sub(r"[_ ]", "-", name)
    for form in (_FORMS[0], _COMPACT, _YEAR_AND_MONTH):
        if (found := form.search(readable)) and (iso := _iso(found.groupdict())):
            return iso
    return None


def _iso(parts: dict[str, str | None]) -> str | None:
    year = int(parts["year"] or 0)
    if first := parts.get("first"):
        return _day_or_year(year, int(first), int(parts["second"] or 0))
    named = (parts.get("month") or "").lower()
    month = MONTHS.get(named) or int(named or 0)
    if not 1 <= month <= 12:
        return None
    day = parts.get("day")
    return f"{year:04}-{month:02}" if day is None else _valid(year, month, int(day))


def _day_or_year(year: int, first: int, second: int) -> str | None:
    if first == second or second > 12:
        return _valid(year, first, second)
    if first > 12:
        return _valid(year, second, first)
    return f"{year:04}" if first and second else None


def _valid(year: int, month: int, day: int) -> str | None:
    try:
        return date(year, month, day).isoformat()
    except ValueError:
        return None
