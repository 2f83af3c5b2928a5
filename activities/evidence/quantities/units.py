"""Units of measure, folded: what a number counts, in one spelling and one scale.

`unit_after` and `currency_before` read the words around a figure. A unit is *hard* when it belongs
to a closed list (%, currencies, physical units); any other unit is the folded noun that is counted.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from activities.evidence.text.terms import STOP_WORDS, term

SCALES: Mapping[str, float] = {
    "hundred": 1e2, "thousand": 1e3, "thousands": 1e3, "million": 1e6, "millions": 1e6,
    "mn": 1e6, "mln": 1e6, "mio": 1e6, "mill": 1e6, "billion": 1e9, "billions": 1e9,
    "bn": 1e9, "trillion": 1e12, "tn": 1e12, "dozen": 12.0,
}  # fmt: skip

_CURRENCY_SIGNS = {"$": "USD", "€": "EUR", "£": "GBP", "¥": "JPY", "₹": "INR", "₩": "KRW"}
_CODES = (
    "AUD", "BRL", "CAD", "CHF", "CNY", "CZK", "DKK", "EUR", "GBP", "INR", "ISK", "JPY", "KRW",
    "NOK", "NZD", "PLN", "SEK", "USD", "ZAR",
)  # fmt: skip
_CURRENCY_WORDS = {
    "dollar": "USD", "dollars": "USD", "euro": "EUR", "euros": "EUR", "kroner": "kr",
    "krone": "kr", "kronor": "kr", "krona": "kr", "kr": "kr", "pounds": "GBP", "sterling": "GBP",
    "yen": "JPY", "yuan": "CNY", "rupees": "INR", "francs": "CHF",
}  # fmt: skip
# "kr" may be any of the three; a text that says only kroner does not contradict one that says NOK.
_CROWNS = frozenset({"kr", "NOK", "SEK", "DKK"})

# Symbols are told apart by case (MW, mW); words are not.
_SYMBOLS: dict[str, tuple[str, float]] = {
    "%": ("%", 1), "pp": ("pp", 1), "Wh": ("kWh", 1e-3), "kWh": ("kWh", 1), "KWh": ("kWh", 1),
    "MWh": ("kWh", 1e3), "GWh": ("kWh", 1e6), "TWh": ("kWh", 1e9), "W": ("kW", 1e-3),
    "kW": ("kW", 1), "MW": ("kW", 1e3), "GW": ("kW", 1e6), "mm": ("m", 1e-3), "cm": ("m", 1e-2),
    "m": ("m", 1), "km": ("m", 1e3), "ft": ("m", 0.3048), "mi": ("m", 1609.344),
    "g": ("kg", 1e-3), "kg": ("kg", 1), "t": ("kg", 1e3), "lb": ("kg", 0.45359237),
    "lbs": ("kg", 0.45359237), "s": ("s", 1), "ms": ("s", 1e-3), "min": ("s", 60),
    "mins": ("s", 60),
    "h": ("s", 3600), "hr": ("s", 3600), "hrs": ("s", 3600), "l": ("l", 1), "L": ("l", 1),
    "m3": ("l", 1e3), "m³": ("l", 1e3), "m2": ("m2", 1), "m²": ("m2", 1), "km2": ("m2", 1e6),
    "km²": ("m2", 1e6), "ha": ("m2", 1e4), "°C": ("°C", 1), "°F": ("°F", 1), "km/h": ("km/h", 1),
    "kmh": ("km/h", 1), "mph": ("km/h", 1.609344), "kn": ("km/h", 1.852), "MB": ("MB", 1),
    "GB": ("MB", 1e3), "TB": ("MB", 1e6), "V": ("V", 1), "kV": ("V", 1e3), "x": ("x", 1),
}  # fmt: skip
_WORD_UNITS: dict[str, tuple[str, float]] = {
    "percent": ("%", 1), "pct": ("%", 1), "per cent": ("%", 1), "percentage points": ("pp", 1),
    "percentage point": ("pp", 1), "kilowatt hours": ("kWh", 1), "megawatt hours": ("kWh", 1e3),
    "gigawatt hours": ("kWh", 1e6), "kilowatt-hours": ("kWh", 1), "megawatt-hours": ("kWh", 1e3),
    "kilowatts": ("kW", 1), "megawatts": ("kW", 1e3), "megawatt": ("kW", 1e3),
    "gigawatts": ("kW", 1e6), "millimetre": ("m", 1e-3), "centimetre": ("m", 1e-2),
    "metre": ("m", 1), "kilometre": ("m", 1e3), "mile": ("m", 1609.344),
    "nautical mile": ("m", 1852.0), "foot": ("m", 0.3048), "feet": ("m", 0.3048),
    "inch": ("m", 0.0254), "inches": ("m", 0.0254), "gram": ("kg", 1e-3), "kilogram": ("kg", 1),
    "kilo": ("kg", 1), "tonne": ("kg", 1e3), "ton": ("kg", 1e3), "second": ("s", 1),
    "minute": ("s", 60), "hour": ("s", 3600), "day": ("s", 86400), "week": ("s", 604800),
    "month": ("month", 1), "year": ("month", 12), "litre": ("l", 1), "liter": ("l", 1),
    "cubic metre": ("l", 1e3), "square metre": ("m2", 1), "square kilometre": ("m2", 1e6),
    "sq km": ("m2", 1e6), "sq mi": ("m2", 2589988.11), "square mile": ("m2", 2589988.11),
    "hectare": ("m2", 1e4), "acre": ("m2", 4046.856), "degree": ("°C", 1), "knot": ("km/h", 1.852),
    "time": ("x", 1), "fold": ("x", 1),
}  # fmt: skip
_TIME = {"year": "year", "annum": "year", "yr": "year", "day": "day", "week": "week",
         "month": "month", "hour": "hour", "h": "hour", "km": "km"}  # fmt: skip
HARD = frozenset(
    [unit for unit, _ in _SYMBOLS.values()] + [unit for unit, _ in _WORD_UNITS.values()]
    + list(_CODES) + ["kr", "pp", "clock"]
)  # fmt: skip

_CURRENCY_BEFORE = re.compile(
    r"(?:(?<![A-Za-z])(?P<mega>[MmKkT])?(?P<code>" + "|".join(_CODES) + r"|[Kk]r)"
    r"(?P<after>m|bn)?\.?"
    r"|(?P<sign>[$€£¥₹₩]))\s?$"
)
_NEXT = re.compile(r"[\s\u00a0\u202f-]?\s?([A-Za-z°%µ$€£][\w²³/%-]*|[%$€£])")
_RATE = re.compile(r"\s?(?:/\s?|per\s+|a\s+(?=year|month|week|day)|an\s+(?=hour))([A-Za-z]+)")
_ANNUALLY = re.compile(r"\s(?:annually|yearly)\b")
_NOUN = re.compile(r"\s([a-z][a-z]+(?:-[a-z]+)*)")
_PLURALS = frozenset({"people", "men", "women", "children", "staff", "crew"})
# What may follow a figure without being what it counts.
_NOT_COUNTED = STOP_WORDS["en"] | {
    "year", "years", "month", "day", "ago", "per", "january", "today", "compared", "followed",
    "respectively", "versus", "annual", "annually", "added", "rising", "fell", "rose", "according",
    "said",
}  # fmt: skip


def compatible(a: str, b: str) -> bool:
    """Whether a number in one unit can be held against a number in the other."""
    base_a, _, rate_a = a.partition("/") if a != "km/h" else (a, "", "")
    base_b, _, rate_b = b.partition("/") if b != "km/h" else (b, "", "")
    if rate_a and rate_b and rate_a != rate_b:
        return False
    if base_a == base_b or (base_a in _CROWNS and base_b in _CROWNS):
        return True
    return (not base_a and base_b not in HARD) or (not base_b and base_a not in HARD)


def is_hard(unit: str) -> bool:
    """Whether the unit comes from a closed list, rather than being a counted noun."""
    return unit in HARD or unit.partition("/")[0] in HARD


def currency_before(text: str, start: int) -> tuple[str, float, int] | None:
    """The currency written before a figure: unit, scale and where it begins."""
    found = _CURRENCY_BEFORE.search(text, max(0, start - 7), start)
    if found is None:
        return None
    scale = {"m": 1e6, "M": 1e6, "k": 1e3, "K": 1e3, "T": 1e3}.get(found["mega"] or "", 1.0)
    scale *= {"m": 1e6, "bn": 1e9}.get(found["after"] or "", 1.0)
    if found["sign"]:
        return _CURRENCY_SIGNS[found["sign"]], 1.0, found.start()
    code = found["code"]
    return ("kr" if code.lower() == "kr" else code), scale, found.start()


def unit_after(text: str, end: int, currency: str) -> tuple[str, float, int]:
    """Unit, scale and end of what follows a figure; the currency is one already read before it."""
    scale, unit = 1.0, currency
    while (word := _NEXT.match(text, end)) is not None:
        mark = word[1]
        if mark.lower() in SCALES:
            scale *= SCALES[mark.lower()]
        elif mark in ("m", "M", "k", "K") and _means_scale(text, word, end, mark, currency):
            scale *= 1e6 if mark in "mM" else 1e3
        else:
            break
        end = word.end()
    if not unit and word is not None:
        unit, factor, end = _named_unit(text, word, end)
        scale *= factor
    elif unit and word is not None and word[1].lower() in _CURRENCY_WORDS:
        end = word.end()
    noun_unit, noun_end = ("", end) if unit else counted(text, end)
    unit, end = unit or noun_unit, noun_end if not unit else end
    if unit and unit != "km/h":
        rate = _RATE.match(text, end)
        if rate is not None and rate[1].lower() not in ("cent", "centage"):
            return f"{unit}/{_TIME.get(rate[1].lower(), term(rate[1]))}", scale, rate.end()
        if _ANNUALLY.match(text, end):
            return f"{unit}/year", scale, end
    return unit, scale, end


def _means_scale(text: str, word: re.Match[str], end: int, mark: str, currency: str) -> bool:
    """`€2.3m` and `2.3m passengers` are millions; `120 m` and `120m long` are metres."""
    if mark in "kK" or currency:
        return bool(currency) or word.start(1) == end
    noun = _NOUN.match(text, word.end())
    glued = word.start(1) == end
    if mark == "M":
        return glued
    after = _NEXT.match(text, word.end())
    if after is not None and after[1].lower() in _CURRENCY_WORDS:
        return True
    return glued and noun is not None and _plural(noun[1]) and noun[1] not in _NOT_COUNTED


def _named_unit(text: str, word: re.Match[str], end: int) -> tuple[str, float, int]:
    mark = word[1]
    lower = mark.lower()
    second = _NEXT.match(text, word.end())
    if second is not None and not mark.endswith("."):
        pair = f"{lower} {second[1].lower()}"
        for spelled in (pair, _singular(pair)):
            if spelled in _WORD_UNITS:
                return (*_WORD_UNITS[spelled], second.end())
    if mark.upper() in _CODES and mark.isupper():
        return mark, 1.0, word.end()
    if mark in _CURRENCY_SIGNS:
        return _CURRENCY_SIGNS[mark], 1.0, word.end()
    if lower in _CURRENCY_WORDS:
        return _CURRENCY_WORDS[lower], 1.0, word.end()
    if mark in _SYMBOLS:
        return (*_SYMBOLS[mark], word.end())
    head = mark.partition("/")[0]
    if head != mark and head in _SYMBOLS:
        return (*_SYMBOLS[head], word.start(1) + len(head))
    for spelled in (lower, _singular(lower), _singular(lower.partition("-")[0])):
        if spelled in _WORD_UNITS:
            if spelled == "second" and not lower.endswith("s"):
                continue
            return (*_WORD_UNITS[spelled], word.end())
    return "", 1.0, end


def counted(text: str, end: int) -> tuple[str, int]:
    """The folded noun a bare figure counts: the first plural that follows, else the next word."""
    place, first, first_end = end, "", end
    for _ in range(4):
        noun = _NOUN.match(text, place)
        if noun is None or noun[1] in _NOT_COUNTED:
            break
        place = noun.end()
        if _plural(noun[1]):
            return term(noun[1]), place
        if not first:
            first, first_end = term(noun[1]), place
    return first, first_end


def _plural(word: str) -> bool:
    return word in _PLURALS or (word.endswith("s") and not word.endswith(("ss", "us", "is", "ous")))


def _singular(word: str) -> str:
    word = word.replace("meter", "metre")
    return word[:-1] if word.endswith("s") else word
