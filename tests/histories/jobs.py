"""The jobs whose histories are kept: small ones that walk every branch of both workflows.

Each runs one job to its end on a real server; its histories are what is kept.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from datetime import timedelta
from typing import Any

from console.client.jobs import fetch_report
from tests.activities.scripted import failure
from tests.job.conftest import (
    NO_GAPS,
    OPERA,
    PASSENGERS,
    POWER,
    UNREVIEWED,
    Handle,
    Office,
    Rule,
    Wire,
    about,
    facet,
    planned,
    reply,
    status_when,
)
from workflows.config.settings import EMBEDDED
from workflows.contracts.facets import Facet
from workflows.contracts.messages import (
    AddFacet,
    AddNote,
    Approve,
    Change,
    DropFacet,
    Finish,
    Join,
    Notify,
    Pause,
    RefineFacet,
    Resume,
    SetBudget,
    Steer,
)
from workflows.contracts.request import TASK_QUEUE, Approval, ResearchRequest
from workflows.contracts.spend import Budget
from workflows.contracts.state import Phase
from workflows.coordinator import ResearchWorkflow
from workflows.stages import fan_out

Recorded = Callable[[Office], Awaitable[str]]
"""Runs a job to its end; gives its id."""

BOTH = (planned(PASSENGERS, POWER), UNREVIEWED)
UPKEEP = "How long is each electric boat out of service for maintenance?"
A_GAP = {"facet_id": "power", "kind": "thin", "text": "Maintenance is thin.", "question": UPKEEP}
PATIENCE = 60


class Hold:
    """Keeps requests at the wire until somebody has said something to the job."""

    def __init__(self, schema: str, words: str = "") -> None:
        self.reached = asyncio.Event()
        self.open = asyncio.Event()

        async def hold(_: Any) -> None:
            self.reached.set()
            await self.open.wait()

        self.rule = Rule(schema, hold, times=1, when=lambda body: words in str(body["messages"][0]))

    async def wait(self) -> None:
        await asyncio.wait_for(self.reached.wait(), PATIENCE)


def one_gap() -> tuple[Rule, Rule]:
    return Rule("EvaluationAnswer", reply(judgements=[], gaps=[A_GAP]), times=1), NO_GAPS


async def begin(office: Office, name: str, **request: Any) -> Handle:
    """A job with a name of its own: ids that are counted would differ from record to record."""
    return await office.client.start_workflow(
        ResearchWorkflow.run,
        ResearchRequest(
            question="What is known about the harbour line?", corpus=str(office.corpus), **request
        ),
        task_timeout=EMBEDDED.task,
        id=name,
        task_queue=TASK_QUEUE,
    )


async def steer(job: Handle, *changes: Change) -> None:
    await job.execute_update(ResearchWorkflow.steer, Steer(changes=changes))


async def plain(office: Office) -> str:
    """Plan, research, write, judge, one pass for one gap."""
    async with office.working(Wire(*BOTH, *one_gap())):
        job = await begin(office, "plain")
        assert [p.n for p in (await fetch_report(job)).passes] == [0, 1]
    return job.id


async def approved(office: Office) -> str:
    """A plan that is rejected with a note, made anew, edited by a person, and approved."""
    async with office.working(Wire(*BOTH, NO_GAPS)):
        job = await begin(office, "approved", approval=Approval())
        await status_when(job, lambda s: s.phase is Phase.APPROVING)
        await job.execute_update(
            ResearchWorkflow.approve, Approve(decision="reject", note="passengers first")
        )
        await status_when(job, lambda s: s.phase is Phase.APPROVING and s.approve_by is not None)
        plan = await job.query(ResearchWorkflow.plan)
        assert plan
        only = plan.model_copy(update={"facets": plan.facets[:1]})
        await job.execute_update(ResearchWorkflow.approve, Approve(decision="approve", plan=only))
        assert len((await fetch_report(job)).plan.facets) == 1
    return job.id


async def unanswered(office: Office) -> str:
    """A plan nobody answers takes the default at its deadline."""
    async with office.working(Wire(*BOTH, NO_GAPS)):
        job = await begin(office, "unanswered", approval=Approval(seconds=0.2))
        await fetch_report(job)
    return job.id


async def steered(office: Office) -> str:
    """Everything a person may say while facets are researched; then: finish."""
    hold, dropped = Hold("ResearchAnswer", POWER["title"]), Hold("ResearchAnswer", "Passengers")
    upkeep = Facet.model_validate(facet("upkeep", "Maintenance of the boats", UPKEEP))
    async with office.working(Wire(hold.rule, dropped.rule, *BOTH, *one_gap())):
        job = await begin(office, "steered")
        await hold.wait()
        await dropped.wait()
        await steer(job, AddFacet(facet=upkeep), AddNote(text="Boats only."))
        await steer(job, RefineFacet(facet_id="power", question="How large is the reserve?"))
        await steer(job, DropFacet(facet_id="passengers"))
        await steer(job, SetBudget(budget=Budget(tokens=9_000_000)))
        await job.execute_update(ResearchWorkflow.pause, Pause())
        hold.open.set()
        dropped.open.set()
        await status_when(job, lambda s: s.paused)
        await job.execute_update(ResearchWorkflow.resume, Resume())
        await job.execute_update(ResearchWorkflow.finish, Finish())
        assert (await fetch_report(job)).stop_reason == "finished"
    return job.id


async def steered_pass(office: Office) -> str:
    """The same while a pass runs: every word goes through the coordinator to the pass."""
    hold = Hold("ResearchAnswer", UPKEEP)
    async with office.working(Wire(hold.rule, *BOTH, *one_gap())):
        job = await begin(office, "steered-pass")
        await hold.wait()
        await steer(job, AddNote(text="Boats only."), SetBudget(budget=Budget(tokens=9_000_000)))
        await job.execute_update(ResearchWorkflow.pause, Pause())
        await job.execute_update(ResearchWorkflow.resume, Resume())
        hold.open.set()
        assert [p.n for p in (await fetch_report(job)).passes] == [0, 1]
    return job.id


async def blocked(office: Office) -> str:
    """A bad key parks the first draft, then the pass; each goes on when told."""
    bad_key = failure(401, "authentication_error")
    of_pass = Rule("ResearchAnswer", lambda _: bad_key, times=1, when=lambda b: UPKEEP in str(b))
    draft = Rule("DraftAnswer", lambda _: bad_key, times=1)
    async with office.working(Wire(draft, of_pass, *BOTH, *one_gap())):
        job = await begin(office, "blocked")
        for _ in range(2):
            await status_when(job, lambda s: s.blocked is not None)
            await job.execute_update(ResearchWorkflow.resume, Resume())
        assert [p.n for p in (await fetch_report(job)).passes] == [0, 1]
    return job.id


async def budget(office: Office) -> str:
    """The limit is reached while facets are researched."""
    async with office.working(Wire(*BOTH, *one_gap())):
        job = await begin(office, "budget", budget=Budget(tokens=14_000), parallel=1)
        result = await fetch_report(job)
        assert result.stop_reason == "budget", (result.stop_reason, result.telemetry)
    return job.id


async def nothing_found(office: Office) -> str:
    """No facet brings a claim: nothing is written."""
    async with office.working(Wire(planned(OPERA), UNREVIEWED)):
        job = await begin(office, "nothing-found")
        assert (await fetch_report(job)).status == "nothing_found"
    return job.id


async def retried(office: Office) -> str:
    """A rate limit is waited for; a facet that finds nothing is tried another way."""
    limited = Rule(
        "ResearchAnswer",
        lambda _: failure(429, "rate_limit_error", retry_after="0"),
        when=about(PASSENGERS["title"]),
        times=2,
    )
    async with office.working(Wire(limited, planned(PASSENGERS, OPERA), UNREVIEWED, NO_GAPS)):
        job = await begin(office, "retried", max_passes=0)
        assert (await fetch_report(job)).status == "complete_with_gaps"
    return job.id


async def cancelled(office: Office) -> str:
    """Cancelled while a pass runs: the pass is ended first."""
    hold = Hold("ResearchAnswer", UPKEEP)
    async with office.working(Wire(hold.rule, *BOTH, *one_gap())):
        job = await begin(office, "cancelled")
        await hold.wait()
        await job.cancel()
        await asyncio.gather(fetch_report(job), return_exceptions=True)
        hold.open.set()
    return job.id


async def watched(office: Office) -> str:
    """Reports on the way, to a caller who is there and to one who is not; asks what changed."""
    async with office.working(Wire(planned(PASSENGERS), UNREVIEWED, NO_GAPS)):
        caller = await begin(office, "caller", approval=Approval())
        await status_when(caller, lambda s: s.phase is Phase.APPROVING)
        job = await begin(
            office,
            "watched",
            tenant="harbour",
            report_changes=True,
            notify=Notify(workflow_id=caller.id),
        )
        await job.execute_update(
            ResearchWorkflow.join, Join(notify=Notify(workflow_id="long-gone"))
        )
        assert (await fetch_report(job)).claims
        await caller.cancel()
    return job.id


async def late(office: Office) -> str:
    """The report is begun without a facet that takes long; a pass writes it up."""
    hold = Hold("ResearchAnswer", UPKEEP)
    begun = Rule("DraftAnswer", lambda _: hold.open.set())
    plan = planned(PASSENGERS, POWER, facet("upkeep", "Maintenance", UPKEEP))
    waited, fan_out.MINIMUM_WAIT = fan_out.MINIMUM_WAIT, timedelta(seconds=0.2)
    try:
        async with office.working(Wire(hold.rule, begun, plan, UNREVIEWED, NO_GAPS)):
            job = await begin(office, "late", patience=1.5)
            found = await fetch_report(job)
    finally:
        fan_out.MINIMUM_WAIT = waited
    assert [(gap.kind, gap.status) for gap in found.gaps] == [("late", "closed")]
    return job.id


async def continued(office: Office) -> str:
    """Goes on in a second run: needs a server that suggests it early."""
    async with office.working(Wire(*BOTH, *one_gap())):
        job = await begin(office, "continued")
        assert [p.n for p in (await fetch_report(job)).passes] == [0, 1]
    return job.id


KINDS: tuple[Recorded, ...] = (
    plain,
    approved,
    unanswered,
    steered,
    steered_pass,
    blocked,
    budget,
    nothing_found,
    retried,
    cancelled,
    watched,
    late,
)
LONG: tuple[Recorded, ...] = (continued,)
