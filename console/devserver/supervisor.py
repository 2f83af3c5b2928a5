"""Supervise one child process, and stop it when its users are gone.

This module runs as a script, with the standard library only. It stops its child on SIGTERM, and
when its users have ended, even by SIGKILL: the kernel releases their file locks and closes their
pipes. On Linux the child also ends with the supervisor.

    users   no process holds a shared lock on the file `users` (a server with several users)
    pipe    standard input has ended (a worker of one process)

A server that dies while it has users is started again with the same command; its data is on disk.
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

POLL_SECONDS = 0.5
MAX_STARTS = 5
# A child that ends sooner than this is not started again.
MIN_LIFETIME = 2.0
_PR_SET_PDEATHSIG = 1


def command_line(spec: dict[str, Any]) -> list[str]:
    """The command of a supervisor.

    The spec has `command` and `grace`, and for a server `users`, `mutex` and `record`. Python runs
    isolated and without site packages, so that it starts in milliseconds.
    """
    return [sys.executable, "-I", "-S", __file__, json.dumps(spec)]


def read_log_tail(log: Path, count: int = 12, start: int = 0) -> str:
    """The last lines of a child's log, indented; empty if there is no log."""
    try:
        with log.open("rb") as file:
            file.seek(start)
            lines = file.read().decode("utf-8", "replace").splitlines()
    except OSError:
        return ""
    return "".join(f"\n    {line}" for line in lines[-count:])


def main() -> int:
    spec = json.loads(sys.argv[1])
    received: list[int] = []

    def on_signal(number: int, _frame: FrameType | None) -> None:
        received.append(number)

    wake, signal_end = os.pipe()
    os.set_blocking(signal_end, False)
    signal.set_wakeup_fd(signal_end)
    signal.signal(signal.SIGTERM, on_signal)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGHUP, signal.SIG_IGN)

    users = spec.get("users")
    is_unused = _watch_users(spec["mutex"], users) if users else _stdin_ended
    watched = [wake] if users else [wake, 0]
    for _ in range(MAX_STARTS if users else 1):
        since = time.monotonic()
        child = _launch(spec)
        try:
            while child.poll() is None and not received and not is_unused():
                if wake in select.select(watched, [], [], POLL_SECONDS)[0]:
                    os.read(wake, 64)
        finally:
            lived = time.monotonic() - since
            died = child.poll() is not None
            _stop(child, float(spec["grace"]))
        if received or not died or lived < MIN_LIFETIME:
            break
    return child.returncode if child.returncode >= 0 else 128 - child.returncode


def _launch(spec: dict[str, Any]) -> subprocess.Popen[bytes]:
    child = subprocess.Popen(  # noqa: S603
        spec["command"],
        stdin=subprocess.DEVNULL,
        # Safe here and only here: this process has one thread.
        preexec_fn=_end_with_supervisor,
    )
    if "record" in spec:
        _write(Path(spec["record"]), {**spec, "supervisor": os.getpid(), "child": child.pid})
    return child


def _watch_users(mutex: str, users: str) -> Callable[[], bool]:
    """A check that is True once there are no users; then no new user can join until this ends."""
    mutex_fd = os.open(mutex, os.O_RDWR | os.O_CREAT, 0o600)
    users_fd = os.open(users, os.O_RDWR | os.O_CREAT, 0o600)

    def is_unused() -> bool:
        if not _lock(mutex_fd):
            return False
        if _lock(users_fd):
            return True
        fcntl.flock(mutex_fd, fcntl.LOCK_UN)
        return False

    return is_unused


def _stdin_ended() -> bool:
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


def _end_with_supervisor() -> None:
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    signal.signal(signal.SIGHUP, signal.SIG_DFL)
    if sys.platform == "linux":
        import ctypes

        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)


if __name__ == "__main__":
    sys.exit(main())
