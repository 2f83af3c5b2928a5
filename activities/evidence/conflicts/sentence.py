"""One sentence taken apart into the values it states.

A value belongs to its clause: what else the sentence says does not decide what the value is about.
A clause without a subject of its own leans on what the sentence began with. Rows of tables are read
by their cells, heads of letters and questions not at all.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cached_property, lru_cache
from typing import TypeVar

from activities.evidence.conflicts.clauses import clauses, verb_place
from activities.evidence.conflicts.lexicon import (
    CHANGE,
    CONTRAST_OF,
    DIRECTION_OF,
    EVENT_OF,
    MEASURE_OF,
    PAPER,
    REPEATED,
    SAID,
)
from activities.evidence.conflicts.roles import slot
from activities.evidence.conflicts.tables import Row, row_of, states_nothing
from activities.evidence.conflicts.values import Value
from activities.evidence.quantities.amounts import Quantity, read
from activities.evidence.quantities.dates import Moment
from activities.evidence.words import STOP, WORD, Name, names, negated, stem, tokens, word_list

_LETTERED_WORDS = word_list(
    """part phase option annex appendix group zone class type section lot scenario alternative
    terminal gate platform block unit table team plan ship vessel firm house"""
)
_LETTERED = re.compile(rf"\b((?i:{'|'.join(sorted(_LETTERED_WORDS))}))\s([A-Z])\b")
_DIGIT = re.compile(r"\d")
_IDENTIFIER = re.compile(r"\b(?=\w*\d)(?=\w*[A-Za-z])(?:[A-Za-z]+[-\u2013]?\d\w*)\b")
_NEAR = 7  # content words on either side that say what a value measures
_FAR = 60  # letters between an event and its date
_AT_END = re.compile(r"\b(?:end|start|beginning|close|opening)\s+of\s+$", re.IGNORECASE)

_OF = re.compile(
    r"\sof\s((?:(?!(?:in|on|at|for|by|to|from|with|were|was|are|is|had|have|has|and|or)\s)"
    r"[\w'\u2019-]+\s?){1,5})"
)
_IF = re.compile(r"(?:if|unless|whether)\b", re.IGNORECASE)


@lru_cache(maxsize=16384)
def read_sentence(
    text: str, opens_common: bool
) -> tuple[tuple[Value, ...], Value, tuple[Value, ...]]:
    """The values of a sentence, the sentence as a statement, and its clauses as statements."""
    row = row_of(text)
    inside = _Sentence(text, opens_common)
    if row is not None:
        return tuple(_cells(row, inside)), inside.whole, ()
    if states_nothing(text) or text.endswith("?"):
        return (), inside.whole, ()
    return tuple(inside.values()), inside.whole, tuple(inside.told())


def _cells(row: Row, inside: _Sentence) -> list[Value]:
    """One value per cell that gives a number or a date."""
    found = []
    key_words = [w for cell in row.keys for w in WORD.findall(cell.text)]
    for cell in row.values:
        dates, amounts = read(cell.text)
        words = [*key_words, *WORD.findall(cell.head)]
        stems = frozenset(stem(w) for w in words if len(w) > 1 and w.lower() not in STOP)
        amount = next((q for q in amounts if not q.label), None)
        moment = dates[0] if dates and amount is None else None
        if amount is None and moment is None:
            continue
        found.append(
            Value(
                claim=0, kind="number" if amount else "date", unit="cell", text=cell.text,
                clause=inside.text, sentence=inside.text, amount=amount, moment=moment,
                slot=cell.column, stems=stems, near=stems, row=row, cell=cell,
            )
        )  # fmt: skip
    return found


class _Sentence:
    """One sentence taken apart."""

    def __init__(self, text: str, opens_common: bool) -> None:
        self.text = text
        dates, amounts = read(text)
        self.dates, self.amounts = dates, amounts
        self.words = list(tokens(text))
        self.lower = [(w.lower(), s) for w, s, _ in self.words]
        dated = [(m.start, m.end) for m in dates]
        self.content = [
            (stem(w), lower, s, e)
            for (w, s, e), (lower, _) in zip(self.words, self.lower, strict=True)
            if len(w) > 1
            and lower not in STOP
            and w[0].isalpha()
            and not (dated and any(a <= s < b for a, b in dated))
        ]
        self.names = [n for n in names(text) if not (opens_common and _merely_opens(n))]
        labelled = [q.start for q in amounts if q.label]
        self.entities = [
            n
            for n in self.names
            if n.key and not self._said(n) and not (len(n.key) == 1 and n.end + 1 in labelled)
        ]
        self.spans = clauses(text)
        self.contrasts = [(CONTRAST_OF[w], s) for w, s in self.lower if w in CONTRAST_OF]
        self.contrasts += [
            (CONTRAST_OF[w], s)
            for w, s, _ in self.words
            if w in CONTRAST_OF and w[0].isupper() and not any(a <= s < b for a, b in dated)
        ]
        self.labels = self._labels()

    @cached_property
    def whole(self) -> Value:
        """The sentence as one statement."""
        return self._statement(0, len(self.text))

    def told(self) -> list[Value]:
        """The clauses, each a statement about its own subject or the sentence's."""
        found, doubted = [], False
        for start, end in self.spans:
            clause = self.text[start:end]
            # What somebody denies or did not find is not said by the sentence.
            reported = doubted and self.text[:start].endswith("that ")
            stated = verb_place(clause) or any(
                w in DIRECTION_OF for w, s in self.lower if start <= s < end
            )
            if stated and not reported and not _IF.match(clause):
                alone = len(self.spans) == 1
                found.append(self.whole if alone else self._statement(start, end))
            doubted = negated(clause)
        return found

    def _statement(self, start: int, end: int) -> Value:
        periods = tuple(m for m in self.dates if start <= m.start < end and not self._on_paper(m))
        return self._value("statement", "", self.text[start:end], start, start, (start, end),
                           periods=periods)  # fmt: skip

    def values(self) -> list[Value]:
        found: list[Value] = []
        for amount in self.amounts:
            if not amount.label:
                span = self._clause(amount.start)
                found.append(
                    self._value(
                        "number", amount.unit, amount.text, amount.start, amount.end, span,
                        amount=amount, periods=self._periods(amount, span),
                    )
                )  # fmt: skip
        for moment in self.dates:
            span = self._clause(moment.start)
            if self._is_value(moment, span):
                found.append(
                    self._value("date", "date", moment.text, moment.start, moment.end, span,
                                moment=moment)
                )  # fmt: skip
        for name in self.entities:
            span = self._clause(name.start)
            inside = [w for w in self.words if span[0] <= w[1] < span[1]]
            role = slot(name, inside)
            if role:
                found.append(
                    self._value("name", role, name.text, name.start, name.end, span, name=name.key)
                )
        return found

    def _value(
        self, kind: str, unit: str, text: str, start: int, end: int, span: tuple[int, int], *,
        amount: Quantity | None = None, moment: Moment | None = None, name: tuple[str, ...] = (),
        periods: tuple[Moment, ...] | None = None,
    ) -> Value:  # fmt: skip
        spans = [span, *self._leans_on(span)]
        content = self.content
        if len(self.spans) > 1:
            content = [c for c in content if any(a <= c[2] < b for a, b in spans)]
        if end > start:
            content = [c for c in content if not start <= c[2] < end]
        # What a clause takes over from the subject does not say what its own value measures.
        near = [c for c in content if span[0] <= c[2] < span[1]]
        if kind != "statement" and len(near) > _NEAR:
            gaps = sorted((min(abs(c[2] - end), abs(start - c[3])), c[2], c) for c in near)
            near = [c for _, _, c in gaps[:_NEAR]]
        keys = tuple(dict.fromkeys(key for key in self._entities(spans) if key != name))
        return Value(
            claim=0, kind=kind, unit=unit, text=text, clause=self.text[span[0] : span[1]],
            sentence=self.text, amount=amount, moment=moment, name=name,
            slot=unit if kind == "name" else "", stems=frozenset(c[0] for c in content),
            near=frozenset(c[0] for c in near), names=keys, labels=_within(spans, self.labels),
            periods=self.dates if periods is None else periods,
            contrasts=_within(spans, self.contrasts),
            measures=self._measures(kind, near, amount, moment), leans=len(spans) > 1,
            parts=self._parts(end) if amount is not None else frozenset(),
        )  # fmt: skip

    def _measures(
        self, kind: str, near: Sequence[tuple[str, str, int, int]], amount: Quantity | None,
        moment: Moment | None,
    ) -> frozenset[int]:  # fmt: skip
        """Which measures the nearest words name; for a date, which event."""
        if kind == "statement":
            return frozenset()
        if moment is not None:
            places = sorted((abs(s - moment.start), EVENT_OF[w]) for _, w, s, _ in near
                            if w in EVENT_OF)  # fmt: skip
            return frozenset(event for _, event in places[:1])
        found = frozenset(MEASURE_OF[w] for _, w, _, _ in near if w in MEASURE_OF)
        if amount is not None and amount.unit in ("%", "pp"):
            window = self.text[max(0, amount.start - 30) : amount.end + 24].lower()
            if not CHANGE.isdisjoint(WORD.findall(window)):
                return found | {-1}
        return found

    def _parts(self, end: int) -> frozenset[str]:
        """What a figure is of: "tonnes of apples", "per cent of scheduled departures"."""
        found = _OF.match(self.text, end)
        if found is None:
            return frozenset()
        words = WORD.findall(found[1])
        return frozenset(stem(w) for w in words if w.lower() not in STOP)

    def _clause(self, place: int) -> tuple[int, int]:
        return next((span for span in self.spans if span[0] <= place < span[1]), self.spans[-1])

    def _leans_on(self, span: tuple[int, int]) -> list[tuple[int, int]]:
        """What a clause without a subject of its own takes over: whom the sentence began with."""
        if span[0] <= self.spans[0][0]:
            return []
        clause = self.text[slice(*span)]
        if re.match(r"(?:which|who|whose|whom)\b", clause):
            before = [n for n in self.names if n.end <= span[0]]
            return [(before[-1].start, before[-1].end)] if before else [self.spans[0]]
        verb = verb_place(clause)
        if verb and any(span[0] <= c[2] < span[0] + verb[0] for c in self.content):
            return []
        first = self.spans[0]
        opening = verb_place(self.text[slice(*first)])
        return [(first[0], first[0] + opening[0]) if opening else first]

    def _entities(self, spans: Sequence[tuple[int, int]]) -> list[tuple[str, ...]]:
        """The names a clause speaks of; where it has none, those the sentence began with."""
        for parts in (spans, self.spans[:1]):
            found = [n.key for n in self.entities if any(a <= n.start < b for a, b in parts)]
            if found:
                return found
        return []

    def _labels(self) -> list[tuple[tuple[str, str], int]]:
        """Numbers and letters that are part of a name, with their place."""
        found = [((self._word_before(q.start), q.text), q.start) for q in self.amounts if q.label]
        if _DIGIT.search(self.text):
            hits = _IDENTIFIER.finditer(self.text)
            found += [(("id", hit.group().lower()), hit.start()) for hit in hits]
        if not _LETTERED_WORDS.isdisjoint(word for word, _ in self.lower):
            lettered = _LETTERED.finditer(self.text)
            found += [((stem(hit[1]), hit[2]), hit.start()) for hit in lettered]
        return found

    def _periods(self, amount: Quantity, span: tuple[int, int]) -> tuple[Moment, ...]:
        """The periods a figure holds for: its clause's, and where several stand, the nearest."""
        told = [m for m in self.dates if not self._on_paper(m)]
        dates = [m for m in told if span[0] <= m.start < span[1]]
        dates = dates or [m for m in told if m.start < span[0]]
        others = [q for q in self.amounts if not q.label and span[0] <= q.start < span[1]]
        if len(dates) <= 1 or len(others) <= 1:
            return tuple(dates)

        def distance(m: Moment) -> tuple[int, int]:
            # "412,000 in 2022 and 367,500 in 2023": the period after the figure wins over before.
            gap = m.start - amount.end if m.start >= amount.end else (amount.start - m.end) * 2
            return gap, m.start

        return (min(dates, key=distance),)

    def _is_value(self, moment: Moment, span: tuple[int, int]) -> bool:
        """Whether a date says when something happened, rather than when something else held."""
        if moment.precision == "decade" or _AT_END.search(self.text, 0, moment.start):
            return False
        clause = [(w, s) for w, s in self.lower if span[0] <= s < span[1]]
        if any(w in REPEATED for w, _ in clause):
            return False
        measured = any(not q.label and span[0] <= q.start < span[1] for q in self.amounts)
        exact = moment.precision in ("day", "month")
        if any(w in EVENT_OF and abs(s - moment.start) < _FAR for w, s in clause):
            return exact or not measured
        return exact and not measured and verb_place(self.text[slice(*span)]) is not None

    def _on_paper(self, moment: Moment) -> bool:
        before = [w for w, s in self.lower if moment.start - 28 <= s < moment.start]
        return any(word in PAPER for word in before[-3:])

    def _said(self, name: Name) -> bool:
        """Whether the name is only the voice that speaks."""
        after = next((w for w, s in self.lower if s >= name.end), "")
        if after in SAID:
            return True
        before = [w for w, s in self.lower if s < name.start][-3:]
        return before[-2:] == ["according", "to"] or (before[-3:-1] == ["according", "to"])

    def _word_before(self, start: int) -> str:
        before = [w for w, s in self.lower if s < start]
        return stem(before[-1]) if before else ""


_Label = TypeVar("_Label")


def _within(
    spans: Sequence[tuple[int, int]], placed: Sequence[tuple[_Label, int]]
) -> tuple[_Label, ...]:
    """What stands in one of the spans, each once."""
    if not placed:
        return ()
    return tuple(dict.fromkeys(x for x, s in placed if any(a <= s < b for a, b in spans)))


def _merely_opens(name: Name) -> bool:
    return name.start <= 1 and " " not in name.text
