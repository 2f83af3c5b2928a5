"""Settings are refused with the file, the field and what to do."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from activities.mcp.server_settings import McpSettings, McpSettingsError

GOOD: dict[str, Any] = {"command": "archive", "roles": {"researcher": ["lookup"]}}


def refused(tmp_path: Path, content: object) -> str:
    path = tmp_path / "mcp.json"
    path.write_text(content if isinstance(content, str) else json.dumps(content))
    with pytest.raises(McpSettingsError) as wrong:
        McpSettings.load(path, {})
    assert str(path) in str(wrong.value)
    return str(wrong.value)


def test_good_settings_are_taken_as_they_stand(tmp_path: Path) -> None:
    path = tmp_path / "mcp.json"
    remote = {
        "url": "https://archive.example/mcp",
        "headers": {"Authorization": "Bearer ${TOKEN}"},
        "roles": {"verifier": ["check"], "planner": ["check", "list"]},
    }
    path.write_text(json.dumps({"servers": {"near": GOOD, "far": remote}}))
    settings = McpSettings.load(path, {"TOKEN": "secret"})
    assert settings.servers["near"].timeout_seconds == 30
    assert settings.servers["near"].max_characters == 40_000
    assert settings.servers["far"].tools == ("check", "list")
    assert "secret" not in settings.model_dump_json()


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        ({"comand": "x"}, "servers.archive.comand is no setting; remove it or use command, args"),
        ({"roles": {"writer": ["lookup"]}}, "the role 'writer' cannot be given MCP tools"),
        ({"roles": {"evaluator": ["lookup"]}}, "name tools for planner, researcher or verifier"),
        ({"roles": {"researcher": []}}, "servers.archive.roles.researcher"),
        ({"roles": {}}, "servers.archive.roles"),
        ({"timeout_seconds": 0}, "servers.archive.timeout_seconds"),
        ({"url": "https://x"}, "either a command to start or a url"),
        ({"command": None}, "either a command to start or a url"),
        ({"command": None, "url": "ftp://x"}, "https:// or http://"),
        ({"args": ["--key=${KEY}"]}, "pass ${NAME} in env"),
        ({"headers": {"A": "b"}}, "headers belong to a url"),
        ({"env": {"KEY": "${NOT_THERE}"}}, "servers.archive.env.KEY asks for NOT_THERE"),
    ],
)
def test_a_wrong_field_is_named_with_its_remedy(
    tmp_path: Path, change: dict[str, Any], complaint: str
) -> None:
    assert complaint in refused(tmp_path, {"servers": {"archive": GOOD | change}})


def test_a_wrong_file_is_named_with_its_remedy(tmp_path: Path) -> None:
    assert "is not JSON" in refused(tmp_path, "{")
    assert "servers is missing; add it" in refused(tmp_path, {})
    assert "server is no setting" in refused(tmp_path, {"server": {}, "servers": {}})
    assert "no name for a server" in refused(tmp_path, {"servers": {"My Server": GOOD}})
    missing = tmp_path / "missing.json"
    with pytest.raises(McpSettingsError, match="RESEARCH_MCP"):
        McpSettings.load(missing, {})
