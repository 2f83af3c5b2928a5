"""HTML elements that several parts of the page use. Text is escaped here."""

from __future__ import annotations

import re
from collections.abc import Iterable
from html import escape

_WEB = re.compile(r"https?://", re.IGNORECASE)

_TONES = {
    "good": ("answered", "closed", "supported", "complete"),
    "warn": ("contested", "contradicted", "qualified", "absent", "open", "complete_with_gaps"),
    "bad": ("failed", "nothing_found"),
}
_TONE = {word: tone for tone, words in _TONES.items() for word in words}


def collapse_spaces(text: str) -> str:
    """White space collapsed to single spaces."""
    return " ".join(text.split())


def tag(word: str, shown: str = "") -> str:
    tone = f" {_TONE[word]}" if word in _TONE else ""
    return f'<span class="tag{tone}">{escape(shown or word.replace("_", " "))}</span>'


def is_web_url(uri: str) -> bool:
    return bool(_WEB.match(uri.strip()))


def link(uri: str) -> str:
    """A link for a web address; plain text for any other."""
    shown = escape(uri)
    if not is_web_url(uri):
        return f"<code>{shown}</code>"
    return f'<a href="{shown}" rel="noopener noreferrer nofollow">{shown}</a>'


def table(caption: str, head: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    """A table; empty without rows. Cells are HTML, and the first of each row is its heading.

    A name in `head` that begins with # marks a column of numbers.
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
    """A disclosure element; `summary` is text, `body` is HTML."""
    name = f' class="{kind}"' if kind else ""
    return f"<details{name}><summary>{escape(summary)}</summary>{body}</details>"
