"""PostgreSQL on loopback for the cluster, in a folder of its own, with Temporal's schemas."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import tempfile
import time
from pathlib import Path

USER = "temporal"
STORES = {"temporal": "postgresql/v12/temporal", "temporal_visibility": "postgresql/v12/visibility"}
"""The databases, each with the schema that Temporal's tool has for it."""


def find_programs() -> Path | None:
    """The folder of PostgreSQL's programs; Debian does not put it on the PATH."""
    folders = [Path(folder) for folder in os.get_exec_path()]
    folders += sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)
    programs = ("initdb", "postgres", "pg_isready")
    complete = (f for f in folders if all((f / program).exists() for program in programs))
    return next(complete, None)


class Database:
    def __init__(self, programs: Path, port: int) -> None:
        self._programs = programs
        self.port = port
        self._owner = "postgres" if os.geteuid() == 0 else None
        """PostgreSQL refuses to run as root."""
        self._folder = Path(tempfile.mkdtemp(prefix="cluster-postgres-"))
        if self._owner:
            shutil.chown(self._folder, self._owner)
        self._data = self._folder / "data"
        self._run(
            "initdb", "-D", str(self._data), "-U", USER, "--auth=trust", "--no-sync", "-E", "UTF8"
        )
        self._process = self._start()

    def create_schemas(self, tool: Path) -> None:
        """Bring both databases to the schema of the tool's release."""
        base = [str(tool), "--plugin", "postgres12", "--ep", "127.0.0.1", "-p", str(self.port),
                "-u", USER]  # fmt: skip
        for name, schema in STORES.items():
            for arguments in (
                ["create"],
                ["setup-schema", "-v", "0.0"],
                ["update-schema", "--schema-name", schema],
            ):
                command = [*base, "--db", name, *arguments]
                subprocess.run(command, check=True, capture_output=True, text=True)

    def restart(self) -> None:
        """End it as a crash does, and start it again on its files."""
        self._process.send_signal(signal.SIGQUIT)
        self._process.wait(60)
        self._process = self._start()

    def close(self) -> None:
        self._process.send_signal(signal.SIGQUIT)
        self._process.wait(60)
        shutil.rmtree(self._folder, ignore_errors=True)

    def _start(self) -> subprocess.Popen[bytes]:
        command = [str(self._programs / "postgres"), "-D", str(self._data), "-p", str(self.port),
                   "-c", "listen_addresses=127.0.0.1", "-c", "unix_socket_directories=",
                   "-c", "max_connections=400"]  # fmt: skip
        with (self._folder / "log").open("ab") as log:
            process = subprocess.Popen(command, stdout=log, stderr=log, user=self._owner)
        ready = [str(self._programs / "pg_isready"), "-q", "-h", "127.0.0.1", "-p", str(self.port)]
        deadline = time.monotonic() + 60
        while subprocess.run(ready, check=False).returncode != 0:
            log_text = (self._folder / "log").read_text(errors="replace")[-1000:]
            assert process.poll() is None, f"PostgreSQL ended: {log_text}"
            assert time.monotonic() < deadline, f"PostgreSQL does not answer: {log_text}"
            time.sleep(0.1)
        return process

    def _run(self, program: str, *arguments: str) -> None:
        command = [str(self._programs / program), *arguments]
        subprocess.run(command, check=True, capture_output=True, user=self._owner)
