"""Turns in batches: placed once, waited for by whoever takes over, at half the price."""

from __future__ import annotations

import json
from pathlib import Path

import httpx2
import pytest
from temporalio.exceptions import ApplicationError

from activities.agent.conversation import Answered
from activities.agent.interrupts import Interrupts
from activities.agent.loop import Subagent
from activities.agent.request_template import build_template
from activities.agent.schemas import PlanReview
from activities.agent.turns import TurnSource
from activities.llm.client import Models
from activities.storage.journal import Journal
from activities.storage.store import Store
from tests.activities.scripted import GOOD, JsonObject, failure
from workflows.config.model_catalog import MEDIUM
from workflows.config.roles import REVIEWER

BATCHES = "/v1/messages/batches"


class BatchWire(httpx2.AsyncBaseTransport):
    """Batches that are in the works for as many looks as they are told, then end like this."""

    def __init__(self, *looks: str | httpx2.Response) -> None:
        self.looks = list(looks)
        self.placed: list[JsonObject] = []
        self.ended: dict[str, str] = {}

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        path = request.url.path
        if path == BATCHES:
            self.placed.append(json.loads(await request.aread())["requests"][0]["params"])
            return httpx2.Response(200, json=self._batch("in_progress"))
        batch = path.removeprefix(f"{BATCHES}/").partition("/")[0]
        if path.endswith("/results"):
            result = {"type": self.ended[batch], "message": GOOD}
            line = json.dumps({"custom_id": "turn", "result": result})
            return httpx2.Response(200, text=line + "\n")
        if batch not in self.ended:
            look = self.looks.pop(0)
            if isinstance(look, httpx2.Response):
                return look
            if look != "in_progress":
                self.ended[batch] = look
        status = "ended" if batch in self.ended else "in_progress"
        return httpx2.Response(200, json=self._batch(status))

    def _batch(self, status: str) -> JsonObject:
        name = f"msgbatch_{len(self.placed)}"
        counts = dict.fromkeys(("processing", "succeeded", "errored", "canceled", "expired"), 0)
        moments = dict.fromkeys(("archived_at", "cancel_initiated_at", "ended_at"))
        return {
            "id": name, "type": "message_batch", "processing_status": status, **moments,
            "request_counts": counts, "created_at": "2026-01-01T00:00:00Z",
            "expires_at": "2026-01-02T00:00:00Z",
            "results_url": f"https://api.anthropic.com{BATCHES}/{name}/results",
        }  # fmt: skip


@pytest.fixture(autouse=True)
def key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("ANTHROPIC_BASE_URL", raising=False)
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-ant-test-key-0123456789")
    monkeypatch.setattr("activities.agent.turns.POLL_SECONDS", 0.01)


async def talk(folder: Path, wire: BatchWire) -> Answered[PlanReview]:
    store = Store.open(str(folder))
    models = Models(wire)
    template = build_template(REVIEWER, MEDIUM, "high")
    interrupts = Interrupts(store, "job", "task")
    subagent = Subagent(
        TurnSource(models, Journal(store, "job"), template, interrupts, in_batches=True)
    )
    spoken = await subagent.converse(PlanReview, {"question": "?"})
    assert isinstance(spoken, Answered)
    return spoken


async def test_a_turn_in_a_batch_is_waited_for_and_costs_half(tmp_path: Path) -> None:
    wire = BatchWire("in_progress", "in_progress", "succeeded")
    spoken = await talk(tmp_path, wire)
    assert spoken.spend.usd == pytest.approx((100 * 2 + 10 * 10) / 1e6 / 2)
    again = await talk(tmp_path, wire)
    assert again.spend == spoken.spend
    assert len(wire.placed) == 1


async def test_a_worker_that_takes_over_waits_for_the_same_batch(tmp_path: Path) -> None:
    wire = BatchWire("in_progress", failure(500, "api_error"), "in_progress", "succeeded")
    with pytest.raises(ApplicationError):
        await talk(tmp_path, wire)
    spoken = await talk(tmp_path, wire)
    assert (spoken.spend.turns, spoken.spend.bought_again) == (1, 0)
    assert len(wire.placed) == 1


async def test_a_batch_that_came_to_nothing_is_placed_again(tmp_path: Path) -> None:
    wire = BatchWire("expired", "succeeded")
    with pytest.raises(ApplicationError) as raised:
        await talk(tmp_path, wire)
    assert not raised.value.non_retryable
    spoken = await talk(tmp_path, wire)
    assert (spoken.spend.turns, spoken.spend.bought_again) == (1, 0)
    assert len(wire.placed) == 2
