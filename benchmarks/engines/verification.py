"""Verification at scale: `python -m benchmarks.engines.verification [--json FILE]`.

Claims of one job, a fifth of them in pairs that bear on each other: checked against their sources,
judged beside their quotes, pooled, judged against each other. The activities are those of a job;
only the model is not, which answers at once, so all the time is ours. In a job each of the two
rounds takes one model call more, as its batches run side by side. Tokens are characters / 4 of what
was really sent and answered, at the price of the verifier's model without its cache. Wall-clock is
the best of a few tries.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any

import httpx2
from temporalio.testing import ActivityEnvironment

from activities.context import ActivityContext
from activities.evidence.ledger import Ledger
from activities.evidence.reconcile import reconcile
from activities.llm.client import Models
from activities.offline.request import read_request
from activities.offline.transport import streamed
from activities.storage.store import Store
from activities.subagents.verifying import Verifying
from benchmarks.engines import stub
from workflows.config.model_catalog import SMALL, card
from workflows.contracts.activity_io import (
    Job,
    JudgeClaimsBrief,
    Judged,
    JudgeRelationsBrief,
    Reconciled,
)
from workflows.contracts.evidence import Claim, Findings, Quote, Rulings, Source
from workflows.contracts.facets import Facet
from workflows.contracts.request import OFFLINE

SIZES = (100, 300, 1000)
PER_FACET = 20
IN_PAIRS = 0.2
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


@dataclass
class Judge(httpx2.AsyncBaseTransport):
    """A verifier that answers at once, and counts what it was sent."""

    calls: Counter[str] = field(default_factory=Counter)
    tokens: Counter[str] = field(default_factory=Counter)
    usd: float = 0.0

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        raw = await request.aread()
        body = json.loads(raw)
        wants_stream = bool(body.pop("stream", False))
        asked = read_request(body)
        answer = stub.answer_to(asked.wanted, asked.brief)
        self.calls[asked.wanted] += 1
        sent, answered = len(raw) // 4, len(json.dumps(answer)) // 4
        self.tokens.update({"input": sent, "output": answered})
        self.usd += card(SMALL).cost(sent, answered)
        message = stub._message(body["model"], f"{sum(self.calls.values()):024d}", answer)
        return streamed(message) if wants_stream else httpx2.Response(200, json=message)


@dataclass(frozen=True)
class Took:
    """Seconds of wall-clock, and of processor time: other work slows only the first."""

    wall: float
    cpu: float

    @classmethod
    def now(cls) -> Took:
        return cls(time.perf_counter(), time.process_time())

    def __sub__(self, other: Took) -> Took:
        return Took(self.wall - other.wall, self.cpu - other.cpu)


class Run:
    """The way of a job's claims through the activities of a worker."""

    def __init__(self, folder: str) -> None:
        self.judge = Judge()
        self.store = Store.open(folder)
        context = ActivityContext(self.store, Models(self.judge), Path(folder))
        self._verifying = Verifying(context)
        self._job = Job(id="job", journal="job", model=OFFLINE, question="What was counted?",
                        today="2026-11-01")  # fmt: skip

    async def verify(self, found: Sequence[Findings]) -> tuple[Took, Took]:
        """What the check and the judgement of single claims took, and what their relations."""
        began = Took.now()
        ledgers = await asyncio.gather(*(self._verify_facet(findings) for findings in found))
        middle = Took.now()
        questions = {f.facet_id: "What was counted?" for f in found}
        pooled = await reconcile(self.store, questions, ledgers=ledgers, relate=True)
        judged = await asyncio.gather(
            *(
                ActivityEnvironment().run(
                    self._verifying.judge_relations,
                    JudgeRelationsBrief(job=self._job, ledger=pooled.ledger, groups=groups,
                                        task=f"relate-{i}"),
                )
                for i, groups in enumerate(pooled.group_batches)
            )
        )  # fmt: skip
        settled = await self._apply(pooled, judged, questions)
        end = Took.now()
        again = await reconcile(self.store, questions, ledgers=[settled], relate=True)
        assert not again.claim_batches, "every claim was judged"
        assert not again.group_batches, "every group was judged"
        return middle - began, end - middle

    async def _verify_facet(self, findings: Findings) -> Ledger:
        questions = {findings.facet_id: "What was counted?"}
        checked = await reconcile(self.store, questions, [findings])
        judged = await asyncio.gather(
            *(
                ActivityEnvironment().run(
                    self._verifying.judge_claims,
                    JudgeClaimsBrief(job=self._job, facet=_facet(findings.facet_id),
                                     ask="What was counted?", ledger=checked.ledger,
                                     claim_ids=claims, task=f"judge-{findings.facet_id}-{i}"),
                )
                for i, claims in enumerate(checked.claim_batches)
            )
        )  # fmt: skip
        return await self._apply(checked, judged, questions)

    async def _apply(
        self, part: Reconciled, judged: Sequence[Judged], questions: dict[str, str]
    ) -> Ledger:
        ledger = await self.store.load(part.ledger.key, Ledger)
        rulings = [await self.store.load(batch.rulings, Rulings) for batch in judged]
        applied = await reconcile(self.store, questions, ledgers=[ledger], rulings=rulings)
        return await self.store.load(applied.ledger.key, Ledger)


def _facet(facet_id: str) -> Facet:
    return Facet(
        id=facet_id,
        title=facet_id,
        question="What was counted?",
        boundary="the other facets",
        prefer="reports",
        reason="it is measured",
    )


async def measured(n: int, tries: int) -> dict[str, Any]:
    took: list[tuple[Took, Took]] = []
    for _ in range(tries):
        with tempfile.TemporaryDirectory() as folder:
            run = Run(folder)
            took.append(await run.verify(await findings(run.store, statements(n))))
    judge = run.judge
    claims, relations = zip(*took, strict=True)
    return {
        "claims": n,
        "claim_calls": judge.calls["EntailmentAnswer"],
        "relation_calls": judge.calls["RelationsAnswer"],
        "claims_seconds": round(min(one.wall for one in claims), 4),
        "claims_cpu_seconds": round(min(one.cpu for one in claims), 4),
        "relations_seconds": round(min(one.wall for one in relations), 4),
        "relations_cpu_seconds": round(min(one.cpu for one in relations), 4),
        "input_tokens": judge.tokens["input"],
        "output_tokens": judge.tokens["output"],
        "usd": round(judge.usd, 5),
    }


async def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.engines.verification")
    parser.add_argument("--json", type=Path)
    parser.add_argument("--tries", type=int, default=3)
    given = parser.parse_args()
    await measured(SIZES[0], 1)
    rows = [await measured(n, given.tries) for n in SIZES]
    print("| claims | calls | check and judge (CPU) | relations (CPU) | tokens in | out | $ |")
    print("|---|---|---|---|---|---|---|")
    for row in rows:
        times = " | ".join(
            f"{row[f'{step}_seconds'] * 1000:.0f} ms ({row[f'{step}_cpu_seconds'] * 1000:.0f})"
            for step in ("claims", "relations")
        )
        calls = f"{row['claim_calls']} + {row['relation_calls']}"
        tokens = f"{row['input_tokens']:,} | {row['output_tokens']:,}"
        print(f"| {row['claims']} | {calls} | {times} | {tokens} | {row['usd']:.4f} |")
    for one, next_ in pairwise(rows):
        claims = next_["claims"] / one["claims"]
        grew = next_["input_tokens"] / one["input_tokens"]
        print(f"{one['claims']} → {next_['claims']}: ×{claims:.1f} claims, ×{grew:.1f} tokens")
    if given.json:
        given.json.write_text(json.dumps(rows, indent=1) + "\n", "utf-8")


if __name__ == "__main__":
    asyncio.run(main())
