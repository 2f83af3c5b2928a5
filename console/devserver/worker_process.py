"""A worker as a child process of the command that needs it.

Its output goes to `worker.log` in the state folder. If a worker dies while it starts, the error
shows the end of that log; a worker that dies later is replaced, because the job is safe on the
server.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType

from console.devserver import supervisor
from console.devserver.supervisor import read_log_tail
from console.errors import ConsoleError
from workflows.config.settings import Settings
from workflows.contracts.request import TASK_QUEUE

SCRIPT = Path(__file__).resolve().parents[2] / "worker.py"

_GRACE = 6.0
_STARTING_SECONDS = 10.0
_REPLACEMENTS = 5
_LOG_LIMIT = 5_000_000


class WorkerProcess:
    """A worker for the embedded server; it ends with the process that started it."""

    def __init__(
        self,
        settings: Settings,
        address: str,
        script: Path | None = None,
        *,
        task_queue: str = TASK_QUEUE,
        subagents: bool = True,
    ) -> None:
        self.log = Path(settings.state_dir) / "worker.log"
        self._env = build_environment(settings, address, os.environ)
        self._env["RESEARCH_TASK_QUEUE"] = task_queue
        if not subagents:
            # It runs workflows, which answer queries and updates, and spends nothing.
            self._env["RESEARCH_WORKER_SUBAGENTS"] = "0"
        self._command = [sys.executable, str(script or SCRIPT)]
        self._replaced = 0
        self._launch()

    def __enter__(self) -> WorkerProcess:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.stop()

    def replace_if_dead(self) -> str | None:
        """Start another worker if this one died, and return a message.

        Raises `ConsoleError` if it died at its start or too often.
        """
        code = self._process.poll()
        if code is None:
            return None
        self._close()
        lived = time.monotonic() - self._since
        # Negative if the supervisor was killed, above 128 if its worker was.
        number = -code if code < 0 else code - 128
        how = f"was killed by signal {number}" if number > 0 else f"ended with code {code}"
        if (number <= 0 and lived < _STARTING_SECONDS) or self._replaced == _REPLACEMENTS:
            raise ConsoleError(
                f"The worker {how}; its log {self.log} ends:"
                f"{read_log_tail(self.log, start=self._offset)}"
            )
        self._replaced += 1
        self._launch()
        return f"The worker {how}; another one continues its work."

    def stop(self) -> None:
        """Let it drain, and end it if that takes too long: completed turns are stored."""
        self._process.terminate()
        try:
            self._process.wait(_GRACE + 2)
        finally:
            self._close()
            # After a second Ctrl-C the process may still run; closing the pipe makes its
            # supervisor end it.

    def _launch(self) -> None:
        if self.log.exists() and self.log.stat().st_size > _LOG_LIMIT:
            self.log.unlink()
        with self.log.open("ab") as output:
            self._offset = output.tell()
            self._process = subprocess.Popen(  # noqa: S603
                supervisor.command_line({"command": self._command, "grace": _GRACE}),
                stdin=subprocess.PIPE,
                stdout=output,
                stderr=subprocess.STDOUT,
                env=self._env,
                start_new_session=True,
            )
        self._since = time.monotonic()

    def _close(self) -> None:
        if self._process.stdin is not None:
            self._process.stdin.close()


def build_environment(settings: Settings, address: str, env: Mapping[str, str]) -> dict[str, str]:
    """The worker's environment: this server and these folders, by absolute path.

    Temporal's other variables, and the default profile, would name another server. Health endpoints
    are off, because two workers would need the same port.
    """
    kept = {
        name: value
        for name, value in env.items()
        if not name.startswith("TEMPORAL_")
        and name not in ("RESEARCH_HEALTH", "RESEARCH_CONSOLE_TOKEN")
    }
    store = settings.store
    return kept | {
        "TEMPORAL_ADDRESS": address,
        "TEMPORAL_NAMESPACE": "default",
        "TEMPORAL_CONFIG_FILE": os.devnull,
        "RESEARCH_HOME": str(Path(settings.state_dir).resolve()),
        "RESEARCH_STORE": store if "://" in store else str(Path(store).resolve()),
        "RESEARCH_WORKER_ROLE": "alone",
        "PYTHONUNBUFFERED": "1",
    }
