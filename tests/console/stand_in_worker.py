"""A worker that does what the coordinator does, without research; for tests of the front desk.

It keeps checkpoints, waits for approval and hears what operators say. What it is asked decides the
rest: `hold` keeps it busy until a file `go` is in the state folder or it is to finish; `block` puts
it aside until it is resumed; `struggle` sends out a subagent that fails at its first try and waits
for the next; `fail` fails it; `pass` opens a pass that lasts until it is cancelled;
`nothing` finds nothing; `vague` is asked back; `big` returns a result far over the payload
threshold. What was taken up from a checkpoint neither blocks nor fails.
"""

from __future__ import annotations

import asyncio
import os
import signal
from datetime import timedelta
from pathlib import Path

from temporalio import activity, workflow
from temporalio.common import RetryPolicy, SearchAttributeKey
from temporalio.exceptions import ApplicationError
from temporalio.worker import UnsandboxedWorkflowRunner, Worker
from temporalio.workflow import ParentClosePolicy

from activities.storage.store import Store
from console.runtime.connection import connect
from workflows.config.settings import Settings
from workflows.config.store_keys import checkpoint_key, report_key
from workflows.contracts.activity_io import KeepCheckpoint
from workflows.contracts.asking import Clarification, ClarifyingQuestion, ClarifyRequest
from workflows.contracts.facets import Facet, Plan, QuestionKind
from workflows.contracts.messages import Approve, Finish, Pause, Resume, Steer
from workflows.contracts.outcomes import FindingsRef, Found
from workflows.contracts.request import ResearchRequest
from workflows.contracts.result import (
    PlanOut,
    ReportRef,
    ResearchResult,
    ResearchSummary,
    Status,
)
from workflows.contracts.state import Blocked, Checkpoint, Phase, ResearchState
from workflows.rules.report_paging import summarize_result
from workflows.rules.status import describe_status, summarize_status
from workflows.rules.steering import apply, check_approval, check_change

BLOCK = Blocked(step="planning", reason="no key", remedy="Set a key.", since="now")
SOON = timedelta(seconds=20)
PLAN = Plan(
    kind=QuestionKind.FACT,
    facets=(
        Facet(
            id="f",
            title="The one facet",
            question="What is it?",
            boundary="all else",
            prefer="any",
            reason="it is the only one",
        ),
    ),
)


@activity.defn
async def released() -> bool:
    return await asyncio.to_thread((Path(os.environ["RESEARCH_HOME"]) / "go").exists)


@activity.defn
async def research() -> None:
    activity.heartbeat({"role": "researcher", "facet": "f", "turns": 4, "sources": 2})
    raise ApplicationError("the provider is overloaded")


@activity.defn
async def keep(brief: KeepCheckpoint) -> None:
    store = Store.open(Settings.read(os.environ).store)
    await store.replace(brief.key, brief.state.model_dump_json().encode())


@activity.defn
async def keep_report(key: str, result: ResearchResult) -> ReportRef:
    store = Store.open(Settings.read(os.environ).store)
    await store.put_new(key, result.model_dump_json().encode())
    return ReportRef(key=key, sha256="", bytes=0, pages=1)


@workflow.defn(name="RefinementWorkflow")
class StandInPass:
    @workflow.run
    async def run(self) -> None:
        await workflow.wait_condition(lambda: False)


@workflow.defn(name="ClarifyWorkflow")
class StandInClarification:
    @workflow.run
    async def run(self, asked: ClarifyRequest) -> Clarification:
        if "vague" not in asked.request.question:
            return Clarification()
        which = ClarifyingQuestion(text="Which?", suggestions=("the \x1b[31mred\x07 one", "both"))
        return Clarification(questions=(which, ClarifyingQuestion(text="For whom?")))


@workflow.defn(name="ResearchWorkflow")
class StandIn:
    @workflow.init
    def __init__(self, request: ResearchRequest, state: ResearchState | None = None) -> None:
        job = workflow.info().workflow_id
        self._state = state or ResearchState(
            id=job, journal=job, request=request, started_at=workflow.now().isoformat()
        )
        if state is None:
            self._record("start", self._state.request.by)
        self._answer: Approve | None = None
        self._approve_by: str | None = None

    @workflow.run
    async def run(
        self, request: ResearchRequest, state: ResearchState | None = None
    ) -> ResearchSummary:
        now, asked = self._state, self._state.request.question
        if now.plan is None:
            now.phase, now.plan = Phase.PLANNING, PLAN
            await self._keep("planned")
        if now.request.approval is not None and not now.approved:
            await self._approved()
        now.phase, now.running = Phase.RESEARCHING, ("f",)
        self._show()
        if "pass" in asked and now.parent is None:
            await workflow.start_child_workflow(
                StandInPass.run,
                id=f"{now.id}/pass-1",
                parent_close_policy=ParentClosePolicy.REQUEST_CANCEL,
            )
        await workflow.wait_condition(lambda: not now.paused)
        while "hold" in asked and not now.finishing and not await self._released():
            await workflow.sleep(0.2)
            await workflow.wait_condition(lambda: not now.paused)
        if "struggle" in asked:
            await workflow.execute_activity(
                research,
                start_to_close_timeout=SOON,
                retry_policy=RetryPolicy(initial_interval=timedelta(minutes=10)),
            )
        if "fail" in asked and now.parent is None:
            raise ApplicationError("the moon is in the way", non_retryable=True)
        if "block" in asked and now.parent is None:
            now.blocked = Blocked(
                step="planning", reason="no key", remedy="Set a key.", since="now"
            )
            self._show()
            await workflow.wait_condition(lambda: now.blocked is None)
        now.running = ()
        found = FindingsRef(key="k", claims=2, sources=1)
        now.outcomes = {"f": Found(findings=found)}
        await self._keep("researched")
        now.phase = Phase.FINISHED
        self._show()
        result = ResearchResult(
            id=now.id,
            question=asked,
            status="nothing_found" if "nothing" in asked else "complete",
            model=now.request.model,
            plan=PlanOut(kind="fact"),
            parent=now.parent,
            report_markdown="# Report\n\n" + ("Words. " * (50_000 if "big" in asked else 5)),
        )
        key = report_key(now.id, now.version, workflow.info().run_id)
        report = await workflow.execute_local_activity(
            keep_report, args=[key, result], start_to_close_timeout=SOON
        )
        return summarize_result(result, report)

    async def _released(self) -> bool:
        return await workflow.execute_activity(released, start_to_close_timeout=SOON)

    async def _approved(self) -> None:
        self._state.phase = Phase.APPROVING
        self._approve_by = (workflow.now() + timedelta(hours=1)).isoformat()
        self._show()
        await workflow.wait_condition(lambda: self._answer is not None)
        assert self._answer is not None
        self._approve_by = None
        if self._answer.decision == "reject":
            raise ApplicationError("the plan was rejected", non_retryable=True)
        self._state.plan, self._state.approved = self._answer.plan or self._state.plan, True

    async def _keep(self, name: str) -> None:
        now, run = self._state, workflow.info().run_id
        key = checkpoint_key(now.id, run, len(now.checkpoints), name)
        at = workflow.now().isoformat()
        now.checkpoints += (
            Checkpoint(name=name, phase=now.phase, at=at, turns=0, usd=0.0, key=key),
        )
        brief = KeepCheckpoint(key=key, state=now)
        await workflow.execute_local_activity(keep, brief, start_to_close_timeout=SOON)

    def _record(self, act: str, by: str) -> None:
        self._state.record_act(act, by, workflow.now().isoformat())

    def _show(self) -> None:
        phase = SearchAttributeKey.for_keyword("ResearchPhase")
        word = SearchAttributeKey.for_keyword("ResearchStatus")
        workflow.upsert_search_attributes(
            [phase.value_set(self._state.phase), word.value_set(summarize_status(self._state))]
        )
        blocked = self._state.blocked
        workflow.upsert_memo({"blocked": blocked.model_dump() if blocked else None})

    @workflow.query
    def status(self) -> Status:
        return describe_status(self._state, self._approve_by)

    @workflow.query
    def state(self) -> ResearchState:
        return self._state

    @workflow.update
    async def resume(self, request: Resume) -> str:
        self._state.blocked, self._state.paused = None, False
        self._show()
        return "resumed"

    @resume.validator
    def _must_wait(self, request: Resume) -> None:
        if self._state.blocked is None and not self._state.paused:
            raise ValueError("this job is neither blocked nor paused; there is nothing to resume")

    @workflow.update
    async def approve(self, answer: Approve) -> str:
        self._record(answer.decision, answer.by)
        self._answer = answer
        return "approved"

    @approve.validator
    def _must_fit(self, answer: Approve) -> None:
        if why := check_approval(self._state, answer):
            raise ValueError(why)

    @workflow.update
    async def steer(self, order: Steer) -> str:
        for change in order.changes:
            apply(self._state, change)
        return f"{len(order.changes)} changes taken"

    @steer.validator
    def _must_be_possible(self, order: Steer) -> None:
        for change in order.changes:
            if why := check_change(self._state, change):
                raise ValueError(why)

    @workflow.update
    async def pause(self, order: Pause) -> str:
        self._record("pause", order.by)
        self._state.paused = True
        self._show()
        return "paused"

    @workflow.update
    async def finish(self, order: Finish) -> str:
        self._state.finishing = True
        return "finishing"


async def main() -> None:
    stop = asyncio.Event()
    for name in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(name, stop.set)
    settings = Settings.read(os.environ)
    client = await connect(settings)
    async with Worker(
        client,
        task_queue=settings.task_queue,
        workflows=[StandIn, StandInPass, StandInClarification],
        activities=[released, research, keep, keep_report],
        workflow_runner=UnsandboxedWorkflowRunner(),
        sticky_queue_schedule_to_start_timeout=timedelta(seconds=3),
        no_remote_activities=settings.parallel_subagents == 0,
    ):
        await stop.wait()


if __name__ == "__main__":
    asyncio.run(main())
