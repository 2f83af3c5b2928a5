"""`--model` names one model for all roles, and others for single roles."""

from __future__ import annotations

from pathlib import Path

import pytest

from console.client import validation
from console.client.job_options import JobOptions
from console.client.research_request import build_request
from console.errors import BadInputError
from workflows.config.model_catalog import LOCAL, MEDIUM, MIXED
from workflows.config.settings import Settings


@pytest.mark.parametrize(
    ("text", "name", "roles"),
    [
        (None, None, {}),
        ("claude", "claude", {}),
        ("researcher=local", None, {"researcher": "local"}),
        ("claude, researcher=local,writer = x", "claude", {"researcher": "local", "writer": "x"}),
    ],
)
def test_models_of_roles_are_told_from_the_model_of_all(
    text: str | None, name: str | None, roles: dict[str, str]
) -> None:
    assert validation.split_models(text) == (name, roles)


def test_an_unknown_role_is_bad_input() -> None:
    with pytest.raises(BadInputError, match="unknown role 'poet'"):
        validation.split_models("poet=claude")


def test_a_local_model_takes_all_roles_unless_others_are_named(tmp_path: Path) -> None:
    settings = Settings.read({"RESEARCH_LOCAL_MODEL": "m.gguf", "ANTHROPIC_API_KEY": "k"})
    (tmp_path / "a.md").write_text("words")
    alone = build_request(JobOptions(question="What?", corpus=str(tmp_path)), settings)
    assert (alone.model, alone.models) == (LOCAL, {})
    assert alone.web is None
    mixed = JobOptions(
        question="What?", corpus=str(tmp_path), model=f"claude,researcher=local,writer={MEDIUM}"
    )
    request = build_request(mixed, settings)
    assert (request.model, request.models) == (MIXED, {"researcher": LOCAL, "writer": MEDIUM})


def test_the_local_model_needs_a_file() -> None:
    with pytest.raises(BadInputError, match="--local-model"):
        validation.check_model(LOCAL, Settings.read({"ANTHROPIC_API_KEY": "k"}))
    with pytest.raises(BadInputError, match="no model file"):
        validation.check_local_model(Path("/nowhere.gguf"))
