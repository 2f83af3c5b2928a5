"""Writing: the first draft, or in a refinement pass the sections that changed."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta

from workflows.config.policies import ActivityPolicy
from workflows.contracts.activity_io import Job, WriteBrief
from workflows.contracts.state import Phase
from workflows.rules.budget import writing_allowance
from workflows.rules.status import facet_reports
from workflows.stages.activity_interfaces import WritingActivities
from workflows.stages.execution import Execution

WRITING = ActivityPolicy(
    start_to_close=timedelta(minutes=15), schedule_to_close=timedelta(minutes=60), attempts=10
)


async def write(execution: Execution, revise: Sequence[str] = (), n: int = 0) -> None:
    """Write the draft of pass `n`, unless there is one, or nothing to write about."""
    state = execution.state
    if not execution.has_claims or state.drafted >= n:
        return
    state.phase = Phase.WRITING
    brief = WriteBrief(
        job=Job.of(state, writing_allowance(state)),
        plan=execution.plan,
        ledger=execution.ledger,
        reports=facet_reports(state),
        gaps=state.gaps,
        findings=tuple(o.findings.key for o in state.outcomes.values() if o.findings),
        unreadable=state.corpus.unreadable,
        previous=state.draft,
        revise=tuple(revise),
        task=f"write-{n}",
    )
    summary = "write the report" if n == 0 else f"revise {len(revise)} sections"
    with execution.measure("write"):
        written = await execution.call(WritingActivities.write, brief, WRITING, summary)
    state.draft, state.drafted = written.draft, n
    state.book("writer", written.spend)
    state.book("draft_judge", written.judge_spend)
    if n == 0:
        await execution.save_checkpoint("drafted")
