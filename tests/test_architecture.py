"""The house rules, read off the code: who may import whom, and which role has which tool."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

from workflows.config.roles import ROLES

ROOT = Path(__file__).parent.parent
SUBAGENTS = {"planning", "researching", "verifying", "writing", "evaluating"}


def modules(package: str) -> list[Path]:
    return sorted((ROOT / package).rglob("*.py"))


def imports(path: Path) -> set[str]:
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found.add(node.module)
            found |= {f"{node.module}.{alias.name}" for alias in node.names}
    return found


def roots(path: Path) -> set[str]:
    return {name.split(".")[0] for name in imports(path)}


@pytest.mark.parametrize("path", modules("workflows"), ids=lambda p: p.name)
def test_workflows_import_nothing_that_touches_the_world(path: Path) -> None:
    forbidden = {"activities", "console", "worker", "starter", "anthropic", "obstore", "httpx2",
                 "requests", "socket", "sqlite3", "subprocess", "random", "time", "os",
                 "threading", "uuid", "secrets", "rich", "typer"}  # fmt: skip
    assert roots(path) & forbidden == set()


@pytest.mark.parametrize("path", modules("workflows"), ids=lambda p: p.name)
def test_workflows_ask_neither_the_clock_nor_the_disk(path: Path) -> None:
    """A worker may run workflows without the SDK's sandbox: this test guards them there, too."""
    called = {
        ast.unparse(node.func)
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(node, ast.Call)
    }
    assert called & {"open", "print", "input", "exec", "eval", "hash"} == set()
    # The workflow's own clock is in its history.
    asked = {name.rpartition(".")[2] for name in called - {"workflow.now"}}
    assert asked & {"now", "utcnow", "today", "read_text", "read_bytes"} == set()


@pytest.mark.parametrize("path", modules("activities"), ids=lambda p: p.name)
def test_activities_do_not_import_the_console(path: Path) -> None:
    assert roots(path) & {"console", "worker", "starter", "typer", "rich"} == set()


@pytest.mark.parametrize("path", modules("console"), ids=lambda p: p.name)
def test_the_console_imports_nothing_of_activities_but_storage(path: Path) -> None:
    assert roots(path) & {"worker", "starter", "anthropic"} == set()
    used = {name for name in imports(path) if name.split(".")[0] == "activities"}
    assert {name for name in used if not name.startswith("activities.storage")} == set()


@pytest.mark.parametrize(
    ("package", "allowed"),
    [
        ("runtime", {"runtime", "devserver"}),
        ("devserver", {"devserver"}),
        ("client", {"client", "runtime", "devserver"}),
        ("live", {"live", "client"}),
        ("report", {"report"}),
        ("web", {"web", "client", "live", "report", "runtime"}),
        ("mcp", {"mcp", "client", "web"}),
        ("api", {"api", "web", "client", "report"}),
    ],
)
def test_packages_of_the_console_import_in_one_direction(package: str, allowed: set[str]) -> None:
    for path in modules(f"console/{package}"):
        found = {name.split(".")[1] for name in imports(path) if name.startswith("console.")}
        assert found - allowed <= {"errors", "formatting"}, path.name


def test_console_modules_have_unique_names() -> None:
    names = [path.name for path in modules("console") if path.name != "__init__.py"]
    assert len(names) == len(set(names))


def test_packages_have_at_most_fifteen_files_side_by_side() -> None:
    for top in ("workflows", "activities", "console"):
        for folder in (ROOT / top, *(path for path in (ROOT / top).rglob("*") if path.is_dir())):
            assert len(list(folder.glob("*.py"))) <= 15, folder


@pytest.mark.parametrize("name", sorted(SUBAGENTS))
def test_no_subagent_calls_another_or_starts_one(name: str) -> None:
    """All talk goes through the coordinator: a subagent has no client and no neighbour."""
    known = imports(ROOT / "activities" / "subagents" / f"{name}.py")
    assert known & {f"activities.subagents.{other}" for other in SUBAGENTS - {name}} == set()
    assert not any(module.startswith("temporalio.client") for module in known)


def test_the_offline_engine_has_no_way_to_the_world() -> None:
    for path in modules("activities/offline"):
        forbidden = {"obstore", "sqlite3", "socket", "subprocess", "os", "pathlib", "random",
                     "time", "datetime"}  # fmt: skip
        assert roots(path) & forbidden == set(), path.name
        assert not any(m.startswith("activities.sources") for m in imports(path)), path.name


def test_every_role_has_exactly_the_tools_it_was_given() -> None:
    assert {name: role.tools for name, role in ROLES.items()} == {
        "planner": ("search", "web_search"),
        "reviewer": (),
        "researcher": ("search", "read", "web_search", "web_fetch", "code"),
        "verifier": ("search", "read", "web_search", "web_fetch", "code"),
        "writer": ("read",),
        "draft_judge": (),
        "evaluator": (),
    }


def test_a_worker_asks_for_work_before_it_loads_the_model_client() -> None:
    """The SDK takes longer than the rest of a worker together: see `activities.llm.lazy_sdk`."""
    told = "import sys, worker; print(*sorted(sys.modules))"
    loaded = subprocess.run(
        [sys.executable, "-c", told], cwd=ROOT, check=True, capture_output=True, text=True
    ).stdout.split()
    assert "activities.llm.client" in loaded
    assert not {"anthropic", "activities.offline.transport"} & set(loaded)


def test_only_worker_and_starter_stand_beside_the_packages() -> None:
    assert {p.name for p in ROOT.glob("*.py")} == {"worker.py", "starter.py"}
