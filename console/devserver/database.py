"""The embedded server's SQLite file: its size, copies at one point in time, and compaction.

All of this works while the server runs: SQLite gives a reader of a file in WAL mode one state of
it, and others may write meanwhile.
"""

from __future__ import annotations

import os
import sqlite3
from contextlib import closing
from pathlib import Path

from console.errors import ConsoleError

DATABASE = "temporal.sqlite"
_BUSY_SECONDS = 30.0


def find_database(state_dir: str | Path) -> Path:
    return Path(state_dir) / DATABASE


def measure_database(state_dir: str | Path) -> int:
    """The bytes of the file and of what SQLite keeps beside it; 0 where there is none."""
    return sum(file.stat().st_size for file in Path(state_dir).glob(f"{DATABASE}*"))


def compact_database(state_dir: str | Path) -> None:
    """Rewrite the file without what was deleted from it.

    SQLite leaves deleted rows in free pages, and copies of pages in the write-ahead log, until
    they are used again.
    """
    try:
        with closing(_connect(find_database(state_dir))) as connection:
            connection.execute("VACUUM")
            busy, *_ = connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
    except sqlite3.Error as error:
        raise ConsoleError(
            f"{find_database(state_dir)} could not be compacted, so that deleted rows may still be"
            f" in the file: repeat the command when nothing else uses it ({error})."
        ) from error
    if busy:
        raise ConsoleError(
            f"The log of {find_database(state_dir)} is in use and still holds deleted rows: repeat"
            " the command when nothing else uses it."
        )


def copy_database(source: Path, target: Path) -> None:
    """One state of the file, complete and checked, in a new file."""
    with closing(_connect(source)) as connection, closing(sqlite3.connect(target)) as copy:
        # All pages in one step: in steps, a writer would make it start again each time.
        connection.backup(copy, pages=-1)
        copy.execute("PRAGMA journal_mode = DELETE")
        [[found]] = copy.execute("PRAGMA integrity_check")
    if found != "ok":
        raise ConsoleError(f"{source} is damaged ({found}): restore it from a backup.")
    target.chmod(0o600)
    with target.open("rb") as file:
        os.fsync(file.fileno())


def _connect(file: Path) -> sqlite3.Connection:
    return sqlite3.connect(file, timeout=_BUSY_SECONDS, isolation_level=None)
