"""Small pieces of HTML that several parts of the page use. What is text is escaped here."""

from __future__ import annotations

import re
from collections.abc import Iterable
from html import escape

_WEB = re.compile(r"https?://", re.IGNORECASE)

# What a word for a state is painted with; the word itself is always there to be read.
_TONES = {
    "good": ("answered", "closed", "supported", "complete"),
    "warn": (
        "contested",
        "contradicted",
        "qualified",
        "absent",
        "partly",
        "open",
        "complete_with_gaps",
    ),
    "bad": ("failed", "nothing_found"),
}
_TONE = {word: tone for tone, words in _TONES.items() for word in words}


def fold(text: str) -> str:
    """Runs of white space as one blank."""
    return " ".join(text.split())


def tag(word: str, shown: str = "") -> str:
    tone = f" {_TONE[word]}" if word in _TONE else ""
    return f'<span class="tag{tone}">{escape(shown or word.replace("_", " "))}</span>'


def is_web(uri: str) -> bool:
    return bool(_WEB.match(uri.strip()))


def link(uri: str) -> str:
    """An address as a link if it is one on the web; else as plain text."""
    shown = escape(uri)
    if not is_web(uri):
        return f"<code>{shown}</code>"
    return f'<a href="{shown}" rel="noopener noreferrer nofollow">{shown}</a>'


def table(caption: str, head: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    """Cells are HTML already, the first of a row is its heading; nothing where there are no rows.

    A name in `head` that begins with # is of a column of numbers.
    """
    names = list(head)
    numeric = [name.startswith("#") for name in names]
    body = "".join(f"<tr>{_cells(row, numeric)}</tr>\n" for row in rows)
    if not body:
        return ""
    columns = "".join(
        f'<th scope="col"{_NUMBER if number else ""}>{escape(name.removeprefix("#"))}</th>'
        for name, number in zip(names, numeric, strict=True)
    )
    # One that scrolls sideways must be reachable by keyboard.
    return (
        f'<div class="scroll" role="region" tabindex="0" aria-label="{escape(caption)}"><table>'
        f"<caption>{escape(caption)}</caption><thead><tr>{columns}</tr></thead>\n"
        f"<tbody>{body}</tbody></table></div>"
    )


_NUMBER = ' class="number"'


def _cells(row: Iterable[str], numeric: list[bool]) -> str:
    first, *rest = row
    return f'<th scope="row">{first}</th>' + "".join(
        f"<td{_NUMBER if number else ''}>{cell}</td>"
        for cell, number in zip(rest, numeric[1:], strict=True)
    )


def details(summary: str, body: str, kind: str = "") -> str:
    """Folded away; `summary` is text, `body` HTML."""
    name = f' class="{kind}"' if kind else ""
    return f"<details{name}><summary>{escape(summary)}</summary>{body}</details>"


def usd(amount: float) -> str:
    """Cents, and less than that where there is less."""
    return f"${amount:,.2f}" if amount == 0 or amount >= 0.1 else f"${amount:.4f}"


def lasted(seconds: float) -> str:
    """A time in the two largest units it has."""
    if seconds < 0.05:
        return "0 s"
    if seconds < 60:
        return f"{seconds:.1f} s"
    whole = round(seconds)
    for size, unit, small, rest in (
        (86_400, "d", 3_600, "h"),
        (3_600, "h", 60, "min"),
        (60, "min", 1, "s"),
    ):
        if whole >= size:
            left = whole % size // small
            return f"{whole // size} {unit}" + (f" {left} {rest}" if left else "")
    return f"{whole} s"


def capital(text: str) -> str:
    """As a sentence begins: workers and models say their reasons without."""
    return text[:1].upper() + text[1:]


def count(number: int, one: str, many: str = "") -> str:
    return f"{number:,} {one if number == 1 else many or one + 's'}"
