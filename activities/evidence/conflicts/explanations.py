"""Why two sources may differ: a guess from the words beside each value, never a verdict.

Sources tend to say what a figure is in the sentence that gives it or in the one after it. The cause
whose words stand there is offered and the words are quoted, so that a reader can check them. No
side is called right.
"""

from __future__ import annotations

import re
from datetime import date
from typing import Literal

from activities.evidence.quantities.dates import apart, moments
from activities.evidence.text.sentences import sentences
from workflows.contracts.evidence import Record

Cause = Literal[
    "definition", "period", "population", "method", "superseded", "error", "unexplained"
]
_FAR_DAYS = 150
"""Sources this far apart in time may describe different states of affairs."""
_LONGEST = 16
"""Words of a quotation."""
_CUES: tuple[tuple[Cause, str, str], ...] = (
    (
        "superseded",
        "One may have been overtaken by the other",
        r"superseded|out of date|outdated|obsolete|no longer \w+|revised|restated|corrected|"
        r"amended|replaced?|updated|originally|original|previously|formerly",
    ),
    (
        "definition",
        "They may not count the same thing",
        r"includ(?:es?|ed|ing)|exclud(?:es?|ed|ing)|covers?|comprises?|not part of|defined as|"
        r"definition|counts? (?:as|every\w*|only|all)|(?:not )?counted|net of|gross|before tax|"
        r"after tax|as well as|(?:this|that) is the (?:price|cost|sum)|nominal|real terms",
    ),
    (
        "population",
        "They may not cover the same people or places",
        r"among (?:all )?\w+|aged \d+|commuters?|residents?|tourists?|visitors?|adults?|children|"
        r"students?|employees?|households?|respondents?|\S+ holders|customers?|patients?|members?|"
        r"nationwide|metropolitan|city proper|urban|rural|full-time|part-time|per capita",
    ),
    (
        "method",
        "They may have been arrived at in different ways",
        r"modell?ed|simulated|simulation|measured|measurements?|calculated|estimated?|surveyed|"
        r"projected|projections?|census|audited|unaudited|self-reported|based on|assum(?:es?|ed)|"
        r"(?:inquiry|investigation|court|auditors?) (?:found|concluded)|rumou?rs?|said to|"
        r"everyone [\w ]{0,20}knows",
    ),
    (
        "period",
        "They may be for different periods",
        r"(?:calendar|financial|fiscal) years?|\w+ months|per (?:year|month|week|day|hour)|"
        r"as of|so far|year to date|annual(?:ly)?|monthly|weekly|daily|quarterly|"
        r"(?:first|second|third|fourth) (?:half|quarter)",
    ),
    ("error", "One may be a mistake", r"erratum|misprint|typo|mistakenly|in error|wrongly"),
)
_COMPILED = [
    (cause, opening, re.compile(rf"(?<!\w)(?:{cues})(?!\w)", re.IGNORECASE))
    for cause, opening, cues in _CUES
]


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
    a, b = _beside(a_context, a_value), _beside(b_context, b_value)
    best: tuple[int, Explanation] | None = None
    for cause, opening, cues in _COMPILED:
        if cause == "population" and kind != "number":
            continue  # who is covered can change a figure, not a day or a name
        ours, theirs = _cue(cues, a), _cue(cues, b)
        found = (ours != "") + (theirs != "")
        if found and ours.lower() != theirs.lower() and found > (best[0] if best else 0):
            text = f"{opening}: {_both(_excerpt(a, ours), _excerpt(b, theirs))}."
            best = found, Explanation(cause=cause, text=text)
    if best is not None:
        return best[1]
    return _by_time(a, b, kind, a_date, b_date)


def _by_time(a: str, b: str, kind: str, a_date: str | None, b_date: str | None) -> Explanation:
    """Different periods in the sentences, or sources far apart in time."""
    ours, theirs = moments(a), moments(b)
    if kind != "date" and ours and theirs and all(apart(x, y) for x in ours for y in theirs):
        text = f"The first source speaks of “{ours[0].text}”, the second of “{theirs[0].text}”."
        return Explanation(cause="period", text=text)
    days = _day(b_date) - _day(a_date) if _day(a_date) and _day(b_date) else 0
    if kind != "name" and abs(days) >= _FAR_DAYS:
        which, later, earlier = (
            ("second", b_date, a_date) if days > 0 else ("first", a_date, b_date)
        )
        text = (
            f"The {which} source is later ({later} against {earlier}). It may describe a changed "
            "state of affairs."
        )
        return Explanation(cause="superseded", text=text)
    return Explanation(cause="unexplained", text="The sources give no reason for the difference.")


def _beside(context: str, value: str) -> str:
    """The sentence that gives the value and the one after it; headings are left out."""
    lines = [line for line in context.splitlines() if not line.startswith("#")]
    parts = sentences(" ".join(lines)) or [context]
    home = next((n for n, part in enumerate(parts) if value and value in part), 0)
    own = parts[home].replace(value, "…") if value else parts[home]
    return " ".join([own, *parts[home + 1 : home + 2]])


def _cue(cues: re.Pattern[str], text: str) -> str:
    found = cues.search(text)
    return found[0] if found else ""


def _excerpt(text: str, cue: str) -> str:
    """The sentence a cue stands in, cut to what a reader takes in at a glance."""
    if not cue:
        return ""
    sentence = next((part for part in sentences(text) if cue in part), text)
    before, words = len(sentence.partition(cue)[0].split()), sentence.split()
    start = max(0, before - _LONGEST // 2) if len(words) > _LONGEST else 0
    return " ".join(words[start : start + _LONGEST]).strip(" ,;:.")


def _both(ours: str, theirs: str) -> str:
    if ours and theirs:
        return f"the first source says “{ours}”, the second “{theirs}”"
    which, other = ("first", "second") if ours else ("second", "first")
    return f"the {which} source says “{ours or theirs}”, the {other} says nothing of the kind"


def _day(text: str | None) -> int:
    """The ordinal of an ISO date, a year or a month; 0 where there is none."""
    if not text:
        return 0
    try:
        return date.fromisoformat(text[:10] + "-01-01"[len(text[:10]) - 4 :]).toordinal()
    except ValueError:
        return 0
