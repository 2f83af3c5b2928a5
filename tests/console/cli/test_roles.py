"""The `roles` command shows what the next job uses, with the overrides of the environment."""

from __future__ import annotations

import os

import pytest

from tests.console.conftest import call
from workflows.config.model_catalog import LARGE, SMALL
from workflows.config.roles import ROLES


@pytest.fixture(autouse=True)
def _no_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in list(os.environ):
        if name.startswith(("ANTHROPIC_", "RESEARCH_")):
            monkeypatch.delenv(name)
    monkeypatch.setenv("COLUMNS", "100")


def print_roles() -> str:
    code, output, errors = call("roles")
    assert (code, errors) == (0, "")
    return output


def test_every_role_is_listed_with_its_price_and_its_reason(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "x")
    output = print_roles()
    for role in ROLES.values():
        assert role.model in output
        assert role.reason[:30] in output
    assert "4.00 / 20.00" in output
    assert "2026-11-01" in output


def test_an_override_is_listed_and_marked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "x")
    monkeypatch.setenv("RESEARCH_MODEL_WRITER", SMALL)
    monkeypatch.setenv("RESEARCH_EFFORT_PLANNER", "max")
    output = print_roles()
    assert f"{SMALL}*" in output
    assert "max*" in output


def test_without_a_key_every_role_uses_the_offline_engine() -> None:
    output = print_roles()
    assert LARGE not in output
    assert "free" in output
    assert "ANTHROPIC_API_KEY" in output
