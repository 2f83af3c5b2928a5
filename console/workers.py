"""A worker as a child process: started, watched and stopped by the command that needs it.

Its output goes to `worker.log` in the state folder. A worker that dies while it is still starting
has something wrong with it, and the end of its log says what; one that dies later is replaced, for
the job itself is safe on the server.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType

from console import keeper
from console.faults import ConsoleError, last_lines
from workflows.config.settings import Settings

SCRIPT = Path(__file__).resolve().parent.parent / "worker.py"

_GRACE = 6.0
_STARTING_SECONDS = 10.0
_REPLACEMENTS = 5
_LOG_LIMIT = 5_000_000


class Worker:
    """One worker for one embedded server; ends with the process that made it, whatever happens."""

    def __init__(
        self,
        settings: Settings,
        address: str,
        script: Path | None = None,
        *,
        answers_only: bool = False,
    ) -> None:
        self.log = Path(settings.state_dir) / "worker.log"
        self._env = environment(settings, address, os.environ)
        if answers_only:
            # It runs workflows, which answer, and no subagents, which cost.
            self._env["RESEARCH_WORKER_SUBAGENTS"] = "0"
        self._command = [sys.executable, str(script or SCRIPT)]
        self._replaced = 0
        self._launch()

    def __enter__(self) -> Worker:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.stop()

    def look(self) -> str | None:
        """Replace the worker if it died, and say so; raise where another would only die too."""
        code = self._process.poll()
        if code is None:
            return None
        self._close()
        lived = time.monotonic() - self._since
        # Negative where the keeper itself was killed, above 128 where it tells of its worker.
        number = -code if code < 0 else code - 128
        how = f"was killed by signal {number}" if number > 0 else f"ended with code {code}"
        if (number <= 0 and lived < _STARTING_SECONDS) or self._replaced == _REPLACEMENTS:
            raise ConsoleError(
                f"The worker {how}; its log {self.log} ends:"
                f"{last_lines(self.log, start=self._offset)}"
            )
        self._replaced += 1
        self._launch()
        return f"The worker {how}; another one goes on where it was."

    def stop(self) -> None:
        """Ask it to drain, and end it if that takes too long: completed turns are kept anyway."""
        self._process.terminate()
        try:
            self._process.wait(_GRACE + 2)
        finally:
            self._close()
            # Reached with the process alive only on a second Ctrl-C; its keeper ends it then,
            # because the pipe is closed.

    def _launch(self) -> None:
        if self.log.exists() and self.log.stat().st_size > _LOG_LIMIT:
            self.log.unlink()
        with self.log.open("ab") as output:
            self._offset = output.tell()
            self._process = subprocess.Popen(  # noqa: S603
                keeper.command_line({"command": self._command, "grace": _GRACE}),
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


def environment(settings: Settings, address: str, env: Mapping[str, str]) -> dict[str, str]:
    """What the worker is told: this server and these folders, by absolute path.

    Temporal's other settings belong to some other server, a profile in its default place included.
    """
    # A worker of one command is nobody's to probe, and two would want the same port.
    kept = {
        name: value
        for name, value in env.items()
        if not name.startswith("TEMPORAL_") and name != "RESEARCH_HEALTH"
    }
    return kept | {
        "TEMPORAL_ADDRESS": address,
        "TEMPORAL_NAMESPACE": "default",
        "TEMPORAL_CONFIG_FILE": os.devnull,
        "RESEARCH_HOME": str(Path(settings.state_dir).resolve()),
        "RESEARCH_STORE": absolute_store(settings.store),
        "RESEARCH_WORKER_ROLE": "alone",
        "PYTHONUNBUFFERED": "1",
    }


def absolute_store(store: str) -> str:
    return store if "://" in store else str(Path(store).resolve())
