"""Message batches: taken in at once, answered after a delay, read back as JSON lines."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from tests.simulator.errors import ApiError, ConnectionDropped, invalid

JsonObject = dict[str, Any]
Answer = Callable[[JsonObject, str], Awaitable[JsonObject]]
"""From the parameters and the custom id to a message; raises ApiError."""

_CUSTOM_ID = re.compile(r"[a-zA-Z0-9_-]{1,64}")
_DAY = 86_400.0


@dataclass
class Batch:
    id: str
    requests: list[JsonObject]
    created: float
    results: list[JsonObject] | None = None
    ended: float | None = None
    canceled: float | None = None
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)

    def public(self, base: str) -> JsonObject:
        kinds = [result["result"]["type"] for result in self.results or ()]
        counts = {k: kinds.count(k) for k in ("succeeded", "errored", "canceled", "expired")}
        status = "canceling" if self.canceled else "in_progress"
        done = self.results is not None
        return {
            "id": self.id,
            "type": "message_batch",
            "processing_status": "ended" if done else status,
            "request_counts": {"processing": 0 if done else len(self.requests), **counts},
            "created_at": _moment(self.created),
            "expires_at": _moment(self.created + _DAY),
            "ended_at": _moment(self.ended),
            "cancel_initiated_at": _moment(self.canceled),
            "archived_at": None,
            "results_url": f"{base}/v1/messages/batches/{self.id}/results" if done else None,
        }


class Batches:
    def __init__(self, answer: Answer, clock: Callable[[], float], delay: float) -> None:
        self._answer = answer
        self._clock = clock
        self._delay = delay
        self._batches: dict[str, Batch] = {}

    def create(self, body: Any) -> Batch:
        requests = body.get("requests") if isinstance(body, dict) else None
        if not isinstance(requests, list) or not requests:
            raise invalid("requests: Field required, with at least one request")
        for n, request in enumerate(requests):
            if not isinstance(request, dict) or request.keys() != {"custom_id", "params"}:
                raise invalid(f"requests.{n}: custom_id and params are required, nothing else")
            if not _CUSTOM_ID.fullmatch(str(request["custom_id"])):
                raise invalid(f"requests.{n}.custom_id: String should match pattern "
                              "'^[a-zA-Z0-9_-]{1,64}$'")  # fmt: skip
        if len({request["custom_id"] for request in requests}) != len(requests):
            raise invalid("requests: custom_id must be unique for each request in the batch")
        batch = Batch(f"msgbatch_{len(self._batches) + 1:012d}", requests, self._clock())
        self._batches[batch.id] = batch
        return batch

    async def retrieve(self, batch_id: str) -> Batch:
        """The batch, whose requests are answered now if its time has come."""
        batch = self._batches.get(batch_id)
        if batch is None:
            raise ApiError(404, f"Message batch {batch_id} not found")
        async with batch.lock:
            due = batch.canceled or self._clock() >= batch.created + self._delay
            if batch.results is None and due:
                batch.results = await asyncio.gather(*(self._one(batch, r) for r in batch.requests))
                batch.ended = self._clock()
        return batch

    async def cancel(self, batch_id: str) -> Batch:
        batch = await self.retrieve(batch_id)
        if batch.results is None:
            batch.canceled = self._clock()
        return batch

    async def results(self, batch_id: str) -> bytes:
        batch = await self.retrieve(batch_id)
        if batch.results is None:
            raise ApiError(404, f"Message batch {batch_id} has not ended; its results come later")
        return "".join(json.dumps(r, ensure_ascii=False) + "\n" for r in batch.results).encode()

    def clear(self) -> None:
        self._batches.clear()

    async def _one(self, batch: Batch, request: JsonObject) -> JsonObject:
        result: JsonObject
        try:
            if batch.canceled:
                result = {"type": "canceled"}
            else:
                message = await self._answer(request["params"], request["custom_id"])
                result = {"type": "succeeded", "message": message}
        except ConnectionDropped:
            result = {"type": "expired"}
        except ApiError as error:
            result = {"type": "errored", "error": error.body(f"req_{batch.id}")}
        return {"custom_id": request["custom_id"], "result": result}


def _moment(at: float | None) -> str | None:
    return None if at is None else datetime.fromtimestamp(at, UTC).isoformat()
