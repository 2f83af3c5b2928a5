"""A job taken up from the state of an earlier run: the same again, or one with other settings.

    restarted   the same job, as it was, with nothing left of what stopped it
    forked      another job from the same point, with other settings

Both keep the journal, so whatever was bought before the checkpoint is found there and not paid for
again, and both say whose state they took up. When the work began does not change either.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydantic import ValidationError

from workflows.config.roles import ROLES
from workflows.contracts.request import ResearchRequest
from workflows.contracts.state import Parent, ResearchState

PLAIN = (
    "model",
    "effort",
    "max_passes",
    "max_facets",
    "max_claims",
    "parallel",
    "subagent_seconds",
)
BUDGETS = {"budget_usd": "usd", "budget_tokens": "tokens"}
BY_ROLE = {"model": "models", "effort": "efforts"}
SETTABLE: tuple[str, ...] = (
    *PLAIN,
    *BUDGETS,
    *(f"{name}.{role}" for name in BY_ROLE for role in ROLES),
)
"""What a fork may set."""

NONE = "none"
"""The value that takes a setting back to its default."""


def restart_state(state: ResearchState, *, run_id: str, checkpoint: str) -> ResearchState:
    """The same job from this point on."""
    parent = Parent(id=state.id, run_id=run_id, checkpoint=checkpoint, how="restart")
    return _unhindered(state, parent)


def fork_state(
    state: ResearchState, *, job_id: str, run_id: str, checkpoint: str, changes: Mapping[str, str]
) -> ResearchState:
    """A new job from this point on. Raises ValueError that names the remedy for a bad change."""
    parent = Parent(id=state.id, run_id=run_id, checkpoint=checkpoint, how="fork")
    copy = _unhindered(state, parent)
    return copy.model_copy(update={"id": job_id, "request": change_request(state.request, changes)})


def change_request(request: ResearchRequest, changes: Mapping[str, str]) -> ResearchRequest:
    """The request with other settings."""
    fields = request.model_dump()
    for key, text in changes.items():
        if key not in SETTABLE:
            raise ValueError(f"{key!r} cannot be set: choose among {', '.join(SETTABLE)}")
        _set(fields, key, text.strip())
    try:
        return ResearchRequest.model_validate(fields)
    except ValidationError as error:
        fault = error.errors()[0]
        raise ValueError(
            f"{_typed(fault['loc'], changes)} is not possible: {fault['msg']}"
        ) from None


def _set(fields: dict[str, Any], key: str, text: str) -> None:
    value = None if text.lower() == NONE else text
    name, _, role = key.partition(".")
    if key in BUDGETS:
        fields["budget"] = {**fields["budget"], BUDGETS[key]: value}
    elif role and value is None:
        fields[BY_ROLE[name]].pop(role, None)
    elif role:
        fields[BY_ROLE[name]][role] = value
    elif value is None:
        fields.pop(key)
    else:
        fields[key] = value


def _typed(place: tuple[int | str, ...], changes: Mapping[str, str]) -> str:
    """The change as it was typed, from where in the request it went wrong."""
    names = {field: name for name, field in (BUDGETS | BY_ROLE).items()}
    parts = [names.get(str(part), str(part)) for part in place if part != "budget"]
    key = ".".join(parts)
    return f"{key}={changes[key]}" if key in changes else key


def _unhindered(state: ResearchState, parent: Parent) -> ResearchState:
    """The state with nothing in it that would keep the job from going on."""
    passes = state.passes
    if passes:
        passes = (*passes[:-1], passes[-1].model_copy(update={"stop_reason": None}))
    return state.model_copy(
        deep=True,
        update={
            "blocked": None,
            "paused": False,
            "finishing": False,
            "running": (),
            "stop_reason": None,
            "passes": passes,
            "parent": parent,
        },
    )
