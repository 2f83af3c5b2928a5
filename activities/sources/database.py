"""The SQLite file under the index: its schema, its connections, and who may write.

WAL mode lets any number of processes and threads read while one writes. A refresh additionally
holds a lock file, so that two workers do not read the same folder at once; the operating system
releases it when a worker dies.
"""

from __future__ import annotations

import queue
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from activities.evidence.text.terms import TOKENIZER

TITLE_WEIGHT = 2.0

_BUSY_SECONDS = 60.0
_LOCK_SECONDS = 1800.0
_SCHEMA = (
    "CREATE TABLE files("
    "path TEXT PRIMARY KEY, size INTEGER, mtime_ns INTEGER, sha256 TEXT) WITHOUT ROWID",
    "CREATE TABLE unreadable(path TEXT, uri TEXT, reason TEXT)",
    "CREATE INDEX unreadable_path ON unreadable(path)",
    "CREATE TABLE documents("
    "number INTEGER PRIMARY KEY, id TEXT UNIQUE, path TEXT,"
    " uri TEXT, title TEXT, date TEXT, kind TEXT, sha256 TEXT, fingerprint BLOB)",
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
    "PRAGMA user_version = 1",
)


class IndexBusyError(TimeoutError):
    """Another process is refreshing the same index and does not finish."""


class IndexDamagedError(RuntimeError):
    """The index file is broken. It holds nothing that is not in the folder: delete it."""


class Database:
    """One SQLite file and a pool of connections to it. Safe for threads."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._idle: queue.LifoQueue[sqlite3.Connection] = queue.LifoQueue()
        path.parent.mkdir(parents=True, exist_ok=True)
        with self._guarded():
            self._create()

    @contextmanager
    def reading(self) -> Iterator[sqlite3.Connection]:
        """A connection that sees one state of the corpus throughout."""
        with self._guarded(), self._borrowed() as connection:
            connection.execute("BEGIN")
            try:
                yield connection
            finally:
                connection.execute("ROLLBACK")

    @contextmanager
    def writing(self) -> Iterator[sqlite3.Connection]:
        """A connection whose changes are stored together, or not at all."""
        with self._guarded(), self._borrowed() as connection:
            connection.execute("BEGIN IMMEDIATE")
            try:
                yield connection
                connection.execute("UPDATE totals SET generation = generation + 1")
            except BaseException:
                connection.execute("ROLLBACK")
                raise
            connection.execute("COMMIT")

    @contextmanager
    def refreshing(self, patience: float = _LOCK_SECONDS) -> Iterator[None]:
        """Only one at a time, over all processes, is inside."""
        lock = sqlite3.connect(f"{self.path}.lock", timeout=patience, isolation_level=None)
        try:
            try:
                lock.execute("BEGIN EXCLUSIVE")
            except sqlite3.OperationalError as error:
                raise IndexBusyError(
                    f"another process has been refreshing {self.path} for {patience:.0f} s; "
                    "wait for it, or end it and try again"
                ) from error
            yield
        finally:
            lock.close()

    def close(self) -> None:
        """Close all connections that are not in use."""
        while True:
            try:
                self._idle.get_nowait().close()
            except queue.Empty:
                return

    def _create(self) -> None:
        with self._borrowed() as connection:
            if self._is_made(connection):
                return
        with self.refreshing(), self._borrowed() as connection:
            if not self._is_made(connection):
                connection.execute("PRAGMA journal_mode = WAL")
                connection.execute("BEGIN IMMEDIATE")
                for statement in _SCHEMA:
                    connection.execute(statement)
                connection.execute(
                    "INSERT INTO passages(passages, rank) VALUES ('rank', ?)",
                    (f"bm25({TITLE_WEIGHT}, 1.0, 1.0)",),
                )
                connection.execute("COMMIT")

    @staticmethod
    def _is_made(connection: sqlite3.Connection) -> bool:
        return bool(connection.execute("PRAGMA user_version").fetchone()[0])

    @contextmanager
    def _borrowed(self) -> Iterator[sqlite3.Connection]:
        try:
            connection = self._idle.get_nowait()
        except queue.Empty:
            connection = self._connect()
        try:
            yield connection
        finally:
            self._idle.put(connection)

    def _connect(self) -> sqlite3.Connection:
        connection = sqlite3.connect(
            self.path, timeout=_BUSY_SECONDS, isolation_level=None, check_same_thread=False
        )
        connection.execute("PRAGMA synchronous = NORMAL")
        connection.execute("PRAGMA temp_store = MEMORY")
        connection.execute("PRAGMA cache_size = -32000")
        return connection

    @contextmanager
    def _guarded(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.DatabaseError as error:
            if type(error) is not sqlite3.DatabaseError:  # a subclass says something else
                raise
            raise IndexDamagedError(
                f"the index {self.path} is damaged ({error}); delete it and refresh again"
            ) from error
