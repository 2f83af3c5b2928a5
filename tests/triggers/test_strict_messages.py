"""What people and programs send is refused where it is misspelt, and nobody waits for ever."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from temporalio.client import WorkflowFailureError, WorkflowUpdateFailedError

from console.client.jobs import root_cause
from tests.job.conftest import NO_GAPS, PASSENGERS, UNREVIEWED, Office, Wire, planned, status_when
from tests.triggers.conftest import unique
from workflows.contracts import messages
from workflows.contracts.request import TASK_QUEUE, ResearchRequest


def wire() -> Wire:
    return Wire(planned(PASSENGERS), UNREVIEWED, NO_GAPS)


@pytest.mark.parametrize(
    ("update", "message", "named"),
    [
        ("approve", {"decison": "reject"}, "decison"),
        ("approve", {}, "decision"),
        ("approve", {"decision": "approve", "plan": {"facetts": []}}, "facetts"),
        ("steer", {"changes": [{"kind": "add_note", "text": "x", "txet": "y"}]}, "txet"),
        ("steer", {"changes": [{"kind": "drop_facet"}]}, "facet_id"),
        ("steer", {"changes": [{"kind": "set_budget", "budget": {"usdd": 3}}]}, "usdd"),
        ("pause", {"reason": "lunch"}, "reason"),
        ("resume", {"noet": ""}, "noet"),
        ("finish", {"now": True}, "now"),
        ("join", {"notify": {"workflow_id": "me", "signall": "x"}}, "signall"),
    ],
)
async def test_an_update_with_a_misspelt_or_missing_field_is_refused(
    office: Office, update: str, message: dict[str, Any], named: str
) -> None:
    async with office.working(wire()):
        handle = await office.start(approval={"seconds": 3600})
        await status_when(handle, lambda s: s.approve_by is not None)
        with pytest.raises(WorkflowUpdateFailedError) as refused:
            await asyncio.wait_for(handle.execute_update(update, message), 30)
        status = await status_when(handle, lambda _: True)
        await handle.cancel()
    assert named in root_cause(refused.value)
    assert status.approve_by is not None, "the plan still waits"
    assert (status.paused, status.finishing, status.notes) == (False, False, ())


@pytest.mark.parametrize(
    ("sent", "named"),
    [
        ([], "question"),
        ([None], "question"),
        (["What is known?"], "object"),
        ([{"question": "What?", "approval": {"secondes": 5}}], "secondes"),
        ([{"question": "What?", "web": {"max_serches": 5}}], "max_serches"),
        ([{"question": "What?", "budget": {"dollars": 5}}], "dollars"),
    ],
    ids=["nothing", "null", "a string", "approval", "web", "budget"],
)
async def test_a_request_that_cannot_be_used_ends_at_once_with_a_message(
    office: Office, sent: list[Any], named: str
) -> None:
    async with office.working(wire()):
        handle = await office.client.start_workflow(
            "ResearchWorkflow", args=sent, id=unique("mistaken"), task_queue=TASK_QUEUE
        )
        with pytest.raises(WorkflowFailureError) as failed:
            await asyncio.wait_for(handle.result(), 30)
    assert "the request cannot be used" in str(failed.value.cause)
    assert named in str(failed.value.cause)


def test_no_part_of_a_message_ignores_what_it_does_not_know() -> None:
    parts: dict[str, Any] = {}
    for kind in (ResearchRequest, messages.Approve, messages.Steer, messages.Join, messages.Pause):
        schema = kind.model_json_schema()
        parts |= schema.get("$defs", {}) | {kind.__name__: schema}
    objects = {name: part for name, part in parts.items() if part["type"] == "object"}
    assert len(objects) >= 10
    assert [name for name, part in objects.items() if part["additionalProperties"]] == []
