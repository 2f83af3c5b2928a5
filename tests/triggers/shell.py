"""The commands of a README, run word for word beside a real server and a real worker."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Protocol

from console.devserver.server import find_binary, run_dev_server

ROOT = Path(__file__).resolve().parents[2]
OURS = ("TEMPORAL_", "ANTHROPIC_", "RESEARCH_", "OTEL_")


class Shell(Protocol):
    def __call__(self, line: str, **env: str) -> str:
        """What a line prints; it fails the test if its command fails."""


@contextmanager
def research_team(place: Path) -> Iterator[Shell]:
    """Runs a line as a person would, beside a server and `python worker.py`."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(OURS)}
    tools = f"{Path(sys.executable).parent}{os.pathsep}{find_binary().parent}"
    with run_dev_server(place / "temporal") as running, (place / "worker.log").open("wb") as log:
        env = kept | {
            "PATH": f"{tools}{os.pathsep}{kept.get('PATH', '')}",
            "TEMPORAL_ADDRESS": running.address,
            "RESEARCH_HOME": str(place / "home"),
        }
        worker = subprocess.Popen(
            [sys.executable, "worker.py"], cwd=ROOT, env=env, stdout=log, stderr=log
        )

        def run(line: str, **more: str) -> str:
            done = subprocess.run(
                ["/bin/sh", "-c", line],
                cwd=more.pop("PWD", ROOT),
                env=env | more,
                capture_output=True,
                text=True,
                timeout=240,
                check=False,
            )
            # Made by an earlier try on the same server.
            made = "create" in line and "already" in done.stderr.lower()
            assert done.returncode == 0 or made, f"{line}\n{done.stdout}{done.stderr}"
            return done.stdout

        try:
            yield run
        finally:
            worker.terminate()
            worker.wait(60)
