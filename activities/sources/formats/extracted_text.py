"""What every format parser gives back, and the limits that hold for all of them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime
from pathlib import PurePosixPath

from activities.sources.documents import Kind
from activities.sources.formats.encoding import fold
from activities.sources.formats.lines import HEADING

MOST_CHARACTERS = 5_000_000

# The empty files from which python-docx and python-pptx make theirs.
_TEMPLATE_DATES = {"2013-12-23", "2013-01-27"}
_WORDS = re.compile(r"(?<!\d\d)[\W_]+|[\W_]+(?!\d\d)|_")


@dataclass(frozen=True, slots=True)
class Extract:
    """The text of one document before it is normalised, and what its file says about it.

    `date` is a date the document gives itself; `saved` one that its program wrote into the file,
    which often is that of a template or a conversion and only counts where there is no other.
    """

    text: str
    title: str | None = None
    date: str | None = None
    saved: str | None = None
    usual: Kind = "note"
    fragment: str = ""
    recognised: bool = False


class NoTextError(ValueError):
    """The file could be opened but holds nothing to read."""


def readable_name(relative: str) -> str:
    """A file's name as a title: `annual-report_2024.pdf` is `Annual report 2024`."""
    stem = PurePosixPath(relative).stem
    name = " ".join(_WORDS.sub(" ", stem).split()) or stem
    return name[:1].upper() + name[1:]


def first_heading(text: str) -> str | None:
    """The first heading near the top of a text."""
    for line in text[:4000].split("\n"):
        if mark := HEADING.match(line):
            return fold(line[mark.end() :].strip("# ")) or None
    return None


def saved_date(*moments: datetime | None) -> str | None:
    """The first moment that is not the age of an empty template."""
    days = [moment.date().isoformat() for moment in moments if moment is not None]
    return next((day for day in days if day not in _TEMPLATE_DATES), None)


def within_limit(lines: Iterable[str]) -> Iterator[str]:
    """Lines until the text is as long as a document may be, then a line that says so."""
    length = 0
    for line in lines:
        length += len(line) + 1
        if length > MOST_CHARACTERS:
            yield f"[Cut here: only the first {MOST_CHARACTERS:,} characters were kept.]"
            return
        yield line
