"""The finished report: parts put together, citations numbered as read, the ledger beside it.

All of it is mechanical. What the gate let through is not touched again, only its citation numbers.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TypeVar

from activities.evidence.charts import find_charts
from activities.evidence.draft import CITATION, CODE_BLOCK, Draft, edit_prose
from activities.evidence.ledger import Ledger, origin_count, origins
from activities.evidence.report_appendix import (
    bullet_list,
    describe_calculations,
    describe_differences,
    describe_method,
    describe_points,
    list_points,
    list_sources,
    one_line,
)
from workflows.config.model_catalog import card
from workflows.contracts.evidence import Claim, Cycle, Quote
from workflows.contracts.facets import Facet
from workflows.contracts.outcomes import SubagentOutcome
from workflows.contracts.result import (
    CONCLUSION,
    DISAGREE,
    MISSING,
    SUMMARY,
    Calculation,
    ClaimOut,
    CorpusOut,
    Coverage,
    CoverageStatus,
    PassOut,
    PlanOut,
    QuoteOut,
    ResearchResult,
    ResultStatus,
    SourceOut,
    Telemetry,
)
from workflows.contracts.spend import Spend
from workflows.contracts.state import Acceptance, Gap, ResearchState, RubricVerdict
from workflows.rules.gaps import PARTIAL

Citing = TypeVar("Citing", Calculation, RubricVerdict)


def publish(
    state: ResearchState,
    ledger: Ledger,
    draft: Draft | None,
    cycles: Mapping[str, Sequence[Cycle]],
    seconds: float,
    surroundings: Mapping[Quote, tuple[str, str]] | None = None,
) -> ResearchResult:
    """The result of a job. `cycles` are each facet's rounds of retrieval, by facet id;
    `surroundings` is what stands before and after a quote in its source."""
    around = surroundings or {}
    origin = origins(ledger)
    coverage = tuple(_coverage(state, ledger, origin, cycles))
    if draft:
        draft = _in_order(draft, ledger)
    body = _body(state, draft) if draft else _nothing_found(state)
    body = "\n\n".join(filter(None, [body, describe_points(state, ledger)]))
    notes = "\n\n".join(filter(None, [describe_differences(ledger), describe_calculations(draft)]))
    numbers = number_as_read(f"{body}\n{notes}", ledger.numbers)
    markdown, notes = (renumber(part, numbers) for part in (body, notes))
    sources = sorted(
        (_source(ledger, sid, numbers, origin) for sid in ledger.sources),
        key=lambda s: (s.n is None, s.n or 0, s.uri),
    )
    cited = {source.id for source in sources if source.n is not None}
    charts, comparisons = find_charts(
        (claim for claim in ledger.citable() if not cited.isdisjoint(claim.source_ids)),
        ledger.contradictions,
        ledger.sources,
        around,
    )
    spend, counters, ref = state.spend, state.counters, state.corpus.ref
    return ResearchResult(
        id=state.id,
        version=state.version,
        question=state.request.question,
        status=_status(state, ledger),
        model=state.request.model,
        plan=PlanOut.model_validate(state.plan, from_attributes=True)
        if state.plan
        else PlanOut(kind=""),
        coverage=coverage,
        sources=tuple(sources),
        claims=tuple(_claim(claim, ledger, origin, around) for claim in ledger.claims),
        contradictions=ledger.contradictions,
        differences=ledger.differences,
        dropped=ledger.all_dropped(),
        gaps=state.gaps,
        answer=state.answer,
        rubric=_renumber_cites(list_points(state, ledger), numbers),
        calculations=_renumber_cites(draft.calculations, numbers) if draft else (),
        charts=tuple(charts),
        comparisons=tuple(comparisons),
        passes=tuple(
            PassOut(**p.model_dump(), turns=p.spend.turns, usd=p.spend.usd) for p in state.passes
        ),
        unreadable=state.corpus.unreadable,
        mended=draft.mended if draft else (),
        unjudged=draft.unjudged if draft else "",
        stop_reason=state.stop_reason,
        parent=state.parent,
        started_at=state.started_at,
        telemetry=Telemetry(
            **counters.model_dump(include={"spawned", "parallel_max", "retries", "follow_ups"}),
            **spend.model_dump(include={"turns", "input_tokens", "output_tokens", "usd"}),
            retry_rate=_share(sum(counters.retries.values()), counters.researchers),
            partial_data_rate=_share(counters.partial, len(state.outcomes)),
            turns_bought_again=spend.bought_again,
            seconds=seconds,
            by_role=state.spend_by_role,
        ),
        corpus=CorpusOut(name=ref.name, version=ref.version) if ref else None,
        documents=state.corpus.documents,
        timeline=state.timeline,
        report_markdown="\n\n".join(
            [
                markdown,
                describe_method(state, coverage, draft, notes, ledger.all_dropped()),
                list_sources(sources),
            ]
        ).strip()
        + "\n",
    )


def _in_order(draft: Draft, ledger: Ledger) -> Draft:
    """The draft with its contradictions in the order in which the ledger has them."""
    order = {item.id: place for place, item in enumerate(ledger.contradictions)}
    entries = sorted(draft.contradictions, key=lambda e: order.get(e.contradiction_id, len(order)))
    return draft.model_copy(update={"contradictions": tuple(entries)})


def _body(state: ResearchState, draft: Draft) -> str:
    unpursued = [gap for gap in state.gaps if gap.status == "open" and gap.reason]
    return assemble_body(
        draft, state.facets.values(), [*_unanswered(state), _head(state)], unpursued
    )


def _unanswered(state: ResearchState) -> list[str]:
    """What stands at the top of a report that does not answer its question."""
    answer = state.answer
    if answer is None or answer.status == "answered":
        return []
    how = "answered only in part" if answer.status == "partly" else "not answered"
    return [f"**The question is {how}.** {one_line(answer.reason)}".rstrip()]


def assemble_body(
    draft: Draft, facets: Iterable[Facet], head: Sequence[str] = (), unpursued: Sequence[Gap] = ()
) -> str:
    """The report as its reader meets it: headings, contradictions, what is missing."""
    written = draft.parts()
    told = [entry.markdown for entry in draft.contradictions]
    parts = [f"# {draft.title}", *head, f"## {SUMMARY}", draft.summary]
    for facet in facets:
        parts += [f"## {facet.title}", written.get(facet.id, "")]
    if draft.conclusion:
        parts += [f"## {CONCLUSION}", draft.conclusion]
    if told:
        parts += [f"## {DISAGREE}", "\n\n".join(told)]
    if draft.gaps or unpursued:
        parts += [f"## {MISSING}", draft.gaps]
        parts += [bullet_list(f"{one_line(gap.text)} ({gap.reason})" for gap in unpursued)]
    return "\n\n".join(part for part in parts if part)


def _nothing_found(state: ResearchState) -> str:
    """No report is invented: the result says what was tried."""
    tried = [
        f"- **{facet.title}**: {outcome.reason or outcome.status}"
        for facet in state.facets.values()
        if (outcome := state.outcomes.get(facet.id))
    ]
    return "\n\n".join(
        [
            f"# Nothing was found: {state.request.question}",
            _head(state),
            "No source held anything that answers this question, so no report was written.",
            "## What was tried",
            "\n".join(tried),
            "Add documents that deal with it, or ask more broadly, and run again.",
        ]
    )


def _head(state: ResearchState) -> str:
    documents = state.corpus.documents
    return (
        f"_{card(state.request.model).statement} Question: “{state.request.question.strip()}” "
        f"Date: {state.started_at[:10]}. Documents searched: {documents}._"
    )


def renumber(markdown: str, numbers: Mapping[int, int]) -> str:
    """The text with its citations renumbered; what stands in code blocks is no citation."""

    def replace(prose: str) -> str:
        return CITATION.sub(lambda found: f"[{numbers[int(found[1])]}]", prose)

    return edit_prose(markdown, replace)


def number_as_read(markdown: str, numbers: Mapping[str, int]) -> dict[int, int]:
    """Ledger number → number in the report: 1, 2, 3 … as a reader meets them."""
    known = set(numbers.values())
    met = dict.fromkeys(map(int, CITATION.findall(CODE_BLOCK.sub("", markdown))))
    return {n: n for n in met} | {n: i for i, n in enumerate((n for n in met if n in known), 1)}


def _renumber_cites(items: Iterable[Citing], numbers: Mapping[int, int]) -> tuple[Citing, ...]:
    return tuple(
        one.model_copy(update={"cite": tuple(numbers[n] for n in one.cite)}) for one in items
    )


def _coverage(
    state: ResearchState,
    ledger: Ledger,
    origin: Mapping[str, str],
    cycles: Mapping[str, Sequence[Cycle]],
) -> Iterable[Coverage]:
    if state.plan is None:
        return
    for facet in state.plan.facets:
        claims = [claim for claim in ledger.citable() if claim.bears_on(facet.id)]
        sources = {sid for claim in claims for sid in claim.source_ids}
        outcome = state.outcomes.get(facet.id)
        spend = state.spend_by_facet.get(facet.id, Spend())
        acceptance = state.acceptances.get(facet.id, Acceptance(judged=None))
        yield Coverage(
            facet_id=facet.id,
            title=facet.title,
            status=_facet_status(state, ledger, facet, claims),
            reason=_remark(outcome, is_answered=bool(claims)),
            claims=len(claims),
            sources=len(sources),
            origins=len({origin.get(sid, sid) for sid in sources}),
            cycles=tuple(cycles.get(facet.id, ())),
            turns=spend.turns,
            usd=spend.usd,
            next_step=outcome.findings.next_step if outcome and outcome.findings else "",
            searched=outcome.searched if outcome else (),
            problems=outcome.problems if outcome else (),
            alternatives=outcome.alternatives if outcome else (),
            follow_ups=acceptance.follow_ups,
            transcript=acceptance.transcript,
        )
    for facet in state.plan.left_out:
        yield Coverage(
            facet_id=facet.id,
            title=facet.title,
            status="left_out",
            reason=facet.left_out_because or "the effort allows no more facets",
        )


def _facet_status(
    state: ResearchState, ledger: Ledger, facet: Facet, claims: Sequence[Claim]
) -> CoverageStatus:
    if not claims:
        outcome = state.outcomes.get(facet.id)
        return "absent" if outcome and outcome.status == "no_results" else "failed"
    contested = {cid for item in ledger.contradictions for cid in item.claim_ids}
    if any(claim.id in contested for claim in claims):
        return "contested"
    is_partial = any(
        gap.facet_id == facet.id and gap.id.startswith(PARTIAL) and gap.status != "closed"
        for gap in state.gaps
    )
    return "partial" if is_partial else "answered"


def _remark(outcome: SubagentOutcome | None, *, is_answered: bool) -> str:
    reason = outcome.reason if outcome else ""
    if not is_answered:
        return reason or "it was not researched"
    missing = "; ".join(outcome.missing) if outcome else ""
    return f"not found: {missing}" if missing else reason


def _status(state: ResearchState, ledger: Ledger) -> ResultStatus:
    if not ledger.citable():
        return "nothing_found"
    unclosed = any(gap.status != "closed" for gap in state.gaps)
    unclosed |= state.answer is not None and state.answer.status != "answered"
    return "complete_with_gaps" if unclosed else "complete"


def _claim(
    claim: Claim,
    ledger: Ledger,
    origin: Mapping[str, str],
    around: Mapping[Quote, tuple[str, str]],
) -> ClaimOut:
    labels = {label for sid in claim.source_ids for label in ledger.sources[sid].labels}
    return ClaimOut(
        **claim.model_dump(exclude={"quotes"}),
        quotes=tuple(_quote(quote, *around.get(quote, ("", ""))) for quote in claim.quotes),
        origins=origin_count(claim, origin),
        labels=tuple(sorted(labels)),
    )


def _quote(quote: Quote, before: str, after: str) -> QuoteOut:
    return QuoteOut(**quote.model_dump(), before=before, after=after)


def _source(
    ledger: Ledger, source_id: str, numbers: Mapping[int, int], origin: Mapping[str, str]
) -> SourceOut:
    source = ledger.sources[source_id]
    n = ledger.numbers.get(source_id)
    return SourceOut(
        **source.model_dump(),
        n=numbers.get(n) if n is not None else None,
        authority=source.authority,
        origin=origin[source_id],
        marks=source.marks,
    )


def _share(part: int, whole: int) -> float:
    return round(part / whole, 4) if whole else 0.0
