"""Repairs a draft without a model: a failing sentence alone gives way to the claims it stood for.

Nothing else is touched, no citation is taken from a sentence that stays, and no part with claims is
left empty. What `repair` returns has no faults that code can repair.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from activities.evidence.draft import (
    CONCLUSION,
    SUMMARY,
    TITLE,
    Draft,
    Entry,
    Sentence,
    cited,
    marks,
)
from activities.evidence.ledger import Ledger
from activities.evidence.quotes import fold
from activities.evidence.report_gate import (
    NOT_JUDGED,
    Evidence,
    Judged,
    Reading,
    claims_for,
    faults,
    split_pieces,
)
from workflows.contracts.evidence import Claim, Contradiction

NOTHING_FOUND = "_Nothing that could be cited was found for this facet._"
_CITATION_LIKE = re.compile(r"\[(?=\d{1,5}\])")
_ROUNDS = 3
_MOST_LEADS = 8


def repair(draft: Draft, evidence: Evidence, judged: Judged = NOT_JUDGED) -> Draft:
    """The draft without its faults, and a note of each repair."""
    before = faults(draft, evidence, judged)
    if not before:
        return draft
    mended = draft
    for _ in range(_ROUNDS):
        earlier, mended = mended, _repair_sentences(mended, evidence, judged)
        if mended == earlier:
            break
    # Taking a sentence out takes its citations along: what still fails is replaced as a whole.
    reading = Reading(mended, evidence, judged)
    failing = {fault.where for fault in reading.faults() if fault.kind != "missing"}
    contradictions = evidence.ledger.contradictions
    parts = {
        where: list_claims(where, evidence.ledger) if where in failing else markdown
        for where, markdown in mended.parts().items()
    }
    entries = {entry.contradiction_id: entry.markdown for entry in draft.contradictions}
    entries |= {c.id: tell(c, evidence.ledger) for c in contradictions if c.id in failing}
    return _with_parts(mended, parts).model_copy(
        update={
            "title": (fold(evidence.question)[:200] or "Report")
            if TITLE in failing
            else draft.title,
            "contradictions": tuple(
                Entry(contradiction_id=c.id, markdown=entries[c.id]) for c in contradictions
            ),
            "gaps": _repair_gaps(reading),
            "calculations": reading.calculations,
            "mended": (*draft.mended, *dict.fromkeys(str(fault) for fault in before)),
        }
    )


def list_claims(where: str, ledger: Ledger) -> str:
    """A part without a writer: the claims of the facet, or the best of each facet in a summary."""
    claims = claims_for(where, ledger)
    if where == CONCLUSION:
        return ""
    if where == SUMMARY:
        claims = list({claim.facet_id: claim for claim in reversed(claims)}.values())[:_MOST_LEADS]
    return "\n".join(f"- {state_claim(claim, ledger)}" for claim in claims) or NOTHING_FOUND


def state_claim(claim: Claim, ledger: Ledger) -> str:
    """The claim as a sentence of the report, in its own words."""
    text = _CITATION_LIKE.sub("[ ", fold(claim.text))
    return f"{text} {marks(ledger.cites(claim.source_ids))}"


def tell(contradiction: Contradiction, ledger: Ledger) -> str:
    """A contradiction in plain words, all sides cited; what stands where the writer's does not."""
    lines = [
        f"- {fold(side.text).rstrip('. ')}. {marks(ledger.cites(side.source_ids))}"
        for side in contradiction.sides
    ]
    # The reason is the verifier's reading of both sides, so it carries all their citations.
    cites = marks(ledger.cites(sid for side in contradiction.sides for sid in side.source_ids))
    reason = contradiction.explanation.rstrip(". ")
    return "\n".join([*lines, f"- Why they may differ: {reason}. {cites}"])


def _repair_sentences(draft: Draft, evidence: Evidence, judged: Judged) -> Draft:
    """Every failing sentence of a part gives way to the claims it stood for."""
    reading = Reading(draft, evidence, judged)
    parts = draft.parts()
    # From the end, so that the places of the sentences before stay what they are.
    for sentence in reversed(reading.sentences):
        if sentence.where not in parts or not any(reading.sentence_faults(sentence)):
            continue
        markdown = parts[sentence.where]
        ruling = judged.rulings.get(sentence.key)
        stood_for = reading.support.stood_for(sentence, ruling)
        claims = [state_claim(claim, evidence.ledger) for claim in stood_for]
        claims = [] if sentence.kind == "heading" else [c for c in claims if c not in markdown]
        parts[sentence.where] = _replaced(markdown, sentence, claims)
    return _with_parts(draft, parts)


def _replaced(markdown: str, sentence: Sentence, claims: Sequence[str]) -> str:
    if sentence.kind == "row":
        after = "".join(f"\n- {claim}" for claim in claims)
        table = markdown[sentence.end : sentence.block_end] + ("\n" + after if after else "")
        before = markdown[: sentence.start].removesuffix("\n")
        return f"{before}{table}{markdown[sentence.block_end :]}"
    before, after = markdown[: sentence.start], markdown[sentence.end :]
    text = f"{before}{' '.join(claims)}{after}"
    # A list item or a line that is now empty goes.
    text = re.sub(r"^[ \t]*(?:[-*+]|\d+[.)])?[ \t]*$\n?", "\n", text, flags=re.M)
    return re.sub(r"\n{3,}", "\n\n", text).strip("\n")


def _with_parts(draft: Draft, parts: Mapping[str, str]) -> Draft:
    return draft.model_copy(
        update={
            "summary": parts[SUMMARY],
            "conclusion": parts[CONCLUSION],
            "sections": tuple(
                section.model_copy(update={"markdown": parts[section.facet_id]})
                for section in draft.sections
            ),
        }
    )


def _repair_gaps(reading: Reading) -> str:
    text, numbers = reading.draft.gaps, reading.support.numbers
    if not set(cited(text)) <= numbers:
        text = "\n".join(piece for piece in split_pieces(text) if set(cited(piece)) <= numbers)
    lines = [f"- {gap.text}" for gap in reading.unnamed_gaps(text)]
    return "\n".join([text.rstrip(), *lines]).strip()
