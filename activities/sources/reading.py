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

_FILES_PER_TASK = 64
_BYTES_PER_TASK = 4 * 1024 * 1024
_MOST_PROCESSES = 8
# Starting processes takes a second or two; below this many seconds of work it is not worth it.
_WORTH_A_POOL = 5.0
_SECONDS_PER_FILE = 0.0003
_SECONDS_PER_MEGABYTE = {
    ".pdf": 2.0, ".docx": 1.0, ".pptx": 1.0, ".xlsx": 10.0, ".html": 0.3, ".md": 1.0, ".rst": 4.0,
}  # fmt: skip
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


@dataclass(frozen=True, slots=True)
class Task:
    files: tuple[File, ...]
    known: tuple[str | None, ...]


def read_files(files: Sequence[File], known: dict[str, str]) -> Iterator[Reading]:
    """Read the files; those whose hash is the one in `known` are not parsed."""
    tasks = list(_tasks(files, known))
    new = (file for file in files if file.relative not in known)
    risky = any(file.path.suffix.lower() in _CONFINED for file in new)
    if not risky and (_estimate(files) < _WORTH_A_POOL or (os.cpu_count() or 1) < 2):
        for task in tasks:
            yield from read_task(task)
        return
    yield from _in_processes(tasks)


def read_task(task: Task) -> list[Reading]:
    return [_read(file, known) for file, known in zip(task.files, task.known, strict=True)]


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


def _estimate(files: Sequence[File]) -> float:
    return sum(_SECONDS_PER_FILE + file.size / 1e6 * _rate(file) for file in files)


def _rate(file: File) -> float:
    return _SECONDS_PER_MEGABYTE.get(file.path.suffix.lower(), 0.15)


def _tasks(files: Sequence[File], known: dict[str, str]) -> Iterator[Task]:
    group: list[File] = []
    size = 0
    for file in files:
        if group and (len(group) == _FILES_PER_TASK or size + file.size > _BYTES_PER_TASK):
            yield Task(tuple(group), tuple(known.get(f.relative) for f in group))
            group, size = [], 0
        group.append(file)
        size += file.size
    if group:
        yield Task(tuple(group), tuple(known.get(f.relative) for f in group))


def _in_processes(tasks: list[Task]) -> Iterator[Reading]:
    waiting = deque(tasks)
    running: deque[tuple[Task, Future[list[Reading]]]] = deque()
    pool = _pool()
    try:
        if pool is None:
            for task in tasks:
                yield from read_task(task)
            return
        workers = _processes()
        while waiting or running:
            while waiting and len(running) < 3 * workers:
                task = waiting.popleft()
                running.append((task, pool.submit(read_task, task)))
            task, future = running.popleft()
            try:
                yield from future.result()
            except BrokenProcessPool:
                # Some file of the tasks under way killed its process: read these one by one.
                pool.shutdown(wait=False, cancel_futures=True)
                for suspect in (task, *(other for other, _ in running)):
                    yield from _one_by_one(suspect)
                running.clear()
                pool = _pool()
                if pool is None:
                    raise
    finally:
        if pool is not None:
            pool.shutdown(wait=False, cancel_futures=True)


def _one_by_one(task: Task) -> Iterator[Reading]:
    pool: ProcessPoolExecutor | None = None
    for file, known in zip(task.files, task.known, strict=True):
        pool = pool or ProcessPoolExecutor(1, mp_context=_context(), initializer=confine)
        try:
            yield from pool.submit(read_task, Task((file,), (known,))).result()
        except BrokenProcessPool:
            pool = None
            reason = (
                "crashes its parser or takes too much time or memory; open it and save it again,"
                " or remove it"
            )
            parsed = Parsed(unreadable=(Unreadable(file.relative, reason),))
            yield Reading(file, file_hash(file.path), parsed)
    if pool is not None:
        pool.shutdown()


def _pool() -> ProcessPoolExecutor | None:
    """A pool whose processes start, or None where they cannot: then everything is read here."""
    try:
        pool = ProcessPoolExecutor(_processes(), mp_context=_context(), initializer=confine)
        pool.submit(os.getpid).result()
    except (BrokenProcessPool, OSError, RuntimeError, AssertionError):
        return None
    return pool


def _processes() -> int:
    return min(_MOST_PROCESSES, os.cpu_count() or 1)


def _context() -> multiprocessing.context.SpawnContext:
    # A worker has threads; a forked copy of it could hold their locks for ever.
    return multiprocessing.get_context("spawn")
