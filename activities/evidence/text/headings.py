"""What the headings above a text say about what it is."""

from __future__ import annotations

import re

SECTION_MARK = " › "

# "Version 2.1", "What's new in Acme 6.0.1", "2.7.0 (2022-10-17)": a version, and little before it.
_VERSION = re.compile(
    r"(?:\S+ ){0,5}(?:\w+-)?v?\d+(?:\.(?:\d+|x))+\w*(?:\W*\([^)]*\)|\s*[-–—,:].{0,40})?$", re.I
)
_NAMED = re.compile(r"\b(?:change ?log|release notes?|what['’]?s new|version history)\b", re.I)
_CHANGES = re.compile(
    r"\b(?:new in|what['’]?s new|chang\w+|version\w*|releases?|upgrad\w+|migrat\w+|deprecat\w+"
    r"|introduced|history|no longer|anymore|geändert|änderung\w*)\b|\d\.\d",
    re.I,
)


def heads_release_notes(title: str, section: str) -> bool:
    """Whether a text stands in release notes: under a version, or under such a name."""
    headings = [title, *section.split(SECTION_MARK)]
    return any(_VERSION.fullmatch(text.strip()) or _NAMED.search(text) for text in headings if text)


def asks_for_changes(question: str) -> bool:
    """Whether release notes may be what a question asks for."""
    return _CHANGES.search(question) is not None
