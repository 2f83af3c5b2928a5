"""Queries and their best chunks.

FTS5 finds the first 200 chunks; they are then scored again with BM25 and Lucene's IDF. FTS5's own
gives nothing for a term that stands in more than half of all chunks, which on a folder of twenty
files is most of what a question is about.
"""

from __future__ import annotations

import json
import math
import re
import sqlite3
import threading
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from itertools import chain

from activities.sources.database import TITLE_WEIGHT
from activities.sources.documents import DocumentMeta
from activities.sources.index import CHUNK_BITS, Row, Totals, meta, totals
from activities.sources.stems import STOP_WORDS, Stemmer, words

_K1, _B = 1.2, 0.75
CANDIDATES = 200
_MOST_TERMS = 32
_MOST_LOOKED_UP = 200
_MOST_WORDS = 5000
# In a corpus of this many chunks, no more than this share of them is looked at.
_LARGE = 20_000
_SHARE = 0.2


@dataclass(frozen=True, slots=True)
class Term:
    """A stem, with the number of chunks that hold it."""

    stem: str
    word: str
    chunks: int


@dataclass(frozen=True, slots=True)
class Chunk:
    """A chunk that was found."""

    number: int
    start: int
    body: str
    score: float
    document: DocumentMeta


def phrase(text: str) -> str | None:
    """Text as an FTS5 phrase; None if it holds no word. Nothing in it can be an operator."""
    found = words(text[:1000])[:20]
    return '"' + " ".join(found) + '"' if found else None


class Ranking:
    """Ranks the chunks of one index. Safe for threads."""

    def __init__(self, stemmer: Stemmer) -> None:
        self.stemmer = stemmer
        self._lock = threading.Lock()
        self._generation = -1
        self._frequencies: dict[str, int] = {}

    def terms(self, connection: sqlite3.Connection, text: str) -> list[Term]:
        """The terms of a query that stand in the corpus; the rarest if there are too many."""
        found = list(dict.fromkeys(words(text[: 20 * _MOST_WORDS])[:_MOST_WORDS]))
        meaningful = [word for word in found if word not in STOP_WORDS] or found
        stems = self.stemmer.stems(meaningful[:_MOST_LOOKED_UP])
        by_stem = {stem: word for word, stem in reversed(stems.items())}
        frequencies = self.frequencies(connection, list(by_stem))
        terms = [Term(s, word, frequencies[s]) for s, word in by_stem.items() if frequencies[s]]
        terms.sort(key=lambda term: (term.chunks, term.stem))
        return terms[:_MOST_TERMS]

    def search(
        self,
        connection: sqlite3.Connection,
        terms: Sequence[Term],
        *,
        within: str | None = None,
        excluded: Collection[int] = (),
        limit: int = CANDIDATES,
    ) -> list[Chunk]:
        """The best chunks for `terms`; `within` is an FTS5 expression they must match too."""
        if not terms:
            return []
        size = totals(connection)
        match = " OR ".join(f'"{term.word}"' for term in _selective(terms, size))
        if within is not None:
            match = f"({match}) AND ({within})"
        numbers = self.matching(connection, match, excluded=excluded, limit=limit)
        return self._scored(connection, terms, numbers, size)

    def matching(
        self,
        connection: sqlite3.Connection,
        match: str,
        *,
        excluded: Collection[int] = (),
        limit: int = CANDIDATES,
    ) -> list[int]:
        """Numbers of the chunks that match an FTS5 expression, best first."""
        rows = connection.execute(
            "SELECT rowid FROM passages WHERE passages MATCH ?"
            " AND (rowid >> ?) NOT IN (SELECT value FROM json_each(?))"
            " ORDER BY rank LIMIT ?",
            (match, CHUNK_BITS, json.dumps(sorted(excluded)), limit),
        )
        return [row[0] for row in rows]

    def scored(
        self, connection: sqlite3.Connection, terms: Sequence[Term], numbers: Iterable[int]
    ) -> list[Chunk]:
        """These chunks with their score for `terms`, best first."""
        return self._scored(connection, terms, list(numbers), totals(connection))

    def _scored(
        self,
        connection: sqlite3.Connection,
        terms: Sequence[Term],
        numbers: Sequence[int],
        size: Totals,
    ) -> list[Chunk]:
        rows = connection.execute(
            "SELECT c.number, c.start, c.words, c.body,"
            " d.number, d.id, d.uri, d.title, d.date, d.kind, d.sha256"
            " FROM chunks c JOIN documents d ON d.number = c.number >> ?"
            " WHERE c.number IN (SELECT value FROM json_each(?))",
            (
                CHUNK_BITS,
                json.dumps(list(numbers)),
            ),
        ).fetchall()
        weights = {
            term.stem: math.log(1 + (size.chunks - term.chunks + 0.5) / (term.chunks + 0.5))
            for term in terms
        }
        likely = _likely(weights)
        named = [_likely_words(likely, row[7]) for row in rows]
        told = [_likely_words(likely, row[3]) for row in rows]
        stems = self.stemmer.stems(chain.from_iterable(chain(named, told)))
        average = size.words / max(1, size.chunks)
        chunks = []
        for row, in_title, in_body in zip(rows, named, told, strict=True):
            number, start, length, body, *described = row
            counts: dict[str, float] = {}
            for found, weight in ((in_title, TITLE_WEIGHT), (in_body, 1.0)):
                for word in found:
                    if (stem := stems[word]) in weights:
                        counts[stem] = counts.get(stem, 0.0) + weight
            norm = _K1 * (1 - _B + _B * length / average)
            score = sum(
                weights[stem] * count * (_K1 + 1) / (count + norm) for stem, count in counts.items()
            )
            chunks.append(Chunk(number, start, body, round(score, 6), meta(_row(described))))
        chunks.sort(key=lambda chunk: (-chunk.score, chunk.document.id, chunk.number))
        return chunks

    def frequencies(self, connection: sqlite3.Connection, stems: Sequence[str]) -> dict[str, int]:
        """In how many chunks each stem stands; remembered until the corpus changes."""
        generation = totals(connection).generation
        with self._lock:
            if generation != self._generation:
                self._generation, self._frequencies = generation, {}
            known = {stem: self._frequencies[stem] for stem in stems if stem in self._frequencies}
        for stem in stems:
            if stem not in known:
                row = connection.execute(
                    "SELECT doc FROM vocabulary WHERE term = ?", (stem,)
                ).fetchone()
                known[stem] = row[0] if row else 0
        with self._lock:
            if generation == self._generation:
                self._frequencies.update(known)
        return known


def _likely(stems: Iterable[str]) -> re.Pattern[str]:
    """Words that begin like a stem: stemming changes only ends, so others need no stemming."""
    starts = "|".join(sorted({re.escape(stem[:2]) for stem in stems}))
    return re.compile(rf"(?<![^\W_])(?:{starts})[^\W_]*")


def _likely_words(likely: re.Pattern[str], text: str) -> list[str]:
    # Diacritics are folded by the tokenizer, so any word may match where they occur.
    return likely.findall(text.lower()) if text.isascii() else words(text)


def _row(values: Sequence[object]) -> Row:
    return tuple(values)  # type: ignore[return-value]


def _selective(terms: Sequence[Term], size: Totals) -> Sequence[Term]:
    """The rarest terms, as many as can be looked up in time; the others only order the result."""
    if size.chunks < _LARGE:
        return terms
    budget = _SHARE * size.chunks
    chosen: list[Term] = []
    postings = 0
    for term in terms:
        postings += term.chunks
        if postings > budget and postings - term.chunks >= CANDIDATES:
            break
        chosen.append(term)
    return chosen
