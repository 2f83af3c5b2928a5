"""Odd command lines and settings: each ends with code 2 and a remedy, none with a traceback.

One process imports the program and forks for every case, so that a case is as cheap as a fork and
as real as a process: arguments are bytes, and output has an encoding.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from tests.console.conftest import ROOT

_DRIVER = """
import gc, json, os, sys
sys.path.insert(0, sys.argv[1])
import console.cli.app
from console import client
for name in ("session", "validation", "research_request", "runs", "jobs", "checkpoints"):
    getattr(client, name)
import console.api.application, console.mcp.mcp_server
import console.runtime.connection, console.web.serve
# A collection in a child would copy every page that holds an object.
gc.collect()
gc.freeze()

def run(case, folder):
    pid = os.fork()
    if pid == 0:
        os.chdir(folder)
        for number, name in ((1, "out"), (2, "err")):
            os.dup2(os.open(f"{folder}/{name}", os.O_WRONLY | os.O_CREAT | os.O_TRUNC), number)
        os.environ.update(case["env"])
        sys.argv = ["starter.py", *case["arguments"]]
        console.cli.app.main()
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])

for line in sys.stdin:
    case = json.loads(line)
    print(run(case, case["folder"]), flush=True)
"""
LONG = "a" * 5000
BYTES = "\udcff\udcfe"
"""What Python makes of arguments that are not valid UTF-8."""
RUN = ("run", "Why?", "--corpus", "docs")


@dataclass(frozen=True)
class Case:
    arguments: tuple[str, ...]
    env: dict[str, str] = field(default_factory=dict)
    code: int = 2


def case(*arguments: str, code: int = 2, **env: str) -> Case:
    return Case(arguments, env, code)


CASES = [
    # Arguments that are not text.
    case("run", BYTES, "--corpus", "docs"),
    case("run", "Why?", "--corpus", BYTES),
    case("run", "Why?", "--corpus", "docs", "--out", BYTES),
    case("run", "Why?", "--corpus", "docs", "--id", BYTES),
    case("run", "Why?", "--corpus", "docs", "--model", BYTES),
    case("run", "Why?", "--corpus", "docs", "--effort", BYTES),
    case("run", "Why?", "--corpus", "docs", "--allow-domain", BYTES, "--web"),
    case("run", "Why?", "--corpus", "docs", "--approve-within", BYTES),
    case("status", BYTES),
    case("steer", "x1", "--note", BYTES),
    case("steer", "x1", "--add-facet", f"{BYTES}: {BYTES}"),
    case("approve", "x1", "--plan", BYTES),
    case("approve", "x1", "--note", BYTES, "--reject"),
    case("fork", "x1", "--set", f"model={BYTES}"),
    case(BYTES),
    case("list", "--status", BYTES),
    case("serve", "--host", BYTES),
    case("serve", "--token-file", "missing"),
    case("serve", "--token-file", "loop/a"),
    case("schedule", "show", BYTES, TEMPORAL_ADDRESS="127.0.0.1:1"),
    # Paths.
    case("run", "Why?", "--corpus", "loop/a"),
    case("run", "Why?", "--corpus", "docs", "--out", "loop/a"),
    case("run", "Why?", "--corpus", LONG),
    case("run", "Why?", "--corpus", "docs", "--out", LONG),
    case("run", "Why?", "--corpus", "~nosuchuser/x"),
    case("run", "Why?", "--corpus", "loop"),
    case("run", "Why?", "--corpus", "~nosuchuser"),
    case("run", "Why?", "--corpus", "docs", "--out", "~nosuchuser/x"),
    case("run", "Why?", "--corpus", ""),
    case("run", "Why?", "--corpus", "  "),
    case("run", "Why?", "--corpus", "docs\0"),
    case("run", "Why?", "--corpus", "missing"),
    case("run", "Why?", "--corpus", "docs/a.md"),
    case("run", "Why?", "--corpus", "empty"),
    case("run", "Why?", "--corpus", "docs", "--out", "docs/a.md"),
    case("run", "Why?", "--corpus", "docs", "--out", "/proc/x"),
    case("approve", "x1", "--plan", LONG),
    case("approve", "x1", "--plan", "loop/a"),
    case("approve", "x1", "--plan", "docs"),
    case("approve", "x1", "--plan", "docs/a.md"),
    case("checkpoints", "x1", RESEARCH_HOME="loop/a"),
    case("checkpoints", "x1", RESEARCH_HOME=LONG),
    case("checkpoints", "x1", RESEARCH_HOME="~nosuchuser/x"),
    case("checkpoints", "x1", RESEARCH_STORE="docs/a.md"),
    case("checkpoints", "x1", RESEARCH_STORE="loop/a"),
    # Settings.
    case(*RUN, RESEARCH_STORE="ftp://host/x"),
    case(*RUN, RESEARCH_STORE="s3:/bucket"),
    case(*RUN, RESEARCH_STORE="://"),
    case(*RUN, RESEARCH_STORE="s3://"),
    case("checkpoints", "x1", RESEARCH_STORE="ftp://host/x"),
    case("status", "x1", TEMPORAL_ADDRESS="http://host:1"),
    case("status", "x1", TEMPORAL_ADDRESS="host"),
    case("status", "x1", TEMPORAL_ADDRESS=":"),
    case("status", "x1", TEMPORAL_ADDRESS="host:port"),
    case("status", "x1", TEMPORAL_ADDRESS="host:99999"),
    case("status", "x1", TEMPORAL_ADDRESS="a b:7233"),
    case("status", "x1", TEMPORAL_ADDRESS=BYTES),
    case("status", "x1", TEMPORAL_CONFIG_FILE="missing.toml"),
    case("status", "x1", TEMPORAL_CONFIG_FILE="docs/a.md"),
    case("status", "x1", TEMPORAL_PROFILE="missing"),
    case(*RUN, ANTHROPIC_BASE_URL="not a url", ANTHROPIC_API_KEY="k"),
    case(*RUN, ANTHROPIC_BASE_URL="ftp://host", ANTHROPIC_API_KEY="k"),
    case(*RUN, ANTHROPIC_BASE_URL="http://", ANTHROPIC_API_KEY="k"),
    case(*RUN, ANTHROPIC_BASE_URL="http://[::1", ANTHROPIC_API_KEY="k"),
    case(*RUN, ANTHROPIC_BASE_URL="http://host:port", ANTHROPIC_API_KEY="k"),
    case(*RUN, RESEARCH_MCP="missing.json"),
    case(*RUN, RESEARCH_MCP="docs/a.md"),
    case(*RUN, RESEARCH_KEYS="missing.json"),
    case(*RUN, RESEARCH_KEYS="docs/a.md"),
    case(*RUN, RESEARCH_CORPORA="elsewhere"),
    case(*RUN, RESEARCH_WORKER_SUBAGENTS="many"),
    case(*RUN, RESEARCH_WORKER_ROLE="king"),
    case(*RUN, RESEARCH_PROVIDER="nobody"),
    case(*RUN, RESEARCH_TEMPORAL_PORT="99999999"),
    case(*RUN, RESEARCH_TEMPORAL_PORT="²"),
    case(*RUN, RESEARCH_MODEL_KING="x"),
    case(*RUN, RESEARCH_EFFORT_WRITER="huge"),
    # Values.
    case("run", ""),
    case("run", "?!"),
    case("run", "Why?"),
    case("run", "word " * 3000, "--corpus", "docs"),
    case(*RUN, "--id", "../x"),
    case(*RUN, "--id", ""),
    case(*RUN, "--max-passes", "99999999999999999999"),
    case(*RUN, "--max-facets", "-1"),
    case(*RUN, "--budget-usd", "nan"),
    case(*RUN, "--budget-usd", "-0"),
    case(*RUN, "--budget-tokens", "1e9"),
    case(*RUN, "--effort", ""),
    case(*RUN, "--unanswered", "perhaps", "--approve"),
    case(*RUN, "--approve-within", "1y"),
    case("status", ""),
    case("restart"),
    case("restart", "x1", "--query", "x"),
    case("steer", "x1"),
    case("steer", "x1", "--add-facet", "no question"),
    case("fork", "x1", "--set", "nothing"),
    case("serve", "--port", "99999999"),
    case("serve", "--host", "256.256.256.256"),
    case("serve", "--host", LONG),
    case("schedule", "create", "x", "Why?", "--every", "1y"),
    case("--nothing"),
    case("--help", code=0),
    case("--version", code=0),
]


@pytest.fixture(scope="module")
def driver() -> Iterator[subprocess.Popen[str]]:
    env = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("TEMPORAL_", "ANTHROPIC_", "RESEARCH_", "OTEL_"))
    }
    process = subprocess.Popen(
        [sys.executable, "-c", _DRIVER, str(ROOT)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env=env | {"RESEARCH_HOME": "state", "PYTHONUTF8": "0", "LC_ALL": "C.UTF-8"},
    )
    with process:
        yield process
        assert process.stdin is not None
        process.stdin.close()


def _name(chosen: Case) -> str:
    words = [*(f"{name}={value}" for name, value in chosen.env.items()), *chosen.arguments]
    return " ".join(words)[:60].encode("ascii", "backslashreplace").decode().replace("\0", "0")


@pytest.mark.parametrize("chosen", CASES, ids=_name)
def test_an_odd_command_line_ends_with_a_remedy(
    chosen: Case, driver: subprocess.Popen[str], tmp_path: Path
) -> None:
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "a.md").write_text("Something is written here.")
    (tmp_path / "empty").mkdir()
    (tmp_path / "loop").symlink_to("loop")
    line = {"arguments": chosen.arguments, "env": chosen.env, "folder": str(tmp_path)}
    assert driver.stdin is not None
    assert driver.stdout is not None
    print(json.dumps(line), file=driver.stdin, flush=True)
    code = int(driver.stdout.readline())
    said, complained = ((tmp_path / name).read_text("utf-8", "replace") for name in ("out", "err"))
    assert "Traceback" not in said + complained, complained[-2000:]
    assert code == chosen.code, complained
    if chosen.code:
        assert len(complained) < 1500
        assert complained.strip()
    assert not (tmp_path / "state" / "temporal.sqlite").exists(), "a server was started"
