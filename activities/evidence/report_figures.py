"""The figures of a report: where each may come from, and the calculations a writer declares.

A figure is supported by what is cited, by the question, or by a declared calculation, which code
repeats. Numbers are read in the conventions of the report's language; small counts, ordinals and
list numbers are no figures.
"""

from __future__ import annotations

import ast
import operator
import re
from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from math import isclose, isfinite

from activities.evidence.quantities.amounts import Quantity, figures, numbers_missing, read
from activities.evidence.quantities.units import is_hard
from workflows.contracts.result import Calculation

SMALL = 12
"""Counts up to this one ("five points matter") are not held against the claims by code."""
_NEAR = 3.0
"""How many percentage points "two thirds" may be away from a stated share."""

_SPACED = re.compile(r"(?<![\d.,])\d{1,3}(?:[ \u00a0\u202f\u2009]\d{3})+(?!\d)")
_DOTTED = re.compile(r"(?<![\d.,])\d{1,3}(?:\.\d{3})+(?![\d.]*\d)")
_DECIMAL_COMMA = re.compile(r"(?<=\d),(?=\d)")
# German words for what the amounts are read by; the rest of the text is only looked at for figures.
_GERMAN = {
    "tausend": "thousand", "tsd": "thousand", "million": "million", "millionen": "million",
    "mio": "million", "milliarde": "billion", "milliarden": "billion", "mrd": "billion",
    "billion": "trillion", "billionen": "trillion", "prozent": "%", "prozentpunkte": "pp",
    "prozentpunkten": "pp", "jahr": "year", "jahre": "years", "jahren": "years",
    "monate": "months", "monaten": "months", "wochen": "weeks", "tage": "days", "tagen": "days",
    "stunden": "hours", "minuten": "minutes", "sekunden": "seconds", "tonnen": "tonnes",
    "kilometer": "km", "kilometern": "km", "meter": "metres", "metern": "metres",
    "etwa": "about", "rund": "about", "circa": "about", "knapp": "nearly", "gut": "over",
    "fast": "almost", "ungefähr": "about", "bis": "to", "und": "and",
}  # fmt: skip
_ENGLISH_TOO = {"million", "billion", "meter", "kilometer", "circa", "fast", "gut", "bis", "und"}
_GERMAN_WORD = re.compile(rf"\b(?:{'|'.join(_GERMAN)})\b\.?", re.IGNORECASE)
_GERMAN_ONLY = re.compile(rf"\b(?:{'|'.join(_GERMAN.keys() - _ENGLISH_TOO)})\b", re.IGNORECASE)
_TOPS = {"a": 1, "one": 1, "two": 2, "three": 3, "four": 4, "nine": 9, "ein": 1, "eine": 1,
         "einem": 1, "zwei": 2, "drei": 3, "vier": 4, "neun": 9}  # fmt: skip
_PARTS = {"third": 3, "quarter": 4, "fifth": 5, "tenth": 10, "drittel": 3, "viertel": 4,
          "fünftel": 5, "zehntel": 10}  # fmt: skip
_FRACTION = re.compile(
    rf"\b(?P<top>{'|'.join(_TOPS)})[\s-](?P<part>{'|'.join(_PARTS)})s?\b(?!\s+(?:of\s+)?\d{{4}})"
    r"|(?<!first )(?<!second )\bhalf (?:of|the)\b(?!\s+(?:\d{4}|year))"
    r"|\bdie Hälfte\b",
    re.IGNORECASE,
)
_CONSTANTS = frozenset({24.0, 28.0, 30.0, 31.0, 52.0, 60.0, 100.0, 360.0, 365.0, 366.0, 3600.0})
"""Numbers that convert units; powers of ten and small counts count among them too."""
_OPERATORS: dict[type[ast.operator], Callable[[float, float], float]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.Pow: operator.pow,
}
_SIGNS = str.maketrans({"×": "*", "·": "*", "÷": "/", "−": "-", "\u2013": "-", ":": "/"})
_LONGEST = 200


def unsupported_figures(text: str, known: Sequence[str], language: str) -> list[str]:
    """The figures of a sentence that stand in none of the known texts, as the sentence has them."""
    plain, shares = _take_fractions(text)
    # A quotation in another language keeps its conventions.
    readings = [_read_as(as_in, one) for as_in in (language, "en")
                for one in (plain, _join_digits(plain))]  # fmt: skip
    if not shares and not any(any(read(reading)) for reading in readings):
        return []
    sources = [*dict.fromkeys(variant for source in known for variant in _variants(source))]
    missing = [words for words, share in shares if not _share_stands(share, sources)]
    found = (_missing(reading, sources) for reading in dict.fromkeys(readings))
    return [*missing, *min(found, key=len)]


def check_calculation(declared: Calculation, known: Sequence[str], language: str) -> str | None:
    """What is wrong with a declared calculation; None where code comes to the same result."""
    try:
        value, operands = evaluate(declared.expression)
    except (ValueError, ArithmeticError) as error:
        return f"the expression “{declared.expression[:80]}” cannot be calculated: {error}"
    stated = _stated_numbers(variant for source in known for variant in _variants(source))
    for number in operands:
        if not _is_constant(number) and not any(
            isclose(abs(number), abs(other), rel_tol=1e-6, abs_tol=1e-6) for other in stated
        ):
            return f"{number:g} in “{declared.expression[:80]}” stands in no claim it cites"
    if not _matches(value, declared.result, language):
        return f"“{declared.expression[:80]}” comes to {value:.6g}, not to {declared.result}"
    return None


def evaluate(expression: str) -> tuple[float, list[float]]:
    """The value of an arithmetic expression, and the numbers in it.

    Raises ValueError where it is more than numbers, + - * / ** and parentheses.
    """
    text = re.sub(r"(?<=\d)[,\u00a0\u202f ](?=\d{3}\b)", "", expression).translate(_SIGNS)
    if not text.strip() or len(text) > _LONGEST:
        raise ValueError(f"it has to have 1 to {_LONGEST} characters")
    try:
        tree = ast.parse(text.strip().replace("^", "**"), mode="eval")
    except SyntaxError:
        raise ValueError("it is no arithmetic expression") from None
    operands: list[float] = []
    value = _value(tree.body, operands)
    if isinstance(value, complex) or not isfinite(value):
        raise ValueError("it has no finite value")
    return value, operands


def _value(node: ast.expr, operands: list[float]) -> float:
    match node:
        case ast.Constant(value=int() | float() as number) if not isinstance(number, bool):
            operands.append(float(number))
            return float(number)
        case ast.UnaryOp(op=ast.USub() | ast.UAdd() as sign, operand=inner):
            found = _value(inner, operands)
            return -found if isinstance(sign, ast.USub) else found
        case ast.BinOp(left=left, op=op, right=right) if type(op) in _OPERATORS:
            one, other = _value(left, operands), _value(right, operands)
            if isinstance(op, ast.Pow) and (abs(other) > 60 or abs(one) > 1e6):
                raise ValueError("the power is too large")
            return _OPERATORS[type(op)](one, other)
        case _:
            raise ValueError("only numbers, + - * / ** and parentheses are allowed")


def _matches(value: float, result: str, language: str) -> bool:
    """Whether a result as it is written is this value, rounded as it is written."""
    plain, shares = _take_fractions(result)
    for _, share in shares:
        if any(abs(abs(one) - share) <= _NEAR for one in (value, value * 100)):
            return True
    for reading in (plain, _join_digits(plain)):
        for amount in read(_read_as(language, reading))[1]:
            raw = figures(amount.text)
            factor = amount.value / raw[0].value if raw and raw[0].value else 1.0
            values = [value, value / 100, value * 100] if amount.unit == "%" else [value]
            for one in (scaled for each in values for scaled in (each, each * factor)):
                if abs(abs(one) - abs(amount.value)) <= max(amount.tolerance, 1e-9 * abs(one)):
                    return True
    return False


def _missing(text: str, known: Sequence[str]) -> list[str]:
    named = numbers_missing(text, known)
    amounts = {amount.text: amount for amount in read(text)[1]}
    return [
        words
        for words in named
        if (amount := amounts.get(words)) is None
        or not (_is_small(amount) or _is_stated_in_words(amount, known))
    ]


def _is_stated_in_words(amount: Quantity, known: Iterable[str]) -> bool:
    """Whether a share stands in the texts as a fraction in words."""
    return amount.unit == "%" and any(
        abs(amount.value - share) <= 1 for text in known for _, share in _take_fractions(text)[1]
    )


def _is_small(amount: Quantity) -> bool:
    """A count of a few things or years; shares, money and measures are never small counts."""
    if amount.value != amount.high:
        return False
    calendar = re.search(r"year|month|week|day", amount.text) is not None
    numbers = figures(amount.text)
    whole = bool(numbers) and numbers[0].value == int(numbers[0].value)
    return whole and numbers[0].value <= SMALL and (calendar or not is_hard(amount.unit))


@lru_cache(maxsize=16384)
def _variants(text: str) -> tuple[str, ...]:
    """A text as it is, and in the other conventions of writing numbers."""
    joined = _join_digits(text)
    german = _DOTTED.search(joined) or _GERMAN_ONLY.search(joined)
    return tuple(dict.fromkeys([text, joined, _read_as("de", joined) if german else text]))


def _read_as(language: str, text: str) -> str:
    """The text with its numbers as English writes them."""
    if language == "en":
        return text
    text = _DOTTED.sub(lambda found: found[0].replace(".", ""), text)
    text = _DECIMAL_COMMA.sub(".", text)
    return _GERMAN_WORD.sub(lambda found: _GERMAN[found[0].lower().rstrip(".")], text)


def _join_digits(text: str) -> str:
    return _SPACED.sub(lambda found: re.sub(r"\D", "", found[0]), text)


def _take_fractions(text: str) -> tuple[str, list[tuple[str, float]]]:
    """The text without its fractions in words, and these with the share each is, in percent."""
    found = []
    for hit in _FRACTION.finditer(text):
        is_half = not hit["part"]
        share = 0.5 if is_half else _TOPS[hit["top"].lower()] / _PARTS[hit["part"].lower()]
        found.append((hit[0], 100.0 * share))
    return _FRACTION.sub(" ", text), found


def _share_stands(share: float, known: Iterable[str]) -> bool:
    for text in known:
        stated = [share for _, share in _take_fractions(text)[1]]
        stated += [amount.value for amount in read(text)[1] if amount.unit == "%"]
        if any(abs(share - one) <= _NEAR for one in stated):
            return True
    return False


def _stated_numbers(known: Iterable[str]) -> list[float]:
    """Every number of the texts, with and without its scale; years among them."""
    stated: list[float] = []
    for text in known:
        moments, amounts = read(text)
        stated += [value for amount in amounts for value in (amount.value, amount.high)]
        stated += [figure.value for figure in figures(text)]
        stated += [float(year) for moment in moments for year in re.findall(r"\d{4}", moment.text)]
    return stated


def _is_constant(number: float) -> bool:
    power_of_ten = number in (0.01, 0.001) or (number >= 1 and str(int(number)).strip("0") == "1")
    return number in _CONSTANTS or power_of_ten or (number == int(number) and number <= SMALL)
