"""Joins findings and ledgers into one ledger: quotes checked, conflicting claims grouped.

All of it is mechanical. The research activity reconciles its own findings; `reconcile` joins those
of several.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence

from activities.evidence.conflicts.finder import Candidate
from activities.evidence.ledger import Ledger, join, open_candidates
from activities.evidence.quotes import StoredText
from activities.storage.store import Store
from workflows.contracts.activity_io import Batch, Group, Reconciled
from workflows.contracts.evidence import Findings, Rulings, Source
from workflows.contracts.state import LedgerRef

BATCH = 10
"""Groups that one verifier judges."""


async def reconcile(
    store: Store,
    questions: Mapping[str, str],
    findings: Sequence[Findings] = (),
    ledgers: Sequence[Ledger] = (),
    rulings: Sequence[Rulings] = (),
) -> Reconciled:
    """The ledger, stored, and the groups in it that were not judged yet."""
    # Each against its own copies: a web page may have changed between two fetches.
    texts = await asyncio.gather(*(stored_texts(store, f.sources) for f in findings))
    checked = [Ledger.checked(*pair) for pair in zip(findings, texts, strict=True)]
    ledger, candidates = await asyncio.to_thread(_pool, [*ledgers, *checked], rulings, questions)
    key = await store.save("ledgers", ledger)
    groups = [
        Group(claim_ids=c.claim_ids, kind=c.kind, about=c.about, relation=c.relation, sides=c.sides)
        for c in candidates
    ]
    return Reconciled(
        ledger=LedgerRef(
            key=key,
            claims=len(ledger.citable()),
            sources=len(ledger.numbers),
            contradictions=len(ledger.contradictions),
        ),
        batches=tuple(
            Batch(groups=tuple(groups[i : i + BATCH])) for i in range(0, len(groups), BATCH)
        ),
    )


async def stored_texts(store: Store, sources: Sequence[Source]) -> dict[str, StoredText]:
    """The stored copies by source id; a copy that cannot be read is left out."""
    distinct = {source.id: source.sha256 for source in sources}
    texts = await asyncio.gather(*(store.text(sha) for sha in distinct.values()))
    return {
        source_id: StoredText(text)
        for source_id, text in zip(distinct, texts, strict=True)
        if text is not None
    }


def _pool(
    ledgers: Sequence[Ledger], rulings: Sequence[Rulings], questions: Mapping[str, str]
) -> tuple[Ledger, tuple[Candidate, ...]]:
    ledger = join(ledgers, rulings)
    return ledger, open_candidates(ledger, questions)
