"""What each claim answers to the question it was collected for.

`questions` reads what is wanted; `answers` takes from each claim the value of that kind that stands
nearest to the words of the relation, where the claim speaks of the entity. A claim whose nearest
value is far, or belongs to another event, answers nothing.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise

from activities.evidence.conflicts.lexicon import names_event
from activities.evidence.conflicts.questions import Ask, ask
from activities.evidence.conflicts.values import Value
from activities.evidence.quantities.amounts import Quantity, read
from activities.evidence.quantities.dates import Moment
from activities.evidence.quantities.units import family
from activities.evidence.words import STOP, WORD, Name, names, sentences, stem, word_list
from workflows.contracts.evidence import Claim

_CREATED = word_list(
    """film movie album song single book novel series play game painting opera show ep record
    mixtape documentary poem comic magazine"""
)
_WORKS = frozenset(stem(word) for word in _CREATED) | {"by"}
_HEADINGS = word_list(
    """released written produced directed starring music label genre length language references from
    films albums songs wikipedia statements country date cast plot summary external links edit"""
)


def answers(question: str, claims: Sequence[Claim], places: Sequence[int]) -> list[Value]:
    """The value each claim gives as its answer, where it gives one; `places` go into the values."""
    wanted = ask(question)
    if wanted is None:
        return []
    found: list[Value] = []
    for claim, place in zip(claims, places, strict=True):
        text = claim.text
        for quote in claim.quotes:
            if quote.text not in text:
                text = f"{text}\n\n{quote.text}"
        value = _answer(wanted, text, place)
        if value is not None and _concerns(wanted, text, value):
            found.append(value)
    return found


_REFERENCE = re.compile(
    r"\b(?:the|this) (?:city|town|village|township|municipality|county|district|island|region|"
    r"country|parish|community|borough|company|school|river)\b",
    re.I,
)


def _concerns(wanted: Ask, text: str, value: Value) -> bool:
    """Whether the value is the entity's: named by the end of the value's sentence, or referred to.

    A figure whose sentence speaks of "the town" belongs to the town the question names, since the
    claim was collected for it, unless the claim names another in its place.
    """
    given = value.amount or value.moment
    if given is None:
        return _speaks_of(wanted.entity, text)
    start, end = next(((s, e) for s, e in sentences(text) if s <= given.start < e), (0, len(text)))
    if _speaks_of(wanted.entity, text[:end]):
        return True
    return not _speaks_of(wanted.entity, text) and _REFERENCE.search(text, start, end) is not None


def _speaks_of(entity: Sequence[str], text: str) -> bool:
    """Whether most of the entity's words stand in the text."""
    present = set(re.findall(r"\w+", text.lower()))
    if sum(w in present for w in entity) * 2 >= len(entity):
        return True
    initials = entity[0] if len(entity) == 1 and 2 < len(entity[0]) < 7 else ""
    return bool(initials) and any(
        "".join(word[0] for word in name.key if word) == initials for name in names(text)
    )


def _answer(wanted: Ask, text: str, place: int) -> Value | None:
    if wanted.kind == "date":
        return _date(wanted, text, place)
    if wanted.kind == "number":
        return _number(wanted, text, place)
    if wanted.kind == "attribute":
        return _attribute(wanted, text, place)
    return _name(wanted, text, place)


def _cues(wanted: Ask, text: str) -> list[tuple[int, int]]:
    return [m.span() for m in WORD.finditer(text) if stem(m.group()) in wanted.relation]


def _gap(start: int, end: int, cue: tuple[int, int], text: str) -> float:
    """Distance in words; a value after its cue is nearer than one before, a sentence end is far."""
    between = text[cue[1] : start] if cue[1] <= start else text[end : cue[0]]
    words = len(between.split())
    ends = len(sentences(between)) - 1 if between.strip() else 0
    return words + 12 * max(0, ends) + (0 if cue[1] <= start else 1.5)


def _nearest(
    spans: Sequence[tuple[int, int]], cues: Sequence[tuple[int, int]], text: str
) -> list[tuple[float, int]]:
    """Places of the spans by distance from the nearest cue."""
    found = [
        (min(_gap(start, end, cue, text) for cue in cues), place)
        for place, (start, end) in enumerate(spans)
    ]
    return sorted(found)


# When somebody looked, not when something happened.
_VISITED = re.compile(r"\b(?:retrieved|accessed|archived|edited|updated)\b\D{0,16}$", re.I)
_LIFE = re.compile(r"\(\s*(?:born\s+|b\.\s*)?[^()]{0,40}$", re.I)


def _date(wanted: Ask, text: str, place: int) -> Value | None:
    dates = [
        m
        for m in read(text)[0]
        if m.precision not in ("yearless", "decade")
        and not _VISITED.search(text, max(0, m.start - 24), m.start)
    ]
    if not dates:
        return None
    lived = _lifespan(wanted, text, dates)
    if lived is not None:
        return _value("date", place, text, moment=lived)
    cues = _cues(wanted, text)
    if not cues:
        return None
    ranked = _nearest([(m.start, m.end) for m in dates], cues, text)
    if ranked[0][0] > 10:
        return None
    best = dates[ranked[0][1]]
    cue = min(cues, key=lambda cue: _gap(best.start, best.end, cue, text))
    between = text[cue[1] : best.start] if cue[1] <= best.start else text[best.end : cue[0]]
    if any(names_event(w) and stem(w) not in wanted.relation for w in WORD.findall(between)):
        return None  # the date belongs to the other event
    return _value("date", place, text, moment=best)


def _lifespan(wanted: Ask, text: str, dates: Sequence[Moment]) -> Moment | None:
    """ "Name (2 July 1829 – 24 August 1904)" gives birth and death without saying so."""
    birth, death = "born" in wanted.relation, "death" in wanted.relation
    if not (birth or death):
        return None
    for first, second in pairwise(dates):
        between = text[first.end : second.start].strip()
        if between in ("-", "–", "—") and _LIFE.search(text, max(0, first.start - 48), first.start):
            return first if birth else second
    return None


def _number(wanted: Ask, text: str, place: int) -> Value | None:
    dates, amounts = read(text)
    counting = not wanted.relation.isdisjoint(_COUNTED)
    usable = [
        q
        for q in amounts
        if not (q.label or q.unit == "clock")
        and not (counting and (q.value != int(q.value) or q.unit not in ("", *wanted.relation)))
        and not _AGENT.search(text, max(0, q.start - 6), q.start)
    ]
    cues = _cues(wanted, text)
    if not usable or not cues:
        return None
    ranked = _nearest([(q.start, q.end) for q in usable], cues, text)
    if ranked[0][0] > 8:
        return None
    best = usable[ranked[0][1]]
    start, end = next((s, e) for s, e in sentences(text) if s <= best.start <= e)
    periods = tuple(m for m in dates if start <= m.start < end)
    return _value("number", place, text, amount=best, periods=periods)


_AGENT = re.compile(r"\bby\s+$")  # "spoken by 22,795 people" counts speakers, not people
_COUNTED = frozenset(stem(w) for w in ("population", "number", "people"))
_BY = re.compile(r"\b(?P<by>by|from)\s+(?P<who>(?:(?!\bby\b)[^.,;()|:\u2022]){2,70})")
# "Title (Somebody album)": the name that tells works of one title apart.
_TITLE = re.compile(
    r"\w\s*\(\s?(?P<who>[A-Z][^()]{1,40}?)\s(?P<work>" + "|".join(sorted(_CREATED)) + r")\s?\)"
)
_CHUNK_END = re.compile(
    r"\s(?:on|in|for|from|at|and|with|released|which|who|that|is|was|as|to|after|featuring|"
    r"starring|written|based|originally)\b"
)


def _name(wanted: Ask, text: str, place: int) -> Value | None:
    foreign = [
        trimmed
        for n in names(text)
        if (trimmed := _trimmed(n, wanted)) is not None
        and not set(trimmed.key) & set(wanted.entity)
    ]
    if not foreign:
        return None
    if wanted.kind == "place":
        return _place(wanted, text, place, foreign)
    made_by = _made_by(wanted, text, foreign)
    if made_by is not None:
        return _value("name", place, text, name=made_by)
    cues = [c for c in _cues(wanted, text) if stem(text[c[0] : c[1]]) not in _WORKS]
    if not cues:
        return None
    ranked = _nearest([(n.start, n.end) for n in foreign], cues, text)
    if ranked[0][0] > 3:
        return None
    return _value("name", place, text, name=foreign[ranked[0][1]])


def _trimmed(name: Name, wanted: Ask) -> Name | None:
    """A name up to the first heading word that ran into it, as they do in tables."""
    end = name.start
    for word in re.finditer(r"\S+", name.text):
        plain = word.group().strip(".,").lower()
        if stem(plain) in wanted.relation or plain in _CREATED or plain in _HEADINGS:
            break
        end = name.start + word.end()
    short = Name(name.text[: end - name.start], name.start, end)
    return short if short.key else None


def _made_by(wanted: Ask, text: str, foreign: Sequence[Name]) -> Name | None:
    """ "directed by X", "an album by the band X": the last name before the phrase ends."""
    for title in _TITLE.finditer(text):
        inside = [n for n in foreign if title.start("who") <= n.start < title.end("who")]
        if inside and title["work"] in wanted.words:
            return inside[-1]
    for hit in _BY.finditer(text):
        before = [w.lower() for w in WORD.findall(text[max(0, hit.start() - 30) : hit.start()])]
        if not before:
            continue
        made = before[-1] in _CREATED
        known = stem(before[-1]) in wanted.relation or before[-1] in wanted.entity
        if not made and (hit["by"] == "from" or not known):
            continue
        chunk = _CHUNK_END.split(hit["who"])[0]
        end = hit.start("who") + len(chunk)
        inside = [n for n in foreign if hit.start("who") <= n.start < end]
        if inside:
            return inside[-1]
    return None


_IS_A = re.compile(r"\b(?:is|was) an? (?:[\w-]+ ){0,6}(?=in\b)")
_AT = re.compile(r"\b(?:in|at|near|city of|town of|village of|county of)\s+(?:the\s+|a\s+)?$")


def _place(wanted: Ask, text: str, place: int, foreign: Sequence[Name]) -> Value | None:
    cues = _cues(wanted, text) or [m.span() for m in _IS_A.finditer(text)][:1]
    introduced = [n for n in foreign if _AT.search(text, max(0, n.start - 12), n.start)]
    if not cues or not introduced:
        return None
    ranked = _nearest([(n.start, n.end) for n in introduced], cues, text)
    if ranked[0][0] > 8:
        return None
    best = introduced[ranked[0][1]]
    end = best.end
    for name in foreign:
        if name.start > end and re.fullmatch(r"\s*,\s*", text[end : name.start]):
            end = name.end
    return _value("name", place, text, name=Name(text[best.start : end], best.start, end))


def _attribute(wanted: Ask, text: str, place: int) -> Value | None:
    """ "the Republican Party", "Assamese-language": the name that stands before the noun asked."""
    for hit in WORD.finditer(text):
        if stem(hit.group()) not in wanted.relation or hit.group().endswith("s"):
            continue
        before = re.search(r"([A-Z][a-z]+)[\s-]$", text[max(0, hit.start() - 24) : hit.start()])
        if before is None or before[1].lower() in STOP or before[1].lower() in wanted.entity:
            continue
        start = hit.start() - 1 - len(before[1])
        return _value("name", place, text, name=Name(before[1], start, hit.start() - 1))
    return None


def _value(
    kind: str, place: int, text: str, *, amount: Quantity | None = None,
    moment: Moment | None = None, name: Name | None = None, periods: tuple[Moment, ...] = (),
) -> Value:  # fmt: skip
    given = amount or moment or name
    key = tuple(w.strip(",") for w in name.key) if name else ()
    return Value(
        claim=place, kind=kind, unit=amount.unit if amount else "",
        text=given.text if given else "", clause=text, sentence=text, amount=amount, moment=moment,
        name=key, periods=periods,
    )  # fmt: skip


def comparable_unit(value: Value) -> str:
    """Answers are compared within one family of units."""
    return family(value.unit) if value.kind == "number" else value.kind
