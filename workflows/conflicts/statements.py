"""What a claim states: its values, each with the words, entities and periods it stands among.

`read_claims` reads claims once; `different` says whether two values are explicitly about different
things (another entity, period, direction or measure). It never says that they are about the same.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from workflows.conflicts.lexicon import CHANGE, CONTRAST_OF, EVENT_OF, MEASURE_OF, PAPER, SAID
from workflows.evidence import Claim
from workflows.quantities.amounts import Quantity, read
from workflows.quantities.dates import Moment, apart
from workflows.quantities.units import compatible, family
from workflows.words import STOP, WORD, Name, names, sentences, stem, tokens

_LETTERED = re.compile(
    r"\b(Part|Phase|Option|Annex|Appendix|Group|Zone|Class|Type|Section|Lot|Scenario|Alternative|"
    r"Terminal|Gate|Platform|Block|Unit|Table|Team|Plan)\s([A-Z])\b",
    re.IGNORECASE,
)
_IDENTIFIER = re.compile(r"\b(?=\w*\d)(?=\w*[A-Za-z])(?:[A-Za-z]+[-\u2013]?\d\w*)\b")


@dataclass(frozen=True, slots=True)
class Value:
    """A number, date or name in its sentence. `claim` is the claim's place in the sequence read."""

    claim: int
    kind: str
    unit: str
    text: str
    amount: Quantity | None
    moment: Moment | None
    name: tuple[str, ...]
    slot: str
    stems: frozenset[str]
    near: frozenset[str]
    names: tuple[tuple[str, ...], ...]
    labels: tuple[tuple[str, str], ...]
    periods: tuple[Moment, ...]
    contrasts: tuple[tuple[int, int], ...]
    measures: frozenset[int]
    sentence: str


@dataclass(slots=True)
class Reading:
    """All that comparison needs of one claim."""

    claim: int
    id: str
    sources: tuple[str, ...]
    values: list[Value] = field(default_factory=list)
    amounts: list[Quantity] = field(default_factory=list)
    moments: list[Moment] = field(default_factory=list)
    statements: list[Value] = field(default_factory=list)


def read_claims(claims: Sequence[Claim]) -> list[Reading]:
    """Read each claim's text, then whatever its quotes add."""
    common = _common_words(claims)
    return [_read_claim(place, claim, common) for place, claim in enumerate(claims)]


def different(a: Value, b: Value) -> bool:
    """Whether the two are explicitly about different things."""
    if a.measures and b.measures and not a.measures & b.measures:
        return True
    dated = a.kind != "date" and a.periods and b.periods
    if dated and all(apart(x, y) for x in a.periods for y in b.periods):
        return True
    mine = dict.fromkeys(row for row, _ in a.contrasts)
    for row in mine:
        ours = {c for r, c in a.contrasts if r == row}
        theirs = {c for r, c in b.contrasts if r == row}
        if theirs and not ours & theirs:
            return True
    return _labels_differ(a.labels, b.labels) or names_differ(a.names, b.names)


def names_differ(a: Sequence[tuple[str, ...]], b: Sequence[tuple[str, ...]]) -> bool:
    """Whether two sets of names speak of different things.

    A name matches another it contains. Names left over on both sides that share a word (two lines,
    two people of one family) are different things; where no name matches, so are all.
    """
    if not a or not b:
        return False
    left_a = [x for x in a if not any(_name_matches(x, y) for y in b)]
    left_b = [y for y in b if not any(_name_matches(x, y) for x in a)]
    if len(left_a) == len(a) or len(left_b) == len(b):
        return True
    return any(set(x) & set(y) for x in left_a for y in left_b)


def _name_matches(a: tuple[str, ...], b: tuple[str, ...]) -> bool:
    if set(a) <= set(b) or set(b) <= set(a):
        return True
    short, long = (a, b) if len(a) < len(b) else (b, a)
    return len(short) == 1 and len(long) > 1 and short[0] == "".join(word[0] for word in long)


def _labels_differ(a: Sequence[tuple[str, str]], b: Sequence[tuple[str, str]]) -> bool:
    for kind in dict.fromkeys(k for k, _ in a):
        ours = {v for k, v in a if k == kind}
        theirs = {v for k, v in b if k == kind}
        if theirs and not ours & theirs:
            return True
    return False


def comparable(a: Value, b: Value) -> bool:
    """Whether the units allow the two to be held against each other in this context."""
    if a.kind != b.kind:
        return False
    if a.kind != "number":
        return True
    if not compatible(a.unit, b.unit):
        return False
    if a.unit and b.unit:
        return True
    # A bare figure is compared with a count only where its sentence names the thing counted.
    noun = (a.unit or b.unit).partition("/")[0]
    return not noun or noun in (b.stems if a.unit else a.stems)


def _common_words(claims: Sequence[Claim]) -> frozenset[str]:
    """Words that also stand in lower case: capitalised, they merely open a sentence."""
    common: set[str] = set()
    for claim in claims:
        for text in (claim.text, *(q.text for q in claim.quotes)):
            common.update(word for word in text.split() if word.islower())
    return frozenset(word.strip(".,;:()\"'") for word in common)


def _read_claim(place: int, claim: Claim, common: frozenset[str]) -> Reading:
    reading = Reading(place, claim.id, claim.source_ids)
    texts = [claim.text]
    for quote in claim.quotes:
        if quote.text not in claim.text:
            texts.append(quote.text)
    for text in dict.fromkeys(texts):
        dates, amounts = read(text)
        found_names = names(text)
        for start, end in sentences(text):
            inside = _Sentence(
                place, text[start:end], start,
                [m for m in dates if start <= m.start < end],
                [q for q in amounts if start <= q.start < end],
                [n for n in found_names if start <= n.start < end], common,
            )  # fmt: skip
            _add(reading, inside.values(), inside.whole())
        reading.amounts.extend(q for q in amounts if not q.label)
        reading.moments.extend(dates)
    return reading


def _add(reading: Reading, values: Sequence[Value], whole: Value) -> None:
    reading.statements.append(whole)
    known = {(v.kind, v.text) for v in reading.values}
    reading.values.extend(v for v in values if (v.kind, v.text) not in known)


class _Sentence:
    """One sentence taken apart."""

    def __init__(
        self, claim: int, text: str, offset: int, dates: list[Moment], amounts: list[Quantity],
        found: list[Name], common: frozenset[str],
    ) -> None:  # fmt: skip
        self.claim, self.text, self.offset = claim, text, offset
        self.dates, self.amounts = dates, amounts
        self.words = [(w, s + offset, e + offset) for w, s, e in tokens(text)]
        dated = [(m.start, m.end) for m in dates]
        self.content = [
            (stem(w), lower, s, e)
            for w, s, e in self.words
            if len(w) > 1
            and w[0].isalpha()
            and (lower := w.lower()) not in STOP
            and not any(a <= s < b for a, b in dated)
        ]
        self.names = [n for n in found if not _merely_opens(n, offset, common)]
        self.entities = [n for n in self.names if not self._said(n)]
        self.labels = tuple(
            dict.fromkeys(
                [(self._word_before(q.start), q.text) for q in amounts if q.label]
                + [("id", found.lower()) for found in _IDENTIFIER.findall(text)]
                + [(stem(word), letter) for word, letter in _LETTERED.findall(text)]
            )
        )
        self.contrasts = tuple(
            dict.fromkeys(
                CONTRAST_OF[w.lower()] for w, _, _ in self.words if w.lower() in CONTRAST_OF
            )
        )
        self.keys = tuple(dict.fromkeys(n.key for n in self.entities if n.key))

    def whole(self) -> Value:
        """The sentence as one statement, for polarity."""
        periods = tuple(m for m in self.dates if not self._on_paper(m))
        return self._value("statement", "", self.text, 0, 0, periods=periods)

    def values(self) -> list[Value]:
        found: list[Value] = []
        measured = [q for q in self.amounts if not q.label]
        for amount in measured:
            found.append(
                self._value(
                    "number", amount.unit, amount.text, amount.start, amount.end, amount=amount,
                    periods=self._periods(amount),
                )
            )  # fmt: skip
        for moment in self.dates:
            event = self._event_near(moment)
            if event is not None and (not measured or event < 6):
                found.append(
                    self._value(
                        "date", "date", moment.text, moment.start, moment.end, moment=moment
                    )
                )
        for name in self.entities:
            slot = self._slot(name)
            if slot and name.key:
                rest = tuple(key for key in self.keys if key != name.key)
                value = self._value(
                    "name", slot, name.text, name.start, name.end, name=name.key, entities=rest
                )
                found.append(value)
        return found

    def _value(
        self, kind: str, unit: str, text: str, start: int, end: int, *,
        amount: Quantity | None = None, moment: Moment | None = None, name: tuple[str, ...] = (),
        periods: tuple[Moment, ...] | None = None,
        entities: tuple[tuple[str, ...], ...] | None = None,
    ) -> Value:  # fmt: skip
        content = [c for c in self.content if not start <= c[2] < end]
        if kind != "statement":
            content.sort(key=lambda c: (min(abs(c[2] - end), abs(start - c[3])), c[2]))
        near = content[:6]
        classes = frozenset(MEASURE_OF[w] for _, w, _, _ in near if w in MEASURE_OF)
        if kind == "date":
            events = [EVENT_OF[w] for _, w, _, _ in content[:4] if w in EVENT_OF]
            classes = frozenset(events[:1])
        elif amount is not None and amount.unit in ("%", "pp"):
            window = self.text[max(0, start - self.offset - 30) : end - self.offset + 24].lower()
            changed = not CHANGE.isdisjoint(window.replace(",", " ").replace(".", " ").split())
            classes = classes | {-1} if changed else classes
        if kind == "statement":
            classes = frozenset()
        return Value(
            claim=self.claim, kind=kind, unit=unit, text=text, amount=amount, moment=moment,
            name=name, slot=unit if kind == "name" else "",
            stems=frozenset(c[0] for c in content), near=frozenset(c[0] for c in near),
            names=self.keys if entities is None else entities, labels=self.labels,
            periods=tuple(self.dates) if periods is None else periods, contrasts=self.contrasts,
            measures=classes, sentence=self.text,
        )  # fmt: skip

    def _periods(self, amount: Quantity) -> tuple[Moment, ...]:
        """The periods a figure holds for: where several stand in a sentence, the nearest."""
        dates = [m for m in self.dates if not self._on_paper(m)]
        if len(dates) <= 1 or len([q for q in self.amounts if not q.label]) <= 1:
            return tuple(dates)

        def distance(m: Moment) -> tuple[int, int]:
            # "412,000 in 2022 and 367,500 in 2023": the period after the figure wins over before.
            gap = m.start - amount.end if m.start >= amount.end else (amount.start - m.end) * 2
            return gap, m.start

        return (min(dates, key=distance),)

    def _on_paper(self, moment: Moment) -> bool:
        before = [w.lower() for w, s, _ in self.words if moment.start - 28 <= s < moment.start]
        return any(word in PAPER for word in before[-3:])

    def _event_near(self, moment: Moment) -> int | None:
        """How many words lie between a date and the event it dates, if there is one."""
        places = [i for i, (_, s, _) in enumerate(self.words) if s < moment.start]
        at = places[-1] if places else -1
        gaps = [abs(at - i) for i, (w, _, _) in enumerate(self.words) if w.lower() in EVENT_OF]
        return min(gaps) if gaps else None

    def _said(self, name: Name) -> bool:
        """Whether the name is only the voice that speaks."""
        after = [w.lower() for w, s, _ in self.words if s >= name.end][:1]
        before = [w.lower() for w, s, _ in self.words if s < name.start][-3:]
        return (
            any(w in SAID for w in after)
            or before[-2:] == ["according", "to"]
            or (before[-3:-1] == ["according", "to"])
        )

    def _slot(self, name: Name) -> str:
        """What role the name fills: the verb it is the agent of, or the noun it stands for."""
        before = [w.lower() for w, s, _ in self.words if s < name.start]
        after = [w.lower() for w, s, _ in self.words if s >= name.end]
        while before and before[-1] in ("the", "a", "an"):
            before.pop()
        if len(before) >= 2 and before[-1] == "by":
            return "by " + stem(before[-2])
        if before and before[-1] in ("is", "was", "are", "were", "remains", "became"):
            subject = [w for w in before if w not in STOP]
            return "is " + stem(subject[0]) if subject else ""
        if len(before) >= 2 and before[-1] in ("in", "at", "from", "to"):
            return f"{before[-1]} {stem(before[-2])}" if before[-2] not in STOP else ""
        if not before and after and after[0] not in STOP and after[0].endswith(("s", "ed")):
            return "by " + stem(after[0])
        return ""

    def _word_before(self, start: int) -> str:
        before = [w.lower() for w, s, _ in self.words if s < start]
        return stem(before[-1]) if before else ""


def _merely_opens(name: Name, offset: int, common: frozenset[str]) -> bool:
    return name.start <= offset + 1 and " " not in name.text and name.text.lower() in common


def scope(value: Value) -> object:
    """All that `different` looks at: values of one scope need to be asked only once."""
    periods = tuple((m.first, m.last) for m in value.periods)
    return value.kind, value.names, value.labels, periods, value.contrasts, value.measures


def phrase(statement: Value, text: str) -> Value:
    """A phrase of a statement taken as its value."""
    key = tuple(word.lower() for word in WORD.findall(text) if word.lower() not in STOP)
    return replace(statement, kind="name", text=text, name=key, names=(), contrasts=())


def block(value: Value) -> tuple[str, str]:
    """Values are only ever compared within one block."""
    return value.kind, family(value.unit) if value.kind == "number" else value.slot


def rarity(readings: Sequence[Reading]) -> Mapping[str, int]:
    """In how many claims each stem stands."""
    counts: dict[str, int] = {}
    for reading in readings:
        seen: dict[str, None] = {}
        for value in reading.statements:
            seen.update(dict.fromkeys(sorted(value.stems)))
        for word in seen:
            counts[word] = counts.get(word, 0) + 1
    return counts
