"""Why two sources may differ: a guess from the words around each value, never a verdict.

Each cause has cue words. A cause is offered only where the cues of the two sides differ, the cues
are quoted so that a reader can check them, and where there are none the text says so. No side is
called right.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import date
from typing import Literal

from workflows.evidence import Record
from workflows.quantities.dates import apart, moments

Cause = Literal[
    "definition", "period", "population", "method", "superseded", "error", "unexplained"
]

_CUES: tuple[tuple[Cause, str, str], ...] = (
    (
        "definition",
        "what is counted",
        r"includ(?:es?|ed|ing)(?:\s+\w+){0,4}|exclud(?:es?|ed|ing)(?:\s+\w+){0,4}|"
        r"without(?:\s+\w+){1,4}|with(?:\s+the)?\s+\w+\s+(?:works?|costs?|taxes|fees)|"
        r"net of(?:\s+\w+){1,3}|"
        r"only(?:\s+\w+){0,3}|excl\.(?:\s+\w+){0,2}|incl\.(?:\s+\w+){0,2}|plus(?:\s+\w+){1,3}|"
        r"gross|net|total|in all|overall|before tax|after tax|alone|direct|indirect|defined as"
        r"(?:\s+\w+){1,5}|counting(?:\s+\w+){1,4}|not counting(?:\s+\w+){1,4}|capital|operating|"
        r"nominal|real terms|(?:19|20)\d\d prices|current prices|constant prices",
    ),
    (
        "population",
        "who or what is covered",
        r"weekdays?|weekends?|commuters?|residents?|tourists?|visitors?|adults?|children|students?|"
        r"pensioners?|employees?|members?|households?|respondents?|among(?:\s+\w+){1,4}|"
        r"all(?:\s+\w+){1,2}|nationwide|national|regional|local|urban|rural|metropolitan|"
        r"city proper|municipality|county|paying(?:\s+\w+)?|full-time|part-time|peak|"
        r"off-peak|per capita",
    ),
    (
        "method",
        "how it was arrived at",
        r"average|averages|averaged|mean|median|modell?ed|models?|measured|measurements?|counted|"
        r"estimat(?:e|es|ed|ing)|survey(?:s|ed)?|polls?|projected|projections?|forecasts?|"
        r"calculated|simulat(?:ed|ion)|reported|self-reported|audited|unaudited|preliminary|"
        r"provisional|final|planned|budgeted|actual|expected|target(?:ed)?|contracted|"
        r"approximately|"
        r"about|roughly|census|sample|observed|registered|maximum|minimum|up to|at least",
    ),
    (
        "period",
        "when it holds",
        r"per\s+(?:year|month|week|day|hour|trip)|a\s+(?:year|month|week|day)|annual(?:ly)?|"
        r"monthly|weekly|daily|quarterly|yearly|as of(?:\s+\w+){1,3}|fiscal year|calendar year|"
        r"season(?:al)?|winter|summer|spring|autumn|so far|year to date|first half|second half|"
        r"since(?:\s+\w+){1,2}|until(?:\s+\w+){1,2}|by the end of(?:\s+\w+){1,2}|"
        r"before(?:\s+\w+){1,3}|after(?:\s+\w+){1,3}",
    ),
    (
        "superseded",
        "a later version",
        r"revised(?:\s+\w+){0,2}|updated(?:\s+\w+){0,2}|replaces?|replaced|supersede[sd]?|"
        r"corrected|"
        r"correction|restated|amended|new(?:er)? (?:estimate|figure|forecast|plan|budget)|"
        r"previous(?:ly)?|earlier|original(?:ly)?|initial(?:ly)?|formerly|old|outdated|no longer",
    ),
    (
        "error",
        "a mistake one side owns to",
        r"error|erratum|mistaken(?:ly)?|misprint|typo|wrong(?:ly)?",
    ),
)
_COMPILED = tuple(
    (cause, label, re.compile(rf"\b(?:{pattern})\b", re.IGNORECASE))
    for cause, label, pattern in _CUES
)
_FAR_DAYS = 150  # sources this far apart in time may describe different states of affairs


class Explanation(Record):
    """A likely cause and the words it rests on."""

    cause: Cause
    text: str


def explain(
    a_context: str,
    b_context: str,
    kind: str,
    a_value: str,
    b_value: str,
    a_date: str | None = None,
    b_date: str | None = None,
) -> Explanation:
    """The likeliest reason, from the words on both sides, why they give different values."""
    found = _words_apart(a_context, b_context, (a_value, b_value))
    later = _dates_apart(a_date, b_date)
    if found is not None:
        cause, label, ours, theirs = found
        who = "Both sides" if kind == "polarity" else f"{_said(a_value)} and {_said(b_value)}"
        text = (
            f"{who} may differ in {label}: "
            f"the first says {_cues(ours)}, the second {_cues(theirs)}."
        )
        return Explanation(cause=cause, text=f"{text}{' ' + later if later else ''}")
    stated = _periods_apart(a_context, b_context)
    if stated is not None:
        return Explanation(
            cause="period",
            text=f"The first speaks of {_said(stated[0])}, the second of {_said(stated[1])}.",
        )
    if later:
        return Explanation(cause="superseded", text=later)
    return Explanation(cause="unexplained", text="The sources give no reason for the difference.")


def _words_apart(
    a: str, b: str, values: Sequence[str]
) -> tuple[Cause, str, list[str], list[str]] | None:
    for cause, label, pattern in _COMPILED:
        mine, theirs = (_found(pattern, text, values) for text in (a, b))
        ours = [cue for cue in mine if cue.lower() not in {t.lower() for t in theirs}]
        others = [cue for cue in theirs if cue.lower() not in {t.lower() for t in mine}]
        if ours or others:
            return cause, label, ours, others
    return None


def _found(pattern: re.Pattern[str], text: str, values: Sequence[str]) -> list[str]:
    for value in values:
        text = text.replace(value, " ")
    return list(dict.fromkeys(" ".join(hit.group().split()) for hit in pattern.finditer(text)))[:3]


def _dates_apart(a: str | None, b: str | None) -> str:
    days = [_day(a), _day(b)]
    if days[0] is None or days[1] is None or abs(days[0] - days[1]) < _FAR_DAYS:
        return ""
    later, earlier = (b, a) if days[1] > days[0] else (a, b)
    which = "second" if later == b else "first"
    return (
        f"The {which} source is later ({later} against {earlier}) and may describe "
        "a changed state of affairs; neither says so."
    )


def _day(text: str | None) -> int | None:
    if not text:
        return None
    try:
        return date.fromisoformat(text[:10]).toordinal()
    except ValueError:
        found = moments(text)
        return found[0].first if found else None


def _periods_apart(a: str, b: str) -> tuple[str, str] | None:
    ours, theirs = moments(a), moments(b)
    if ours and theirs and all(apart(x, y) for x in ours for y in theirs):
        return ours[0].text, theirs[0].text
    return None


def _said(text: str) -> str:
    return f"\u201c{' '.join(text.split())}\u201d"


def _cues(cues: Sequence[str]) -> str:
    return ", ".join(_said(cue) for cue in cues) if cues else "nothing of the kind"
