"""Verification through batches: half the price, and a worker that takes over waits for the same."""

from __future__ import annotations

import asyncio
import time
from datetime import timedelta

import httpx2
import pytest

import worker
from console.client.jobs import fetch_report
from tests.simulator.brains import Offline
from tests.simulator.jobs import (
    Office,
    Wire,
    cost,
    credentials,
    documents,
    office,
    refused,
    temporal,
)
from tests.simulator.simulator import Settings, Simulator

__all__ = ["credentials", "documents", "office", "temporal"]

# One facet: while its batch is waited for nothing else is in flight that a restart could lose.
QUESTION = "How many passengers did the harbour line carry in 2024?"
BATCHES = "/v1/messages/batches"
DELAY = 3600.0
VERIFIER_ANSWERS = {"EntailmentAnswer", "RelationsAnswer"}


class Clock:
    """The wall clock; once time flies, more than a batch takes goes by between any two looks."""

    def __init__(self) -> None:
        self._ahead = 0.0
        self.flies = False

    def __call__(self) -> float:
        self._ahead += DELAY if self.flies else 0.0
        return time.time() + self._ahead


class Patient(Wire):
    """Says when a batch is asked about; its id is kept by then."""

    def __init__(self, simulator: Simulator) -> None:
        super().__init__(simulator)
        self.placed = 0
        self._asked = asyncio.Event()

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        response = await super().handle_async_request(request)
        if request.url.path.startswith(f"{BATCHES}/"):
            self._asked.set()
        self.placed += request.url.path == BATCHES
        return response

    async def asked_about_a_batch(self) -> None:
        await asyncio.wait_for(self._asked.wait(), 90)

    def batches(self) -> set[str]:
        """Those that were asked about, by their addresses."""
        return {p for m, p, _ in self.calls if p.startswith(f"{BATCHES}/msg") and m == "GET"}

    def forget(self) -> None:
        self.calls.clear()
        self._asked.clear()


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Batches are asked about often, and a worker that is stopped does not wait for them."""
    monkeypatch.setattr("activities.agent.turns.POLL_SECONDS", 0.1)
    monkeypatch.setattr(worker, "DRAIN", timedelta(0))


async def test_a_worker_that_takes_over_waits_for_the_batch_that_was_placed(
    office: Office, documents: str
) -> None:
    clock = Clock()
    wire = Patient(Simulator(Offline(), Settings(batch_delay=DELAY), clock=clock))
    async with office.working(wire):
        handle = await office.start(QUESTION, corpus=documents, economy=True, max_facets=1)
        await wire.asked_about_a_batch()
    before = wire.batches()
    assert before

    wire.forget()
    async with office.working(wire):
        await wire.asked_about_a_batch()
        clock.flies = True
        result = await asyncio.wait_for(fetch_report(handle), 90)

    records = wire.simulator.records
    batched = [record for record in records if record.path == "batch"]
    assert refused(records) == []
    assert before <= wire.batches(), "a batch that was placed was left behind"
    assert {record.title for record in batched} == VERIFIER_ANSWERS
    assert not any(r.title in VERIFIER_ANSWERS for r in records if r.path != "batch")
    # As many batches as turns: none was placed a second time for the same turn.
    assert wire.placed == len(batched) == len({r.fingerprint for r in batched})

    verified = result.telemetry.by_role["verifier"]
    assert verified.turns == len(batched)
    assert verified.usd == pytest.approx(sum(cost(r, batch=False) for r in batched) / 2)
    assert result.telemetry.usd == pytest.approx(sum(map(cost, records)))
    assert result.telemetry.turns_bought_again == 0
    assert result.contradictions
