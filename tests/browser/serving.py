"""A real `starter.py serve` in a folder of its own, and Chromium to look at it.

The tests of pages and the gallery both stand on this: nothing in it is pretended.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

from playwright.sync_api import Browser, Playwright, ViewportSize

from console.devserver import server

ROOT = Path(__file__).resolve().parents[2]
TOKEN = "the-token-of-this-console"
SLOWLY = 100_000
"""Milliseconds that a busy machine may take for what is waited for."""
PHONE: ViewportSize = {"width": 390, "height": 844}

_FOREIGN = ("TEMPORAL_", "ANTHROPIC_", "RESEARCH_", "OTEL_")
# Nothing leaves this machine, and a container's root may start it.
_QUIET = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--disable-dev-shm-usage",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)


def chromium(playwright: Playwright) -> Browser | None:
    """Debian's package, or the one that `CHROMIUM` names; None where there is none."""
    found = os.environ.get("CHROMIUM") or shutil.which("chromium")
    if found is None:
        return None
    return playwright.chromium.launch(executable_path=found, args=list(_QUIET))


class Console:
    """A console that runs in `folder`, with what it keeps in `folder/state`."""

    def __init__(self, folder: Path, **env: str) -> None:
        self.folder = folder
        kept = {name: v for name, v in os.environ.items() if not name.startswith(_FOREIGN)}
        self.process = subprocess.Popen(
            [sys.executable, str(ROOT / "starter.py"), "serve", "--port", "0"],
            cwd=folder, text=True,
            env=kept | {"RESEARCH_HOME": "state", "RESEARCH_CONSOLE_TOKEN": TOKEN} | env,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        )  # fmt: skip
        assert self.process.stdout is not None
        said = self.process.stdout.readline()
        found = re.search(r"http://[^/]+", said)
        assert found, said or self.process.communicate()[1]
        self.address = found.group()

    @property
    def entrance(self) -> str:
        """The address that the terminal shows."""
        return f"{self.address}/?token={TOKEN}"

    @property
    def server(self) -> str:
        """Where its Temporal server answers."""
        record = json.loads((self.folder / "state" / "server.json").read_text())
        return f"127.0.0.1:{record['port']}"

    def temporal(self, *arguments: str) -> None:
        """Somebody else's hand on the server."""
        command = [str(server.find_binary()), "workflow", *arguments, "--address", self.server]
        subprocess.run(command, check=True, timeout=90, stdout=subprocess.DEVNULL)

    def start_behind_its_back(self, name: str, **request: str) -> None:
        """A job of another client on its own queue: no worker runs it until it is resumed."""
        start = ("start", "--type", "ResearchWorkflow", "--task-queue", f"research-{name}")
        self.temporal(*start, "--workflow-id", name, "--input", json.dumps(request))

    def close(self) -> str:
        """Ends it; what it complained of."""
        self.process.terminate()
        try:
            return self.process.communicate(timeout=60)[1]
        finally:
            self.process.kill()
