"""Dates and periods as they stand in a text, made comparable.

A moment is the stretch of days its words cover: "12 March 2024" one day, "Q3 2025" ninety-two,
"2019" a year. Two moments agree when one lies within the other, so a rounder date never
contradicts a more exact one.
"""

from __future__ import annotations

import re
from calendar import monthrange
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import date

from activities.evidence.text.names import MONTHS

# A month begins with a capital: "may" and "mar" are words of their own.
_MONTH = "|".join(
    sorted((form for name in MONTHS for form in (name.capitalize(), name.upper())), key=len)[::-1]
)
_SEASON_START = {"spring": 3, "summer": 6, "autumn": 9, "fall": 9, "winter": 12}
_ORDINAL = {"first": 1, "1st": 1, "second": 2, "2nd": 2, "third": 3, "3rd": 3, "fourth": 4,
            "4th": 4, "last": 4}  # fmt: skip
_YEAR = r"(?:1[0-9]{3}|20[0-9]{2})"
_DAY = r"(?:3[01]|[12][0-9]|0?[1-9])"

# Groups of one letter mean the same in every form; the digit only keeps their names apart.
_MOMENT = re.compile(
    rf"(?<![\w.,/])(?:"
    rf"(?P<y0>{_YEAR})-(?P<n0>0[1-9]|1[0-2])(?:-(?P<d0>{_DAY}))?(?![\w-])"
    rf"|(?P<d1>{_DAY})(?:st|nd|rd|th|\.)?\s+(?:of\s+)?(?P<m1>{_MONTH})\b\.?(?:\s*,?\s*(?P<y1>{_YEAR})\b)?"
    rf"|(?P<m2>{_MONTH})\b\.?\s*(?P<d2>{_DAY})(?:st|nd|rd|th)?(?![\d%:])(?:\s*,?\s*(?P<y2>{_YEAR})\b)?"
    rf"|(?P<m3>{_MONTH})\b\.?\s*,?\s*(?:of\s+)?(?P<y3>{_YEAR})\b"
    rf"|(?P<day_or_month>{_DAY})[./](?P<n4>1[0-2]|0?[1-9])[./](?P<y4>{_YEAR})\b"
    rf"|(?:Q(?P<q5>[1-4])[\s/-]*(?:of\s+)?(?P<y5>{_YEAR}))\b"
    rf"|(?P<y6>{_YEAR})[\s/-]*Q(?P<q6>[1-4])\b"
    rf"|(?:H(?P<h7>[12])[\s/-]*(?P<y7>{_YEAR}))\b"
    rf"|(?P<nth>(?i:first|second|third|fourth|last|1st|2nd|3rd|4th))\s+(?P<part>quarter|half)\s+"
    rf"(?:of\s+|in\s+)?(?P<y8>{_YEAR})\b"
    rf"|(?P<season>(?i:spring|summer|autumn|fall|winter))\s+(?:of\s+|in\s+)?(?P<y9>{_YEAR})\b"
    rf"|(?P<y10>{_YEAR})\s?[-\u2013\u2014/]\s?(?P<until>{_YEAR}|[0-9]{{2}})(?![\w%]|[.,]\d)"
    rf"|(?P<decade>1[0-9]{{2}}0|20[0-9]0)s\b"
    rf"|(?:FY\s?)?(?P<year>{_YEAR})(?![\w%]|[.,]\d|\s?[-\u2013]\d)"
    rf")"
)
_ANY_DIGIT = re.compile(r"\d")
_UNITS_AFTER = re.compile(
    r"\s?(?:%|per\s?cent\b|percent\b|km\b|kWh\b|MWh\b|GWh\b|kW\b|MW\b|kg\b|m\b|cm\b|mm\b|tonnes?\b|"
    r"tons?\b|kroner\b|euros?\b|dollars\b|pounds\b|NOK\b|EUR\b|USD\b|million\b|billion\b|thousand\b|"
    r"hours?\b|minutes?\b|days\b|weeks\b|months\b|years\b|miles?\b|feet\b|ft\b|metres?\b|meters?\b)"
)
_PLURAL_AFTER = re.compile(r"\s[a-z]{2,}[a-rt-z]s\b|\s(?:people|men|women|children)\b")
_YEAR_BEFORE = re.compile(
    r"(?:\b(?:in|since|by|from|until|till|of|before|after|during|year|to|between|and|through|circa|"
    r"the|early|mid|late|end|FY|born|for|as of|spring|summer|autumn|winter|fall)"
    r"|[(\u2013,-]|\bc\.)\s*$",
    re.I,
)
_MONEY_BEFORE = re.compile(
    r"(?:[$\u20ac\u00a3\u00a5]|\b(?:NOK|SEK|DKK|EUR|USD|GBP|kr|some|over|than|nearly|almost))"
    r"\.?\s*$"
)
_LIFE_DATE = rf"(?:{_DAY} (?:{_MONTH}) |(?:{_MONTH}) {_DAY}, )?{_YEAR}"
_LIFESPAN = re.compile(
    rf"[^().]{{2,80}} \((?:[^()]*[;,] )?(?:c\. ?)?(?P<born>{_LIFE_DATE})"
    rf"\s?[-\u2013]\s?(?:c\. ?)?(?P<died>{_LIFE_DATE})\)"
)


@dataclass(frozen=True, slots=True)
class Moment:
    """A stretch of days named in a text; `first` and `last` count days, both included."""

    first: int
    last: int
    precision: str
    text: str
    start: int
    end: int

    @property
    def iso(self) -> str:
        """The moment in a form people and machines read alike."""
        day = date.fromordinal(self.first)
        if self.precision == "day":
            return day.isoformat()
        if self.precision == "yearless":
            return day.strftime("--%m-%d")
        if self.precision == "month":
            return f"{day.year:04d}-{day.month:02d}"
        if self.precision == "year":
            return f"{day.year:04d}"
        return f"{day.isoformat()}/{date.fromordinal(self.last).isoformat()}"


def same_moment(a: Moment, b: Moment) -> bool:
    """Whether both can be true of one event: one stretch lies within the other."""
    if "yearless" in (a.precision, b.precision):
        x, y = date.fromordinal(a.first), date.fromordinal(b.first)
        if a.precision in ("day", "yearless") and b.precision in ("day", "yearless"):
            return (x.month, x.day) == (y.month, y.day)
        if "month" in (a.precision, b.precision):
            return x.month == y.month
        return True
    return (a.first <= b.first and b.last <= a.last) or (b.first <= a.first and a.last <= b.last)


def apart(a: Moment, b: Moment) -> bool:
    """Whether the two share no day at all: a figure for one is no figure for the other."""
    if "yearless" in (a.precision, b.precision):
        return not same_moment(a, b)
    return a.last < b.first or b.last < a.first


def moments(text: str) -> list[Moment]:
    """Every date and period in the text, in order. A four-digit amount is not taken for a year."""
    found: list[Moment] = []
    if not _ANY_DIGIT.search(text):
        return found
    for hit in _MOMENT.finditer(text):
        span = _read(hit, text)
        if span is not None:
            first, last, precision = span
            found.append(Moment(first, last, precision, hit.group(), hit.start(), hit.end()))
    return found


def lifespan(text: str) -> tuple[Moment, Moment] | None:
    """Birth and death in brackets after the opening name, as in "Ada Hill (1901-1980) was …"."""
    found = _LIFESPAN.match(text)
    if found is None:
        return None
    born, died = (_life_date(found, name) for name in ("born", "died"))
    return (born, died) if born and died else None


def _life_date(found: re.Match[str], name: str) -> Moment | None:
    read = moments(f"born {found[name]}")  # without "born" an early year is taken for an amount
    return replace(read[0], start=found.start(name), end=found.end(name)) if read else None


def _read(hit: re.Match[str], text: str) -> tuple[int, int, str] | None:
    given = {name.rstrip("0123456789"): value for name, value in hit.groupdict().items() if value}
    if "year" in given:
        return _bare_year(hit, text)
    if "decade" in given:
        return _months(int(given["decade"]), 1, 120, "decade")
    month = MONTHS[given["m"].lower()] if "m" in given else int(given.get("n", 0))
    if "y" not in given:
        return _yearless(month, int(given["d"]))
    year = int(given["y"])
    if "until" in given:
        return _years(year, given["until"])
    if not month:
        return _part_of_year(year, given)
    day = int(given.get("d") or given.get("day_or_month") or 0)
    if "day_or_month" in given and day <= 12 and day != month:
        # 03/04/2024 is April or March by country: only the year is certain.
        return _months(year, 1, 12, "year")
    if not 0 < day <= monthrange(year, month)[1]:
        return _months(year, month, 1, "month")
    ordinal = date(year, month, day).toordinal()
    return ordinal, ordinal, "day"


def _part_of_year(year: int, given: Mapping[str, str]) -> tuple[int, int, str]:
    """A quarter, a half or a season."""
    if "season" in given:
        return _months(year, _SEASON_START[given["season"].lower()], 3, "season")
    part = given.get("part") or ("quarter" if "q" in given else "half")
    nth = given.get("q") or given.get("h") or _ORDINAL[given["nth"].lower()]
    length = 3 if part == "quarter" else 6
    return _months(year, length * (min(int(nth), 12 // length) - 1) + 1, length, part)


def _years(start: int, until: str) -> tuple[int, int, str]:
    """From one year to another; the last may have two digits."""
    end = int(until) if len(until) == 4 else start // 100 * 100 + int(until)
    if end <= start or end - start > 200:
        return _months(start, 1, 12, "year")
    return _months(start, 1, 12 * (end - start + 1), "span")


def _bare_year(hit: re.Match[str], text: str) -> tuple[int, int, str] | None:
    """A lone four-digit number is a year unless its neighbours make it an amount."""
    year = int(hit["year"])
    before = text[max(0, hit.start() - 16) : hit.start()]
    if _MONEY_BEFORE.search(before) or _UNITS_AFTER.match(text, hit.end()):
        return None
    introduced = _YEAR_BEFORE.search(before) is not None
    if not introduced and (year < 1500 or _PLURAL_AFTER.match(text, hit.end())):
        return None
    return _months(year, 1, 12, "year")


def _yearless(month: int, day: int) -> tuple[int, int, str] | None:
    # Year 4 is the first leap year of the calendar, so 29 February exists.
    if day > monthrange(4, month)[1]:
        return None
    ordinal = date(4, month, day).toordinal()
    return ordinal, ordinal, "yearless"


def _months(year: int, month: int, count: int, precision: str) -> tuple[int, int, str]:
    end_year, end_month = year + (month + count - 2) // 12, (month + count - 2) % 12 + 1
    last = date(end_year, end_month, monthrange(end_year, end_month)[1])
    return date(year, month, 1).toordinal(), last.toordinal(), precision
