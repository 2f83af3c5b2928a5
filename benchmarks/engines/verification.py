"""Verification at scale: `python -m benchmarks.engines.verification [--json FILE]`.

Claims of one job, most of them simple, a fifth of them in pairs that bear on each other: checked
against their sources, pooled, candidates found, batched, ruled on, settled. All but the model's
answer, which is asked for once, in batches side by side. Wall-clock is the best of a few tries.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import tempfile
import time
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

from activities.evidence.ledger import Ledger
from activities.evidence.reconcile import reconcile
from activities.storage.store import Store
from workflows.contracts.activity_io import Reconciled
from workflows.contracts.evidence import Claim, Findings, Quote, Ruling, Rulings, Source, Verdict

SIZES = (100, 300, 1000, 3000)
PER_FACET = 20
IN_PAIRS = 0.2
LIMIT_SECONDS = 0.3
"""For a hundred claims, besides the model."""
# Words that tell one thing from another, so that only the pairs bear on each other.
_WHAT = ("bridge", "harbour", "school", "clinic", "market", "station", "library", "museum",
         "bakery", "garage", "quarry", "tunnel")  # fmt: skip
_WHERE = ("Alder", "Birch", "Cedar", "Dogwood", "Elm", "Fir", "Gorse", "Hazel", "Iris", "Juniper",
          "Kelp", "Laurel", "Maple", "Nettle", "Oak", "Pine", "Quince", "Rowan", "Sorrel", "Thyme",
          "Ulmo", "Vetch", "Willow", "Yarrow")  # fmt: skip
_MEASURES = ("visitors", "vehicles", "letters", "tonnes", "workers", "meals", "tickets", "patients",
             "pupils", "loans", "parcels")  # fmt: skip


def statements(n: int) -> list[str]:
    """So many claims; the last fifth in pairs that give one thing two figures."""
    pairs = int(n * IN_PAIRS) // 2
    simple = [_statement(i, 100 + i) for i in range(n - 2 * pairs)]
    differing = [_statement(n + i, value) for i in range(pairs) for value in (150 + i, 950 + i)]
    return simple + differing


def _statement(i: int, value: int) -> str:
    what, i = _WHAT[i % len(_WHAT)], i // len(_WHAT)
    where, i = _WHERE[i % len(_WHERE)], i // len(_WHERE)
    year = 1990 + i // len(_MEASURES)
    return f"The {where} {what} counted {value} {_MEASURES[i % len(_MEASURES)]} in {year}."


async def findings(store: Store, texts: Sequence[str]) -> list[Findings]:
    found = []
    for at in range(0, len(texts), PER_FACET):
        facet, said = f"facet-{at}", texts[at : at + PER_FACET]
        await store.keep_text(f"sha-{at}", "\n".join(said))
        source = Source(id=f"s{at}", uri=f"{at}.md", title=f"Source {at}", date=None, kind="note",
                        sha256=f"sha-{at}", sketch=())  # fmt: skip
        claims = tuple(
            Claim(id=f"{facet}-{i}", facet_id=facet, text=text, confidence=0.9, relevance=0.9,
                  quotes=(Quote(source_id=source.id, text=text),))
            for i, text in enumerate(said)
        )  # fmt: skip
        found.append(Findings(facet_id=facet, summary="", claims=claims, sources=(source,)))
    return found


async def verified(store: Store, found: Sequence[Findings]) -> tuple[Reconciled, int]:
    """The way of a job's claims: each facet's for itself, all pooled, ruled on, settled."""
    questions = {f.facet_id: "What was counted?" for f in found}
    rulings: list[Rulings] = []
    asked = 0
    parts = [await reconcile(store, {f.facet_id: questions[f.facet_id]}, [f]) for f in found]
    asked += sum(len(part.batches) for part in parts)
    rulings += [_ruled(part) for part in parts if part.batches]
    ledgers = [await store.load(part.ledger.key, Ledger) for part in parts]
    pooled = await reconcile(store, questions, ledgers=ledgers, rulings=rulings)
    asked += len(pooled.batches)
    if pooled.batches:
        ledger = await store.load(pooled.ledger.key, Ledger)
        pooled = await reconcile(store, questions, ledgers=[ledger], rulings=[_ruled(pooled)])
    return pooled, asked


def _ruled(part: Reconciled) -> Rulings:
    groups = [group for batch in part.batches for group in batch.groups]
    return Rulings(
        rulings=tuple(
            Ruling(claim_id=cid, verdict=Verdict.SUPPORTED, confidence=0.9, notes="")
            for group in groups
            for cid in group.claim_ids
        ),
        settled=tuple(tuple(sorted(group.claim_ids)) for group in groups),
    )


async def measured(n: int, tries: int) -> dict[str, Any]:
    took, cpu = [], []
    for _ in range(tries):
        with tempfile.TemporaryDirectory() as folder:
            store = Store.open(folder)
            found = await findings(store, statements(n))
            began, used = time.perf_counter(), time.process_time()
            settled, batches = await verified(store, found)
            took.append(time.perf_counter() - began)
            cpu.append(time.process_time() - used)
            assert not settled.batches, "all was judged"
    return {
        "claims": n,
        "in_the_ledger": settled.ledger.claims,
        "batches": batches,
        "seconds": round(min(took), 4),
        "cpu_seconds": round(min(cpu), 4),
        "cpu_ms_per_claim": round(1000 * min(cpu) / n, 3),
    }


async def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.engines.verification")
    parser.add_argument("--json", type=Path)
    parser.add_argument("--tries", type=int, default=3)
    given = parser.parse_args()
    await measured(SIZES[0], 1)
    rows = [await measured(n, given.tries) for n in SIZES]
    print("| claims | batches | besides the model | CPU | CPU per claim |\n|---|---|---|---|---|")
    for row in rows:
        print(f"| {row['claims']} | {row['batches']} | {row['seconds'] * 1000:.0f} ms "
              f"| {row['cpu_seconds'] * 1000:.0f} ms | {row['cpu_ms_per_claim']} ms |")  # fmt: skip
    for one, next_ in pairwise(rows):
        grew, claims = next_["cpu_seconds"] / one["cpu_seconds"], next_["claims"] / one["claims"]
        print(f"{one['claims']} → {next_['claims']}: ×{claims:.1f} claims, ×{grew:.1f} CPU")
    if given.json:
        given.json.write_text(json.dumps(rows, indent=1) + "\n", "utf-8")


if __name__ == "__main__":
    asyncio.run(main())
