"""The writer: writes the report from verified claims; the gate checks it, code first, then a judge.

What fails goes back to the model with the exact list; of what is still wrong after that, each
failing sentence is replaced by the claims it stood for, and marked.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterable, Sequence
from functools import cache
from importlib import resources

from temporalio import activity

from activities.agent.conversation import Answered
from activities.agent.messages import JsonObject
from activities.agent.schemas import DraftAnswer
from activities.context import ActivityContext
from activities.evidence.draft import (
    CONCLUSION,
    SUMMARY,
    Draft,
    Entry,
    Section,
    demote_headings,
    normalize_citations,
)
from activities.evidence.ledger import Ledger, origin_count, origins
from activities.evidence.report_gate import Evidence, Judged, faults
from activities.evidence.report_repair import list_claims, repair
from activities.evidence.text.terms import STOP_WORDS, detect_language, words
from activities.fleet.heartbeat import send_heartbeats
from activities.subagents.draft_judging import DraftJudge
from activities.subagents.prompt_parts import describe_contradictions, describe_facets
from workflows.config.model_catalog import card
from workflows.config.roles import WRITER, model_for
from workflows.contracts.activity_io import WriteBrief, Written
from workflows.contracts.evidence import Findings
from workflows.contracts.facets import Plan, QuestionKind
from workflows.contracts.result import Calculation
from workflows.contracts.state import DraftRef
from workflows.stages.activity_interfaces import WritingActivities

LANGUAGES = {
    "en": "English", "de": "German", "fr": "French", "es": "Spanish", "it": "Italian",
    "nl": "Dutch", "pt": "Portuguese",
}  # fmt: skip


class Writing(WritingActivities):
    def __init__(self, context: ActivityContext) -> None:
        self._context = context

    @activity.defn
    async def write(self, brief: WriteBrief) -> Written:
        store = self._context.store
        async with send_heartbeats():
            subagent = await self._context.create_subagent(WRITER, brief.job, brief.task)
            ledger = await store.load(brief.ledger.key, Ledger)
            previous = await store.load(brief.previous.key, Draft) if brief.previous else None
            found = await asyncio.gather(*(store.load(key, Findings) for key in brief.findings))
            runs = collect_code_runs(brief.plan, found)
            evidence = build_evidence(brief, ledger, runs)
            judge = DraftJudge(self._context, brief, evidence, previous)
            judged = Judged()

            async def gate(answer: DraftAnswer) -> list[str]:
                nonlocal judged
                draft = build_draft(brief, answer, previous, runs)
                judged = await judge.judge(draft, subagent.spend)
                # A long report takes seconds, and heartbeats must go on meanwhile.
                found = await asyncio.to_thread(faults, draft, evidence, judged)
                return [str(fault) for fault in found]

            reply = await subagent.converse(
                DraftAnswer,
                build_brief(brief, evidence, previous, runs),
                await self._context.create_toolbox(WRITER, brief.job, pages=ledger.sources),
                gate,
            )
            if isinstance(reply, Answered):
                draft = build_draft(brief, reply.answer, previous, runs)
            else:
                draft = write_without_model(brief, ledger, previous, reply.detail)
            draft = await asyncio.to_thread(repair, draft, evidence, judged)
            draft = draft.model_copy(update={"unjudged": judge.unjudged})
            key = await store.save("drafts", draft)
        length = sum(len(section.markdown.split()) for section in draft.sections)
        return Written(
            draft=DraftRef(key=key, words=length, mended=draft.mended),
            spend=subagent.spend,
            judge_spend=judge.spend,
        )


def collect_code_runs(plan: Plan, found: Iterable[Findings]) -> tuple[Calculation, ...]:
    """What the researchers' programs printed, with the facet each ran for."""
    titles = {facet.id: facet.title for facet in plan.facets}
    runs = {
        run: Calculation(
            result=run.output,
            expression=run.code,
            by="program",
            about=titles.get(findings.facet_id, ""),
        )
        for findings in found
        for run in findings.code_runs
    }
    return tuple(runs.values())


def build_evidence(brief: WriteBrief, ledger: Ledger, runs: Sequence[Calculation] = ()) -> Evidence:
    """What the draft is held against, and which parts a report of this kind must have."""
    job, kind = brief.job, brief.plan.kind
    answered = [f for f in brief.plan.facets if any(c.bears_on(f.id) for c in ledger.citable())]
    is_broad = kind is not QuestionKind.FACT and len(answered) > 1
    composes = card(model_for(WRITER, job.model, job.models)).composes
    return Evidence(
        ledger,
        brief.gaps,
        question=job.question,
        context=(
            job.today,
            *job.pinned,
            *(f"{facet.title} {facet.question}" for facet in brief.plan.facets),
            *(f"{report.reason} {' '.join(report.missing)}" for report in brief.reports),
            *(run.result for run in runs),
        ),
        wants_conclusion=is_broad and composes,
        wants_table=is_broad and composes and kind is QuestionKind.COMPARISON,
    )


def build_draft(
    brief: WriteBrief,
    answer: DraftAnswer,
    previous: Draft | None,
    runs: Sequence[Calculation] = (),
) -> Draft:
    """The answer as a draft: a section for every facet of the plan, unchanged ones from before."""
    new = {section.facet_id: section.markdown for section in answer.sections}
    old = previous.parts() if previous else {}
    rewritten = set(brief.revise) if previous else {facet.id for facet in brief.plan.facets}
    sections = tuple(
        Section(
            facet_id=facet.id,
            markdown=_tidy((new if facet.id in rewritten else old).get(facet.id, ""))
            or old.get(facet.id, ""),
        )
        for facet in brief.plan.facets
    )  # fmt: skip
    declared = [*(previous.calculations if previous else ()), *runs]
    declared += [Calculation(**one.model_dump()) for one in answer.derived]
    calculations = {one.result: one for one in declared}
    return Draft(
        title=answer.title,
        summary=_tidy(answer.summary),
        sections=sections,
        conclusion=_tidy(answer.conclusion) or (previous.conclusion if previous else ""),
        contradictions=tuple(
            Entry(
                contradiction_id=entry.contradiction_id,
                markdown=normalize_citations(entry.markdown),
            )
            for entry in answer.contradictions
        ),
        gaps=normalize_citations(answer.gaps),
        calculations=tuple(calculations.values()),
    )


def _tidy(markdown: str) -> str:
    return normalize_citations(demote_headings(markdown)).strip()


def write_without_model(
    brief: WriteBrief, ledger: Ledger, previous: Draft | None, why: str
) -> Draft:
    """A report without a writer: the claims as they are, by facet."""
    if previous is not None:
        note = f"summary: the revision could not be written ({why})"
        return previous.model_copy(update={"mended": (*previous.mended, note)})
    return Draft(
        title=brief.job.question[:200],
        summary=f"_No summary could be written: {why}._\n\n{list_claims(SUMMARY, ledger)}",
        sections=tuple(
            Section(facet_id=facet.id, markdown=list_claims(facet.id, ledger))
            for facet in brief.plan.facets
        ),
        mended=(f"summary: the writer gave no report ({why})",),
    )


@cache
def _forms() -> dict[str, str]:
    """The part of the prompt for each kind of question, by the name of the kind."""
    prompts = resources.files("activities.subagents") / "prompts"
    text = (prompts / "writer_forms.md").read_text("utf-8")
    pieces = re.split(r"^## (\w+)\n", text, flags=re.M)
    return {
        name: " ".join(body.split()) for name, body in zip(pieces[1::2], pieces[2::2], strict=True)
    }


def describe_language(question: str) -> str:
    """The language of the question; where its words do not tell, the writer sees for itself."""
    code = detect_language(question)
    # One word may be another language's too.
    told = len(STOP_WORDS[code] & set(words(question))) > 1
    return LANGUAGES[code] if told else "that of the question"


def build_brief(
    brief: WriteBrief, evidence: Evidence, previous: Draft | None, runs: Sequence[Calculation]
) -> JsonObject:
    """The brief of the writer: verified claims with the numbers they are cited by."""
    job, ledger, forms = brief.job, evidence.ledger, _forms()
    origin = origins(ledger)
    conclusion = [forms[CONCLUSION]] if evidence.wants_conclusion else []
    return {
        "question": job.question,
        "today": job.today,
        "language": describe_language(job.question),
        "pinned": job.pinned,
        "wishes": {
            name: wish
            for name, wish in job.model_dump(include={"audience", "length", "tone"}).items()
            if wish
        },
        "kind": brief.plan.kind,
        "form": " ".join([forms[brief.plan.kind], *conclusion]),
        "facets": describe_facets(brief.plan, brief.reports),
        "claims": [
            claim.model_dump(exclude={"quotes"})
            | {
                "cite": ledger.cites(claim.source_ids),
                "origins": origin_count(claim, origin),
                "quotes": [quote.text for quote in claim.quotes],
                "sections": [quote.section for quote in claim.quotes],
                "start": claim.quotes[0].start,
            }
            for claim in ledger.citable()
        ],
        "sources": [
            {"n": n, "marks": ledger.sources[sid].marks}
            | ledger.sources[sid].model_dump(include={"title", "date", "kind", "uri"})
            for sid, n in ledger.numbers.items()
        ],
        "programs": [run.model_dump(include={"about", "expression", "result"}) for run in runs],
        "contradictions": describe_contradictions(ledger),
        "gaps": [
            gap.model_dump(include={"id", "facet_id", "kind", "text", "status", "reason"})
            for gap in brief.gaps
            if gap.status != "closed"
        ],
        "unreadable": [file.model_dump() for file in brief.unreadable],
        "revise": brief.revise if previous else (),
        "previous": previous.model_dump(include={"title", "summary", "sections", "conclusion"})
        if previous
        else None,
    }
