"""Runs one program for as long as somebody needs it, and leaves nothing behind.

Started as a script of its own, with the standard library only. It stops its program when it is told
to (SIGTERM), and when those it works for are gone, however they went: the kernel drops their file
locks and closes their pipes even after SIGKILL. On Linux the program also dies with its keeper.

    users   nobody holds a shared lock on the file `users` any more (a server shared by many)
    pipe    standard input has ended (a worker that belongs to one process)

A server that dies under its users is started again as it was; what it had stored is on disk.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

LOOK_EVERY = 0.5
LIVES = 5
# What ends sooner than this would end again.
INFANCY = 2.0
_PR_SET_PDEATHSIG = 1


def command_line(order: dict[str, Any]) -> list[str]:
    """How to start a keeper: `command`, `grace`, and `users` with `mutex` and `record`, or a pipe.

    Isolated and without site packages: it starts in a few milliseconds and no setting reaches it.
    """
    return [sys.executable, "-I", "-S", __file__, json.dumps(order)]


def main() -> int:
    order = json.loads(sys.argv[1])
    told: list[int] = []

    def hear(number: int, _frame: FrameType | None) -> None:
        told.append(number)

    wake, bell = os.pipe()
    os.set_blocking(bell, False)
    signal.set_wakeup_fd(bell)
    signal.signal(signal.SIGTERM, hear)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGHUP, signal.SIG_IGN)

    users = order.get("users")
    deserted = _unused(order["mutex"], users) if users else _ended
    watched = [wake] if users else [wake, 0]
    for _ in range(LIVES if users else 1):
        since = time.monotonic()
        child = _launch(order)
        try:
            while child.poll() is None and not told and not deserted():
                if wake in select.select(watched, [], [], LOOK_EVERY)[0]:
                    os.read(wake, 64)
        finally:
            lived = time.monotonic() - since
            died = child.poll() is not None
            _stop(child, float(order["grace"]))
        if told or not died or lived < INFANCY:
            break
    return child.returncode if child.returncode >= 0 else 128 - child.returncode


def _launch(order: dict[str, Any]) -> subprocess.Popen[bytes]:
    child = subprocess.Popen(  # noqa: S603
        order["command"],
        stdin=subprocess.DEVNULL,
        # Safe here and only here: this process has one thread.
        preexec_fn=_die_with_keeper,
    )
    if "record" in order:
        _write(Path(order["record"]), {**order, "keeper": os.getpid(), "child": child.pid})
    return child


def _unused(mutex: str, users: str) -> Callable[[], bool]:
    """True once nobody uses the program; from then on nobody can come in until this ends."""
    door = os.open(mutex, os.O_RDWR | os.O_CREAT, 0o600)
    seats = os.open(users, os.O_RDWR | os.O_CREAT, 0o600)

    def deserted() -> bool:
        if not _lock(door):
            return False
        if _lock(seats):
            return True
        fcntl.flock(door, fcntl.LOCK_UN)
        return False

    return deserted


def _ended() -> bool:
    readable, _, _ = select.select([0], [], [], 0)
    return bool(readable) and not os.read(0, 1)


def _lock(descriptor: int) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


def _write(record: Path, content: dict[str, Any]) -> None:
    draft = record.with_suffix(f".{os.getpid()}")
    draft.write_text(json.dumps(content), encoding="utf-8")
    draft.replace(record)


def _stop(child: subprocess.Popen[bytes], grace: float) -> None:
    if child.poll() is None:
        with contextlib.suppress(ProcessLookupError):
            child.terminate()
        try:
            child.wait(grace)
        except subprocess.TimeoutExpired:
            child.kill()
            child.wait()


def _die_with_keeper() -> None:
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    signal.signal(signal.SIGHUP, signal.SIG_DFL)
    if sys.platform == "linux":
        import ctypes

        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)


if __name__ == "__main__":
    sys.exit(main())
