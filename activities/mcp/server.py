"""One MCP server: its connection, and its tools as they were first described.

A tool that is gone or that is described differently later is not called: neither the model nor the
person who whitelisted it has seen that description.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from activities.mcp.connection import Connection, Trouble
from activities.mcp.definitions import definition
from activities.mcp.server_settings import ServerSettings

if TYPE_CHECKING:
    from mcp.types import CallToolResult

log = logging.getLogger(__name__)

JsonObject = dict[str, Any]
PAUSE_SECONDS = 30.0
"""For this long after a failed connection, calls fail without another attempt."""


class Server:
    def __init__(self, name: str, settings: ServerSettings, environment: Mapping[str, str]) -> None:
        self.name = name
        self.settings = settings
        self._environment = environment
        self._connection: Connection | None = None
        self._all: set[Connection] = set()
        self._known: dict[str, JsonObject | str] | None = None
        self._unreachable: Trouble | None = None
        self._again_at = 0.0
        self._closed = False

    async def definitions(self) -> dict[str, JsonObject]:
        """The whitelisted tools that can be used; none where the server cannot be reached."""
        if self._known is None:
            try:
                connection = self._connected()
                with connection.held():
                    await self._seen(connection)
            except Trouble as trouble:
                log.warning("the MCP server %r %s", self.name, trouble)
                return {}
        known = self._known or {}
        return {tool: found for tool, found in known.items() if isinstance(found, dict)}

    async def call(self, tool: str, arguments: JsonObject) -> CallToolResult:
        """What the tool returned; `Trouble` for all else."""
        connection = self._connected()
        with connection.held():
            offered = await self._seen(connection)
            known = (self._known or {})[tool]
            if isinstance(known, str):
                raise Trouble(f"cannot be asked for {tool!r}: {known}")
            if offered[tool] != known:
                now = offered[tool]
                changed = now if isinstance(now, str) else "it is described differently now"
                raise Trouble(
                    f"has changed its tool {tool!r} since this worker first saw it ({changed}); "
                    "it is not called until the worker is restarted"
                )
            return await connection.call(tool, arguments)

    async def close(self) -> None:
        self._closed = True
        await asyncio.gather(*(connection.closed() for connection in self._all))

    def _connected(self) -> Connection:
        """The open connection, or a new one; concurrent callers share one attempt."""
        if self._closed:
            raise Trouble("is closed: this worker is shutting down")
        if self._connection is None or self._connection.retired:
            if self._unreachable and asyncio.get_running_loop().time() < self._again_at:
                raise Trouble(str(self._unreachable))
            self._connection = Connection(self.name, self.settings, self._environment)
            self._all.add(self._connection)
            self._connection.when_gone(self._all.discard)
        return self._connection

    async def _seen(self, connection: Connection) -> dict[str, JsonObject | str]:
        """The whitelisted tools as the server describes them now, or why one cannot be used."""
        try:
            client = await connection.client()
            listed = await connection.tools()
        except Trouble as trouble:
            self._unreachable = trouble
            self._again_at = asyncio.get_running_loop().time() + PAUSE_SECONDS
            raise
        self._unreachable = None
        offered: dict[str, JsonObject | str] = {
            tool: definition(self.name, listed[tool], client.session)
            if tool in listed
            else "the server does not offer it"
            for tool in self.settings.tools
        }
        if self._known is None:
            self._known = offered
            for tool, why in offered.items():
                if isinstance(why, str):
                    log.warning("the tool %r of the MCP server %r is left out: %s",
                                tool, self.name, why)  # fmt: skip
        return offered
