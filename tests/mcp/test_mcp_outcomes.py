"""Whatever a server does to a call, the subagent is told in words, and no process stays behind."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.mcp.conftest import HERE, archive, opened, pids, said, until_gone, until_noticed

LOOKUP = "mcp__archive__lookup"


async def test_a_server_that_cannot_be_started_costs_its_tools_and_nothing_else(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    lost = {"command": "/no/such/program", "roles": {"researcher": ["lookup"]}}
    async with opened(tmp_path, {"lost": lost, "archive": archive(tmp_path)}) as servers:
        assert [tool["name"] for tool in await servers.tools("researcher")] == [LOOKUP]
        assert "'lost'" in caplog.text
        assert "No such file or directory" in caplog.text
        answer = said(await servers.call("researcher", "mcp__lost__lookup", {}))
        assert "'lost' could not be started" in answer
        assert "unknown" in answer


async def test_a_server_that_exits_at_once_is_told_of(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    gone = {"command": "false", "roles": {"researcher": ["lookup"]}}
    async with opened(tmp_path, {"gone": gone}) as servers:
        assert await servers.tools("researcher") == []
        assert "could not be started or reached" in caplog.text


async def test_a_server_that_speaks_garbage_is_told_of_with_how_much(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    babbler = {
        "command": "sh",
        "args": [
            "-c",
            f"echo $$ >> {tmp_path}/pids; echo nonsense; while read x; do echo more; done",
        ],
        "roles": {"researcher": ["lookup"]},
        "start_seconds": 3,
    }
    async with opened(tmp_path, {"babbler": babbler}) as servers:
        # Those who come while it is tried share its fate, and its time limit.
        first, second = await asyncio.gather(
            servers.tools("researcher"), servers.call("researcher", "mcp__babbler__lookup", {})
        )
        assert first == []
        assert "was not ready within 3 seconds; lines it wrote that are not MCP: " in said(second)
        assert "not MCP" in caplog.text
        assert len(pids(tmp_path)) == 1


async def test_noise_between_the_messages_is_passed_over(tmp_path: Path) -> None:
    async with opened(tmp_path, {"archive": archive(tmp_path, "noisy")}) as servers:
        result = await servers.call("researcher", LOOKUP, {"query": "weir"})
        assert "is_error" not in result


async def test_death_in_mid_call_is_an_outcome_and_the_next_call_finds_it_alive(
    tmp_path: Path,
) -> None:
    settings = archive(tmp_path, tools=["lookup", "die"])
    async with opened(tmp_path, {"archive": settings}) as servers:
        assert "ended the connection during the call of 'die'" in said(
            await servers.call("researcher", "mcp__archive__die", {})
        )
        assert "is_error" not in await servers.call("researcher", LOOKUP, {})
        assert len(pids(tmp_path)) == 2


async def test_death_between_calls_is_not_noticed_by_the_next_one(tmp_path: Path) -> None:
    settings = archive(tmp_path, tools=["lookup", "farewell"])
    async with opened(tmp_path, {"archive": settings}) as servers:
        await servers.call("researcher", "mcp__archive__farewell", {})
        await until_gone(pids(tmp_path)[0])
        await until_noticed(servers)
        assert "is_error" not in await servers.call("researcher", LOOKUP, {})


async def test_a_call_that_hangs_ends_at_its_limit_and_leaves_the_others_alone(
    tmp_path: Path,
) -> None:
    settings = archive(tmp_path, tools=["hang", "lookup"], timeout_seconds=4)
    async with opened(tmp_path, {"archive": settings}) as servers:
        hung, looked_up = await asyncio.gather(
            servers.call("researcher", "mcp__archive__hang", {}),
            servers.call("researcher", LOOKUP, {}),
        )
        assert "did not answer the call of 'hang' within 4 seconds" in said(hung)
        assert "is_error" not in looked_up


async def test_a_cancelled_call_is_cancelled_and_costs_no_other(tmp_path: Path) -> None:
    settings = archive(tmp_path, tools=["hang", "lookup"])
    async with opened(tmp_path, {"archive": settings}) as servers:
        assert await servers.tools("researcher")
        call = asyncio.create_task(servers.call("researcher", "mcp__archive__hang", {}))
        await asyncio.sleep(0)
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call
        assert "is_error" not in await servers.call("researcher", LOOKUP, {})
        assert len(pids(tmp_path)) == 1


async def test_closing_ends_the_calls_under_way_in_words(tmp_path: Path) -> None:
    settings = archive(tmp_path, tools=["hang"])
    async with opened(tmp_path, {"archive": settings}) as servers:
        assert await servers.tools("researcher")
        call = asyncio.create_task(servers.call("researcher", "mcp__archive__hang", {}))
        await asyncio.sleep(0)
        await servers.close()
        assert "'archive'" in said(await call)
        late = await servers.call("researcher", "mcp__archive__hang", {})
        assert "shutting down" in said(late)


async def test_a_tool_that_is_described_differently_later_is_not_called(tmp_path: Path) -> None:
    settings = archive(tmp_path, "changing", tools=["lookup", "die"])
    async with opened(tmp_path, {"archive": settings}) as servers:
        before = await servers.tools("researcher")
        await servers.call("researcher", "mcp__archive__die", {})
        answer = said(await servers.call("researcher", LOOKUP, {}))
        assert "has changed its tool 'lookup'" in answer
        assert "restarted" in answer
        assert await servers.tools("researcher") == before


async def test_a_list_that_is_not_mcp_is_a_problem_in_words(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    liar = {
        "command": sys.executable,
        "args": [str(HERE / "liar.py"), str(tmp_path)],
        "roles": {"researcher": ["lookup"]},
        "start_seconds": 90,
    }
    async with opened(tmp_path, {"liar": liar}) as servers:
        assert await servers.tools("researcher") == []
        assert "breaks its own word or the protocol" in caplog.text
        assert "the request for its tools" in said(
            await servers.call("researcher", "mcp__liar__lookup", {})
        )


async def test_only_what_the_settings_name_reaches_the_servers_environment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "key-of-the-worker")
    monkeypatch.setenv("ARCHIVE_TOKEN", "token-for-the-archive\n")
    settings = archive(tmp_path, tools=["environment"], env={"TOKEN": "Bearer ${ARCHIVE_TOKEN}"})
    async with opened(tmp_path, {"archive": settings}) as servers:
        result = await servers.call("researcher", "mcp__archive__environment", {})
        seen = json.loads(result["content"][1]["content"][0]["text"])
    assert seen["TOKEN"] == "Bearer token-for-the-archive"
    assert {"ANTHROPIC_API_KEY", "ARCHIVE_TOKEN"} & set(seen) == set()
    assert set(seen) <= {"HOME", "LANG", "LC_CTYPE", "LOGNAME", "PATH", "SHELL", "TERM", "TOKEN",
                         "USER"}  # fmt: skip


async def test_a_server_over_http_is_used_in_the_same_way_and_its_loss_told(tmp_path: Path) -> None:
    command = [sys.executable, str(HERE / "archive.py"), "http", str(tmp_path)]
    process = await asyncio.create_subprocess_exec(*command)
    try:
        async with asyncio.timeout(90):
            while not (tmp_path / "port").exists():  # noqa: ASYNC110
                await asyncio.sleep(0.05)
        port = (tmp_path / "port").read_text()
        there = {
            "url": f"http://127.0.0.1:{port}/mcp",
            "roles": {"researcher": ["lookup"]},
            "start_seconds": 60,
        }
        async with opened(tmp_path, {"archive": there}) as servers:
            assert "is_error" not in await servers.call("researcher", LOOKUP, {})
            process.kill()
            await process.wait()
            assert "'archive'" in said(await servers.call("researcher", LOOKUP, {}))
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()


def test_a_worker_without_servers_does_not_import_mcp() -> None:
    check = "import sys, activities.mcp; sys.exit('mcp' in sys.modules)"
    subprocess.run([sys.executable, "-c", check], check=True, cwd=HERE.parent.parent, timeout=60)
