"""What lists and commands show of jobs is right: at the end, on every page, when nobody answers."""

from __future__ import annotations

import asyncio
from typing import Any
from uuid import uuid4

import pytest
from temporalio import workflow
from temporalio.api.common.v1 import WorkflowExecution
from temporalio.api.enums.v1 import EventType
from temporalio.api.workflowservice.v1 import ResetWorkflowExecutionRequest
from temporalio.client import WorkflowFailureError
from temporalio.worker import UnsandboxedWorkflowRunner, Worker

from console.client import job_list, jobs, runs
from console.client.checkpoints import CheckpointStore
from console.client.job_list import list_page, search_attribute
from tests.job.conftest import (
    NO_GAPS,
    PASSENGERS,
    UNREVIEWED,
    Handle,
    Office,
    Wire,
    planned,
    status_when,
)
from workflows.contracts.messages import AddNote, Steer
from workflows.contracts.request import TASK_QUEUE
from workflows.coordinator import ResearchWorkflow


def wire() -> Wire:
    return Wire(planned(PASSENGERS), UNREVIEWED, NO_GAPS)


async def attributes(office: Office, job_id: str, closed: bool = True) -> dict[str, str]:
    description = await office.client.get_workflow_handle(job_id).describe()
    assert (description.close_time is not None) is closed
    return {
        name: search_attribute(description, f"Research{name}")
        for name in ("Status", "Phase", "Tenant")
    }


async def test_the_status_of_a_closed_job_is_how_it_ended(office: Office) -> None:
    async with office.working(wire()):
        done = await office.start(tenant="t-7")
        await done.result()
        cancelled = await office.start(approval={"seconds": 3600})
        await status_when(cancelled, lambda s: s.approve_by is not None)
        waiting = await attributes(office, cancelled.id, closed=False)
        await cancelled.cancel()
        failed = await office.client.start_workflow(
            "ResearchWorkflow", {}, id=f"failed-{uuid4()}", task_queue=TASK_QUEUE
        )
        for handle in (cancelled, failed):
            with pytest.raises(WorkflowFailureError):
                await handle.result()
    assert waiting["Status"] == "awaiting_approval"
    assert await attributes(office, done.id) == {
        "Status": "completed", "Phase": "finished", "Tenant": "t-7",
    }  # fmt: skip
    assert (await attributes(office, cancelled.id))["Status"] == "cancelled"
    assert (await attributes(office, failed.id))["Status"] == "failed"


async def test_every_job_is_on_one_page_and_with_its_last_run_only(office: Office) -> None:
    names = [f"page-{uuid4()}" for _ in range(5)]
    async with office.working(wire()):
        completed = await office.start()
        await completed.result()
        for name in [*names, names[0], completed.id]:
            handle = await office.client.start_workflow(
                "ResearchWorkflow", {}, id=name, task_queue=TASK_QUEUE
            )
            with pytest.raises(WorkflowFailureError):
                await handle.result()
    names.append(completed.id)
    seen: list[str] = []
    async with asyncio.timeout(30):
        # Visibility lags behind, and jobs move between pages while it catches up.
        while sorted(seen) != sorted(names):
            token, seen = "", []
            while True:
                found, token = await list_page(office.client, None, 2, token)
                assert len(found) <= 2
                # The server also has the jobs of other tests.
                seen += [run.id for run in found if run.id in names]
                if not token:
                    break


@workflow.defn(name="ResearchWorkflow")
class OtherCode:
    @workflow.run
    async def run(self, _request: Any = None, _state: Any = None) -> None:
        await workflow.sleep(5)

    @workflow.signal
    async def nudge(self) -> None: ...


async def test_the_remedy_fits_what_keeps_a_job_from_answering(office: Office) -> None:
    async with office.working(wire()):
        handle = await office.start(approval={"seconds": 3600})
        await status_when(handle, lambda s: s.approve_by is not None)

    async def explain() -> str:
        described = await handle.describe()
        return await job_list.explain_silence(office.client, handle.id, described, "start one")

    other = Worker(
        office.client,
        task_queue=TASK_QUEUE,
        workflows=[OtherCode],
        workflow_runner=UnsandboxedWorkflowRunner(),
    )
    async with other:
        await handle.signal("nudge")
        said = ""
        for _ in range(150):
            if "nondeterminism" in (said := await explain()):
                break
            await asyncio.sleep(0.2)
    assert "nondeterminism" in said
    assert f"`restart {handle.id}`" in said
    await handle.terminate()


async def test_without_a_worker_the_remedy_is_to_start_one(
    office: Office, monkeypatch: pytest.MonkeyPatch
) -> None:
    # The workers of other tests polled this server's queue a moment ago.
    monkeypatch.setattr(jobs, "TASK_QUEUE", f"deserted-{uuid4()}")
    handle = await office.start()
    described = await handle.describe()
    said = await job_list.explain_silence(office.client, handle.id, described, "start one")
    await handle.terminate()
    assert said == "No worker runs it: start one."


async def reset(office: Office, handle: Handle) -> str:
    """Reset the job to its last completed workflow task; returns the new run."""
    history = await handle.fetch_history()
    last = max(
        event.event_id
        for event in history.events
        if event.event_type == EventType.EVENT_TYPE_WORKFLOW_TASK_COMPLETED
    )
    answer = await office.client.workflow_service.reset_workflow_execution(
        ResetWorkflowExecutionRequest(
            namespace=office.client.namespace,
            workflow_execution=WorkflowExecution(workflow_id=handle.id),
            workflow_task_finish_event_id=last,
            request_id=str(uuid4()),
            reason="a test",
        )
    )
    return answer.run_id


async def test_after_a_reset_checkpoints_are_named_where_they_are(office: Office) -> None:
    checkpoints = CheckpointStore(office.settings)
    async with office.working(wire()):
        handle = await office.start(approval={"seconds": 3600})
        await status_when(handle, lambda s: s.approve_by is not None)
        note = Steer(changes=(AddNote(text="Mind the tides."),))
        await handle.execute_update(ResearchWorkflow.steer, note)
        run_id = await reset(office, handle)
        again: Handle = office.client.get_workflow_handle(handle.id, run_id=run_id)
        await status_when(again, lambda s: s.approve_by is not None)
        state = await again.query("state")
        stored = {point.key for point in await checkpoints.find(handle.id)}
        named = {point["key"] for point in state["checkpoints"]}
        await again.terminate()
        described = await jobs.describe(office.client, handle.id)
        origin = await runs.find_origin(office.client, checkpoints, handle.id, described, None)
    assert named <= stored
    assert len(named) == 2
    assert not any(run_id in key for key in named), "the first run stored them"
    assert origin.checkpoint == "planned"
    assert origin.state is not None
