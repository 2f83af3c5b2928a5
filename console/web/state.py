"""What all pages share: the server they ask, the store they read, and what is remembered.

What cannot change any more, a run that ended or a checkpoint that was kept, is asked for once.
"""

from __future__ import annotations

import asyncio
import secrets
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Hashable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, TypeVar

from console.client.checkpoints import Checkpoints
from console.client.session import Session

if TYPE_CHECKING:
    from temporalio.client import Client

Thing = TypeVar("Thing")
_MOMENT = 0.2

Tone = Literal["good", "warn", "bad", "busy"]


@dataclass(frozen=True)
class Notice:
    """A word at the top of a page."""

    text: str
    tone: Tone = "good"


class Memory:
    """The last things that were asked for; the oldest are forgotten."""

    def __init__(self, room: int) -> None:
        self._room = room
        self._known: OrderedDict[Hashable, Any] = OrderedDict()

    async def of(self, key: Hashable, ask: Callable[[], Awaitable[Thing]]) -> Thing:
        if key not in self._known:
            self.put(key, await ask())
        self._known.move_to_end(key)
        thing: Thing = self._known[key]
        return thing

    def put(self, key: Hashable, thing: object) -> None:
        self._known[key] = thing
        while len(self._known) > self._room:
            self._known.popitem(last=False)

    def take(self, key: Hashable) -> Any:
        return self._known.pop(key, None)


class Rooms:
    def __init__(self, client: Client, desk: Session) -> None:
        self.client = client
        self.desk = desk
        self.settings = desk.settings
        self.kept = Checkpoints.open(desk.settings)
        self.small = Memory(4000)
        """Questions, endings, rows of checkpoints."""
        self.results = Memory(6)
        """Whole results, which may be large."""
        self.points = Memory(40)
        """A job's checkpoints, with its last state."""
        self.trouble = ""
        """Why there is no worker, where there should be one."""
        self.closing: Callable[[], bool] = lambda: False
        self._notices = Memory(200)

    @property
    def temporal_ui(self) -> str:
        server = self.desk.server
        return server.web if server else ""

    async def pause(self, seconds: float) -> None:
        """Wait, though not beyond the console's own end."""
        for _ in range(max(1, round(seconds / _MOMENT))):
            if self.closing():
                return
            await asyncio.sleep(_MOMENT)

    def leave(self, notice: Notice) -> str:
        """Keep a word for the page that is shown next; its name goes into the address."""
        name = secrets.token_urlsafe(6)
        self._notices.put(name, notice)
        return name

    def left(self, name: str | None) -> Notice | None:
        found: Notice | None = self._notices.take(name) if name else None
        return found
