"""Dates and periods as they stand in a text, made comparable.

A moment is the stretch of days its words cover: "12 March 2024" one day, "Q3 2025" ninety-two,
"2019" a year. Two moments agree when one lies within the other, so a rounder date never
contradicts a more exact one.
"""

from __future__ import annotations

import re
from calendar import monthrange
from collections.abc import Mapping
from dataclasses import dataclass
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

_MOMENT = re.compile(
    rf"(?<![\w.,/])(?:"
    rf"(?P<iso_y>{_YEAR})-(?P<iso_m>0[1-9]|1[0-2])(?:-(?P<iso_d>{_DAY}))?(?![\w-])"
    rf"|(?P<d1>{_DAY})(?:st|nd|rd|th|\.)?\s+(?:of\s+)?(?P<m1>{_MONTH})\b\.?(?:\s*,?\s*(?P<y1>{_YEAR})\b)?"
    rf"|(?P<m2>{_MONTH})\b\.?\s*(?P<d2>{_DAY})(?:st|nd|rd|th)?(?![\d%:])(?:\s*,?\s*(?P<y2>{_YEAR})\b)?"
    rf"|(?P<m3>{_MONTH})\b\.?\s*,?\s*(?:of\s+)?(?P<y3>{_YEAR})\b"
    rf"|(?P<d4>{_DAY})[./](?P<n4>1[0-2]|0?[1-9])[./](?P<y4>{_YEAR})\b"
    rf"|(?:Q(?P<q5>[1-4])[\s/-]*(?:of\s+)?(?P<y5>{_YEAR}))\b"
    rf"|(?P<y6>{_YEAR})[\s/-]*Q(?P<q6>[1-4])\b"
    rf"|(?:H(?P<h7>[12])[\s/-]*(?P<y7>{_YEAR}))\b"
    rf"|(?P<o8>(?i:first|second|third|fourth|last|1st|2nd|3rd|4th))\s+(?P<part8>quarter|half)\s+"
    rf"(?:of\s+|in\s+)?(?P<y8>{_YEAR})\b"
    rf"|(?P<season>(?i:spring|summer|autumn|fall|winter))\s+(?:of\s+|in\s+)?(?P<y9>{_YEAR})\b"
    rf"|(?P<y10>{_YEAR})\s?[-\u2013\u2014/]\s?(?P<y11>{_YEAR}|[0-9]{{2}})(?![\w%]|[.,]\d)"
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


def _read(hit: re.Match[str], text: str) -> tuple[int, int, str] | None:
    g = hit.groupdict()
    if g["year"]:
        return _bare_year(hit, text)
    for n in ("1", "2"):
        if g["m" + n] and g["y" + n] is None:
            return _yearless(MONTHS[g["m" + n].lower()], int(g["d" + n]))
        if g["m" + n]:
            return _day_or_month(int(g["y" + n]), MONTHS[g["m" + n].lower()], g["d" + n])
    if g["iso_y"]:
        return _day_or_month(int(g["iso_y"]), int(g["iso_m"]), g["iso_d"])
    if g["m3"]:
        return _day_or_month(int(g["y3"]), MONTHS[g["m3"].lower()], None)
    if g["n4"]:
        return _numeric(int(g["d4"]), int(g["n4"]), int(g["y4"]))
    return _part_of_year(g) or _span(g)


def _numeric(day: int, month: int, year: int) -> tuple[int, int, str] | None:
    if day <= 12 and day != month:
        # 03/04/2024 is April or March by country: only the year is certain.
        return _months(year, 1, 12, "year")
    return _day_or_month(year, month, str(day))


def _part_of_year(g: Mapping[str, str | None]) -> tuple[int, int, str] | None:
    """A quarter, a half or a season."""
    if quarter := g["q5"] or g["q6"]:
        return _months(int(g["y5"] or g["y6"] or 0), 3 * int(quarter) - 2, 3, "quarter")
    if g["h7"]:
        return _months(int(g["y7"] or 0), 6 * int(g["h7"]) - 5, 6, "half")
    if g["o8"]:
        length = 3 if g["part8"] == "quarter" else 6
        nth = min(_ORDINAL[g["o8"].lower()], 12 // length)
        return _months(int(g["y8"] or 0), length * (nth - 1) + 1, length, g["part8"] or "")
    if g["season"]:
        return _months(int(g["y9"] or 0), _SEASON_START[g["season"].lower()], 3, "season")
    return None


def _span(g: Mapping[str, str | None]) -> tuple[int, int, str]:
    """From one year to another, or a decade."""
    if not g["y10"]:
        return _months(int(g["decade"] or 0), 1, 120, "decade")
    start, last = int(g["y10"]), g["y11"] or ""
    end = int(last) if len(last) == 4 else start // 100 * 100 + int(last)
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


def _day_or_month(year: int, month: int, day: str | None) -> tuple[int, int, str] | None:
    if day is None:
        return _months(year, month, 1, "month")
    if int(day) > monthrange(year, month)[1]:
        return _months(year, month, 1, "month")
    ordinal = date(year, month, int(day)).toordinal()
    return ordinal, ordinal, "day"


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
