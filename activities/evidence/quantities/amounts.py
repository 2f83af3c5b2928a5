"""Numbers as they stand in a text, made comparable.

`quantities` finds every amount with its unit, scale and place; `same_number` compares two of them
and forgives rounding; `numbers_missing` names the numbers of a claim that stand in none of its
quotes. List markers, citation markers, ordinals and numbers inside identifiers are not amounts.
Dates are in `dates`; a number that is part of a date is never an amount as well.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import floor, log10

from activities.evidence.quantities.dates import Moment, moments, same_moment
from activities.evidence.quantities.units import compatible, currency_before, is_hard, unit_after
from activities.evidence.text.terms import term

_CLOCK = re.compile(
    r"(?<![\w:.])(?P<h>[01]?\d|2[0-4])"
    r"(?:(?P<sep>[:.])(?P<m>[0-5]\d)(?:\s?(?P<ap>[ap]\.?m\b))?|\s?(?P<ap2>[ap]\.?m\b))(?![\d:%])"
)
_CITATION = re.compile(r"\[\^?\s*\d+(?:\s*[,;\u2013-]\s*\d+)*\s*\]")
_MARKER = re.compile(
    r"^[ \t]*(?:#{1,6}[ \t]*\d+(?:\.\d+)*[.):]?(?=\s)"  # numbered headings
    r"|(?:[-*+][ \t]+)?\d{1,3}(?:\.\d{1,2})*[.)](?=[ \t]+\S))",  # list items
    re.MULTILINE,
)
_LINK = re.compile(r"https?://\S+")
_APPROXIMATE = re.compile(
    r"(?:\b(?:about|around|approximately|approx\.?|roughly|nearly|almost|some|over|more than|"
    r"less than|fewer than|under|up to|at least|at most|close to|just over|just under|an estimated|"
    r"estimated|estimated at|circa|ca?\.)|[~\u2248<>\u2264\u2265])\s*$",
    re.IGNORECASE,
)
_MINUS = re.compile(r"(?:^|[\s(])[-\u2212]$")
_TO = re.compile(r"\s?[-\u2013\u2014]\s?|\s+to\s+|\s+and\s+", re.IGNORECASE)
_BETWEEN = re.compile(r"\bbetween\s+\S{0,3}$", re.IGNORECASE)
_FROM = re.compile(r"\bfrom\s+\S{0,3}$", re.IGNORECASE)
_OF = re.compile(r"(?:\s+[a-z]+)?\s+(?:out\s+)?of\s+(?:the\s+|all\s+|its\s+|their\s+)?$")
# A whole number after one of these, or after a capitalised word, is part of a name.
_LABEL_WORD = re.compile(
    r"\b(?:route|line|section|table|figure|phase|stage|no|nr|version|chapter|article|page|step|"
    r"option|level|class|type|flight|highway|interstate|group|platform|gate|zone|district|unit|"
    r"building|block|room|case|annex|appendix|paragraph|clause|lot|item|part|volume|series|grade)"
    r"\.?\s$",
    re.IGNORECASE,
)
_CAPITALISED = re.compile(r"\b(?:[A-Z][a-z]+|[A-Z]{2,})\s$")
_NO_NAME = re.compile(
    r"\b(?:In|On|At|By|From|Of|To|For|With|The|And|But|Over|About|Around|Only|All|Some|Nearly|"
    r"Almost|Up|Between|Than|Least|Most|Its|Their|NOK|SEK|DKK|EUR|USD|GBP|Approximately|Roughly|"
    r"Population|Capacity|Length|Cost|Price|Total|Under|After|Before|Within|Another|These|Those)\s$"
)


@dataclass(frozen=True, slots=True)
class Quantity:
    """An amount in a text. A range runs from `value` to `high`; `step` is its last stated digit."""

    value: float
    high: float
    unit: str
    step: float
    approximate: bool
    text: str
    start: int
    end: int
    label: bool = False
    """The number is part of a name ("Route 12") and measures nothing."""

    @property
    def tolerance(self) -> float:
        """How far another figure may lie away and still be this one, rounded."""
        return min(0.5 * self.step, 0.1 * abs(self.value)) * (1 + 1e-9)


def same_number(a: Quantity, b: Quantity) -> bool:
    """Whether the two may be one figure: comparable units, and no further apart than rounding."""
    if not compatible(a.unit, b.unit):
        return False
    slack = max(a.tolerance, b.tolerance)
    return a.value - slack <= b.high and b.value - slack <= a.high


def quantities(text: str, dates: Sequence[Moment] | None = None) -> list[Quantity]:
    """Every amount in the text, in order; `dates` are its moments where already known."""
    taken = [(m.start, m.end) for m in (moments(text) if dates is None else dates)]
    plain = _without_markers(text)
    found: list[Quantity] = []
    for clock in _CLOCK.finditer(plain) if ":" in plain or "m" in plain else ():
        reading = _clock(clock)
        if reading is not None and not _overlaps(clock.start(), clock.end(), taken):
            taken.append((clock.start(), clock.end()))
            found.append(reading)
    hits = [h for h in figures(plain) if not _overlaps(h.start, h.end, taken)]
    read_until = 0
    for place, hit in enumerate(hits):
        if hit.start >= read_until:
            following = hits[place + 1] if place + 1 < len(hits) else None
            amount, read_until = _amount(plain, hit, following)
            found.append(amount)
    found.sort(key=lambda q: q.start)
    return found


@lru_cache(maxsize=16384)
def read(text: str) -> tuple[tuple[Moment, ...], tuple[Quantity, ...]]:
    """The dates and amounts of a text; kept, since one quote serves several claims and gates."""
    dates = moments(text)
    return tuple(dates), tuple(quantities(text, dates))


def ranks(text: str) -> list[Quantity]:
    """Places in an order, as "fifth largest" or "2nd most populous"; the unit names the order."""
    found: list[Quantity] = []
    for hit in _RANK.finditer(text):
        nth, order = _ordinal(hit["nth"].lower()), term(hit["order"].lower())
        # The lemma of a superlative has lost its ending; "the third contest" has none.
        if hit["degree"] or not order.endswith("est"):
            unit = f"rank {hit['degree'] or ''} {order}"
            found.append(Quantity(nth, nth, unit, 0.0, False, hit[0], hit.start(), hit.end()))
    return found


def _ordinal(nth: str) -> float:
    return float(nth[:-2] if nth[0].isdigit() else _ORDINAL_WORDS.index(nth) + 1)


def numbers_missing(claim_text: str, quote_texts: Sequence[str]) -> list[str]:
    """The numbers and dates of a claim that stand in none of its quotes, as the claim words them.

    A claim may be rounder than its quote, never more exact. "One" is left out: it is an article
    more often than a count.
    """
    wanted_dates, wanted = read(claim_text)
    if not wanted and not wanted_dates:
        return []
    known_dates: list[Moment] = []
    known: list[Quantity] = []
    for text in quote_texts:
        dates, amounts = read(text)
        known_dates.extend(dates)
        known.extend(amounts)
    # One writer's year is another's amount ("the 2000 passengers"); both are the same digits.
    years = {float(m.text) for m in known_dates if m.text.isdecimal()}
    missing: list[tuple[int, str]] = []
    for moment in wanted_dates:
        year = float(moment.text) if moment.text.isdecimal() else None
        if not any(_date_stands(moment, m) for m in known_dates) and not any(
            q.value == year for q in known
        ):
            missing.append((moment.start, moment.text))
    for amount in wanted:
        if amount.text.lower() == "one":
            continue
        for end in (amount.value, amount.high):
            if end not in years and not any(_stands(end, amount, q) for q in known):
                missing.append((amount.start, amount.text))
                break
    return [text for _, text in sorted(missing)]


def _date_stands(wanted: Moment, known: Moment) -> bool:
    if "yearless" in (wanted.precision, known.precision):
        return same_moment(wanted, known)
    return wanted.first <= known.first and known.last <= wanted.last


def _stands(end: float, wanted: Quantity, known: Quantity) -> bool:
    hard = is_hard(wanted.unit)
    if hard and known.unit and not compatible(wanted.unit, known.unit):
        return False
    # A count is exact unless it says otherwise; "1.8 billion" and "12 km" are rounded by nature.
    rounded = wanted.approximate or hard or wanted.step < 1 or not wanted.text[-1].isdigit()
    slack = wanted.tolerance if rounded else 0.0
    slack = max(slack, 1e-9 * abs(end))
    return any(abs(abs(end) - abs(value)) <= slack for value in (known.value, known.high))


def _without_markers(text: str) -> str:
    """The text with what only looks like an amount blanked out, every place kept."""
    if "[" in text:
        text = _CITATION.sub(_blank, text)
    if "://" in text:
        text = _LINK.sub(_blank, text)
    return _MARKER.sub(_blank, text)


def _blank(found: re.Match[str]) -> str:
    return " " * len(found.group())


def _overlaps(start: int, end: int, spans: Sequence[tuple[int, int]]) -> bool:
    return any(start < b and a < end for a, b in spans)


def _clock(hit: re.Match[str]) -> Quantity | None:
    """A time of day in minutes; `14.30` without am or pm is a decimal number."""
    half = (hit["ap"] or hit["ap2"] or "").lower()[:1]
    hour = int(hit["h"])
    if (not half and hit["sep"] != ":") or (half and hour > 12):
        return None
    hour = hour % 12 + (12 if half == "p" else 0) if half else hour
    minutes = float(60 * hour + int(hit["m"] or 0))
    step = 1.0 if hit["m"] else 60.0
    return Quantity(minutes, minutes, "clock", step, False, hit.group(), hit.start(), hit.end())


def _amount(text: str, hit: Figure, following: Figure | None) -> tuple[Quantity, int]:
    """The amount a figure begins, and where reading goes on: a range takes the next figure in."""
    if hit.share:
        share = Quantity(hit.value, hit.value, "%", 1.0, False, hit.text, hit.start, hit.end)
        return share, hit.end
    last = following if following and _is_range(text, hit, following) else hit
    value, high, end = hit.value, last.value, last.end
    currency, scale, start = currency_before(text, hit.start) or ("", 1.0, hit.start)
    unit, factor, unit_end = unit_after(text, end, currency)
    factor *= scale
    unit = unit or _unit_of_whole(text, hit, following)
    label = high == value and factor == 1 and not is_hard(unit) and _is_label(text, hit, unit)
    approximate = _APPROXIMATE.search(text, max(0, start - 20), start) is not None
    words_end = unit_end if is_hard(unit) or factor != 1 else end
    step = _step(high, min(hit.step, last.step), approximate) * factor
    if high == value and _MINUS.search(text, max(0, start - 3), start):
        value = high = -value
        start -= 1
    amount = Quantity(
        value * factor, high * factor, "" if label else unit, step, approximate,
        text[start:words_end], start, words_end, label,
    )  # fmt: skip
    return amount, end


def _unit_of_whole(text: str, hit: Figure, following: Figure | None) -> str:
    """A part of routes ("3 of 9 routes"), told apart from a number of routes."""
    if following is None or not _OF.fullmatch(text[hit.end : following.start]):
        return ""
    whole, _, _ = unit_after(text, following.end, "")
    return f"of {whole}" if whole and not is_hard(whole) else ""


def _is_range(text: str, hit: Figure, following: Figure) -> bool:
    joint = text[hit.end : following.start]
    if following.value <= hit.value or not _TO.fullmatch(joint):
        return False
    begin = max(0, hit.start - 14)
    if joint.strip().lower() == "and":
        return _BETWEEN.search(text, begin, hit.start) is not None
    # "from 8 to 10" tells a change as often as a range; a change has two values.
    return joint.strip().lower() != "to" or _FROM.search(text, begin, hit.start) is None


def _is_label(text: str, hit: Figure, unit: str) -> bool:
    if not hit.text.replace(".", "").isdecimal() or len(hit.text) > 4:
        return False
    begin = max(0, hit.start - 16)
    if _LABEL_WORD.search(text, begin, hit.start):
        return True
    if not hit.text.isdecimal():
        return False
    capital = _CAPITALISED.search(text, begin, hit.start)
    return capital is not None and not unit and not _NO_NAME.search(text, begin, hit.start)


def _step(value: float, step: float, approximate: bool) -> float:
    """What the writer may have rounded away: closing zeros of a large figure, two digits kept.

    After "about" one digit may be all that is left, and a small figure may be rounded too.
    """
    if step < 1 or value < 10 or (value < 1000 and not approximate):
        return step
    limit = floor(log10(value)) - (0 if approximate else 1)
    power = 0
    while power < limit and value % 10 ** (power + 1) == 0:
        power += 1
    return float(10**power)


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
_ORDINAL_WORDS = (
    "first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth",
    "eleventh", "twelfth", "thirteenth", "fourteenth", "fifteenth", "sixteenth", "seventeenth",
    "eighteenth", "nineteenth", "twentieth",
)  # fmt: skip
_RANK = re.compile(
    rf"\b(?P<nth>{'|'.join(_ORDINAL_WORDS)}|[1-9]\d{{0,2}}(?:st|nd|rd|th))[ -]"
    r"(?:(?P<degree>most|least)[ -](?=[a-z]))?(?P<order>(?(degree)[a-z]+|[a-z]{2,}est))\b",
    re.IGNORECASE,
)
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
