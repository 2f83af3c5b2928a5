"""Ask back before a job, ask on in its report, commission what it does not hold, compare reports,
and call a citation wrong.

A reference to a report is `ID` or `ID@N`: the newest version of a job's report, or version N.
"""

from __future__ import annotations

import asyncio
import hashlib
import re
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from typing import TypeVar

from pydantic import BaseModel
from temporalio.common import WorkflowIDConflictPolicy
from temporalio.service import RPCError

from activities.storage.reports import list_versions, load_last_state
from console.client import jobs, runs, validation
from console.client.audit import FeedbackLog, current_actor, recorded
from console.client.checkpoints import CheckpointStore
from console.client.jobs import StartState
from console.client.research_request import DEFAULT_BUDGET_USD, build_facet, default_budget_usd
from console.client.session import Session, find_task_queue
from console.errors import BadInputError, ConsoleError, TooManyError
from console.formatting import cut
from console.runtime.data_converter import explain_store_errors, store_of
from workflows.config.settings import Settings
from workflows.contracts.asking import (
    MAX_ASKED,
    Answer,
    AskRequest,
    Clarification,
    ClarifyRequest,
    Commissioned,
    CompareReports,
    Comparison,
    ReportVersion,
)
from workflows.contracts.facets import Effort, Facet
from workflows.contracts.messages import AddFacet
from workflows.contracts.request import ResearchRequest
from workflows.contracts.result import ResearchResult
from workflows.contracts.spend import Budget
from workflows.contracts.state import ResearchState

JOBS = "jobs"
"""The memo of a workflow over reports: whose they are. It is deleted with these jobs."""
ASKS = "/asks"
"""Names the worker that answers questions on the embedded server; no job can have this id."""
MAX_REASON = 1000
MAX_FEEDBACK = 60
"""Citations that a person may call wrong within an hour."""
MAX_ANSWER = 300
"""Characters of an answer to a clarifying question."""
_CLARIFY_TIME = timedelta(seconds=20)
_NO_WORKER_SECONDS = 15.0
_TITLE = 80
_REFERENCE = re.compile(r"(?P<id>.+?)(?:@(?P<n>\d{1,4}))?")

Result = TypeVar("Result", bound=BaseModel)


async def ask(session: Session, job_id: str, question: str, version: int = 0) -> Answer:
    """Answer a question from the ledger and the stored texts of a job's report.

    `version` 0 is the newest. Raises `BadInputError` where the job has found nothing yet.
    """
    question = check_asked(question)
    state = await _load_state(session, job_id, version)
    if state.ledger is None or not state.ledger.sources:
        raise BadInputError(f"The job {job_id} holds nothing yet that could be asked.")
    request = AskRequest(
        job_id=job_id, question=question, version=version, tenant=state.request.tenant
    )
    return await _run(session, "AskWorkflow", request, f"ask-{job_id}", [job_id], Answer)


async def clarify(
    session: Session, job_id: str, request: ResearchRequest, worker: str = ASKS
) -> Clarification:
    """What to ask before a job is started; a `note` where that could not be found out in time.

    There are no questions for a job that exists. `worker` runs it on the embedded server.
    """
    asked = ClarifyRequest(job_id=job_id, request=current_actor().restrict(request))
    try:
        if await jobs.describe(session.client, job_id) is not None:
            return Clarification()
        if session.server is None and not await jobs.has_worker(session.client):
            raise ConsoleError("No worker runs yet.")
        with recorded("clarify", job_id):
            return await _run(
                session, "ClarifyWorkflow", asked, f"{job_id}/clarify", [job_id], Clarification,
                worker, _CLARIFY_TIME,
            )  # fmt: skip
    except jobs.JobNotFoundError:  # it exists for others
        return Clarification()
    except (ConsoleError, RPCError) as error:
        return Clarification(note=f"The question was not checked for what it leaves open. {error}")


def improve(question: str, answers: Iterable[str]) -> str:
    """The question with what was answered about it, in brackets before its closing mark."""
    given = "; ".join(filter(None, (cut(answer, MAX_ANSWER).strip(" .;") for answer in answers)))
    bare = question.rstrip(" ?.!\n")
    return f"{bare} ({given}){question[len(bare) :].rstrip()}" if given else question


async def commission(
    session: Session, job_id: str, question: str, budget_usd: float | None = None
) -> Commissioned:
    """Have a job research one further facet, for the next version of its report.

    Nothing that was paid for is paid again. A running job takes the facet up; one that has ended is
    started from its last checkpoint. `budget_usd` is what the facet may cost; by default, where the
    job has a limit, that of a job of quick effort.
    """
    question = check_asked(question)
    job, _ = await jobs.find(session.client, job_id)
    state = await _load_state(session, job_id)
    if state.plan is None:
        raise BadInputError(f"The job {job_id} has no plan yet: wait until it is planned.")
    facet = _build_facet(question, state)
    budget = _widen_budget(state, budget_usd)
    if job.found is StartState.RUNNING:
        session.start_worker(job_id)
        change = jobs.steer(job, [AddFacet(facet=facet)], budget.usd, budget.tokens)
        await session.wait_for_worker(change, job_id)
        version = state.version
    else:
        known = any(own.id == facet.id for own in state.plan.facets)
        store = CheckpointStore(session.settings)
        await runs.restart(
            session.client, store, job_id, facet=facet.id if known else facet, budget=budget
        )
        published = await list_versions(store.store, job_id)
        version = published[-1].n + 1 if published else 1
        session.start_worker(job_id)
    return Commissioned(
        job_id=job_id,
        facet_id=facet.id,
        question=question,
        version=version,
        budget_usd=budget.usd,
    )


async def compare(session: Session, before: str, after: str) -> Comparison:
    """What changed from one report to another, each `ID` or `ID@N`, of one job or of two."""
    first = await find_version(session, before)
    second = await find_version(session, after)
    request = CompareReports(before=first.key, after=second.key)
    about = [first.job_id, second.job_id]
    return await _run(session, "CompareWorkflow", request, "compare", about, Comparison)


def check_asked(question: str) -> str:
    question = validation.check_question(question)
    if len(question) > MAX_ASKED:
        raise BadInputError(
            f"The question has {len(question):,} characters, the maximum is {MAX_ASKED}: shorten"
            " it, or `run` it as a job of its own."
        )
    return question


def parse_reference(text: str) -> tuple[str, int]:
    """The job's id and the version of `ID@N`; 0 where none is named."""
    match = _REFERENCE.fullmatch(text)
    if match is None:
        raise BadInputError("The id is empty: name a job, or a version of its report as ID@2.")
    return validation.check_job_id(match["id"]), int(match["n"] or 0)


async def find_versions(session: Session, job_id: str) -> list[ReportVersion]:
    """The published versions of a job's report, the first one first."""
    await _check_visible(session, job_id)
    with explain_store_errors(f"The reports of {job_id} cannot be read"):
        return await list_versions(store_of(session.client), job_id)


async def find_version(session: Session, reference: str) -> ReportVersion:
    """The report that `ID` or `ID@N` names."""
    job_id, n = parse_reference(reference)
    known = await find_versions(session, job_id)
    if not known:
        raise BadInputError(
            f"The store has no report of a job {job_id}: `list` shows the jobs, and `status"
            f" {job_id}` whether it has finished."
        )
    for version in reversed(known):
        if n in (0, version.n):
            return version
    names = ", ".join(f"{job_id}@{version.n}" for version in known)
    raise BadInputError(f"The job {job_id} has no version {n} of its report: there is {names}.")


async def load_report(session: Session, reference: str) -> ResearchResult:
    version = await find_version(session, reference)
    with explain_store_errors(f"The report {reference} cannot be read"):
        return await store_of(session.client).load(version.key, ResearchResult)


def report_citation(
    settings: Settings, result: ResearchResult, claim_id: str, n: int, reason: str
) -> None:
    """Keep that the current actor calls the citation of source `n` for a claim wrong."""
    reason = reason.strip()
    if not 0 < len(reason) <= MAX_REASON:
        raise BadInputError(f"Say in at most {MAX_REASON:,} characters what is wrong with it.")
    log, name = FeedbackLog(settings), current_actor().name
    since = (datetime.now(UTC) - timedelta(hours=1)).isoformat(timespec="seconds")
    if sum(line["who"] == name and line["time"] > since for line in log.read()) >= MAX_FEEDBACK:
        raise TooManyError(
            f"{MAX_FEEDBACK} citations an hour can be called wrong: try again later."
        )
    sources = {source.id: source for source in result.sources if source.n == n}
    for claim in result.claims:
        quotes = [quote for quote in claim.quotes if quote.source_id in sources]
        if claim.id == claim_id and quotes:
            with recorded("feedback", result.id):
                log.write(
                    who=name, job=result.id, version=str(result.version),
                    model=result.model, claim=claim.id, text=claim.text, source=str(n),
                    uri=sources[quotes[0].source_id].uri, quote=quotes[0].text, reason=reason,
                )  # fmt: skip
            return
    raise BadInputError(f"No claim {claim_id[:64]} cites the source {n}: choose a citation.")


async def _check_visible(session: Session, job_id: str) -> ResearchState | None:
    """The job at its last checkpoint, if it exists for the current actor.

    Reports are read from the store, which knows nobody: their job's tenant and labels decide.
    """
    with explain_store_errors(f"The job {job_id} cannot be read"):
        state = await load_last_state(store_of(session.client), job_id)
    if state is None:
        # Says whether there is such a job.
        await jobs.find(session.client, job_id)
    elif not current_actor().sees(state.request.tenant, state.request.labels):
        raise jobs.JobNotFoundError(job_id)
    return state


async def _load_state(session: Session, job_id: str, n: int = 0) -> ResearchState:
    """The job at its last checkpoint, or as it was when it published this version."""
    state = await _check_visible(session, job_id)
    if n:
        version = await find_version(session, f"{job_id}@{n}")
        state = await load_last_state(store_of(session.client), job_id, version.run_id)
    if state is None:
        raise BadInputError(f"The job {job_id} has no checkpoint yet: wait until it is planned.")
    return state


def _build_facet(question: str, state: ResearchState) -> Facet:
    """The facet of the plan with this question, or a new one."""
    same = (facet for facet in state.facets.values() if facet.question == question)
    title = cut(question.rstrip(" ?.!"), _TITLE)
    return next(same, None) or build_facet(title, question, taken=set(state.facets))


def _widen_budget(state: ResearchState, usd: float | None) -> Budget:
    """The job's limits, raised where too little is left for a facet."""
    budget, spent = state.request.budget, state.spend
    if usd is None and default_budget_usd(state.request.model, state.request.effort) is not None:
        usd = DEFAULT_BUDGET_USD[Effort.QUICK]
    facets = len(state.plan.facets) if state.plan else 1
    tokens = max(1, spent.tokens // max(1, facets))
    return Budget(
        usd=None if budget.usd is None else max(budget.usd, spent.usd + (usd or 0.0)),
        tokens=None if budget.tokens is None else max(budget.tokens, spent.tokens + tokens),
    )


async def _run(
    session: Session,
    workflow: str,
    request: BaseModel,
    prefix: str,
    about: list[str],
    kind: type[Result],
    own_worker: str = ASKS,
    time: timedelta | None = None,
) -> Result:
    """The result of a short workflow; on the embedded server a worker of its own runs it, because
    the job's would continue a job that was stopped."""
    session.start_worker(own_worker)
    digest = hashlib.sha256(request.model_dump_json().encode()).hexdigest()[:16]
    handle = await session.client.start_workflow(
        workflow,
        request,
        id=f"{prefix}-{digest}",
        task_queue=find_task_queue(session.settings, own_worker),
        execution_timeout=time,
        task_timeout=session.settings.pace.task,
        memo={JOBS: about},
        id_conflict_policy=WorkflowIDConflictPolicy.USE_EXISTING,
        result_type=kind,
    )
    clock = asyncio.get_running_loop().time
    patience = clock() + _NO_WORKER_SECONDS

    async def check_worker() -> None:
        if worker := session.workers.get(own_worker):
            worker.replace_if_dead()
        elif clock() > patience and not await jobs.has_worker(session.client):
            raise ConsoleError(
                "No worker answers: start one with `python worker.py` and the same TEMPORAL_*"
                " settings, then ask again."
            )

    return await jobs.wait_for_workflow(handle, "There is no answer", check_worker, 0.2)
