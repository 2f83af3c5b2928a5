"""What the Temporal UI and lists of jobs show: search attributes, the memo, the details."""

from __future__ import annotations

from typing import Any

from temporalio import workflow
from temporalio.common import SearchAttributeKey

from workflows.contracts.state import ResearchState
from workflows.rules.status import render_details, summarize_status

PHASE = SearchAttributeKey.for_keyword("ResearchPhase")
STATUS = SearchAttributeKey.for_keyword("ResearchStatus")
MODEL = SearchAttributeKey.for_keyword("ResearchModel")
BLOCKED_MEMO = "blocked"
"""Why a job waits. Lists read it from the memo, so no worker has to answer a query."""


class Visibility:
    """Shows the state of a job. Search attributes are not encrypted: nothing secret goes there."""

    def __init__(self) -> None:
        self._shown: tuple[Any, ...] = ()

    def update(self, state: ResearchState) -> None:
        workflow.set_current_details(render_details(state))
        shown = (state.phase, summarize_status(state), state.request.model, state.blocked)
        if shown == self._shown:
            return
        if state.blocked or (self._shown and self._shown[-1]):
            blocked = state.blocked.model_dump(mode="json") if state.blocked else None
            workflow.upsert_memo({BLOCKED_MEMO: blocked})
        self._shown = shown
        workflow.upsert_search_attributes(
            [
                PHASE.value_set(state.phase),
                STATUS.value_set(summarize_status(state)),
                MODEL.value_set(state.request.model),
            ]
        )
