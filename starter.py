"""The front door: `python starter.py run "…" --corpus DIR`; `--help` shows the rest."""

from __future__ import annotations

from console.cli.app import app
from console.errors import leave

if __name__ == "__main__":
    try:
        app()
    except SystemExit as end:
        leave(end.code if isinstance(end.code, int) else 1)
