"""The MCP servers of a worker: which tools a role has of them, and the calls.

`tools` and `call` never raise for what a server does: a server that is dead, slow, wrong or lying
gives a result that says so, and the conversation goes on. A tool that is gone or that is described
differently later is not called: neither the model nor the person who whitelisted it has seen that
description.
"""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import Mapping
from typing import TYPE_CHECKING

from activities.agent.messages import JsonObject, tool_error
from activities.mcp.connection import Connection, Trouble
from activities.mcp.server_settings import McpSettings, ServerSettings
from activities.mcp.tool_format import definition, result, tool_name
from activities.storage.store import Store

if TYPE_CHECKING:
    from mcp.types import CallToolResult

PAUSE_SECONDS = 30.0
"""For this long after a failed connection, calls fail without another attempt."""

log = logging.getLogger(__name__)


class McpServers:
    """Created once per worker; servers are connected when first needed, until `close`."""

    def __init__(
        self, settings: McpSettings, store: Store, environment: Mapping[str, str] | None = None
    ) -> None:
        """`environment` is where `${NAME}` is looked up: the worker's own, unless told."""
        self._store = store
        secrets = os.environ if environment is None else environment
        self._servers = [Server(name, server, secrets) for name, server in settings.servers.items()]
        self._tools = {
            tool_name(server.name, tool): (server, tool)
            for server in self._servers
            for tool in server.settings.tools
        }

    async def tools(self, role: str) -> list[JsonObject]:
        """The definitions of the tools this role may use, as the Messages API wants them."""
        servers = [server for server in self._servers if role in server.settings.roles]
        known = await asyncio.gather(*(server.definitions() for server in servers))
        return [
            definitions[tool]
            for server, definitions in zip(servers, known, strict=True)
            for tool in dict.fromkeys(server.settings.roles[role])
            if tool in definitions
        ]

    async def call(self, role: str, name: str, tool_input: JsonObject) -> JsonObject:
        """A `tool_result`'s content, its sources and passages, or an error in words."""
        server, tool = self._tools.get(name, (None, ""))
        if server is None or tool not in server.settings.roles.get(role, ()):
            return tool_error(f"the {role} has no tool {name!r}")
        try:
            answer = await server.call(tool, tool_input)
            limit = server.settings.max_characters
            return await result(self._store, server.name, tool, tool_input, answer, limit)
        except Trouble as trouble:
            return tool_error(
                f"the MCP server {server.name!r} {trouble}. "
                "What it could have told is unknown, which is not the same as nothing"
            )
        except Exception as crash:
            # The subagent can still answer from what it has; its report says what broke.
            log.exception("the tool %s crashed", name)
            return tool_error(f"{name} failed: {type(crash).__name__}")

    async def close(self) -> None:
        """Ends all connections; when this returns, the servers' processes are gone."""
        await asyncio.gather(*(server.close() for server in self._servers))


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
