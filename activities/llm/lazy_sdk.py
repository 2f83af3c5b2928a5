"""Imports Anthropic's SDK when it is first used.

The SDK has three thousand modules and takes a second, longer than the rest of a worker's start-up.
So the activities import it from here, and a worker imports it in a thread while it connects and
polls; a subagent waits for that before its first turn (`Models.wait_until_loaded`).
"""

from __future__ import annotations

from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import anthropic as anthropic
else:

    class _Late(ModuleType):
        def __getattr__(self, name: str) -> Any:
            return getattr(import_module(self.__name__), name)

    anthropic = _Late("anthropic")


def load() -> None:
    """Import the SDK and the offline engine."""
    import_module("anthropic")
    import_module("activities.offline.transport")
