"""Figures and numbers in words, read: where they stand, what they are worth, how exact they are.

No unit is looked at here. Thousands may be parted by comma, apostrophe or a narrow space; a comma
before other than three digits is a decimal comma.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

_SPELLED = {
    "zero": 0, "one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7,
    "eight": 8, "nine": 9, "ten": 10, "eleven": 11, "twelve": 12, "thirteen": 13, "fourteen": 14,
    "fifteen": 15, "sixteen": 16, "seventeen": 17, "eighteen": 18, "nineteen": 19, "twenty": 20,
    "thirty": 30, "forty": 40, "fifty": 50, "sixty": 60, "seventy": 70, "eighty": 80, "ninety": 90,
}  # fmt: skip
_BIG = {"hundred": 100, "thousand": 1000}
_PARTS = {"half": 2, "third": 3, "quarter": 4, "fifth": 5, "tenth": 10}
_ANY = "|".join(sorted(_SPELLED, key=len, reverse=True))
# Words and digits are sought apart: a pattern that opens with a digit is found several times
# faster, and most texts hold no number word at all.
_DIGITS = re.compile(
    r"\d(?:\d{0,2}(?:[,'\u2019\u00a0\u202f\u2009]\d{3})+(?!\d)(?:\.\d+)?"
    r"|(?<=[A-Z]{3} \d)\d{0,2}(?: \d{3})+(?!\d)(?:[.,]\d+)?"
    r"|\d{0,2}(?: \d{3}){2,}(?!\d)(?:[.,]\d+)?"
    r"|\d{0,2}(?:\.\d{3}){2,}(?!\d)(?:,\d+)?"
    r"|\d*(?:[.,]\d+)?)(?![.,]?\d)"
)
_IN_WORDS = re.compile(
    rf"\b(?:(?:(?P<top>{_ANY}|a)[\s-])?(?P<part>half|thirds?|quarters?|fifths?|tenths?)"
    rf"(?=\s+(?:of|the)\b)"
    rf"|(?P<spelled>(?:{_ANY})(?:(?:[\s-]|\s+and\s+)(?:{_ANY}|hundred|thousand))*)\b"
    r"(?!-(?:third|quarter|half|fifth|tenth)))",
    re.IGNORECASE,
)
_NUMBER_WORDS = frozenset(_SPELLED) | {part + end for part in _PARTS for end in ("", "s")}
# CO2, MF-204 and the tail of a version number are no figures; neither is 5th.
_INSIDE_WORD = re.compile(r"[^\W]$|[.,]$|[A-Za-z][-\u2013]$")
_ORDINAL = re.compile(r"(?:st|nd|rd|th)\b|\.\d")
_PLAIN_WORD = re.compile(r"[a-z]+")
_PADDING = re.compile(r"['\u2019\u00a0\u202f\u2009 ]")


@dataclass(frozen=True, slots=True)
class Figure:
    """A number and its place; `step` is its last stated digit, `share` says it is in hundredths."""

    value: float
    step: float
    text: str
    start: int
    end: int
    share: bool = False


def figures(text: str) -> list[Figure]:
    """Every figure in the text, in order; digits inside a word are none."""
    found: list[Figure] = []
    for hit in _DIGITS.finditer(text):
        start, end = hit.span()
        if start and _INSIDE_WORD.search(text, max(0, start - 2), start):
            continue
        if end - start < 19 and not _ORDINAL.match(text, end):
            value, step = _digits(hit.group())
            found.append(Figure(value, step, hit.group(), start, end))
    if not _NUMBER_WORDS.isdisjoint(_PLAIN_WORD.findall(text.lower())):
        for hit in _IN_WORDS.finditer(text):
            worth = _share(hit) if hit["part"] else _spelled(hit["spelled"])
            if worth is not None:
                share = hit["part"] is not None
                found.append(Figure(worth, 1.0, hit.group(), hit.start(), hit.end(), share))
        found.sort(key=lambda figure: figure.start)
    return found


def _digits(text: str) -> tuple[float, float]:
    digits = _PADDING.sub("", text)
    if digits.count(",") == 1 and len(digits) - digits.index(",") - 1 != 3 and "." not in digits:
        digits = digits.replace(",", ".")
    elif digits.count(".") >= 2:
        digits = digits.replace(".", "").replace(",", ".")
    else:
        digits = digits.replace(",", "")
    decimals = len(digits) - digits.index(".") - 1 if "." in digits else 0
    return float(digits), 10.0**-decimals


def _share(hit: re.Match[str]) -> float | None:
    top = (hit["top"] or "a").lower()
    part = _PARTS[hit["part"].lower().removesuffix("s")]
    count = 1 if top == "a" else _SPELLED[top]
    return 100.0 * count / part if 0 < count < part else None


def _spelled(words: str) -> float | None:
    """The worth of a number in words; `five six` is no number."""
    total, group = 0, 0
    for word in re.split(r"[\s-]+", words.lower()):
        if word == "and":
            continue
        if word in _BIG:
            group = max(group, 1) * _BIG[word]
            if word == "thousand":
                total, group = total + group, 0
        elif group % 100 and not (group % 10 == 0 and group % 100 >= 20 and _SPELLED[word] < 10):
            return None
        else:
            group += _SPELLED[word]
    return float(total + group)
