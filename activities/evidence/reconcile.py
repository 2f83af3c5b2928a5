"""Joins findings and ledgers into one ledger, and lists what in it the judge has to see.

All of it is mechanical. The research activity reconciles its own findings; `reconcile` joins those
of several.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Mapping, Sequence

from activities.evidence.entailment import batch_claims
from activities.evidence.ledger import Ledger, join, open_candidates
from activities.evidence.quotes import StoredText
from activities.evidence.relations import batch_groups, group_claims
from activities.storage.store import Store
from workflows.contracts.activity_io import Group, Reconciled
from workflows.contracts.evidence import Findings, Rulings, Source
from workflows.contracts.state import LedgerRef


async def reconcile(
    store: Store,
    questions: Mapping[str, str],
    findings: Sequence[Findings] = (),
    ledgers: Sequence[Ledger] = (),
    rulings: Sequence[Rulings] = (),
    relate: bool = False,
) -> Reconciled:
    """The ledger, stored, and the claims and groups in it that were not judged yet.

    Groups are looked for where `relate` is set.
    """
    # Each against its own copies: a web page may have changed between two fetches.
    copies = await asyncio.gather(*(read_sources(store, f.sources) for f in findings))
    checked = [
        Ledger.checked(found, {sid: StoredText(text) for sid, text in texts.items()})
        for found, texts in zip(findings, copies, strict=True)
    ]
    ledger, groups = await asyncio.to_thread(
        _pool, [*ledgers, *checked], rulings, questions if relate else None
    )
    key = await store.save("ledgers", ledger)
    return Reconciled(
        ledger=describe_ledger(key, ledger),
        claim_batches=batch_claims(ledger),
        group_batches=batch_groups(groups),
    )


def describe_ledger(key: str, ledger: Ledger) -> LedgerRef:
    citable = ledger.citable()
    lost = Counter(c.facet_id for c in ledger.claims if c.entailment == "unsupported")
    kept = Counter(fid for claim in citable for fid in {claim.facet_id, *claim.also_for})
    return LedgerRef(
        key=key,
        claims=len(citable),
        sources=len(ledger.numbers),
        contradictions=len(ledger.contradictions),
        by_facet=dict(sorted(kept.items())),
        lost=dict(sorted(lost.items())),
    )


async def read_sources(store: Store, sources: Sequence[Source]) -> dict[str, str]:
    """The stored copies by source id; a copy that cannot be read is left out."""
    distinct = {source.id: source.sha256 for source in sources}
    texts = await asyncio.gather(*(store.text(sha) for sha in distinct.values()))
    found = zip(distinct, texts, strict=True)
    return {source_id: text for source_id, text in found if text is not None}


def _pool(
    ledgers: Sequence[Ledger], rulings: Sequence[Rulings], questions: Mapping[str, str] | None
) -> tuple[Ledger, list[Group]]:
    ledger = join(ledgers, rulings)
    if questions is None:
        return ledger, []
    return ledger, group_claims(ledger, open_candidates(ledger, questions))
