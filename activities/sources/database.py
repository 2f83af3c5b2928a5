"""The SQLite file of an index: its schema, how it is built and how it is read.

A file is built by one process, published, and never changed again. So any number of processes and
threads read it without locks, and building needs no journal: what is not finished is thrown away.
"""

from __future__ import annotations

import fcntl
import os
import sqlite3
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import quote

from activities.evidence.text.terms import TOKENIZER

TITLE_WEIGHT = 2.0
_SCHEMA_VERSION = 3

_SCHEMA = (
    "CREATE TABLE unreadable(path TEXT, uri TEXT, reason TEXT)",
    "CREATE INDEX unreadable_path ON unreadable(path)",
    # `labels` are separated by spaces.
    "CREATE TABLE documents("
    "number INTEGER PRIMARY KEY, id TEXT UNIQUE, path TEXT,"
    " uri TEXT, title TEXT, date TEXT, kind TEXT, sha256 TEXT, fingerprint BLOB, labels TEXT,"
    " recognised INTEGER)",
    "CREATE INDEX documents_path ON documents(path)",
    "CREATE INDEX documents_fingerprint ON documents(fingerprint)",
    # Files with the words of a document that another file gave.
    "CREATE TABLE copies(path TEXT, uri TEXT, number INTEGER)",
    "CREATE INDEX copies_path ON copies(path)",
    "CREATE INDEX copies_number ON copies(number)",
    "CREATE TABLE chunks("
    "number INTEGER PRIMARY KEY, start INTEGER, words INTEGER, section TEXT, body TEXT)",
    "CREATE TABLE totals(generation INTEGER, documents INTEGER, chunks INTEGER, words INTEGER)",
    "INSERT INTO totals VALUES (0, 0, 0, 0)",
    # The text stands in `chunks`; a second copy inside FTS5 would double the file. `forms` holds
    # what lemmas add to stems.
    "CREATE VIRTUAL TABLE passages USING fts5("
    f"title, body, forms, content='', tokenize='{TOKENIZER}', detail=full)",
    "CREATE VIRTUAL TABLE vocabulary USING fts5vocab(passages, row)",
    f"INSERT INTO passages(passages, rank) VALUES ('rank', 'bm25({TITLE_WEIGHT}, 1.0, 1.0)')",  # noqa: S608
    f"PRAGMA user_version = {_SCHEMA_VERSION}",
)


class IndexDamagedError(RuntimeError):
    """The local copy of an index is broken. The store has it: delete the copy."""


def open_for_building(path: Path) -> sqlite3.Connection:
    """A new index, or the copy of an earlier one, to be changed by one process."""
    connection = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
    for pragma in ("journal_mode = OFF", "synchronous = OFF", "cache_size = -32000"):
        connection.execute(f"PRAGMA {pragma}")
    if not connection.execute("PRAGMA user_version").fetchone()[0]:
        for statement in _SCHEMA:
            connection.execute(statement)
    return connection


class Database:
    """A finished index. Safe for threads; holds two files open between searches."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._lock = threading.Lock()
        self._idle: sqlite3.Connection | None = None
        # Tells every process that tidies up that this file is in use: see `is_in_use`.
        self._file = os.open(path, os.O_RDONLY)
        fcntl.flock(self._file, fcntl.LOCK_SH)
        try:
            with self.reading() as connection:
                found = connection.execute("PRAGMA user_version").fetchone()[0]
            if found != _SCHEMA_VERSION:
                raise IndexDamagedError(f"the index {path} is of another version ({found})")
        except BaseException:
            self.close()
            raise

    @contextmanager
    def reading(self) -> Iterator[sqlite3.Connection]:
        with self._lock:
            connection, self._idle = self._idle, None
        try:
            connection = connection or self._connect()
            yield connection
        except sqlite3.DatabaseError as error:
            if type(error) is not sqlite3.DatabaseError:  # a subclass says something else
                raise
            raise IndexDamagedError(f"the index {self._path} is damaged ({error})") from error
        finally:
            with self._lock:
                if self._idle is None and self._file >= 0:
                    self._idle, connection = connection, None
            if connection is not None:
                connection.close()

    def close(self) -> None:
        with self._lock:
            connection, self._idle = self._idle, None
            file, self._file = self._file, -1
        if connection is not None:
            connection.close()
        if file >= 0:
            os.close(file)

    def _connect(self) -> sqlite3.Connection:
        address = f"file:{quote(str(self._path))}?mode=ro&immutable=1"
        connection = sqlite3.connect(
            address, uri=True, isolation_level=None, check_same_thread=False
        )
        connection.execute("PRAGMA temp_store = MEMORY")
        connection.execute("PRAGMA cache_size = -8000")
        return connection


def is_in_use(path: Path) -> bool:
    """Whether a process has this index open."""
    file = os.open(path, os.O_RDONLY)
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(file)
    return False
