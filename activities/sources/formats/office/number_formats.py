"""Numbers as a spreadsheet shows them: `1.25` under `$#,##0.00M` is `$1.25M`.

Only what changes the reading of a number is followed: sections for sign and size, literals,
percent, thousands, scaling commas, decimals. Fractions and exponents are written plainly.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Iterator

_SECTION = re.compile(r'(?:"[^"]*"|\\.|[^;"\\])+')
_CONDITION = re.compile(r"\[(<=|>=|<>|<|>|=)(-?[\d.]+)\]")
_CURRENCY = re.compile(r"\[\$([^\]-]*)[^\]]*\]")
_BRACKETS = re.compile(r"\[[^\]]*\]")
_LITERAL = re.compile(r'"([^"]*)"|\\(.)|[_*].')
_DIGITS = re.compile(r"[#0?][#0?,]*(?:\.[#0?]*)?,*|\.[#0?]+,*")
_SECOND_FRACTION = re.compile(r"s\.0+", re.IGNORECASE)
_PLAIN = re.compile(r"E[+-]0|[#?0] ?[#?]+/|^[@;A-Za-z ]*$", re.IGNORECASE)
_COMPARE = {
    "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge, "=": operator.eq,
    "<>": operator.ne,
}  # fmt: skip


def shows_number(code: str) -> bool:
    """Whether a format has places for digits, whatever letters of a date it also has."""
    bare = _SECOND_FRACTION.sub("", _LITERAL.sub("", _BRACKETS.sub("", code)))
    return any(place in bare for place in "#0?")


def number_text(value: int | float, code: str) -> str:
    """The number as the format `code` shows it."""
    section, value = _section(value, code)
    if _PLAIN.search(_BRACKETS.sub("", section)):
        return f"{value:.15g}"
    before, digits, after = _parts(section)
    if not digits:
        return before.strip()
    value *= 100 ** (before + after).count("%")
    whole, _, fraction = digits.rstrip(",").partition(".")
    value /= 1000 ** (len(digits) - len(digits.rstrip(",")))
    text = f"{abs(value):{',' if ',' in whole else ''}.{len(fraction)}f}"
    optional = len(fraction) - len(fraction.rstrip("#?"))
    if optional:
        kept = len(text) - optional
        text = (text[:kept] + text[kept:].rstrip("0")).rstrip(".")
    if "0" not in whole:
        text = text.removeprefix("0")
    text = text.rjust(whole.count("0") if "," not in whole else 0, "0")
    sign = "-" if value < 0 and any(digit in "123456789" for digit in text) else ""
    return f"{sign}{before.lstrip()}{text}{after.rstrip()}"


def _section(value: int | float, code: str) -> tuple[str, int | float]:
    """The part of a format that is for this value, and the value without a sign it shows itself."""
    sections = _SECTION.findall(code)[:3] or [code]
    conditions = [_CONDITION.search(section) for section in sections]
    if any(conditions):
        for section, condition in zip(sections, conditions, strict=True):
            if condition is None or _COMPARE[condition[1]](value, float(condition[2])):
                return section, value
        return sections[-1], value
    if value < 0 and len(sections) > 1:
        return sections[1], -value
    return sections[2 if value == 0 and len(sections) > 2 else 0], value


def _parts(section: str) -> tuple[str, str, str]:
    """What stands before the digits, their places, and what stands after."""
    section = _BRACKETS.sub("", _CURRENCY.sub(lambda found: f'"{found[1]}"', section))
    pieces = list(_pieces(section))
    places = [n for n, (is_literal, _) in enumerate(pieces) if not is_literal]
    if not places:
        return "".join(text for _, text in pieces), "", ""
    first = places[0]
    before = "".join(text for _, text in pieces[:first])
    return before, pieces[first][1], "".join(text for known, text in pieces[first + 1 :] if known)


def _pieces(section: str) -> Iterator[tuple[bool, str]]:
    """Literals, and places for digits."""
    position = 0
    while position < len(section):
        if literal := _LITERAL.match(section, position):
            yield True, literal[1] or literal[2] or ""
            position = literal.end()
        elif digits := _DIGITS.match(section, position):
            yield False, digits[0]
            position = digits.end()
        else:
            yield True, section[position]
            position += 1
