"""Markdown, reStructuredText and plain text.

Prose stays as it is written. What changes: front matter is read and removed, underlined headings
become `#` headings, pipe tables become one line per row, rules and comments go, block quotes lose
their marks, and hard-wrapped paragraphs are written on one line.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from activities.sources.formats.dates import find_date
from activities.sources.formats.encoding import fold, normalise
from activities.sources.formats.extracts import Extract
from activities.sources.formats.lines import HEADING, looks_like_heading, unwrap
from activities.sources.formats.texttables import tables_as_rows

_FRONT_MATTER = re.compile(r"\s*(---|\+\+\+) *\n(.*?\n)\1 *(?:\n|$)", re.DOTALL)
_FIELD = re.compile(r"([A-Za-z_][\w -]*?) *[:=] *(.*)")
_TITLE_FIELDS = ("title", "headline", "subject", "name")
_DATE_FIELDS = (
    "date",
    "published",
    "publishdate",
    "publish_date",
    "pubdate",
    "published_at",
    "created",
    "issued",
    "updated",
    "lastmod",
    "year",
)
_RULE = re.compile(r" *([=\-~*_#+^\"'`.:])(?: ?\1){2,} *$")
_FENCE = re.compile(r" *(```|~~~)")
_QUOTED = re.compile(r" {0,3}>[> ]*")
_DIRECTIVE = re.compile(r" *\.\. (?:[\w:|+-]+:: *(.*)|.*)$")
_SUBJECT = re.compile(r"^Subject: *(.+)$", re.MULTILINE)
_UNPRINTED = ("toctree", "image", "figure", "contents", "raw", "include", "index", "highlight")


def extract_markdown(text: str) -> Extract:
    fields, body = _front_matter(text)
    body = unwrap(normalise("\n".join(_structured(_without_comments(body), markdown=True))))
    title = next((fields[key] for key in _TITLE_FIELDS if fields.get(key)), None)
    dates = (find_date(fields[key]) for key in _DATE_FIELDS if fields.get(key))
    return Extract(body, title or first_heading(body), next((d for d in dates if d), None))


def extract_text(text: str) -> Extract:
    body = unwrap(normalise("\n".join(_structured(text, markdown=False))))
    subject = _SUBJECT.search(body[:2000])
    return Extract(body, first_heading(body) or (subject[1] if subject else _first_line(body)))


def extract_restructured(text: str) -> Extract:
    text = "\n".join(_without_directives(text.split("\n")))
    body = unwrap(normalise("\n".join(_structured(text, markdown=False))))
    return Extract(body, first_heading(body))


def first_heading(text: str) -> str | None:
    """The first heading near the top of a text."""
    for line in text[:4000].split("\n"):
        if mark := HEADING.match(line):
            return fold(line[mark.end() :].strip("# ")) or None
    return None


def _first_line(text: str) -> str | None:
    """The first line if it stands alone and reads like a title."""
    line, _, rest = text.partition("\n")
    alone = not rest or rest.startswith("\n")
    return line if alone and looks_like_heading(line) else None


def _front_matter(text: str) -> tuple[dict[str, str], str]:
    """Plain `key: value` fields of a YAML or TOML head, and the text after it."""
    found = _FRONT_MATTER.match(text)
    if found is None or not _FIELD.search(found[2]):
        return {}, text
    fields: dict[str, str] = {}
    for line in found[2].split("\n"):
        if field := _FIELD.match(line):
            fields.setdefault(field[1].strip().lower(), fold(field[2].strip().strip("\"'")))
    return fields, text[found.end() :]


def _without_comments(text: str) -> str:
    """Not a regular expression: comments that are opened and never closed make one quadratic."""
    parts: list[str] = []
    position = 0
    while (start := text.find("<!--", position)) >= 0:
        end = text.find("-->", start)
        if end < 0:
            break
        parts.append(text[position:start])
        position = end + 3
    return "".join([*parts, text[position:]])


def _structured(text: str, *, markdown: bool) -> Iterator[str]:
    """Lines with headings set apart, tables written as rows, and rules removed."""
    lines = [line.rstrip() for line in text.split("\n")]
    if "|" in text or "==" in text or "-+-" in text:
        lines = list(tables_as_rows(lines))
    fence = ""
    position = 0
    while position < len(lines):
        line = lines[position]
        following = lines[position + 1] if position + 1 < len(lines) else ""
        position += 1
        if mark := _FENCE.match(line):
            fence = "" if fence == mark[1] else fence or mark[1]
        if fence or mark:
            yield line
        elif _RULE.match(line):
            title = following.strip()
            under = lines[position + 1] if position + 1 < len(lines) else ""
            if not markdown and 0 < len(title) <= 100 and under == line:
                yield from ("", f"# {title}", "")
                position += 2
            else:
                yield ""
        elif _underlined(line, following, markdown):
            yield from ("", f"{'#' if following[0] in '=#*' else '##'} {line.strip()}", "")
            position += 1
        elif markdown and (mark := HEADING.match(line)):
            yield from ("", f"{mark[1]} {line[mark.end() :].rstrip('# ') or line}", "")
        else:
            yield line[quoted.end() :] if markdown and (quoted := _QUOTED.match(line)) else line


def _underlined(line: str, following: str, markdown: bool) -> bool:
    """Whether `following` underlines `line`, rather than parting it from what comes next."""
    title = line.strip()
    if not title or not _RULE.match(following) or " " in following.strip():
        return False
    if not any(map(str.isalnum, title)) or line.startswith(("    ", "- ", "* ")):
        return False
    if markdown and following.lstrip()[0] not in "=-":
        return False
    length = len(following.strip())
    return 0.7 * len(title) <= length <= 1.5 * len(title) + 3 and not title.endswith((".", ","))


def _without_directives(lines: list[str]) -> Iterator[str]:
    """reStructuredText without comments, targets, options and blocks that print nothing."""
    skipped = -1
    for line in lines:
        indent = len(line) - len(line.lstrip(" "))
        if skipped >= 0 and line.strip():
            if indent > skipped:
                continue
            skipped = -1
        if directive := _DIRECTIVE.match(line):
            if line.strip()[3:].split("::")[0].strip() in _UNPRINTED or "::" not in line:
                skipped = indent
            yield directive[1] or ""
        elif not re.match(r" +:[\w-]+:(?: |$)", line):
            yield line
