"""Dates of documents, as ISO `yyyy`, `yyyy-mm` or `yyyy-mm-dd`.

Only explicit dates count: a labelled line, a byline, a dateline, a field of the file. A date in
running prose says what a text is about, not when it was written. Where day and month cannot be
told apart, the year alone is kept.
"""

from __future__ import annotations

import re
from datetime import date

_MONTHS = {
    name: number
    for number, names in enumerate(
        (
            "january jan",
            "february feb",
            "march mar",
            "april apr",
            "may",
            "june jun",
            "july jul",
            "august aug",
            "september sept sep",
            "october oct",
            "november nov",
            "december dec",
        ),
        1,
    )
    for name in names.split()
}
_MONTH = r"(?P<month>" + "|".join(sorted(_MONTHS, key=len, reverse=True)) + r")\.?"
_YEAR = r"(?P<year>1[5-9]\d\d|20\d\d)"
_DAY = r"(?P<day>[0-3]?\d)(?:st|nd|rd|th)?"
_FORMS = tuple(
    re.compile(form, re.IGNORECASE)
    for form in (
        rf"(?<!\d){_YEAR}[-/.](?P<month>[01]?\d)[-/.](?P<day>[0-3]?\d)(?!\d)",
        rf"\b{_DAY} (?:of )?{_MONTH},? {_YEAR}\b",
        rf"\b{_MONTH} {_DAY},? {_YEAR}\b",
        rf"(?<!\d)(?P<day>[0-3]?\d)\.(?P<month>[01]?\d)\.{_YEAR}(?!\d)",
        rf"(?<!\d)(?P<first>[0-3]?\d)[/-](?P<second>[0-3]?\d)[/-]{_YEAR}(?!\d)",
        rf"(?<!\d){_YEAR}-(?P<month>[01]\d)(?![\d-])",
        rf"\b{_MONTH},? {_YEAR}\b",
    )
)
_COMPACT = re.compile(r"(?<!\d)(?P<year>20\d\d|19\d\d)(?P<month>[01]\d)(?P<day>[0-3]\d)(?!\d)")
_BARE_YEAR = re.compile(rf"\s*{_YEAR}\s*$")
_LABEL = re.compile(
    r"[\s>*_:#|-]*(?:date|dated|published|publication date|posted|updated|last updated|issued|"
    r"released|release date|created|meeting date|sent|effective(?: date)?)"
    r"(?: on)?[*_]*\s*(?P<mark>:|\s-\s|\s|$)",
    re.IGNORECASE,
)
_DATELINE = re.compile(r"[A-Z][\w.,' ()/-]{1,50}[,(] ?(?P<rest>[^–—]{4,30}?)\)? ?(?:[–—]|--| - )")
_STAMP = re.compile(r"^(?:Date|Sent): |^\[\d", re.MULTILINE)
_FULL_DATE = re.compile(
    r"\d{1,2}(?:st|nd|rd|th)?,?\s.*\d{4}|\d[-/.]\d{1,2}[-/.]\d|\s\d{1,2}, \d{4}"
)
_PARTS = re.compile(r"(?<=[\w)])[.;|·](?:\s+|$)")
_LABELLED = re.compile(
    r"\b(?:date|published|publication|issued|approved|adopted|posted|updated?|released|signed|dated)\b",
    re.IGNORECASE,
)
_HEAD_LINES = 15
_SHORT = 90


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
    """The date that the first lines of a text give it."""
    lines = [line for line in text[:6000].split("\n") if line.strip()][:_HEAD_LINES]
    for line in lines:
        label = _LABEL.match(line)
        # Without a colon, "Updated" may begin a sentence.
        labelled = label is not None and (label["mark"] == ":" or len(line) <= _SHORT // 2)
        if label and labelled and (found := find_date(line[label.end() : label.end() + 45])):
            return found
    for line in lines[: _HEAD_LINES // 2]:
        # "Report 25-77. 17 October 2025. Ordered by the council."
        for part in _PARTS.split(line[: 3 * _SHORT]):
            dated = _LABELLED.search(part) or len(part) <= 20
            exact = len(part) <= _SHORT and dated and _FULL_DATE.search(part)
            if exact and (found := find_date(part)):
                return found
    for line in lines:
        if len(line) <= _SHORT and _is_byline(line) and (found := find_date(line)):
            return found
        if (place := _DATELINE.match(line[:120])) and (found := find_date(place["rest"])):
            return found
    return None


def name_date(name: str) -> str | None:
    """A full date in a file name."""
    readable = re.sub(r"[_ ]", "-", name)
    for form in (_FORMS[0], _COMPACT):
        if found := form.search(readable):
            return _iso(found.groupdict())
    return None


def latest_message(text: str) -> str | None:
    """The last date among the stamped messages of an exported mailbox or chat."""
    stamps = (find_date(text[m.start() : m.start() + 60]) for m in _STAMP.finditer(text))
    return max((stamp for stamp in stamps if stamp is not None), default=None)


def _is_byline(line: str) -> bool:
    """Whether the line is about its date: little else stands on it, and it is no sentence."""
    bare = line.strip(" *_#>|-")
    # "Security in May 2025" as a heading tells the subject; "May 2025" alone tells the date.
    most = 12 if _FULL_DATE.search(bare) else 4
    most = 3 if line.startswith("#") else most
    return not bare.endswith((".", ":", "?")) and len(bare.split()) <= most


def _iso(parts: dict[str, str | None]) -> str | None:
    year = int(parts["year"] or 0)
    if first := parts.get("first"):
        return _day_or_year(year, int(first), int(parts["second"] or 0))
    named = (parts.get("month") or "").lower()
    month = _MONTHS.get(named) or int(named or 0)
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
