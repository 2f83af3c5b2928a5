"""Words and their stems, exactly as the full-text index sees them.

SQLite's own tokenizer does the stemming, in a table kept in memory, so a stem computed here is
the term in the index.
"""

from __future__ import annotations

import re
import sqlite3
import threading
from collections.abc import Iterable

TOKENIZER = "porter unicode61"

_WORD = re.compile(r"[^\W_]+")
_MOST_REMEMBERED = 200_000

STOP_WORDS = frozenset(
    {
        "a", "about", "above", "after", "again", "against", "all", "also", "am", "an", "and", "any",
        "are", "as", "at", "be", "because", "been", "before", "being", "below", "between", "both",
        "but", "by", "can", "could", "did", "do", "does", "doing", "don", "down", "during", "each",
        "either", "few", "for", "from", "further", "had", "has", "have", "having", "he", "her",
        "here", "hers", "him", "his", "how", "i", "if", "in", "into", "is", "it", "its", "itself",
        "just", "ll", "me", "might", "more", "most", "must", "my", "no", "nor", "not", "now", "of",
        "off", "on", "once", "only", "or", "other", "our", "ours", "out", "over", "own", "re", "s",
        "same", "shall", "she", "should", "so", "some", "such", "t", "than", "that", "the", "their",
        "theirs", "them", "then", "there", "these", "they", "this", "those", "through", "to", "too",
        "under", "until", "up", "upon", "us", "ve", "very", "was", "we", "were", "what", "when",
        "where", "which", "while", "who", "whom", "whose", "why", "will", "with", "would", "you",
        "your", "yours",
    }
)  # fmt: skip


def words(text: str) -> list[str]:
    """The words of a text in lower case."""
    return _WORD.findall(text.lower())


class Stemmer:
    """Stems by SQLite's tokenizer, remembered. Safe for threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._known: dict[str, str] = {}
        self._database = sqlite3.connect(":memory:", check_same_thread=False)
        self._database.execute(
            f"CREATE VIRTUAL TABLE words USING fts5(word, tokenize='{TOKENIZER}')"
        )
        self._database.execute("CREATE VIRTUAL TABLE stems USING fts5vocab(words, instance)")

    def stem(self, word: str) -> str:
        return self.stems((word,))[word]

    def stems(self, given: Iterable[str]) -> dict[str, str]:
        """The stem of each word; of several tokens in one, the first."""
        wanted = list(dict.fromkeys(given))
        with self._lock:
            missing = [word for word in wanted if word not in self._known]
            if missing:
                if len(self._known) + len(missing) > _MOST_REMEMBERED:
                    self._known.clear()
                    missing = wanted
                self._learn(missing)
            return {word: self._known[word] for word in wanted}

    def close(self) -> None:
        with self._lock:
            self._database.close()

    def _learn(self, missing: list[str]) -> None:
        database = self._database
        with database:
            database.execute("DELETE FROM words")
            database.executemany("INSERT INTO words(rowid, word) VALUES (?, ?)", enumerate(missing))
            found = database.execute('SELECT doc, term FROM stems WHERE "offset" = 0').fetchall()
        stems = dict(found)
        self._known.update((word, stems.get(n, word)) for n, word in enumerate(missing))
