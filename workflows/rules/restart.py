"""Start a run from the state of an earlier one.

    restart_state   the same job, without what stopped it
    fork_state      another job from the same checkpoint, with other settings

Both keep the journal, so that nothing before the checkpoint is paid for again, and both name the
run they start from. The time the work began stays.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydantic import ValidationError

from workflows.config.roles import ROLES
from workflows.contracts.facets import Facet
from workflows.contracts.messages import AddFacet
from workflows.contracts.request import ResearchRequest
from workflows.contracts.state import Parent, ResearchState
from workflows.rules import steering

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
"""The settings that a fork may change."""

NONE = "none"
"""The value that resets a setting to its default."""


def restart_state(
    state: ResearchState,
    *,
    run_id: str,
    checkpoint: str,
    facet: str | Facet | None = None,
    version: int = 1,
) -> ResearchState:
    """The same job from this checkpoint on, to publish this version of its report.

    With `facet`, it researches that facet once more, by its id, or one that is added. Raises
    ValueError where the plan has no such facet, or cannot have it.
    """
    parent = Parent(id=state.id, run_id=run_id, checkpoint=checkpoint, how="restart")
    copy = _without_blocks(state, parent).model_copy(update={"version": version})
    if isinstance(facet, Facet):
        _add(copy, facet)
    elif facet is not None:
        _take_up(copy, facet)
    return copy


def _add(state: ResearchState, facet: Facet) -> None:
    change = AddFacet(facet=facet)
    if why := steering.check_change(state, change):
        raise ValueError(why)
    if not (state.ledger and state.ledger.claims):
        # There is nothing to refine: the first draft is written anew.
        state.researched, state.drafted, state.judged, state.passes = False, -1, -1, ()
    steering.apply(state, change)


def _take_up(state: ResearchState, facet_id: str) -> None:
    """Reopen the facet's gap as an operator's wish, which is worth a pass in any case."""
    facet = state.facets.get(facet_id)
    if facet is None:
        known = ", ".join(state.facets) or "none yet"
        raise ValueError(f"there is no facet {facet_id!r}; the plan has {known}")
    outcome = state.outcomes.get(facet_id)
    if outcome is not None and outcome.findings is None:
        del state.outcomes[facet_id]
    if not state.researched:
        return
    reopened = {"kind": "asked", "status": "open", "closed_in": None, "reason": ""}
    gaps = [gap for gap in state.gaps if gap.facet_id == facet_id and gap.status != "closed"]
    if gaps:
        again = {gaps[0].id: gaps[0].model_copy(update=reopened)}
        state.gaps = tuple(again.get(gap.id, gap) for gap in state.gaps)
    else:
        steering.add_gap(state, facet, facet.question)


def fork_state(
    state: ResearchState, *, job_id: str, run_id: str, checkpoint: str, changes: Mapping[str, str]
) -> ResearchState:
    """A new job from this checkpoint on; raises ValueError for a change that is not possible."""
    parent = Parent(id=state.id, run_id=run_id, checkpoint=checkpoint, how="fork")
    copy = _without_blocks(state, parent)
    request = change_request(state.request, changes)
    return copy.model_copy(update={"id": job_id, "request": request, "version": 1})


def change_request(request: ResearchRequest, changes: Mapping[str, str]) -> ResearchRequest:
    """The request with other settings; raises ValueError for one that is not possible."""
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
            f"{_as_typed(fault['loc'], changes)} is not possible: {fault['msg']}"
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


def _as_typed(place: tuple[int | str, ...], changes: Mapping[str, str]) -> str:
    """The change as it was typed, for the place of a validation error."""
    names = {field: name for name, field in (BUDGETS | BY_ROLE).items()}
    parts = [names.get(str(part), str(part)) for part in place if part != "budget"]
    key = ".".join(parts)
    return f"{key}={changes[key]}" if key in changes else key


def _without_blocks(state: ResearchState, parent: Parent) -> ResearchState:
    """The state without what would keep the job from running."""
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
