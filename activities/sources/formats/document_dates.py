"""Dates of documents, as ISO `yyyy`, `yyyy-mm` or `yyyy-mm-dd`.

Only dates that say what they are count: a labelled line, a field of the file, the file's name. Any
other date in a text says what the text is about, not when it was written. Where day and month
cannot be told apart, the year alone is kept.
"""

from __future__ import annotations

import re

from activities.evidence.quantities.dates import moments

# Forms that fields and file names have and prose does not, made one that `moments` reads:
# 20240501, 2024/5/1, 1.5.2024, 4/28/2024, 28-4-2024, and a time of day next to the date.
_COMPACT = re.compile(r"(?<!\d)(?P<y>19\d\d|20\d\d)(?P<m>[01]\d)(?P<d>[0-3]\d)(?!\d)")
_YEAR_FIRST = re.compile(
    r"(?<!\d)(?P<y>19\d\d|20\d\d)[-/.](?P<m>[01]?\d)[-/.](?P<d>[0-3]?\d)(?!\d)"
)
_DAY_FIRST = re.compile(r"(?<!\d)(?P<d>[0-3]?\d)\.(?P<m>[01]?\d)\.(?P<y>19\d\d|20\d\d)(?!\d)")
_MONTH_FIRST = re.compile(
    r"(?<!\d)(?P<m>[01]?\d)([/-])(?P<d>1[3-9]|2\d|3[01])\2(?P<y>19\d\d|20\d\d)(?!\d)"
)
_DASHED = re.compile(r"(?<!\d)([0-3]?\d)-([01]?\d)-(?=(?:19|20)\d\d(?!\d))")
# "Published: …", "Minutes 25-77 | Approved on 3 May 2024", "**Last updated** …".
_LABEL = re.compile(
    r"(?:^|[.;,|·•(–—]\s*)[\s>*_:#|-]*(?:date of publication|date|dated|published|publication date|"
    r"posted|updated|last updated|last modified|last reviewed|issued|approved|adopted|released|"
    r"release date|created|exported|meeting date|sent|signed|effective date|effective|"
    r"datum|stand|veröffentlicht|aktualisiert)"
    r"(?: on)?[*_]*\s*(?P<mark>[:|]|\s-\s|\s|$)[\s*_|]*",
    re.IGNORECASE,
)
_SENTENCE_END = re.compile(r"[.;|)](?:\s|$)|$")
_HEAD_LINES = 15
_LONGEST_LINE = 300
_LONGEST_DATE = 45


def find_date(text: str) -> str | None:
    """The first date in a short text such as a field or a byline; a year if it stands alone."""
    for form in (_COMPACT, _YEAR_FIRST, _DAY_FIRST, _MONTH_FIRST):
        text = form.sub(_as_iso, text)
    text = _DASHED.sub(r"\1/\2/", text)
    for moment in moments(text):
        alone = not moment.text.isdecimal() or moment.text == text.strip()
        if moment.precision in ("day", "month") or (moment.precision == "year" and alone):
            return moment.iso
    return None


def head_date(text: str) -> str | None:
    """The date that a labelled line near the top of a text gives it."""
    lines = [line for line in text[:6000].split("\n") if line.strip()][:_HEAD_LINES]
    for line in lines:
        for label in _LABEL.finditer(line[:_LONGEST_LINE]):
            rest = line[label.end() :]
            end = _SENTENCE_END.search(rest)
            # Without a colon, "Updated" may begin a longer sentence.
            if label["mark"] in ":|" or (end is not None and end.start() <= _LONGEST_DATE):
                found = find_date(rest[:_LONGEST_DATE])
                if found is not None:
                    return found
    return None


def name_date(name: str) -> str | None:
    """A date or a month in a file name."""
    found = find_date(re.sub(r"[_ ]", "-", name))
    return found if found and "-" in found else None


def _as_iso(date: re.Match[str]) -> str:
    return f" {date['y']}-{date['m']:0>2}-{date['d']:0>2} "
