"""The MCP servers of a worker: which tools a role has of them, and the calls.

`tools` and `call` never raise for what a server does: a server that is dead, slow, wrong or lying
gives a result that says so, and the conversation goes on.
"""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import Mapping
from typing import Any

from activities.agent.messages import tool_error
from activities.mcp.connection import Trouble
from activities.mcp.definitions import tool_name
from activities.mcp.results import result
from activities.mcp.server import Server
from activities.mcp.server_settings import McpSettings
from activities.storage.store import Store

JsonObject = dict[str, Any]

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
        if not isinstance(tool_input, dict):
            return tool_error(f"{name} was called wrongly: its input is not an object")
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
