"""Title, date and kind of a document.

Dates are ISO `yyyy`, `yyyy-mm` or `yyyy-mm-dd`. Only dates that say what they are count: a labelled
line, a field of the file, the file's name. Any other date in a text says what the text is about,
not when it was written. Where day and month cannot be told apart, the year alone is kept.

The kind is guessed from a document's format, its place and its wording. The guess helps to prefer
authoritative sources; nothing else depends on it. Cues are general: words that name a kind in a
title or a path, and phrases that a kind uses in its first lines. Plain substrings do, as this runs
for every document.
"""

from __future__ import annotations

import re
from datetime import datetime
from pathlib import PurePosixPath

from activities.evidence.quantities.dates import moments
from activities.evidence.text.terms import words
from activities.sources.documents import Kind
from activities.sources.formats.extracted_text import fold
from activities.sources.formats.lines import HEADING

# Between words; a date keeps its dashes, and a version its dots.
_BETWEEN_WORDS = re.compile(r"(?<!\d\d)[^\w.]+|[^\w.]+(?!\d\d)|_|(?<!\d)\.+|\.+(?!\d)")
_LONGEST_TITLE = 200
_EXPORT = re.compile(r"\b(?:export|dump|archive|log)$", re.IGNORECASE)
_NO_TITLE = re.compile(
    r"(?:\d+[.)]? ?)?(?:(?:executive )?summary|abstract|introduction|overview|contents|"
    r"table of contents|background|motivation|preface|foreword|untitled|readme|home|index)\W*",
    re.IGNORECASE,
)
_JUNK_TITLE = re.compile(
    r"untitled|^microsoft \w+ - |\.\w{2,4}$|^\W*$"
    r"|^(?:slide|document|word document|powerpoint presentation) ?\d*$",
    re.IGNORECASE,
)
_MARKUP = re.compile(r"[*_`]{1,3}(?=\S)|(?<=\S)[*_`]{1,3}")


def choose_title(declared: str | None, text: str, relative: str) -> str:
    """The title that a document gives itself, else its first heading, else its file's name."""
    title = fold(_MARKUP.sub("", declared or ""))
    if not any(map(str.isalnum, title)):
        first = text.split("\n", 1)[0]
        mark = HEADING.match(first)
        title = fold(first[mark.end() :]) if mark else ""
    # Programs head every export alike, and many a text opens with "Summary"; the file's name tells
    # one from the other.
    if not title or _EXPORT.search(title) or _NO_TITLE.fullmatch(title):
        title = readable_name(relative)
    return title if len(title) <= _LONGEST_TITLE else title[: _LONGEST_TITLE - 1].rstrip() + "…"


def declared_title(field: str) -> str | None:
    """The title that a program wrote into a file; None if it is the program's own."""
    title = fold(field)
    return None if _JUNK_TITLE.search(title) else title


def readable_name(relative: str) -> str:
    """A file's name as a title: `annual-report_2024.pdf` is `Annual report 2024`."""
    stem = PurePosixPath(relative).stem
    name = " ".join(_BETWEEN_WORDS.sub(" ", stem).split()) or stem
    return name[:1].upper() + name[1:]


def first_heading(text: str) -> str | None:
    """The first heading near the top of a text."""
    for line in text[:4000].split("\n"):
        if mark := HEADING.match(line):
            return fold(line[mark.end() :].strip("# ")) or None
    return None


# --- dates ---------------------------------------------------------------------------------------

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
# The empty files from which python-docx and python-pptx make theirs.
_TEMPLATE_DATES = {"2013-12-23", "2013-01-27"}
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


def saved_date(*moments: datetime | None) -> str | None:
    """The first moment that is not the age of an empty template."""
    days = [moment.date().isoformat() for moment in moments if moment is not None]
    return next((day for day in days if day not in _TEMPLATE_DATES), None)


# --- kinds ---------------------------------------------------------------------------------------

_HEAD = 1500
# Files are named with less care than folders and titles.
_FOLDER, _TITLE, _FILE, _WORDED = 2.5, 2.5, 2.0, 1.0
_USUAL = 1.5
_MOST_WORDED = 4.0
# Formats that leave no doubt.
_CERTAIN: tuple[Kind, ...] = ("slides", "dataset", "mail", "chat")

_NAMES: dict[Kind, frozenset[str]] = {
    # Not "minutes", which a title uses for time.
    "minutes": frozenset({"agenda", "committee", "meeting", "meetings"}),
    "regulation": frozenset(
        {"act", "bylaw", "bylaws", "decree", "directive", "law", "laws", "legal", "legislation",
         "ordinance", "regulation", "regulations", "rulemaking", "statute", "statutes"}
    ),
    "study": frozenset(
        {"cohort", "journal", "paper", "papers", "preprint", "preprints", "research", "studies",
         "study", "thesis", "trial", "trials"}
    ),
    "press": frozenset({"announcement", "announces", "news", "newsroom", "press", "releases"}),
    "blog": frozenset({"blog", "blogs", "column", "diary", "opinion", "post", "posts"}),
    "marketing": frozenset({"ads", "brochure", "marketing", "promo", "vendor", "vendors"}),
    "slides": frozenset({"deck", "presentation", "presentations", "slides"}),
    "dataset": frozenset({"dataset", "datasets", "statistics"}),
    "report": frozenset(
        {"analysis", "annual", "assessment", "audit", "evaluation", "outlook", "overview",
         "quarterly", "report", "reports", "review", "strategy", "whitepaper"}
    ),
    "note": frozenset({"draft", "memo", "note", "notes", "readme", "todo"}),
}  # fmt: skip
_WORDING: dict[Kind, tuple[str, ...]] = {
    "minutes": (
        "minutes of", "\nattendees", "\npresent:", "\napologies", "in attendance", "action item",
        "called to order", "adjourned", "**attendees", "**present",
    ),
    "regulation": (
        "shall be", "shall not", "shall apply", "shall enter", "pursuant to", "hereby",
        "\narticle 1", "\nsection 1", "\n# article", "\n## article", "§",
    ),
    "study": (
        "\nabstract", "# abstract", "# methods", "\nmethods", "et al", "doi", "confidence interval",
        "95% ci", "p < 0", "p<0", "(n = ", "(n=", "peer-reviewed", "participants were",
        "randomised", "randomized", "we surveyed",
    ),
    "press": (
        "for immediate release", "press contact", "media contact", "today announced",
        "announced today", "has announced", "about the company",
    ),
    "blog": ("posted by", "read more", "in this post", "in my experience", "my take", "my opinion"),
    "marketing": (
        "buy now", "order now", "shop now", "sign up today", "get started today", "free trial",
        "book a demo", "industry-leading", "world-leading", "our customers love", "contact sales",
    ),
    "report": (
        "this report", "executive summary", "key findings", "recommendations",
        "this document provides", "this document outlines", "this review",
    ),
}  # fmt: skip


def guess_kind(title: str, uri: str, text: str, usual: Kind) -> Kind:
    """The kind with most cues, or `usual` for the format."""
    if usual in _CERTAIN:
        return usual
    scores: dict[Kind, float] = {usual: _USUAL}
    folder, _, file = uri.rpartition("/")
    places = ((_FOLDER, set(words(folder))), (_TITLE, set(words(title))), (_FILE, set(words(file))))
    for kind, cues in _NAMES.items():
        named = max((weight for weight, found in places if not cues.isdisjoint(found)), default=0.0)
        if named:
            scores[kind] = scores.get(kind, 0.0) + named
    head = "\n" + text[:_HEAD].lower()
    for kind, phrases in _WORDING.items():
        worded = sum(_WORDED for phrase in phrases if phrase in head)
        if worded:
            scores[kind] = scores.get(kind, 0.0) + min(worded, _MOST_WORDED)
    return max(scores, key=lambda kind: scores[kind])
