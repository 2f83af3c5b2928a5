"""Plain text: underlined headings become `#` headings, hard-wrapped paragraphs one line each.

Text files that are written in Markdown or reStructuredText are read as such.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from activities.sources.formats.descriptions import first_heading
from activities.sources.formats.encoding import normalise
from activities.sources.formats.extracted_text import Extract
from activities.sources.formats.lines import looks_like_heading, unwrap

_RULE = re.compile(r" *([=\-~*_#+^\"'`.:])(?: ?\1){2,} *$")
_SUBJECT = re.compile(r"^Subject: *(.+)$", re.MULTILINE)
_LONGEST_HEADING = 100
_RESTRUCTURED = re.compile(r"^ *\.\. [\w-]+::|(?<!\w):[a-z][\w:-]*:`", re.MULTILINE)
_MARKDOWN = re.compile(r"^#{1,4} \w|^```|^\|? ?:?-{3,}:? ?\|[-:| ]+$|\]\(https?://", re.MULTILINE)
_MARK = re.compile(r"[`*_\[]|\|(?=\w)")
# Parsers of markup need time in the square of the marks in a paragraph: seconds for this many.
_MOST_MARKS = 5000
_LOOKED_AT = 20_000
_LEAST_MARKS = 3


def is_markup_too_dense(text: str) -> bool:
    """Whether a paragraph holds so many marks that it was made to keep a parser busy."""
    return any(len(_MARK.findall(paragraph)) > _MOST_MARKS for paragraph in text.split("\n\n"))


def is_restructured(text: str) -> bool:
    return _RESTRUCTURED.search(text[:_LOOKED_AT]) is not None


def is_markdown(text: str) -> bool:
    return len(_MARKDOWN.findall(text[:_LOOKED_AT])) >= _LEAST_MARKS


def extract_text(text: str) -> Extract:
    body = unwrap(normalise("\n".join(_lines_with_headings(text))))
    subject = _SUBJECT.search(body[:2000])
    return Extract(body, first_heading(body) or (subject[1] if subject else _first_line(body)))


def _first_line(text: str) -> str | None:
    """The first line if it stands alone and reads like a title."""
    line, _, rest = text.partition("\n")
    alone = not rest or rest.startswith("\n")
    return line if alone and looks_like_heading(line) else None


def _lines_with_headings(text: str) -> Iterator[str]:
    """The lines with headings marked and set apart, and without rules."""
    lines = [line.rstrip() for line in text.split("\n")]
    position = 0
    while position < len(lines):
        line, following, third = [*lines[position : position + 3], "", ""][:3]
        position += 1
        if _RULE.match(line):
            title = following.strip()
            if 0 < len(title) <= _LONGEST_HEADING and third == line:
                yield from ("", f"# {title}", "")
                position += 2
            else:
                yield ""
        elif _is_underlined(line, following):
            yield from ("", f"{'#' if following[0] in '=#*' else '##'} {line.strip()}", "")
            position += 1
        else:
            yield line


def _is_underlined(line: str, following: str) -> bool:
    """Whether `following` underlines `line`, rather than parting it from what comes next."""
    title = line.strip()
    if not _RULE.match(following) or " " in following.strip():
        return False
    if not any(map(str.isalnum, title)) or line.startswith(("    ", "- ", "* ")):
        return False
    length = len(following.strip())
    return 0.7 * len(title) <= length <= 1.5 * len(title) + 3 and not title.endswith((".", ","))
