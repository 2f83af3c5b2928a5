"""Files parsed in processes of their own, a bounded number for all jobs of a worker.

Small files can be built to take hours or all memory (forms within forms in a PDF), so formats that
allow it are parsed in a process with limits: such a file ends that process instead of the worker,
and is reported as unreadable. A cancelled parse ends its process at once.

A parser process ends with its worker, whatever ends that: on Linux the kernel kills it, elsewhere
it looks once a second for its parent, and the end of its input ends it everywhere.
It is given no secrets of the environment, and its answer is JSON, not a pickle.

    python -m activities.sources.parser_processes PARENT_PID [ocr]
"""

from __future__ import annotations

import asyncio
import ctypes
import json
import os
import resource
import signal
import sys
import threading
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import suppress
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

from pydantic import TypeAdapter

from activities.sources.documents import Unreadable
from activities.sources.formats.parsing import OFFICE, Parsed, parse_file
from activities.sources.formats.recognition import TextBox, recognise
from activities.storage.document_sources import IMAGES

if TYPE_CHECKING:
    from PIL.Image import Image

PARSED = TypeAdapter(Parsed)
"""How what a file gave is stored."""
SECONDS_PER_FILE = 60
SECONDS_PER_SCANNED_PAGE = 120
_MEMORY = 2 * 1024**3
_MAX_PROCESSES = 8
_IDLE_SECONDS = 20.0
_LENGTH_BYTES = 8
# Formats whose parsers can be led to do far more than the size of a file tells.
_CONFINED = OFFICE | IMAGES | {".pdf"}
_PASSED_ON = ("PATH", "LANG", "LC_ALL", "TMPDIR")
_PR_SET_PDEATHSIG = 1
_CRASHED = (
    "crashes its parser or takes too much time or memory; open it and save it again, or remove it"
)


def is_confined(path: str) -> bool:
    return PurePosixPath(path).suffix.lower() in _CONFINED


class Parsers:
    """Parser processes, started when they are needed and ended when they are idle."""

    def __init__(self, processes: int | None = None, *, ocr: bool = False) -> None:
        self._ocr = ocr
        most = processes or min(_MAX_PROCESSES, os.cpu_count() or 1)
        self._slots = asyncio.Semaphore(most)
        self._idle: list[asyncio.subprocess.Process] = []
        self._idle_timer: asyncio.TimerHandle | None = None

    async def parse(self, files: Sequence[tuple[Path, str]]) -> list[bytes]:
        """What each file gives, as JSON, from where it is and its name in the corpus."""
        answers: list[bytes] = []
        if not files:
            return answers
        async with self._slots:
            while len(answers) < len(files):
                process = self._idle.pop() if self._idle else await _start(self._ocr)
                try:
                    async for answer in _ask(process, files[len(answers) :]):
                        answers.append(answer)
                except BaseException:
                    await _end(process)
                    raise
                if len(answers) == len(files):
                    self._idle.append(process)
                    break
                await _end(process)
                path = files[len(answers)][1]
                refused = Parsed(unreadable=(Unreadable(path, _CRASHED),))
                answers.append(PARSED.dump_json(refused))
            self._end_idle_later()
        return answers

    async def close(self) -> None:
        if self._idle_timer is not None:
            self._idle_timer.cancel()
        while self._idle:
            await _end(self._idle.pop())

    def _end_idle_later(self) -> None:
        if self._idle_timer is not None:
            self._idle_timer.cancel()
        self._idle_timer = asyncio.get_running_loop().call_later(_IDLE_SECONDS, self._end_idle)

    def _end_idle(self) -> None:
        while self._idle:
            with suppress(ProcessLookupError):
                self._idle.pop().kill()


async def _start(ocr: bool) -> asyncio.subprocess.Process:
    environment = {name: os.environ[name] for name in _PASSED_ON if name in os.environ}
    environment["PYTHONPATH"] = os.pathsep.join(map(os.path.abspath, sys.path))
    return await asyncio.create_subprocess_exec(
        sys.executable, "-P", "-m", "activities.sources.parser_processes", str(os.getpid()),
        *(["ocr"] if ocr else []),
        stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL, env=environment,
        # Ctrl-C is for the worker, which ends its parsers.
        start_new_session=True,
    )  # fmt: skip


async def _ask(
    process: asyncio.subprocess.Process, files: Sequence[tuple[Path, str]]
) -> AsyncIterator[bytes]:
    """The answers of a parser process, up to the file it died over."""
    assert process.stdin is not None  # noqa: S101
    assert process.stdout is not None  # noqa: S101
    with suppress(asyncio.IncompleteReadError, ConnectionError):
        for place, path in files:
            process.stdin.write(json.dumps([str(place), path]).encode() + b"\n")
        await process.stdin.drain()
        for _ in files:
            length = int.from_bytes(await process.stdout.readexactly(_LENGTH_BYTES))
            yield await process.stdout.readexactly(length)


async def _end(process: asyncio.subprocess.Process) -> None:
    with suppress(ProcessLookupError):
        process.kill()
    await process.wait()


# --- in the process -----------------------------------------------------------------------------


def main(parent: int, ocr: bool) -> None:
    _end_with_parent(parent)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    # Not every system lets memory be limited; the clock holds everywhere.
    with suppress(ValueError, OSError):
        resource.setrlimit(resource.RLIMIT_AS, (_MEMORY, _MEMORY))
    # A library that prints must not write into the answer.
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    for line in sys.stdin.buffer:
        place, path = json.loads(line)
        # Nobody handles it: the process ends, also in the middle of a library's own code.
        signal.alarm(SECONDS_PER_FILE)
        parsed = parse_file(Path(place), path, recognise=_recognise_in_time if ocr else None)
        signal.alarm(0)
        answer = PARSED.dump_json(parsed)
        answers.write(len(answer).to_bytes(_LENGTH_BYTES) + answer)
        answers.flush()


def _recognise_in_time(image: Image) -> list[TextBox]:
    """Every page has a time of its own, as recognition takes seconds for each."""
    signal.alarm(SECONDS_PER_SCANNED_PAGE)
    return recognise(image)


def _end_with_parent(parent: int) -> None:
    with suppress(OSError, AttributeError):
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        os._exit(1)  # it ended before the kernel was told
    if sys.platform != "linux":
        threading.Thread(target=_watch_parent, args=(parent,), daemon=True).start()


def _watch_parent(parent: int) -> None:
    while os.getppid() == parent:
        time.sleep(1.0)
    os._exit(1)


if __name__ == "__main__":
    main(int(sys.argv[1]), sys.argv[2:] == ["ocr"])
