"""Words, and the terms they are compared by.

A term is the stem of a word's lemma: `built` and `build` are one term, and so are `renewal` and
`renewed`. Lemmas come from simplemma's dictionaries, stems from SQLite's own Porter tokenizer, so
that a stem computed here is the one in the full-text index.
"""

from __future__ import annotations

import re
import sqlite3
import threading
from functools import lru_cache

from activities.evidence.text.stopwords import STOP_WORDS, detect_language

TOKENIZER = "porter unicode61"
WORD = re.compile(r"[^\W_]+")
_CAMEL = re.compile(r"(?<=[a-z\d])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_REMEMBERED = 200_000


def words(text: str) -> list[str]:
    """The words and figures of a text, in lower case."""
    return WORD.findall(text.lower())


def terms(text: str, language: str | None = None) -> list[str]:
    """The terms of a text in order; function words are left out."""
    language = language or detect_language(text)
    stop = STOP_WORDS[language]
    return [term(word, language) for word in words(text) if word not in stop]


@lru_cache(maxsize=_REMEMBERED)
def term(word: str, language: str = "en") -> str:
    return stem(lemma(word, language))


@lru_cache(maxsize=_REMEMBERED)
def lemma(word: str, language: str = "en") -> str:
    """The dictionary form in lower case: `went` is `go`, `Häuser` is `haus`."""
    from simplemma import lemmatize  # its dictionary takes a fifth of a second to load

    if not word.isalpha() or len(word) < 3:
        return word.lower()
    found = lemmatize(word, lang=language)
    if language != "en" and word.islower():
        # German nouns are listed with capitals: `haus` is the noun, not a form of `hausen`.
        noun = lemmatize(word.capitalize(), lang=language)
        if found == word or noun == word.capitalize():
            found = noun
    return found.lower()


def is_word(word: str, language: str = "en") -> bool:
    """Whether the dictionary knows the word."""
    from simplemma import is_known

    return is_known(word, lang=language)


@lru_cache(maxsize=_REMEMBERED)
def word_terms(word: str, language: str = "en") -> frozenset[str]:
    """The term of a word as it is written, and those of the words inside it."""
    return frozenset(term(part, language) for part in (word.lower(), *inner_words(word)))


def inner_words(word: str) -> list[str]:
    """The words inside a name such as `maxRetries` or `HTTPServer`; empty for a plain word."""
    parts = _CAMEL.split(word)
    return [part.lower() for part in parts] if len(parts) > 1 else []


def extra_forms(text: str) -> str:
    """Forms of a text's words that stemming alone does not reach: `build` for `built`.

    Indexed beside the text, they let a search for one form find the other.
    """
    language = detect_language(text)
    known = set(WORD.findall(text))
    forms = {
        form
        for word in known
        for form in (lemma(word.lower(), language), *inner_words(word))
        if stem(form) != stem(word.lower())
    }
    return " ".join(sorted(forms - STOP_WORDS[language]))


def stem(word: str) -> str:
    """The stem of one word, as the full-text index has it."""
    return _STEMMER.stem(word)


class _Stemmer:
    """Stems by SQLite's tokenizer, in a table kept in memory. Safe for threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._known: dict[str, str] = {}
        self._database = sqlite3.connect(":memory:", check_same_thread=False)
        self._database.execute(f"CREATE VIRTUAL TABLE one USING fts5(w, tokenize='{TOKENIZER}')")
        self._database.execute("CREATE VIRTUAL TABLE stems USING fts5vocab(one, instance)")

    def stem(self, word: str) -> str:
        known = self._known.get(word)
        if known is None:
            with self._lock:
                known = self._look_up(word)
                if len(self._known) > _REMEMBERED:
                    self._known.clear()
                self._known[word] = known
        return known

    def _look_up(self, word: str) -> str:
        database = self._database
        with database:
            database.execute("DELETE FROM one")
            database.execute("INSERT INTO one VALUES (?)", (word,))
            found = database.execute('SELECT term FROM stems WHERE "offset" = 0').fetchone()
        return str(found[0]) if found else word


_STEMMER = _Stemmer()
