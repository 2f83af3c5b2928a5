"""Queries and their best chunks.

FTS5 finds the first 200 chunks. They are scored again with BM25 over terms (stems of lemmas) and
Lucene's IDF, because FTS5's own gives nothing for a term that stands in more than half of all
chunks, which on a folder of twenty files is most of what a question is about. The two orders are
fused by reciprocal rank.

The fused order never loses what plain search finds. A second FTS5 query holds every word as it was
written, stop words too, because a title may consist of them. The first four documents it finds are
the first four of the result, and its first ten the first ten; the fused order decides among them,
and on all others.
"""

from __future__ import annotations

import json
import math
import sqlite3
import threading
from bisect import bisect_right
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from activities.evidence.text.headings import asks_for_changes, heads_release_notes
from activities.evidence.text.terms import STOP_WORDS, detect_language, lemma, stem, term, words
from activities.sources.database import TITLE_WEIGHT
from activities.sources.documents import DocumentMeta
from activities.sources.index import CHUNK_BITS, META, Row, Totals, find_split, meta, totals

_K1, _B = 1.2, 0.75
_FUSION = 60  # the usual constant of reciprocal rank fusion
# Release notes repeat a manual's words, one change at a time: they come after the manual.
_RELEASE_NOTES = 0.7
_FIRST = (4, 10)
"""So many documents of plain search come first."""
CANDIDATES = 200
RANK, _PLAIN_RANK = f"bm25({TITLE_WEIGHT}, 1.0, 1.0)", "bm25(1.0, 1.0, 0.0)"
_MOST_TERMS = 32
_MOST_LOOKED_UP = 200
_MOST_WORDS = 5000
# In a corpus of this many chunks, no more than this share of them is looked at.
_LARGE = 20_000
_SHARE = 0.2


@dataclass(frozen=True, slots=True)
class QueryTerm:
    """A term of a query, the words to look it up by, and the number of chunks that hold it."""

    term: str
    forms: tuple[str, ...]
    chunks: int
    is_stop_word: bool = False
    """Looked for by plain search only."""


@dataclass(frozen=True, slots=True)
class Chunk:
    """A chunk that was found."""

    number: int
    start: int
    section: str
    body: str
    score: float
    document: DocumentMeta


def phrase(text: str) -> str | None:
    """Text as an FTS5 phrase; None if it holds no word. Nothing in it can be an operator."""
    found = words(text[:1000])[:20]
    return '"' + " ".join(found) + '"' if found else None


class Ranking:
    """Ranks the chunks of one index. Safe for threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._generation = -1
        self._frequencies: dict[str, int] = {}

    def terms(self, connection: sqlite3.Connection, text: str) -> list[QueryTerm]:
        """The terms of a query that stand in the corpus; the rarest if there are too many."""
        language = detect_language(text)
        found = list(dict.fromkeys(words(text[: 20 * _MOST_WORDS])[:_MOST_WORDS]))
        meaningful = [word for word in found if word not in STOP_WORDS[language]] or found
        others = [word for word in found[:_MOST_LOOKED_UP] if word not in meaningful]
        forms: dict[str, dict[str, None]] = {}
        for word in meaningful[:_MOST_LOOKED_UP]:
            forms.setdefault(term(word, language), {}).update(
                {word: None, lemma(word, language): None}
            )
        for joined in self._compounds(connection, found):
            forms.setdefault(term(joined, language), {})[joined] = None
        looked_up = [*others, *(form for own in forms.values() for form in own)]
        frequencies = self.frequencies(connection, [stem(form) for form in looked_up])
        asked = [
            QueryTerm(key, tuple(own), max(frequencies[stem(form)] for form in own))
            for key, own in forms.items()
        ]
        asked = [t if t.chunks else _split(connection, t) for t in asked]
        asked += [QueryTerm(word, (word,), frequencies[stem(word)], True) for word in others]
        asked = [t for t in asked if t.chunks]
        asked.sort(key=lambda t: (t.is_stop_word, t.chunks, t.term))
        return asked[:_MOST_TERMS]

    def search(
        self,
        connection: sqlite3.Connection,
        asked: Sequence[QueryTerm],
        *,
        excluded: Collection[int] = (),
        limit: int = CANDIDATES,
    ) -> list[Chunk]:
        """The best chunks for the terms."""
        size = totals(connection)
        asked = _selective(asked, size)
        match = _any_of(form for t in asked if not t.is_stop_word for form in t.forms)
        if not match:
            return []
        numbers = self.matching(connection, match, excluded=excluded, limit=limit)
        plain = self.matching(
            connection,
            f"{{title body}} : ({_any_of(t.forms[0] for t in asked)})",
            rank=_PLAIN_RANK,
            excluded=excluded,
            limit=limit,
        )
        firsts = {number >> CHUNK_BITS: number for number in reversed(plain)}
        kept = sorted(firsts.values(), key=plain.index)[: _FIRST[-1]]
        chunks = self._scored(connection, asked, list(dict.fromkeys((*kept, *numbers))), size)
        fused = _fuse(chunks, numbers)
        if not asks_for_changes(" ".join(form for t in asked for form in t.forms)):
            for chunk in chunks:
                if heads_release_notes(chunk.document.title, chunk.section):
                    fused[chunk.number] *= _RELEASE_NOTES
        chunks = [replace(chunk, score=round(fused[chunk.number], 6)) for chunk in chunks]
        places = {number: bisect_right(_FIRST, place) for place, number in enumerate(kept)}
        chunks.sort(key=lambda chunk: (places.get(chunk.number, len(_FIRST)), *_order(chunk)))
        return chunks

    def matching(
        self,
        connection: sqlite3.Connection,
        match: str,
        *,
        rank: str = RANK,
        excluded: Collection[int] = (),
        limit: int = CANDIDATES,
    ) -> list[int]:
        """Numbers of the chunks that match an FTS5 expression, best first."""
        rows = connection.execute(
            "SELECT rowid FROM passages WHERE passages MATCH ? AND rank MATCH ?"
            " AND (rowid >> ?) NOT IN (SELECT value FROM json_each(?))"
            " ORDER BY rank LIMIT ?",
            (match, rank, CHUNK_BITS, json.dumps(sorted(excluded)), limit),
        )
        return [row[0] for row in rows]

    def scored(
        self, connection: sqlite3.Connection, asked: Sequence[QueryTerm], numbers: Iterable[int]
    ) -> list[Chunk]:
        """These chunks with their score for the terms, best first."""
        return self._scored(connection, asked, list(numbers), totals(connection))

    def frequencies(self, connection: sqlite3.Connection, stems: Sequence[str]) -> dict[str, int]:
        """In how many chunks each stem stands; remembered until the corpus changes."""
        generation = totals(connection).generation
        with self._lock:
            if generation != self._generation:
                self._generation, self._frequencies = generation, {}
            known = {each: self._frequencies[each] for each in stems if each in self._frequencies}
        for each in stems:
            if each not in known:
                row = connection.execute(
                    "SELECT doc FROM vocabulary WHERE term = ?", (each,)
                ).fetchone()
                known[each] = row[0] if row else 0
        with self._lock:
            if generation == self._generation:
                self._frequencies.update(known)
        return known

    def _compounds(self, connection: sqlite3.Connection, found: Sequence[str]) -> list[str]:
        """Neighbours in the query that the corpus writes as one word: `set up` as `setup`."""
        pairs = [a + b for a, b in pairwise(found) if a.isalpha() and b.isalpha()]
        held = self.frequencies(connection, [stem(pair) for pair in pairs])
        return [pair for pair in pairs if held[stem(pair)]]

    def _scored(
        self,
        connection: sqlite3.Connection,
        asked: Sequence[QueryTerm],
        numbers: Sequence[int],
        size: Totals,
    ) -> list[Chunk]:
        rows = connection.execute(
            f"SELECT c.number, c.start, c.words, c.section, c.body, {META}"  # noqa: S608
            " FROM chunks c JOIN documents d ON d.number = c.number >> ?"
            " WHERE c.number IN (SELECT value FROM json_each(?))",
            (CHUNK_BITS, json.dumps(list(numbers))),
        ).fetchall()
        weights = {
            t.term: math.log(1 + (size.chunks - t.chunks + 0.5) / (t.chunks + 0.5))
            for t in asked
            if not t.is_stop_word
        }
        terms_of = _Terms(asked)
        average = size.words / max(1, size.chunks)
        chunks = []
        for number, start, length, section, body, *described in rows:
            document = meta(_row(described))
            counts: dict[str, float] = {}
            for text, weight in ((document.title, TITLE_WEIGHT), (section, 1.0), (body, 1.0)):
                for each in terms_of(text):
                    counts[each] = counts.get(each, 0.0) + weight
            norm = _K1 * (1 - _B + _B * length / average)
            score = sum(
                weights[each] * count * (_K1 + 1) / (count + norm) for each, count in counts.items()
            )
            chunks.append(Chunk(number, start, section, body, round(score, 6), document))
        chunks.sort(key=_order)
        return chunks


class _Terms:
    """The query's terms in a text, once for each time they stand there."""

    def __init__(self, asked: Sequence[QueryTerm]) -> None:
        self._asked = {t.term for t in asked if not t.is_stop_word}
        self._language = detect_language(" ".join(form for t in asked for form in t.forms))
        self._by_word: dict[str, str | None] = {}

    def __call__(self, text: str) -> list[str]:
        found = []
        known = self._by_word
        for word in words(text):
            if word not in known:
                own = term(word, self._language)
                known[word] = own if own in self._asked else None
            if held := known[word]:
                found.append(held)
        return found


def _split(connection: sqlite3.Connection, asked: QueryTerm) -> QueryTerm:
    """A term that stands nowhere, looked up as two words that stand together."""
    parts = find_split(connection, asked.forms[0])
    return replace(asked, forms=(parts,), chunks=1) if parts else asked


def _any_of(forms: Iterable[str]) -> str:
    return " OR ".join(f'"{form}"' for form in forms)


def _fuse(chunks: Sequence[Chunk], numbers: Sequence[int]) -> dict[int, float]:
    """Two orders as one. That of FTS5 counts as much: neither is better on every corpus."""
    found = {number: place for place, number in enumerate(numbers)}
    return {
        chunk.number: 1 / (_FUSION + place) + 1 / (_FUSION + found.get(chunk.number, len(found)))
        for place, chunk in enumerate(chunks)
    }


def _order(chunk: Chunk) -> tuple[float, str, int]:
    return -chunk.score, chunk.document.id, chunk.number


def _row(values: Sequence[object]) -> Row:
    return tuple(values)  # type: ignore[return-value]


def _selective(asked: Sequence[QueryTerm], size: Totals) -> Sequence[QueryTerm]:
    """The rarest terms, as many as can be looked up in time; the others only order the result."""
    if size.chunks < _LARGE:
        return asked
    budget = _SHARE * size.chunks
    chosen: list[QueryTerm] = []
    postings = 0
    for each in asked:
        postings += each.chunks
        if postings > budget and postings - each.chunks >= CANDIDATES:
            break
        chosen.append(each)
    return chosen
