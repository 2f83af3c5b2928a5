"""The tools of the MCP server.

A job takes minutes to hours, and many clients give a call less than one. So no call lasts as long
as a job: `start_research` returns an id within seconds, and `wait_for_research` returns the job's
state after a bounded time, with progress notifications meanwhile, to be called again until the job
has ended. A job belongs to its Temporal server: a lost connection or a killed process loses
nothing, and a call with the same id continues it.
"""

from __future__ import annotations

import asyncio
import contextlib
from typing import Annotated, Any, Literal

from mcp.server.mcpserver import Context
from pydantic import Field, ValidationError
from starlette.requests import Request

from activities.storage.corpus_versions import is_source
from console.client import asking, corpora, jobs, validation
from console.client import session as sessions
from console.client.audit import current_actor
from console.client.job_list import JobRecord
from console.client.job_options import JobOptions, new_job_id
from console.client.jobs import Job, StartState
from console.client.progress import ProgressPoller
from console.client.research_request import build_facet, build_request
from console.errors import BadInputError, first_fault
from console.mcp.outputs import Corpora, Corpus, JobState, Report, describe_end, describe_progress
from console.web.people import Role, require
from console.web.state import AppState, Control
from workflows.contracts.asking import Answer
from workflows.contracts.messages import (
    AddFacet,
    AddNote,
    Approve,
    Change,
    DropFacet,
    RefineFacet,
)

MAX_WAIT_SECONDS = 50
"""Below the minute that most clients give a call."""
_START_SECONDS = 3.0
Seconds = Annotated[
    float,
    Field(
        gt=0,
        le=MAX_WAIT_SECONDS,
        description="At most this long; choose less than your client gives a call.",
    ),
]
JobId = Annotated[str, Field(description="The id that start_research returned.")]


class ResearchTools:
    """The tools. Their docstrings and parameters are what a model reads."""

    def __init__(self, state: AppState) -> None:
        self._console = state
        self._starting: dict[tuple[str, str, str], asyncio.Task[Job]] = {}
        """Jobs whose documents are being uploaded, by actor, id and question."""

    async def start_research(
        self,
        ctx: Context[Any, Any],
        question: Annotated[str, Field(description="The question, in whole sentences.")],
        corpus: Annotated[
            str | None,
            Field(description="The name of a corpus (list_corpora), or a folder of documents."),
        ] = None,
        job_id: Annotated[
            str | None,
            Field(
                description="An id of your choice. The same call with the same id gives the same"
                " job, and continues it if it was interrupted."
            ),
        ] = None,
        effort: Literal["quick", "standard", "deep"] = "standard",
        web: Annotated[bool | None, Field(description="Search the web, too.")] = None,
        model: str | None = None,
        budget_usd: Annotated[float | None, Field(description="The most it may spend.")] = None,
        max_facets: int | None = None,
        max_passes: int | None = None,
        labels: Annotated[
            list[str] | None, Field(description="Permission labels of documents it may read.")
        ] = None,
        approve: Annotated[
            bool, Field(description="Wait for the plan to be approved (steer_research).")
        ] = False,
        audience: str = "",
        length: str = "",
        tone: str = "",
    ) -> JobState:
        """Start a research job and return its id at once; the job goes on by itself.

        Give a `job_id` wherever the call may be repeated. Next: wait_for_research.
        """
        check_role(ctx, Role.RESEARCHER)
        options = JobOptions(
            question=question, corpus=corpus, effort=effort, web=web, model=model,
            budget_usd=budget_usd, max_facets=max_facets, max_passes=max_passes, labels=labels,
            approve=approve, audience=audience, length=length, tone=tone,
        )  # fmt: skip
        if corpus is not None and is_source(corpus):
            # Before it is looked for: a refusal may not tell which folders there are.
            self._console.check_folders_allowed()
        request = await asyncio.to_thread(build_request, options, self._console.settings)
        if request.corpus is not None and is_source(request.corpus):
            self._console.check_folders_allowed()
        sessions.check_job_files(self._console.settings)
        job_id = validation.check_job_id(job_id) if job_id else new_job_id()
        key = (current_actor().name, job_id, request.question)
        if key not in self._starting:
            self._starting[key] = asyncio.create_task(self._console.start(job_id, request))
        # A large folder takes longer to upload than a call may last: the task goes on after it.
        await asyncio.wait({self._starting[key]}, timeout=_START_SECONDS)
        return await self._read_state(job_id, seconds=0.5)

    async def research_status(self, ctx: Context[Any, Any], job_id: JobId) -> JobState:
        """Show where a job stands, without waiting."""
        check_role(ctx, Role.READER)
        return await self._read_state(job_id)

    async def wait_for_research(
        self,
        ctx: Context[Any, Any],
        job_id: JobId,
        seconds: Seconds = 20,
    ) -> JobState:
        """Wait until the job ends or needs a person, but at most `seconds`, then return its state.

        Call it again until `has_ended`. It also continues a job that was interrupted.
        """
        may_continue = check_role(ctx, Role.READER)
        clock = asyncio.get_running_loop().time
        began, poller = clock(), None
        state = JobState(id=job_id, state="unknown", next="wait_for_research")
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                while state.state in ("unknown", "preparing", "running"):
                    state = await self._read_state(job_id, poller, min(3.0, seconds / 2))
                    if poller is None and state.state == "running":
                        job, _ = await jobs.find(self._console.client, job_id)
                        poller = ProgressPoller(job)
                        if may_continue:
                            self._console.start_worker(job_id)
                    message = "; ".join(state.doing) or state.phase or state.state
                    await ctx.report_progress(clock() - began, message=message)
                    await asyncio.sleep(0 if state.has_ended else 1)
        return state

    async def steer_research(
        self,
        ctx: Context[Any, Any],
        job_id: JobId,
        notes: Annotated[
            list[str] | None, Field(description="Told to every subagent at its next turn.")
        ] = None,
        add_facets: Annotated[
            dict[str, str] | None, Field(description="Sub-questions to add: question by title.")
        ] = None,
        refine_facets: Annotated[
            dict[str, str] | None, Field(description="Other questions, by facet id.")
        ] = None,
        drop_facets: Annotated[list[str] | None, Field(description="Ids of facets.")] = None,
        budget_usd: Annotated[float | None, Field(description="The new limit.")] = None,
        control: Annotated[
            Literal["approve", Control] | None,
            Field(
                description="approve the plan that waits for it; pause; resume what is paused or"
                " blocked; finish with what was found; cancel without a report."
            ),
        ] = None,
    ) -> JobState:
        """Change a running job, or control it."""
        check_role(ctx, Role.RESEARCHER)
        try:
            changes: list[Change] = [DropFacet(facet_id=name) for name in drop_facets or ()]
            for name, question in (refine_facets or {}).items():
                changes.append(RefineFacet(facet_id=name, question=question))
            for title, question in (add_facets or {}).items():
                changes.append(AddFacet(facet=build_facet(title, question)))
            changes += [AddNote(text=note) for note in notes or ()]
        except ValidationError as error:
            raise BadInputError(f"{': '.join(first_fault(error))}.") from None
        usd = validation.check_budget_usd(budget_usd)
        if not changes and usd is None and control is None:
            raise BadInputError("There is nothing to change: give at least one of the options.")
        validation.check_job_id(job_id)
        if changes or usd is not None:
            job = await jobs.find_running(self._console.client, job_id)
            await self._console.wait_for_worker(job_id, jobs.steer(job, changes, usd))
        if control == "approve":
            await self._console.send_update(job_id, control, Approve(decision="approve"))
        elif control is not None:
            await self._console.control(job_id, control)
        return await self._read_state(job_id)

    async def get_report(
        self,
        ctx: Context[Any, Any],
        job_id: JobId,
        format: Annotated[
            Literal["markdown", "json"],
            Field(description="json has every claim with its quotes, and can be long."),
        ] = "markdown",
    ) -> Report:
        """Read the report of a finished job."""
        check_role(ctx, Role.READER)
        result = await self._console.fetch_report(validation.check_job_id(job_id))
        return Report(
            id=job_id,
            question=result.question,
            status=result.status,
            format=format,
            text=result.report_markdown if format == "markdown" else result.model_dump_json(),
        )

    async def ask_report(
        self,
        ctx: Context[Any, Any],
        job_id: JobId,
        question: Annotated[str, Field(description="The question to the report.")],
        seconds: Seconds = 45,
    ) -> Answer:
        """Answer a question from what a job has found, with citations; nothing is researched.

        What the job does not hold is named in `missing`. If the answer takes longer than `seconds`,
        the same call again waits on.
        """
        check_role(ctx, Role.RESEARCHER)
        # Says whether there is such a job for this person.
        await jobs.find(self._console.client, validation.check_job_id(job_id))
        clock = asyncio.get_running_loop().time
        began = clock()
        answering = asyncio.create_task(asking.ask(self._console.session, job_id, question))
        try:
            while not answering.done() and clock() - began < seconds:
                await ctx.report_progress(clock() - began, message="answering")
                await asyncio.wait({answering}, timeout=1)
            if answering.done():
                return answering.result()
            raise BadInputError("The answer is not ready yet: repeat this call.")
        finally:
            answering.cancel()

    async def list_corpora(self, ctx: Context[Any, Any]) -> Corpora:
        """List the corpora: documents that start_research can read by name."""
        check_role(ctx, Role.READER)
        heads = await corpora.list_heads(self._console.settings)
        return Corpora(
            corpora=[
                Corpus(
                    **head.model_dump(include={"name", "version", "files", "updated"}),
                    labels=sorted({label for own in head.rules.values() for label in own}),
                )
                for head in heads
            ]
        )

    async def _read_state(
        self, job_id: str, poller: ProgressPoller | None = None, seconds: float = 3.0
    ) -> JobState:
        validation.check_job_id(job_id)
        own = (current_actor().name, job_id)
        for key in [key for key in self._starting if key[:2] == own]:
            if self._starting[key].done():
                self._starting.pop(key).result()
            else:
                return JobState(id=job_id, state="preparing", next="wait_for_research")
        job, description = await jobs.find(self._console.client, job_id)
        if job.found is StartState.FINISHED:
            return await describe_end(job, JobRecord.of(description).state)
        progress = await (poller or ProgressPoller(job)).poll(seconds)
        return describe_progress(progress)


def check_role(ctx: Context[Any, Any], role: Role) -> bool:
    """Whether the client may also change jobs. Raises 403 without this role.

    From here on the person who sent the request is the actor of the call. Over stdio that is the
    person at this machine, who may do everything.
    """
    request: Request | None = ctx.request_context.request
    if request is None:
        return True
    return require(request, role).role >= Role.RESEARCHER
