"""Planning: open the corpus, split the question into facets, review the plan, have it approved."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from datetime import timedelta
from typing import Any

from temporalio import workflow
from temporalio.exceptions import ApplicationError

from workflows.config.policies import ActivityPolicy
from workflows.contracts.activity_io import Job, OpenCorpus, ParseFiles, PlanBrief, ReviewBrief
from workflows.contracts.messages import Approve
from workflows.contracts.state import CorpusReady, Phase
from workflows.rules import steering
from workflows.rules.budget import writing_allowance
from workflows.rules.plan import fit, job_limits, repair
from workflows.stages.activity_interfaces import PlanningActivities, RecordActivities
from workflows.stages.execution import Execution

INDEXING = ActivityPolicy(
    start_to_close=timedelta(hours=2), schedule_to_close=timedelta(hours=8), attempts=10
)
PARSING = ActivityPolicy(
    start_to_close=timedelta(minutes=30), schedule_to_close=timedelta(hours=8), attempts=10
)
MAX_PARALLEL_PARSING = 50
"""How many parts of a large corpus are parsed at once, over all workers."""
PLANNING = ActivityPolicy(
    start_to_close=timedelta(minutes=15), schedule_to_close=timedelta(minutes=60), attempts=10
)


async def open_corpus(execution: Execution) -> None:
    """Settle which documents the job reads, unless an earlier run has."""
    state = execution.state
    if state.corpus.ref is None:

        def report(files: int, parsed: int) -> None:
            progress = {"files": files, "files_parsed": parsed}
            state.corpus = state.corpus.model_copy(update=progress)

        request = state.request
        brief = OpenCorpus(corpus=request.corpus, labels=request.labels, store_id=request.store_id)
        with execution.measure("open"):
            state.corpus = await index_corpus(execution.call, brief, report)
    if not state.checkpoints:
        await execution.save_checkpoint("opened")


async def index_corpus(
    call: Callable[..., Any], brief: OpenCorpus, on_progress: Callable[[int, int], None]
) -> CorpusReady:
    """The version to read, indexed: a small one by one activity, a large one parsed by several.

    `call` takes an activity, its brief, its policy and a summary; `on_progress` the files to parse
    and those parsed.
    """
    opened = await call(RecordActivities.open_corpus, brief, INDEXING, "open the documents")
    if opened.parse:
        total, done = opened.corpus.files, 0
        few = asyncio.Semaphore(MAX_PARALLEL_PARSING)

        async def parse(part: ParseFiles) -> None:
            nonlocal done
            async with few:
                summary = f"parse {part.files:,} of {total:,} files"
                parsed = await call(RecordActivities.parse_files, part, PARSING, summary)
            done += parsed
            on_progress(total, done)

        on_progress(total, done)
        await asyncio.gather(*map(parse, opened.parse))
        rest = brief.model_copy(update={"corpus": opened.version, "is_parsed": True})
        opened = await call(RecordActivities.open_corpus, rest, INDEXING, "index the documents")
    ready: CorpusReady = opened.corpus
    return ready


async def plan(execution: Execution) -> None:
    """Split the question into facets, unless there is a plan."""
    state = execution.state
    if state.plan is not None:
        return
    state.phase = Phase.PLANNING
    brief = PlanBrief(
        job=Job.of(state, writing_allowance(state)),
        effort=state.request.effort,
        max_facets=job_limits(state).facets,
        notes=state.plan_notes,
    )
    with execution.measure("plan"):
        planned = await execution.call(
            PlanningActivities.plan, brief, PLANNING, "split the question"
        )
    state.plan = repair(planned.plan)
    state.book("planner", planned.spend)


async def review(execution: Execution) -> None:
    """Review the plan and cut it to size, before the first researcher starts."""
    state = execution.state
    if state.reviewed:
        return
    state.phase = Phase.REVIEWING
    brief = ReviewBrief(
        job=Job.of(state, writing_allowance(state)),
        plan=execution.plan,
        max_facets=job_limits(state).facets,
        notes=state.plan_notes,
    )
    with execution.measure("review"):
        reviewed = await execution.call(
            PlanningActivities.review_plan, brief, PLANNING, "review the plan"
        )
    state.plan = fit(repair(reviewed.plan), state.request.effort, state.request.max_facets)
    state.reviewed = True
    state.book("reviewer", reviewed.spend)
    await execution.save_checkpoint("planned")


class PlanApproval:
    """The plan waits for a person's answer, until a deadline."""

    def __init__(self, execution: Execution) -> None:
        self._execution = execution
        self._answer: Approve | None = None
        self.deadline: str | None = None
        """Until when the plan waits; None while it does not."""

    def take_answer(self, answer: Approve) -> None:
        if not self._execution.state.approved:
            self._answer = answer

    async def request(self) -> None:
        """Wait for an answer to the plan, if the request asks for one, and apply it."""
        state = self._execution.state
        approval = state.request.approval
        if approval is None:
            state.approved = True
            return
        state.phase, self._answer = Phase.APPROVING, None
        timeout = timedelta(seconds=approval.seconds)
        self.deadline = (workflow.now() + timeout).isoformat()
        await self._execution.notify()
        try:
            await workflow.wait_condition(
                lambda: self._answer is not None,
                timeout=timeout,
                timeout_summary="how long the plan waits for an answer",
            )
        except TimeoutError:
            self._answer = None
        finally:
            self.deadline = None
        answer = self._answer or Approve(decision=approval.default)
        if answer.decision == "reject" and not answer.note:
            raise ApplicationError(
                f"the plan was rejected{' by ' * bool(answer.by)}{answer.by}; restart the job from"
                " `planned` to accept it after all",
                type="rejected",
                non_retryable=True,
            )
        await self._settle(answer)

    async def _settle(self, answer: Approve) -> None:
        """Apply the answer. A plan that was rejected with a note is made anew."""
        state = self._execution.state
        if answer.decision == "approve":
            state.plan = steering.apply_approval(self._execution.plan, answer)
            state.approved = True
            await self._execution.save_checkpoint("approved")
        else:
            state.plan_notes += (answer.note,)
            state.plan, state.reviewed = None, False
