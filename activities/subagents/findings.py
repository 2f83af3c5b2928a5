"""Turns the answers of a research subagent into findings: claims with valid quotes, merged.

Answers before a hand-over and to follow-ups are merged with those after them: claims keep their
order and ids, a claim that is repeated counts once, and a quote that is not in the stored copy of
its source is dropped.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from activities.agent.messages import JsonObject
from activities.agent.schemas import ClaimAnswer, ResearchAnswer
from activities.agent.toolbox import Toolbox
from activities.evidence.quotes import StoredText
from activities.storage.store import Store
from workflows.contracts.activity_io import ResearchBrief
from workflows.contracts.evidence import Claim, DroppedClaim, Findings, Quote

KNOWN_CLAIMS = 60
CODE_RUNS = 20
"""The newest programs that are kept."""


class AnswerChecker:
    """Checks quotes against the stored copies of what the subagent has seen, and its scores."""

    def __init__(self, store: Store, tools: Toolbox) -> None:
        self._store = store
        self._tools = tools
        self._texts: dict[str, StoredText] = {}
        self._scored: set[str] = set()
        """By this answer or by one before it."""

    async def complaints(self, answer: ResearchAnswer) -> list[str]:
        named = {quote.source_id for claim in answer.claims for quote in claim.quotes}
        wanted = {self._tools.resolve(source_id) for source_id in named}
        copies = {self._tools.sources[sid].sha256 for sid in wanted & set(self._tools.sources)}
        for sha256 in sorted(copies - set(self._texts)):
            self._texts[sha256] = StoredText(await self._store.text(sha256) or "")
        self._scored |= {
            self._tools.resolve(score.source_id) for score in answer.scores if score.reason.strip()
        }
        return [
            *(
                f"this quote does not stand in {q.source_id}, copy it exactly: {q.text[:200]}"
                for claim in answer.claims
                for q in claim.quotes
                if self._find(q.source_id, q.text) is None
            ),
            *(
                f"{source_id}: you read this, so give it a score with its reason"
                for source_id in self._tools.log.unscored(self._scored)
            ),
        ]

    def valid_quotes(self, claim: ClaimAnswer) -> tuple[Quote, ...]:
        """The quotes that stand in their sources, as the sources write them."""
        found = (self._find(quote.source_id, quote.text) for quote in claim.quotes)
        return tuple(
            Quote(source_id=quote.source_id, text=quote.text)
            for quote in found
            if quote is not None
        )

    def _find(self, source_id: str, text: str) -> Quote | None:
        source = self._tools.sources.get(self._tools.resolve(source_id))
        stored = self._texts.get(source.sha256) if source else None
        return stored.find(Quote(source_id=source.id, text=text)) if source and stored else None


def gather_findings(
    brief: ResearchBrief,
    answers: Sequence[ResearchAnswer],
    tools: Toolbox,
    quotes: AnswerChecker,
    earlier: Findings | None = None,
    lost_transcript: bool = False,
) -> Findings | None:
    """All answers joined to what was found `earlier`; None where no claim has a valid quote."""
    claims, dropped = _gather_claims(brief, answers, quotes, earlier)
    if not claims:
        return None
    newest = answers[-1] if answers else ResearchAnswer(summary="")
    before = (earlier,) if earlier else ()
    sources = {s.id: s for found in before for s in found.sources} | tools.sources
    cited = {source_id for claim in claims for source_id in claim.source_ids}
    scores = [s.model_copy(update={"source_id": tools.resolve(s.source_id)}) for s in newest.scores]
    summaries = dict.fromkeys(found.summary for found in (*before, *answers))
    lost = ("the subagent's transcript was lost; a new one was started",) if lost_transcript else ()
    return Findings(
        facet_id=brief.facet.id,
        summary=" ".join(filter(None, summaries))[:1200],
        claims=tuple(claims),
        sources=tuple(source for source in sources.values() if source.id in cited),
        cycles=(*(earlier.cycles if earlier else ()), *tools.log.cycles(scores)),
        uncertain=(*newest.missing, *tools.log.problems, *lost),
        next_step=newest.next_step,
        dropped=(*(earlier.dropped if earlier else ()), *dropped),
        code_runs=tuple(dict.fromkeys((*(earlier.code_runs if earlier else ()), *tools.code_runs)))[
            -CODE_RUNS:
        ],
    )


def _gather_claims(
    brief: ResearchBrief,
    answers: Sequence[ResearchAnswer],
    quotes: AnswerChecker,
    earlier: Findings | None,
) -> tuple[list[Claim], list[DroppedClaim]]:
    """The claims with valid quotes, in order, and those that are dropped; a claim that is repeated
    counts once."""
    claims = list(earlier.claims) if earlier else []
    known = {_normalize(claim.text) for claim in claims}
    dropped: dict[str, DroppedClaim] = {}
    for answer in answers:
        kept = 0
        for claim in answer.claims:
            found = quotes.valid_quotes(claim)
            if not found or kept == brief.max_claims:
                dropped.setdefault(_normalize(claim.text), _drop(brief, claim, bool(found)))
                continue
            kept += 1
            if _normalize(claim.text) not in known:
                known.add(_normalize(claim.text))
                claims.append(_claim(brief, len(claims), claim, found))
    return claims, [claim for text, claim in dropped.items() if text not in known]


def _drop(brief: ResearchBrief, claim: ClaimAnswer, is_quoted: bool) -> DroppedClaim:
    named = ", ".join(dict.fromkeys(quote.source_id for quote in claim.quotes))
    return DroppedClaim(
        facet_id=brief.facet.id,
        text=claim.text,
        cause="over_limit" if is_quoted else "quote_not_found",
        reason=f"a finding has at most {brief.max_claims} claims"
        if is_quoted
        else f"the quote does not stand in {named}",
    )


def build_hand_over(prompt: JsonObject, answers: Sequence[ResearchAnswer], ask: str) -> JsonObject:
    """The brief of a new conversation that continues one that grew too long."""
    claims = [claim for answer in answers for claim in answer.claims]
    shown = [
        {"text": c.text, "quotes": [q.model_dump() for q in c.quotes], "uncertain": c.uncertain}
        for c in claims
    ]
    return {
        **prompt,
        "ask": ask,
        "known_claims": _known(prompt, (claim.text for claim in claims)),
        "previous": "You take over a long search: what is in `handed_over` is found and kept. "
        "Go on with what is open there.",
        "handed_over": {"claims": shown, "open": answers[-1].missing},
    }


def build_fresh_start(prompt: JsonObject, ask: str, earlier: Findings | None) -> JsonObject:
    """A brief for a subagent that lost its transcript: first prompt, findings, question."""
    claims = earlier.claims if earlier else ()
    return {
        **prompt,
        "ask": ask,
        "known_claims": _known(prompt, (claim.text for claim in claims)),
        "previous": "Your earlier work on this facet is in `found_so_far` and is kept. Answer with "
        "what is new.",
        "found_so_far": [
            {"text": claim.text, "quotes": [quote.text for quote in claim.quotes]}
            for claim in claims
        ],
    }


def _known(prompt: JsonObject, texts: Iterable[str]) -> list[str]:
    return list(dict.fromkeys([*prompt.get("known_claims", ()), *texts]))[-KNOWN_CLAIMS:]


def _normalize(text: str) -> str:
    return " ".join(text.lower().split())


def _claim(
    brief: ResearchBrief, number: int, answer: ClaimAnswer, quotes: tuple[Quote, ...]
) -> Claim:
    retry = f"-again{brief.attempt}" if brief.attempt else ""
    return Claim(
        id=f"{brief.task}{retry}-{number + 1}",
        facet_id=brief.facet.id,
        text=answer.text,
        quotes=quotes,
        confidence=answer.confidence,
        relevance=answer.relevance,
        uncertain=answer.uncertain,
        not_to_overstate=answer.not_to_overstate,
    )
