"""Reading many files: hashed and parsed in order, on several processes where that pays off.

Results come in the order of the files and a bounded number of them waits at a time, so memory
does not grow with the folder. A file that kills its process is reported as unreadable.

Small files can be built to take hours or all memory (forms within forms in a PDF). So formats that
can are read in a process with limits, which such a file ends instead of the worker.
"""

from __future__ import annotations

import multiprocessing
import os
import resource
import signal
from collections import deque
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import suppress
from dataclasses import dataclass

from activities.sources.documents import Unreadable
from activities.sources.folder import File, file_hash
from activities.sources.formats.parsing import Parsed, parse_file

_MOST_PROCESSES = 8
# Starting processes takes a second or two; below this many bytes it is not worth it.
_WORTH_A_POOL = 10_000_000
# Formats whose parsers can be led to do far more than the size of a file tells.
_CONFINED = frozenset({".pdf", ".docx", ".docm", ".pptx", ".pptm", ".xlsx", ".xlsm"})
SECONDS_PER_FILE = 60
_MEMORY = 2 * 1024**3
_confined = False


@dataclass(frozen=True, slots=True)
class Reading:
    """A file's hash and, unless it is the `known` one, what it gave."""

    file: File
    sha256: str
    parsed: Parsed | None


def read_files(files: Sequence[File], known: dict[str, str]) -> Iterator[Reading]:
    """Read the files; those whose hash is the one in `known` are not parsed."""
    new = (file for file in files if file.relative not in known)
    risky = any(file.path.suffix.lower() in _CONFINED for file in new)
    pool = _pool() if risky or sum(file.size for file in files) > _WORTH_A_POOL else None
    if pool is not None:
        yield from _read_in_processes(pool, files, known)
        return
    for file in files:
        yield _read(file, known.get(file.relative))


def _read(file: File, known: str | None) -> Reading:
    try:
        sha256 = file_hash(file.path)
    except OSError as error:
        reason = f"cannot be opened: {error.strerror or error}; check its rights"
        return Reading(file, "", Parsed(unreadable=(Unreadable(file.relative, reason),)))
    if sha256 == known:
        return Reading(file, sha256, None)
    if _confined:
        # Nobody handles it: the process ends, also in the middle of a library's own code.
        signal.alarm(SECONDS_PER_FILE)
    parsed = parse_file(file.path, file.relative)
    if _confined:
        signal.alarm(0)
    return Reading(file, sha256, parsed)


def confine() -> None:
    """Limits for a process that reads."""
    global _confined
    _confined = True
    # Not every system lets this be limited; the clock holds everywhere.
    with suppress(ValueError, OSError):
        resource.setrlimit(resource.RLIMIT_AS, (_MEMORY, _MEMORY))


def _read_in_processes(
    pool: ProcessPoolExecutor, files: Sequence[File], known: dict[str, str]
) -> Iterator[Reading]:
    waiting = deque(files)
    running: deque[tuple[File, Future[Reading]]] = deque()
    try:
        while waiting or running:
            while waiting and len(running) < 4 * _processes():
                file = waiting.popleft()
                running.append((file, _submit(pool, file, known.get(file.relative))))
            file, future = running.popleft()
            try:
                yield future.result()
            except BrokenProcessPool:
                # One of the files under way killed its process: each of them is read alone.
                pool.shutdown(wait=False, cancel_futures=True)
                for suspect in (file, *(other for other, _ in running)):
                    yield _read_alone(suspect, known.get(suspect.relative))
                running.clear()
                pool = _create_pool(_processes())
    finally:
        pool.shutdown(wait=False, cancel_futures=True)


def _submit(pool: ProcessPoolExecutor, file: File, known: str | None) -> Future[Reading]:
    """The reading under way; a pool that a file before it broke gives one that failed."""
    try:
        return pool.submit(_read, file, known)
    except BrokenProcessPool as broken:
        failed: Future[Reading] = Future()
        failed.set_exception(broken)
        return failed


def _read_alone(file: File, known: str | None) -> Reading:
    with _create_pool(1) as pool:
        try:
            return pool.submit(_read, file, known).result()
        except BrokenProcessPool:
            reason = (
                "crashes its parser or takes too much time or memory; open it and save it again,"
                " or remove it"
            )
            parsed = Parsed(unreadable=(Unreadable(file.relative, reason),))
            return Reading(file, file_hash(file.path), parsed)


def _pool() -> ProcessPoolExecutor | None:
    """A pool whose processes start, or None where they cannot: then everything is read here."""
    try:
        pool = _create_pool(_processes())
        pool.submit(os.getpid).result()
    except (BrokenProcessPool, OSError, RuntimeError, AssertionError):
        return None
    return pool


def _create_pool(processes: int) -> ProcessPoolExecutor:
    # A worker has threads; a forked copy of it could hold their locks for ever.
    spawn = multiprocessing.get_context("spawn")
    return ProcessPoolExecutor(processes, mp_context=spawn, initializer=confine)


def _processes() -> int:
    return min(_MOST_PROCESSES, os.cpu_count() or 1)
