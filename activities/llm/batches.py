"""Turns made in the provider's message batches: half the price, up to a day later.

The journal keeps the id of a batch as soon as it is created, so that a worker that takes over
waits for the same one.
"""

from __future__ import annotations

import asyncio
from typing import Any

from temporalio.exceptions import ApplicationError

from activities.llm.client import Models
from activities.storage.journal import Journal, Turn

JsonObject = dict[str, Any]
POLL_SECONDS = 30.0
_LOST = ("batch_lost", "bad_request", "too_large")
"""Errors after which the batch will never have an answer; after others it is polled again."""


class Batches:
    def __init__(self, models: Models, poll_seconds: float = POLL_SECONDS) -> None:
        self._models = models
        self._poll_seconds = poll_seconds

    async def turn(self, journal: Journal, request: JsonObject) -> Turn:
        """The turn for this request, from the journal or from a batch."""
        if found := await journal.find(request):
            return found
        batch = await journal.batch_id(request, lambda: self._models.create_batch(request))
        while True:
            try:
                message = await self._models.fetch_batch(batch)
            except ApplicationError as error:
                if error.type in _LOST:
                    await journal.delete_batch(request)
                raise
            if message is not None:
                return await journal.store(request, message)
            await asyncio.sleep(self._poll_seconds)
