"""How two values of one thing relate: a contradiction or a difference of another kind, and why."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import date
from typing import Literal

from activities.evidence.conflicts.statements import Statement, Value
from activities.evidence.quantities.dates import Moment, apart, moments
from activities.evidence.text.sentences import sentences
from workflows.contracts.evidence import Record, Relation

_COUNTS = re.compile(
    r"\b(?:includ\w+|exclud\w+|without|net of|gross|before tax|after tax|only|adjusted|unadjusted|"
    r"constant prices|current prices|nominal|real terms)\b",
    re.IGNORECASE,
)
_OLD = re.compile(
    r"\b(?:superseded|outdated|out of date|obsolete|no longer (?:valid|current|applies|in force)|"
    r"replaced by|formerly|previously|originally)\b",
    re.IGNORECASE,
)
_CALLS_ITSELF_OLD = re.compile(
    r"\b(?:this|the) (?:\w+ )?(?:document|page|version|edition|policy|report|file|guide|note|memo) "
    r"(?:is|was|has been) (?:now )?(?:superseded|replaced|outdated|out of date|obsolete|withdrawn|"
    r"retired|deprecated)\b|\bstatus\W{1,4}(?:superseded|replaced|outdated|obsolete|withdrawn|"
    r"deprecated|archived)\b|[\[(](?:superseded|outdated|obsolete|deprecated|archived)[\])]|"
    r"\bsuperseded by\b|\bno longer (?:valid|current|in force|maintained)\b",
    re.IGNORECASE,
)
_QUALIFIED = re.compile(r"(.+?)(?:,| \() ?([^(),]+)\)?")
_VERSION = re.compile(r"\d+(?:\.\d+)+|(?<!\d)(?:19|20)\d\d(?!\d)(?:[-_]\d\d)*|(?<=\bv)\d+")


def calls_itself_superseded(title: str, opening: str) -> bool:
    """Whether a document says in its title or its first lines that it is out of date."""
    return _CALLS_ITSELF_OLD.search(f"{title}\n{opening}") is not None


def edition(uri: str) -> tuple[str, str]:
    """A file's name without its version or year, and that version; both empty where it has none."""
    found = _VERSION.findall(uri)
    return (_VERSION.sub("#", uri), " ".join(found)) if found else ("", "")


def relate(a: Value, b: Value) -> Relation:
    """The relation of two different values of one thing."""
    if _is_old(a.statement) != _is_old(b.statement):
        return "superseded"
    if editions := _other_edition(a.statement, b.statement):
        return editions
    if a.kind != "date" and _other_period(_scope(a), _scope(b)):
        return "other_period"
    if _is_in_title(a) and _is_in_title(b):
        return "other_period"
    if _other_entry(a.statement, b.statement):
        return "other_entity"
    if a.kind == "number" and _other_definition(a.statement.text, b.statement.text):
        return "other_definition"
    return "contradicts"


def _is_old(statement: Statement) -> bool:
    return statement.superseded or _OLD.search(statement.text) is not None


def _other_edition(a: Statement, b: Statement) -> Relation | None:
    """Releases of one document: by year they are a series, by version one replaces the other."""
    for name, version in a.editions:
        for other_name, other_version in b.editions:
            if name and name == other_name and version != other_version:
                return "superseded" if "." in version else "other_period"
    return None


def _scope(value: Value) -> list[Moment]:
    """The periods a statement names beside the value."""
    return [m for m in value.statement.moments if m.end <= value.start or m.start >= value.end]


def _is_in_title(value: Value) -> bool:
    """Whether the documents are titled by the value: "Films of 1998", "Films of 1999"."""
    return any(value.text in title for title in value.statement.titles)


def _other_period(a: Sequence[Moment], b: Sequence[Moment]) -> bool:
    return bool(a and b) and all(apart(x, y) for x in a for y in b)


def _other_entry(a: Statement, b: Statement) -> bool:
    """Whether the titles tell two things of one name apart: "Moss (Ohio)" and "Moss, Norway"."""
    ours, theirs = (
        {found.groups() for title in side.titles if (found := _QUALIFIED.fullmatch(title))}
        for side in (a, b)
    )
    return any(x[0] == y[0] and x[1] != y[1] for x in ours for y in theirs)


def _other_definition(a: str, b: str) -> bool:
    """Whether both say what is counted, in different words."""
    first = {found.lower() for found in _COUNTS.findall(a)}
    second = {found.lower() for found in _COUNTS.findall(b)}
    return bool(first and second) and first.isdisjoint(second)


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
