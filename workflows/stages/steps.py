"""The steps of a job, in their order. Each does what the state lacks, and no more.

So a run that starts from a state, be it continued, restarted or forked, goes on where that state
was taken. The coordinator walks all of them; a refinement pass walks some.
"""

from __future__ import annotations

from collections.abc import Sequence

from temporalio import workflow
from temporalio.exceptions import ApplicationError

from workflows.config.policies import INDEXING, KEEPING, MECHANICAL, THINKING
from workflows.config.store_keys import checkpoint_key, previous_key
from workflows.contracts.activity_io import (
    CompareBrief,
    CorpusOpened,
    EvaluateBrief,
    Evaluated,
    FacetReport,
    KeepCheckpoint,
    KeepPrevious,
    OpenCorpus,
    OrdersPosted,
    PlanBrief,
    Planned,
    PostOrders,
    PublishBrief,
    ReviewBrief,
    WriteBrief,
    Written,
)
from workflows.contracts.messages import FINISHED, Approve, Change, CheckpointReached, Orders
from workflows.contracts.result import ResearchResult
from workflows.contracts.spend import Allowance
from workflows.contracts.state import Checkpoint, Gap, Phase, PreviousRef, StopReason
from workflows.rules import gaps as gap_rules
from workflows.rules import steering
from workflows.rules.budget import is_exhausted, writing_allowance
from workflows.rules.plan import fit, job_limits, mend
from workflows.stages.execution import timed
from workflows.stages.research import WITHOUT_THE_LATE, Assignment, Investigation


class Steps(Investigation):
    """A job's state, and the steps that move it on."""

    async def look_back(self) -> None:
        """A job of a schedule keeps what the last one found, to be compared with at the end.

        It is kept in the store: a restart and a continued run are not told of it again.
        """
        state = self.state
        if not state.request.report_changes or state.previous is not None:
            return
        if workflow.has_last_completion_result():
            key = previous_key(state.id, workflow.info().run_id)
            last = workflow.get_last_completion_result(dict)
            await self._note_down("keep_previous", KeepPrevious(key=key, result=last or {}))
            state.previous = PreviousRef(key=key)

    async def open_corpus(self) -> None:
        with timed(self.state, "open"):
            opened = await self._call(
                "open_corpus",
                OpenCorpus(path=self.state.request.corpus),
                CorpusOpened,
                INDEXING,
                "index the documents",
            )
        self.state.corpus = opened.corpus
        if not self.state.checkpoints:
            await self.checkpoint("opened")

    async def plan(self) -> None:
        if self.state.plan is not None:
            return
        self.state.phase = Phase.PLANNING
        brief = PlanBrief(
            job=self._job(self._for_writing()),
            effort=self.state.request.effort,
            max_facets=job_limits(self.state).facets,
            notes=self.state.plan_notes,
        )
        with timed(self.state, "plan"):
            planned = await self._call("plan", brief, Planned, THINKING, "split the question")
        self.state.plan = mend(planned.plan)
        self.state.book("planner", planned.spend)

    async def review(self) -> None:
        """The split is reviewed, then cut to size, before the first researcher starts."""
        if self.state.reviewed:
            return
        self.state.phase = Phase.REVIEWING
        brief = ReviewBrief(
            job=self._job(self._for_writing()),
            plan=self._plan(),
            max_facets=job_limits(self.state).facets,
        )
        with timed(self.state, "review"):
            reviewed = await self._call("review_plan", brief, Planned, THINKING, "review the plan")
        request = self.state.request
        self.state.plan = fit(mend(reviewed.plan), request.effort, request.max_facets)
        self.state.reviewed = True
        self.state.book("reviewer", reviewed.spend)
        await self.checkpoint("planned")

    async def settle_plan(self, answer: Approve) -> None:
        """A plan that is rejected with a note is made anew."""
        if answer.decision == "approve":
            self.state.plan = steering.approved(self._plan(), answer)
            self.state.approved = True
            await self.checkpoint("approved")
        else:
            self.state.plan_notes += (answer.note,)
            self.state.plan, self.state.reviewed = None, False

    async def research_facets(self) -> None:
        if self.state.researched:
            return
        self.state.phase = Phase.RESEARCHING
        patience = self.state.request.patience if WITHOUT_THE_LATE in self.state.ways else None
        await self._investigate(
            lambda: [Assignment(f, f.question, f.id) for f in self._plan().facets], patience
        )
        found = gap_rules.from_research(self._plan(), self.state.outcomes)
        found += gap_rules.still_out(f for f in self._plan().facets if f.id in self._late)
        self.state.gaps = gap_rules.merge(self.state.gaps, found)
        self.state.researched = True
        await self.checkpoint("researched")

    async def catch_up(self) -> None:
        """Late facets are waited for before the next pass, which writes them up."""
        if late := gap_rules.late(self.state.gaps):
            await self._catch_up(late, len(self.state.passes))

    async def research_gaps(self, n: int) -> int:
        """Follow-ups for the open gaps; returns how many they closed."""
        self.state.phase = Phase.REFINING
        gaps = gap_rules.commissionable(self.state.gaps)
        assignments = [self._follow_up(gap) for gap in gaps]
        parts = await self._investigate(lambda: assignments)
        after: dict[str, Gap] = {}
        for gap in gaps:
            outcome, ledger = self.state.outcomes[gap.id], parts[gap.id].ledger
            after[gap.id] = gap_rules.after_follow_up(
                gap, outcome, ledger.claims if ledger else 0, n
            )
            # A facet that was added late has no outcome but its gap's.
            self.state.outcomes.setdefault(gap.facet_id, outcome)
        self.state.gaps = tuple(after.get(gap.id, gap) for gap in self.state.gaps)
        return sum(gap.status == "closed" for gap in after.values())

    async def write(self, revise: Sequence[str] = (), n: int = 0) -> None:
        if self.nothing_found or self.state.drafted >= n:
            return
        self.state.phase = Phase.WRITING
        brief = WriteBrief(
            job=self._job(self._for_writing()),
            plan=self._plan(),
            ledger=self._ledger(),
            reports=self._reports(),
            gaps=self.state.gaps,
            unreadable=self.state.corpus.unreadable,
            previous=self.state.draft,
            revise=tuple(revise),
            task=f"write-{n}",
        )
        summary = "write the report" if n == 0 else f"revise {len(revise)} sections"
        with timed(self.state, "write"):
            written = await self._call("write", brief, Written, THINKING, summary)
        self.state.draft, self.state.drafted = written.draft, n
        self.state.book("writer", written.spend)
        if n == 0:
            await self.checkpoint("drafted")

    async def evaluate(self, n: int = 0) -> None:
        """Judge the draft against the question; what it lacks becomes gaps."""
        if self.state.draft is None or self.state.judged >= n:
            return
        allowance = self._for_writing()
        if not (allowance.is_nothing or self.state.finishing):
            self.state.phase = Phase.EVALUATING
            brief = EvaluateBrief(
                job=self._job(allowance),
                plan=self._plan(),
                ledger=self._ledger(),
                draft=self.state.draft,
                reports=self._reports(),
                gaps=self.state.gaps,
                n=n,
                task=f"evaluate-{n}",
            )
            with timed(self.state, "evaluate"):
                judged = await self._call("evaluate", brief, Evaluated, THINKING, "judge the draft")
            self.state.gaps = gap_rules.merge(self.state.gaps, judged.gaps)
            self.state.book("evaluator", judged.spend)
        self.state.judged = n

    def stop_reason(self) -> StopReason | None:
        """Why no further pass is worth its price; None where one is."""
        state = self.state
        if self.nothing_found and not state.finishing:
            return StopReason.NO_PROGRESS
        exhausted = is_exhausted(state.request.budget, state.spend)
        return gap_rules.stop(
            state.gaps, state.passes, job_limits(state).passes, exhausted, state.finishing
        )

    async def publish(self, seconds: float) -> ResearchResult:
        self.state.phase = Phase.FINISHED
        brief = PublishBrief(state=self.state, seconds=seconds)
        result = await self._mechanical(
            "publish", brief, ResearchResult, self._claims(), "put the report together"
        )
        if self.state.previous is not None:
            both = CompareBrief(previous=self.state.previous, result=result)
            result = await self._call(
                "compare", both, ResearchResult, MECHANICAL, "compare with the last run"
            )
        await self._report_back(FINISHED)
        return result

    @property
    def nothing_found(self) -> bool:
        return self.state.ledger is None or self.state.ledger.claims == 0

    # --- what outlives the run ------------------------------------------------------------------

    async def checkpoint(self, name: str) -> None:
        """Store the whole state under a name a run can be taken up from."""
        state, info = self.state, workflow.info()
        key = checkpoint_key(state.id, info.run_id, len(state.checkpoints), name)
        state.checkpoints += (
            Checkpoint(
                name=name,
                phase=state.phase,
                at=workflow.now().isoformat(),
                turns=state.spend.turns,
                usd=state.spend.usd,
                key=key,
            ),
        )
        await self._note_down("keep_checkpoint", KeepCheckpoint(key=key, state=state))
        await self._report_back(name)

    async def _report_back(self, name: str) -> None:
        """Signal the callers who asked for it. One who is gone is no reason to stop."""
        state = self.state
        asked = (*((state.request.notify,) if state.request.notify else ()), *state.listeners)
        if not asked:
            return
        reached = CheckpointReached(
            job_id=state.id,
            run_id=workflow.info().run_id,
            checkpoint=name,
            phase=state.phase,
            at=workflow.now().isoformat(),
            turns=state.spend.turns,
            usd=state.spend.usd,
            gaps_open=len(gap_rules.open_gaps(state.gaps)),
        )
        for caller in asked:
            handle = workflow.get_external_workflow_handle(caller.workflow_id, run_id=caller.run_id)
            try:
                await handle.signal(caller.signal, reached)
            except ApplicationError as error:
                workflow.logger.info("a caller was not reached at %s: %s", name, error)

    def steer(self, changes: Sequence[Change]) -> None:
        for change in changes:
            steering.apply(self.state, change)

    async def post_orders(self, *, paused: bool | None = None) -> tuple[str, ...]:
        """What running subagents look up before every purchase.

        Returns the ways of working this job's worker knows.
        """
        orders = Orders(
            notes=self.state.notes,
            paused=self.state.paused if paused is None else paused,
            finishing=self.state.finishing,
        )
        brief = PostOrders(job_id=self.state.id, orders=orders)
        posted = await self._here(
            "post_orders", brief, OrdersPosted, KEEPING, "tell running subagents"
        )
        return posted.ways if posted else ()

    # --- what briefs are made of ----------------------------------------------------------------

    def _for_writing(self) -> Allowance:
        return writing_allowance(self.state.request.budget, self.state.spend)

    def _follow_up(self, gap: Gap) -> Assignment:
        return Assignment(self._plan().facet(gap.facet_id), gap.question, gap.id)

    def _reports(self) -> tuple[FacetReport, ...]:
        return tuple(
            FacetReport(
                facet_id=facet.id,
                status=outcome.status,
                reason=getattr(outcome, "reason", ""),
                missing=getattr(outcome, "missing", ()),
            )
            for facet in self._plan().facets
            if (outcome := self.state.outcomes.get(facet.id))
        )
