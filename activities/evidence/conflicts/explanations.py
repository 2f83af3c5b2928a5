"""Why two sources may differ: a guess from the words around each value, never a verdict.

Sources tend to say what a figure is in the sentence that gives it or right after it. The cause
whose words stand nearest on both sides is offered, and those words are quoted so that a reader can
check them; where there are none the text says so. No side is called right.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import date

from activities.evidence.conflicts.clauses import clauses
from activities.evidence.conflicts.cues import COMPILED, REFERS, Cause
from activities.evidence.quantities.amounts import read
from activities.evidence.quantities.dates import Moment, apart, moments
from activities.evidence.words import sentences
from workflows.contracts.evidence import Record

_FAR_DAYS = 150  # sources this far apart in time may describe different states of affairs
_YEAR = 365
_WEAK = 0.45  # what a weak cue is worth beside a strong one
_ONE_SIDED = 0.7
_LEAST = 0.5  # a weak cue on one side alone explains nothing
_LONGEST = 16  # words of a quotation
_OPENING: dict[Cause, str] = {
    "definition": "They may not count the same thing",
    "population": "They may not cover the same people or places",
    "method": "They may have been arrived at in different ways",
    "period": "They may be for different periods",
    "superseded": "One may have been overtaken by the other",
    "error": "One may be a mistake",
}


class Explanation(Record):
    """A likely cause and the words it rests on."""

    cause: Cause
    text: str


class _Said(Record):
    """A cue on one side: how much it weighs, and the words it stands in."""

    weight: float
    cue: str
    quote: str


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
    slip = _slip(a_value, b_value) if kind == "number" else ""
    if slip:
        return Explanation(cause="error", text=slip)
    # What comes before a date is about other dates more often than about this one.
    before = kind != "date"
    around = _around(a_context, a_value, before), _around(b_context, b_value, before)
    days = _days_between(a_date, b_date)
    elapsed = _elapsed(days) if kind != "name" else 0.0
    found = _likeliest(around, kind, elapsed)
    periods = _periods_apart(around) if kind != "date" else None
    if found is not None and found[0] >= max(elapsed, 0.7 if periods else 0.0):
        _, cause, ours, theirs = found
        opening = _OPENING[cause]
        if cause == "definition" and kind != "number":
            opening = "They may not mean the same thing"
        text = f"{opening}: {_both(ours, theirs)}."
        later = f" {_later(a_date, b_date)}" if cause == "superseded" and days else ""
        return Explanation(cause=cause, text=text + later)
    if periods is not None:
        first, second = (_quoted(period.text) for period in periods)
        text = f"The first source speaks of {first}, the second of {second}."
        return Explanation(cause="period", text=text)
    if elapsed:
        text = f"{_later(a_date, b_date)} It may describe a changed state of affairs."
        return Explanation(cause="superseded", text=text)
    return Explanation(cause="unexplained", text="The sources give no reason for the difference.")


def _around(context: str, value: str, before: bool) -> list[tuple[float, str]]:
    """The sentences about the value, each with how likely it is to say what the value is."""
    parts = [" ".join(context[start:end].split()) for start, end in sentences(context)]
    parts = parts or [context]
    held = [n for n, part in enumerate(parts) if value and value in part]
    home = min(held, key=lambda n: abs(2 * n - len(parts) + 1)) if held else len(parts) // 2
    found = []
    for place, part in enumerate(parts):
        refers = place > home and REFERS.match(part) is not None
        if place == home:
            part, weight = part.replace(value, "\u2026") if value else part, 1.0
        elif place > home:
            near = max(0.0, 1.15 - 0.25 * (place - home))
            weight = min(1.0, near + (0.2 if refers else -0.2))
        else:
            weight = max(0.0, 0.5 - 0.12 * (home - place - 1)) if before else 0.0
        if weight > 0 and not part.startswith(("#", ":")):
            found.append((weight, part))
    return found


def _likeliest(
    around: tuple[Sequence[tuple[float, str]], Sequence[tuple[float, str]]],
    kind: str,
    elapsed: float,
) -> tuple[float, Cause, _Said | None, _Said | None] | None:
    """The cause whose cues stand nearest to the values; cues both sides have explain nothing."""
    best: tuple[float, Cause, _Said | None, _Said | None] | None = None
    for cause, strong, weak in COMPILED:
        if cause == "population" and kind in ("date", "name"):
            continue  # who is covered can change a figure, not a day or a name
        sides = [_cues(strong, weak, parts) for parts in around]
        known = [{said.cue for said in side} for side in sides]
        ours, theirs = (
            max(
                (said for said in side if said.cue not in known[1 - n]),
                key=lambda said: said.weight,
                default=None,
            )
            for n, side in enumerate(sides)
        )
        weight = sum(said.weight for said in (ours, theirs) if said)
        if cause == "superseded" and weight:
            # Only one of two sources can speak of the other, and the later one does.
            weight += elapsed
        elif not (ours and theirs):
            weight *= _ONE_SIDED if cause != "population" or kind != "polarity" else 0.0
        if weight > (best[0] if best else _LEAST):
            best = weight, cause, ours, theirs
    return best


def _cues(
    strong: re.Pattern[str], weak: re.Pattern[str], parts: Sequence[tuple[float, str]]
) -> list[_Said]:
    return [
        _Said(weight=weight * worth, cue=hit.group().lower(), quote=_excerpt(part, hit.span()))
        for weight, part in parts
        for worth, pattern in ((1.0, strong), (_WEAK, weak))
        for hit in pattern.finditer(part)
    ]


def _excerpt(sentence: str, cue: tuple[int, int]) -> str:
    """The clause a cue stands in, cut to a length a reader takes in at a glance."""
    start, end = next((c for c in clauses(sentence) if c[0] <= cue[0] < c[1]), (0, len(sentence)))
    if len(sentence[start:end].split()) < 4 or sentence[start:end].count("\u2026"):
        start = 0 if len(sentence[:end].split()) <= _LONGEST else start
    words = [(m.start() + start, m.end() + start)
             for m in re.finditer(r"\S+", sentence[start:end])]  # fmt: skip
    first = next((n for n, w in enumerate(words) if w[1] > cue[0]), 0)
    begin = 0 if first < _LONGEST - 4 else first - 4
    kept = words[begin : begin + _LONGEST]
    if not kept:
        return sentence
    text = sentence[kept[0][0] : kept[-1][1]].strip(" ,;:.*")
    return text if len(kept) == len(words) - begin else f"{text}\u2026"


def _both(ours: _Said | None, theirs: _Said | None) -> str:
    if ours and theirs:
        return f"the first source says {_quoted(ours.quote)}, the second {_quoted(theirs.quote)}"
    which, said = ("first", ours) if ours else ("second", theirs)
    other = "second" if ours else "first"
    quote = _quoted(said.quote) if said else ""
    return f"the {which} source says {quote}, the {other} says nothing of the kind"


def _slip(a: str, b: str) -> str:
    """Two numbers that differ as a hand slips: digits in another order, a point moved."""
    ours, theirs = read(a)[1], read(b)[1]
    if len(ours) != 1 or len(theirs) != 1 or ours[0].unit != theirs[0].unit:
        return ""
    x, y = ("".join(re.findall(r"\d", q.text)) for q in (ours[0], theirs[0]))
    same = "The two figures have the same digits"
    if min(ours[0].value, theirs[0].value) > 0:
        ratio = max(ours[0].value, theirs[0].value) / min(ours[0].value, theirs[0].value)
        if len(x.strip("0")) > 1 and any(abs(ratio - ten) < 1e-9 for ten in (10, 100, 1000)):
            return f"{same} with the decimal point in another place; one may be a slip."
    if 1 < len(x) == len(y) and x != y and sorted(x) == sorted(y):
        swapped = [n for n in range(len(x)) if x[n] != y[n]]
        if len(swapped) == 2 and swapped[1] - swapped[0] == 1:
            return f"{same} in another order; one may be a slip."
    return ""


def _elapsed(days: int) -> float:
    """How far the time between two sources alone may explain that they differ."""
    apart_by = abs(days)
    if apart_by < _FAR_DAYS:
        return 0.0
    return 0.5 if apart_by < _YEAR else 0.65 if apart_by < 2 * _YEAR else 1.5


def _days_between(a: str | None, b: str | None) -> int:
    days = _day(a), _day(b)
    return 0 if days[0] is None or days[1] is None else days[1] - days[0]


def _later(a: str | None, b: str | None) -> str:
    which, later, earlier = ("second", b, a) if _days_between(a, b) > 0 else ("first", a, b)
    return f"The {which} source is later ({later} against {earlier})."


def _day(text: str | None) -> int | None:
    if not text:
        return None
    try:
        return date.fromisoformat(text[:10]).toordinal()
    except ValueError:
        found = moments(text)
        return found[0].first if found else None


def _periods_apart(
    around: tuple[Sequence[tuple[float, str]], Sequence[tuple[float, str]]],
) -> tuple[Moment, Moment] | None:
    """The periods of the sentences that give the values, where they share no day."""
    ours, theirs = (
        [m for weight, part in side if weight == 1.0 for m in moments(part)] for side in around
    )
    if ours and theirs and all(apart(x, y) for x in ours for y in theirs):
        return ours[0], theirs[0]
    return None


def _quoted(text: str) -> str:
    return f"\u201c{' '.join(text.split())}\u201d"
