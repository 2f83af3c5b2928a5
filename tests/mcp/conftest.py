"""Servers in processes of their own, and the proof that they are gone when a test is over."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from activities.mcp.server_settings import McpSettings
from activities.mcp.servers import McpServers
from activities.storage.store import Store

JsonObject = dict[str, Any]
HERE = Path(__file__).parent


def archive(folder: Path, mode: str = "serve", **more: Any) -> JsonObject:
    """The settings of the test server; `tools` are for the researcher."""
    tools = more.pop("tools", ["lookup"])
    return {
        "command": sys.executable,
        "args": [str(HERE / "archive.py"), mode, str(folder)],
        "roles": {"researcher": tools},
        "start_seconds": 90,
        "timeout_seconds": 60,
        **more,
    }


@asynccontextmanager
async def opened(
    folder: Path, servers: JsonObject, environment: Mapping[str, str] | None = None
) -> AsyncIterator[McpServers]:
    settings = McpSettings.model_validate({"servers": servers})
    open_servers = McpServers(settings, Store.open(str(folder / "store")), environment)
    try:
        yield open_servers
    finally:
        await open_servers.close()
        assert [pid for pid in pids(folder) if alive(pid)] == []


def pids(folder: Path) -> list[int]:
    """The processes of every start of a server in this folder."""
    kept = folder / "pids"
    return [int(pid) for pid in kept.read_text().split()] if kept.exists() else []


def alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


async def until_gone(pid: int) -> None:
    async with asyncio.timeout(60):
        while alive(pid):  # noqa: ASYNC110 - a process tells nobody that it has ended
            await asyncio.sleep(0.05)


async def until_noticed(servers: McpServers) -> None:
    """The process is gone before the end of its output has been read."""
    [server] = servers._servers
    async with asyncio.timeout(60):
        while server._connection and not server._connection.retired:  # noqa: ASYNC110
            await asyncio.sleep(0.05)


def said(result: JsonObject) -> str:
    """The words of an error, which must be one."""
    assert result["is_error"] is True
    assert [block["type"] for block in result["content"]] == ["text"]
    return str(result["content"][0]["text"])
