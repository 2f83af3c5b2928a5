"""Plain search as a peer: what a short script finds in the same documents for the same question.

    FTS5   SQLite's full-text search as it comes: Porter stems, every word of the question, `bm25()`
    BM25   Lucene's formula (k1 1.2, b .75) over sentences or chunks, without stop words, on the
           stems of the same Porter stemmer

Neither knows anything of the product. Both give text of a wanted length, the best first.
"""

from __future__ import annotations

import re
import sqlite3
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from math import log

from benchmarks.quality.report_text import cut_words

_K1, _B = 1.2, 0.75
_TOKENIZER = "porter unicode61"
STOP_WORDS = frozenset(
    """a an and are as at be been but by can did do does for from had has have how i if in into is
    it its no not of on or our such that the their them then there these they this to was we were
    what when where which who whom whose why will with would you your""".split()  # noqa: SIM905
)


class Fts5:
    """SQLite's own ranking over titles and texts."""

    def __init__(self, documents: Iterable[tuple[str, str]]) -> None:
        self._db = sqlite3.connect(":memory:", check_same_thread=False)
        self._db.execute(f"CREATE VIRTUAL TABLE t USING fts5(title, text, tokenize='{_TOKENIZER}')")
        self._db.executemany(
            "INSERT INTO t(rowid, title, text) VALUES (?, ?, ?)",
            ((n, title, text) for n, (title, text) in enumerate(documents)),
        )

    def rank(self, question: str, limit: int) -> list[int]:
        """The numbers of the best documents."""
        words = " OR ".join(f'"{word}"' for word in re.findall(r"\w+", question))
        if not words:
            return []
        rows = self._db.execute(
            "SELECT rowid FROM t WHERE t MATCH ? ORDER BY bm25(t), rowid LIMIT ?", (words, limit)
        )
        return [number for (number,) in rows]


class Bm25:
    """Lucene's BM25 over texts."""

    def __init__(self, texts: Sequence[str]) -> None:
        self._postings: defaultdict[str, list[tuple[int, int]]] = defaultdict(list)
        self._lengths: Counter[int] = Counter()
        for number, term, count in _count_stems(texts):
            self._postings[term].append((number, count))
            self._lengths[number] += count
        self._size = len(texts)
        self._mean = sum(self._lengths.values()) / max(1, self._size)

    def rank(self, question: str, limit: int | None = None) -> list[int]:
        """The numbers of the texts that share a word with the question, best first."""
        scores: defaultdict[int, float] = defaultdict(float)
        for _, term, _ in _count_stems([question]):
            found = self._postings.get(term, [])
            rarity = log(1 + (self._size - len(found) + 0.5) / (len(found) + 0.5))
            for number, count in found:
                length = 1 - _B + _B * self._lengths[number] / self._mean
                scores[number] += rarity * count * (_K1 + 1) / (count + _K1 * length)
        return sorted(scores, key=lambda number: (-scores[number], number))[:limit]


def join_until(texts: Iterable[str], words: int) -> str:
    """Texts one after the other until there are so many words."""
    taken: list[str] = []
    missing = words
    for text in texts:
        if missing <= 0:
            break
        taken.append(cut_words(text, missing))
        missing -= len(taken[-1].split())
    return " ".join(taken)


def _count_stems(texts: Sequence[str]) -> list[tuple[int, str, int]]:
    """Which stem stands how often in which text: SQLite's tokenizer lists them."""
    db = sqlite3.connect(":memory:")
    try:
        db.execute(f"CREATE VIRTUAL TABLE t USING fts5(text, tokenize='{_TOKENIZER}')")
        db.execute("CREATE VIRTUAL TABLE v USING fts5vocab(t, 'instance')")
        db.executemany(
            "INSERT INTO t(rowid, text) VALUES (?, ?)",
            ((n, _drop_stop_words(text)) for n, text in enumerate(texts)),
        )
        return db.execute("SELECT doc, term, count(*) FROM v GROUP BY doc, term").fetchall()
    finally:
        db.close()


def _drop_stop_words(text: str) -> str:
    return " ".join(w for w in re.findall(r"\w+", text.lower()) if w not in STOP_WORDS)
