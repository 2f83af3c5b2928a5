"""Claims beside their quotes in context: what the judge is shown, and what its answer means.

The judge says of every claim whether its quotes support it. What is overstated is written in the
weaker text; what is unsupported is not written. Both stay in the ledger with the reason. A claim
that could not be judged stays unverified.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from activities.agent.schemas import ClaimJudgement, EntailmentAnswer
from activities.evidence.ledger import Ledger
from activities.evidence.quantities.amounts import numbers_missing
from activities.evidence.text.sentences import split_sentences
from workflows.contracts.evidence import Claim, Quote, Ruling, Rulings, Source, Verdict

JsonObject = dict[str, Any]

BATCH = 20
"""Claims that one call of the judge reads."""
_SENTENCES = 2
"""Shown on either side of a quote."""
_REACH = 600
"""Characters in which these sentences are looked for."""


def batch_claims(ledger: Ledger) -> tuple[tuple[str, ...], ...]:
    """The ids of the claims the judge has not ruled on, in batches."""
    ids = [claim.id for claim in ledger.citable() if claim.entailment is None]
    return tuple(tuple(ids[at : at + BATCH]) for at in range(0, len(ids), BATCH))


def describe_claims(
    claims: Sequence[Claim], sources: Mapping[str, Source], texts: Mapping[str, str]
) -> list[JsonObject]:
    """The claims for a prompt: each with its quotes, their context and their sources."""
    return [
        {
            "id": claim.id,
            "facet_id": claim.facet_id,
            "text": claim.text,
            "confidence": claim.confidence,
            "relevance": claim.relevance,
            "quotes": [
                {
                    "source_id": quote.source_id,
                    "title": sources[quote.source_id].title,
                    "uri": sources[quote.source_id].uri,
                    "date": sources[quote.source_id].date,
                    "kind": sources[quote.source_id].kind,
                    "section": quote.section,
                    "text": quote.text,
                    "context": read_context(quote, texts.get(quote.source_id)),
                }
                for quote in claim.quotes
            ],
        }
        for claim in claims
    ]


def list_missing_figures(claim: Claim) -> list[str]:
    """Figures of the claim that stand in none of its quotes."""
    return numbers_missing(claim.text, [quote.text for quote in claim.quotes])


def read_context(quote: Quote, text: str | None) -> str:
    """The quote in its source with two sentences on either side."""
    if text is None or quote.start is None or quote.end is None:
        return ""
    left = text[max(0, quote.start - _REACH) : quote.start]
    right = text[quote.end : quote.end + _REACH]
    before, after = split_sentences(left), split_sentences(right)
    # A quote may begin or end within a sentence: the piece of it outside the quote is no sentence.
    first = before[-_SENTENCES:][0][0] if before else len(left)
    last = after[:_SENTENCES][-1][1] if after else 0
    return (left[first:] + text[quote.start : quote.end] + right[:last]).strip()


def complain(answer: EntailmentAnswer, claims: Sequence[Claim]) -> list[str]:
    """What is missing from the judge's answer, in words that can be sent back."""
    judged = {entry.claim_id: entry for entry in answer.claims}
    found = [f"{c.id}: judge this claim as well" for c in claims if c.id not in judged]
    for claim in claims:
        entry = judged.get(claim.id)
        if entry is None:
            continue
        if entry.verdict == "overstated" and not entry.correction.strip():
            found.append(f"{claim.id}: give the weaker text that the quotes support")
        elif entry.verdict == "overstated" and (
            figures := numbers_missing(entry.correction, [q.text for q in claim.quotes])
        ):
            found.append(f"{claim.id}: no quote holds {', '.join(figures)} of your correction")
        elif entry.verdict == "unsupported" and not entry.reason.strip():
            found.append(f"{claim.id}: say why the quotes do not support it")
    return found


def rule(claims: Sequence[Claim], answer: EntailmentAnswer | None, why: str = "") -> Rulings:
    """The rulings on a batch; `why` says why there is no answer."""
    judged = {entry.claim_id: entry for entry in answer.claims} if answer else {}
    quoted = {sid for claim in claims for sid in claim.source_ids}
    return Rulings(
        rulings=tuple(
            _rule_on(claim, judged.get(claim.id), why or "the judge left it out")
            for claim in claims
        ),
        weak_sources={
            weak.source_id: weak.reason
            for weak in (answer.weak_sources if answer else ())
            if weak.source_id in quoted
        },
    )


def _rule_on(claim: Claim, judged: ClaimJudgement | None, why: str) -> Ruling:
    if judged is None:
        # A check that could not run is no refutation.
        return Ruling(
            claim_id=claim.id, verdict=Verdict.UNVERIFIED, notes=f"could not be judged: {why}"
        )
    correction = judged.correction.strip() if judged.verdict == "overstated" else ""
    if judged.verdict == "unsupported" or (judged.verdict == "overstated" and not correction):
        return Ruling(
            claim_id=claim.id,
            verdict=Verdict.FAILED,
            notes=f"the quotes do not support it: {judged.reason or 'no reason was given'}",
            entailment="unsupported",
        )
    return Ruling(
        claim_id=claim.id,
        verdict=Verdict.SUPPORTED,
        notes=judged.reason if correction else "",
        entailment=judged.verdict,
        correction=correction,
    )
