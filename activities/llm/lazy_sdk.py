"""Anthropic's SDK, loaded when something of it is first used.

It is three thousand modules and takes a second, longer than all else a worker needs in order to
start. So the activities take the SDK from here, and a worker loads it in a thread while it connects
and asks for work; a subagent waits for that before its first turn (`Models.wait_until_loaded`).
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
    """Returns when the SDK and the offline engine are there, whoever began to load them."""
    import_module("anthropic")
    import_module("activities.offline.skills")
