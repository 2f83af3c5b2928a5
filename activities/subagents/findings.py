"""What a research subagent's answers come to: claims whose quotes stand, merged, as findings.

Answers before a hand-over and to follow-ups are one finding with those after them: claims keep
their place and their ids, what is said twice stands once, and a quote that is not in the stored
copy of its source does not stand at all.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from activities.agent.schemas import ClaimAnswer, ResearchAnswer
from activities.agent.toolbox import Toolbox
from activities.evidence.quotes import StoredText
from activities.storage.store import Store
from workflows.contracts.activity_io import ResearchBrief
from workflows.contracts.evidence import Claim, Findings, Quote

JsonObject = dict[str, Any]
KNOWN_CLAIMS = 60


class QuoteChecker:
    """The stored copies of what the subagent has seen, to hold its quotes against."""

    def __init__(self, store: Store, tools: Toolbox) -> None:
        self._store = store
        self._tools = tools
        self._texts: dict[str, StoredText] = {}

    async def complaints(self, answer: ResearchAnswer) -> list[str]:
        named = {quote.source_id for claim in answer.claims for quote in claim.quotes}
        wanted = {self._tools.resolve(source_id) for source_id in named}
        copies = {self._tools.sources[sid].sha256 for sid in wanted & set(self._tools.sources)}
        for sha256 in sorted(copies - set(self._texts)):
            self._texts[sha256] = StoredText(await self._store.text(sha256) or "")
        return [
            f"this quote does not stand in {quote.source_id}, copy it exactly: {quote.text[:200]}"
            for claim in answer.claims
            for quote in claim.quotes
            if not self._stands(quote.source_id, quote.text)
        ]

    def standing(self, claim: ClaimAnswer) -> tuple[Quote, ...]:
        return tuple(
            Quote(source_id=self._tools.resolve(q.source_id), text=q.text)
            for q in claim.quotes
            if self._stands(q.source_id, q.text)
        )

    def _stands(self, source_id: str, text: str) -> bool:
        source = self._tools.sources.get(self._tools.resolve(source_id))
        stored = self._texts.get(source.sha256) if source else None
        return stored is not None and stored.find(Quote(source_id=source_id, text=text)) is not None


def gather_findings(
    brief: ResearchBrief,
    answers: Sequence[ResearchAnswer],
    tools: Toolbox,
    texts: QuoteChecker,
    earlier: Findings | None = None,
    asked_afresh: bool = False,
) -> Findings | None:
    """All answers as one finding, after what was found `earlier`; None where no claim stands."""
    claims = list(earlier.claims) if earlier else []
    said = {_folded(claim.text) for claim in claims}
    for answer in answers:
        standing = [(claim, quotes) for claim in answer.claims if (quotes := texts.standing(claim))]
        for claim, quotes in standing[: brief.max_claims]:
            if _folded(claim.text) not in said:
                said.add(_folded(claim.text))
                claims.append(_claim(brief, len(claims), claim, quotes))
    if not claims:
        return None
    newest = answers[-1] if answers else ResearchAnswer(summary="")
    cited = {sid for claim in claims for sid in claim.source_ids}
    sources = {s.id: s for s in (earlier.sources if earlier else ())} | tools.sources
    scores = ((tools.resolve(s.source_id), s.score, s.reason) for s in newest.scores)
    told = [earlier.summary if earlier else "", *(answer.summary for answer in answers)]
    lost = ("the subagent's transcript was lost; it was asked afresh",) if asked_afresh else ()
    return Findings(
        facet_id=brief.facet.id,
        summary=" ".join(dict.fromkeys(words for words in told if words))[:1200],
        claims=tuple(claims),
        sources=tuple(s for s in sources.values() if s.id in cited),
        cycles=(*(earlier.cycles if earlier else ()), *tools.cycles(scores)),
        uncertain=(*newest.missing, *tools.problems, *lost),
        next_step=newest.next_step,
    )


def build_hand_over(prompt: JsonObject, answers: Sequence[ResearchAnswer], ask: str) -> JsonObject:
    """The brief of a clean conversation that goes on where another grew too long."""
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
    """A brief that needs no transcript: the first one, what was found, and the question now."""
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


def _folded(text: str) -> str:
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
