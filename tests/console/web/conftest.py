"""The API and a finished job, one for all modules that open pages beside it."""

from __future__ import annotations

from tests.console.api.conftest import api, finished, temporal

__all__ = ["api", "finished", "temporal"]
