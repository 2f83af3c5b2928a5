"""A question to a finished report, answered from the job's ledger and the stored texts.

The answer passes the gate of the report: what fails goes back to the model, and a sentence that
still fails is replaced by the claims it stood for. Its turns are in the job's journal, so that a
question asked again, or after a crash, is not paid for again.
"""

from __future__ import annotations

import asyncio
import hashlib
import re
from dataclasses import dataclass

from cachetools import LRUCache
from temporalio import activity
from temporalio.exceptions import ApplicationError

from activities.agent.conversation import Unanswered
from activities.agent.messages import JsonObject
from activities.agent.schemas import AskAnswer
from activities.agent.toolbox import split_blocks
from activities.context import ActivityContext
from activities.evidence.draft import (
    SUMMARY,
    Draft,
    cited,
    marks,
    normalize_citations,
    sentences_of,
)
from activities.evidence.ledger import Ledger
from activities.evidence.publish import number_as_read, renumber
from activities.evidence.report_gate import Evidence, Judged, faults
from activities.evidence.report_repair import list_claims, repair
from activities.evidence.text.terms import terms
from activities.fleet.heartbeat import send_heartbeats
from activities.storage.reports import list_versions, load_last_state
from activities.subagents.draft_judging import DraftJudge
from activities.subagents.ledger_search import Held, LedgerSearch
from activities.subagents.writing import describe_language
from workflows.config.roles import ANSWERER
from workflows.contracts.activity_io import Job, WriteBrief
from workflows.contracts.asking import Answer, AskRequest, Citation, CitedQuote
from workflows.contracts.evidence import Claim, Side
from workflows.contracts.facets import Plan
from workflows.contracts.state import LedgerRef, ResearchState
from workflows.rules.status import facet_reports
from workflows.stages.activity_interfaces import AskingActivities

NOT_HELD = "The report and its sources do not say."
_TOLD = 0.6
"""The share of a side's words that an answer which tells it has."""
_FIGURE = re.compile(r"\d+(?:[.,]\d+)*")
_KEPT_OPEN = 4
"""Ledgers that stay indexed: a report is mostly asked several times."""


@dataclass(frozen=True)
class _Asked:
    """The report that is asked: the job as it was when it published it."""

    version: int
    state: ResearchState
    plan: Plan
    ledger: LedgerRef


class Asking(AskingActivities):
    def __init__(self, context: ActivityContext) -> None:
        self._context = context
        self._searches: LRUCache[str, LedgerSearch] = LRUCache(_KEPT_OPEN)

    @activity.defn
    async def ask(self, request: AskRequest) -> Answer:
        async with send_heartbeats():
            asked = await self._find(request)
            search = await self._open(asked)
            held = await asyncio.to_thread(search.search, request.question)
            return await self._answer(request, asked, search, held)

    async def _find(self, request: AskRequest) -> _Asked:
        """The version, or the last checkpoint of a job that has published none."""
        store = self._context.store
        known = await list_versions(store, request.job_id)
        asked = next((v for v in reversed(known) if request.version in (0, v.n)), None)
        if request.version and asked is None:
            raise _refuse(f"the job {request.job_id} has no version {request.version}")
        state = await load_last_state(store, request.job_id, asked.run_id if asked else "")
        if state is None or state.ledger is None or state.plan is None:
            raise _refuse(f"the job {request.job_id} holds nothing yet")
        return _Asked(asked.n if asked else 0, state, state.plan, state.ledger)

    async def _open(self, asked: _Asked) -> LedgerSearch:
        key = asked.ledger.key
        if key not in self._searches:
            store = self._context.store
            ledger = await store.load(key, Ledger)
            titles = {facet.id: facet.title for facet in asked.plan.facets}
            self._searches[key] = await LedgerSearch.open(store, ledger, titles)
        return self._searches[key]

    async def _answer(
        self, request: AskRequest, asked: _Asked, search: LedgerSearch, held: Held
    ) -> Answer:
        state = asked.state
        # Not the job's id: a job that is paused can be asked.
        job = Job.of(state).model_copy(update={"id": activity.info().workflow_id})
        task = f"ask-{hashlib.sha256(request.question.encode()).hexdigest()[:12]}"
        numbered = held.number(search.ledger.sources)
        evidence = Evidence(numbered, (), f"{request.question} {job.question}", (job.today,))
        subagent = await self._context.create_subagent(ANSWERER, job, task)
        judge = DraftJudge(self._context, _as_writing(job, asked, task), evidence)
        judged = Judged()

        async def gate(answer: AskAnswer) -> list[str]:
            nonlocal judged
            if answer.status == "not_held":
                return []
            draft = _build_draft(answer)
            judged = await judge.judge(draft, subagent.spend)
            return [
                str(fault) for fault in await asyncio.to_thread(faults, draft, evidence, judged)
            ]

        brief = _build_brief(request, state, numbered, held)
        reply = await subagent.converse(AskAnswer, brief, gate=gate)
        spend = subagent.spend + judge.spend
        if isinstance(reply, Unanswered):
            raise ApplicationError(reply.detail, type="no_answer", non_retryable=True)
        answer, text = reply.answer, ""
        if answer.status != "not_held":
            draft = await asyncio.to_thread(repair, _build_draft(answer), evidence, judged)
            # Where no sentence could be kept, the repair lists claims: that is no answer.
            if draft.summary != list_claims(SUMMARY, numbered):
                text = _add_sides(draft.summary, held, numbered)
        is_held = bool(cited(text))
        numbers = number_as_read(text, numbered.numbers)
        return Answer(
            job_id=request.job_id,
            version=asked.version,
            question=request.question,
            status=answer.status if is_held else "not_held",
            text=renumber(text, numbers) if is_held else NOT_HELD,
            citations=_citations(text, numbers, search, held) if is_held else (),
            missing=tuple(filter(None, answer.missing)),
            offer="" if answer.status == "answered" and is_held
            else answer.offer.strip() or request.question,
            unjudged=judge.unjudged,
            spend=spend,
        )  # fmt: skip


def _refuse(why: str) -> ApplicationError:
    return ApplicationError(why, type="bad_input", non_retryable=True)


def _as_writing(job: Job, asked: _Asked, task: str) -> WriteBrief:
    """The answer as a part of the report, for its judge."""
    return WriteBrief(
        job=job,
        plan=asked.plan,
        ledger=asked.ledger,
        reports=facet_reports(asked.state),
        gaps=(),
        task=task,
    )


def _build_draft(answer: AskAnswer) -> Draft:
    return Draft(title="", summary=normalize_citations(answer.text).strip())


def _build_brief(
    request: AskRequest, state: ResearchState, numbered: Ledger, held: Held
) -> JsonObject:
    return {
        "question": request.question,
        "language": describe_language(request.question),
        "today": state.started_at[:10],
        "report_question": state.request.question,
        "evidence": [
            {
                "n": numbered.numbers[claim.id],
                "kind": "claim" if claim.facet_id else numbered.sources[claim.id].kind,
                "title": numbered.sources[claim.id].title,
                "section": claim.quotes[0].section,
                "date": numbered.sources[claim.id].date,
            }
            | _words_of(claim)
            for claim in numbered.claims
        ],
        "contradictions": [
            {
                "about": one.about,
                "why": one.explanation,
                "sides": [
                    {"text": side.text, "cite": numbered.cites(side.claim_ids)}
                    for side in one.sides
                ],
            }
            for one in held.contradictions
        ],
        "gaps": [gap.text for gap in state.gaps if gap.status != "closed"],
        "frequency": held.frequency,
        "sources": held.sources,
    }


def _words_of(claim: Claim) -> JsonObject:
    """What a claim says beside its quotes, or the paragraphs of a passage."""
    if not claim.facet_id:
        return {"blocks": split_blocks(claim.quotes[0].text)}
    remarks = {"uncertain", "not_to_overstate", "notes"}
    return {
        "text": claim.text,
        "quotes": [quote.text for quote in claim.quotes],
        **claim.model_dump(include=remarks, exclude_defaults=True),
    }


def _add_sides(text: str, held: Held, numbered: Ledger) -> str:
    """The answer with the other sides of what it says, where it has passed them over."""
    lines = [text]
    for one in held.contradictions:
        told = [side for side in one.sides if _is_told(side, text)]
        for side in one.sides if told else ():
            cites = numbered.cites(side.claim_ids)[:1]
            if cites and side not in told:
                lines.append(f"But: {side.text.rstrip('. ')} {marks(cites)}.")
    return "\n\n".join(lines)


def _is_told(side: Side, text: str) -> bool:
    """Whether the answer says what this side of a contradiction says: its figures, or its words."""
    figures, own = _FIGURE.findall(side.context.value), set(terms(side.text))
    if figures:
        return all(figure in text for figure in figures)
    return len(own & set(terms(text))) > _TOLD * len(own)


def _citations(
    text: str, numbers: dict[int, int], search: LedgerSearch, held: Held
) -> tuple[Citation, ...]:
    """What each [n] of the answer stands on, as the stored copies have it."""
    claims, sources = dict(enumerate(held.claims, 1)), search.ledger.sources
    said: dict[int, list[str]] = {}
    for sentence in sentences_of(SUMMARY, text):
        for n in sentence.cites:
            said.setdefault(n, []).append(sentence.bare)
    found = []
    for n, shown in sorted(numbers.items(), key=lambda pair: pair[1]):
        claim = claims[n]
        is_claim = bool(claim.facet_id)
        quotes = [search.narrow(quote, " ".join(said.get(n, ()))) for quote in claim.quotes]
        found.append(
            Citation(
                n=shown,
                claim_id=claim.id if is_claim else "",
                text=claim.text if is_claim else "",
                quotes=tuple(
                    CitedQuote(
                        **dict(quote)
                        | sources[quote.source_id].model_dump(include={"title", "uri", "date"})
                    )
                    for quote in quotes
                ),
            )
        )
    return tuple(found)
