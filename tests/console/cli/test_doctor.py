"""`doctor` names the remedy of each problem and never prints a key; `--version` and completion."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest

from activities.storage.store import Store
from console.cli.doctor import run_checks
from console.errors import ExitCode
from tests.console.conftest import call

SECRET = "sk-never-printed"


@pytest.fixture(autouse=True)
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in ("ANTHROPIC_API_KEY", "ANTHROPIC_BASE_URL", "TEMPORAL_ADDRESS", "RESEARCH_STORE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("RESEARCH_HOME", str(tmp_path / "state"))
    return tmp_path


def problems() -> dict[str, str]:
    return {check.name: check.text for check in run_checks() if not check.ok}


def test_a_sound_environment_passes_and_the_key_is_not_printed(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", SECRET)
    code, said, complained = call("doctor")
    assert (code, complained) == (ExitCode.REPORT, "")
    assert "present" in said
    assert "embedded, temporal version" in said
    assert str(place / "state" / "store") in said
    assert SECRET not in said


@pytest.mark.parametrize(
    ("variable", "value", "name", "remedy"),
    [
        ("TEMPORAL_ADDRESS", "127.0.0.1:1", "server", "correct TEMPORAL_ADDRESS"),
        ("RESEARCH_STORE", "/dev/null/store", "store", "choose another folder with RESEARCH_STORE"),
        ("RESEARCH_STORE", "file:///dev/null/store", "store", "check RESEARCH_STORE"),
        ("RESEARCH_KEYS", "/no/such/file", "encryption", "correct RESEARCH_KEYS"),
        ("RESEARCH_MODEL_WRITER", "gpt-9", "models", "choose one of"),
        ("RESEARCH_CORPORA", "/no/such/folder", "corpus", "There is no folder"),
        ("RESEARCH_PROVIDER", "moon", "settings", "correct the RESEARCH_* variables"),
    ],
)
def test_each_problem_names_its_remedy(
    monkeypatch: pytest.MonkeyPatch, variable: str, value: str, name: str, remedy: str
) -> None:
    monkeypatch.setenv(variable, value)
    found = problems()
    assert set(found) == {name}
    assert remedy in found[name]


def test_a_problem_is_exit_code_1_also_as_json(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RESEARCH_CORPORA", "/no/such/folder")
    code, said, _ = call("doctor", "--json")
    assert code == ExitCode.FAILED
    assert [check["name"] for check in json.loads(said) if not check["ok"]] == ["corpus"]


def test_the_program_prints_its_version_and_a_completion_script() -> None:
    assert call("--version")[1].startswith("durable-research ")
    assert "--show-completion" in call("--help")[1]


def test_verify_names_what_is_damaged_in_the_store(place: Path) -> None:
    folder = place / "state" / "store"
    store = Store.open(str(folder))
    asyncio.run(store.put_new("control/a.json", b"{}"))
    asyncio.run(store.put_new("control/b.json", b"{}"))
    code, said, _ = call("verify")
    assert (code, "2 objects" in said, "none damaged" in said) == (ExitCode.REPORT, True, True)
    (folder / "control" / "b.json").write_bytes(b"something else")
    code, said, _ = call("verify")
    assert (code, "1 damaged" in said) == (ExitCode.FAILED, True)
    assert "control/b.json" in said
    code, said, _ = call("verify", "--json")
    assert list(json.loads(said)["damaged"]) == ["control/b.json"]
