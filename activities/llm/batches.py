"""Turns bought in batches: half the price, up to a day later.

The id of a batch is kept in the journal as soon as it is placed, so that a worker which takes over
goes on waiting for the same one.
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
"""Errors that say the batch will never have an answer; after others it is asked about again."""


class Errands:
    def __init__(self, models: Models, every: float = POLL_SECONDS) -> None:
        self._models = models
        self._every = every

    async def turn(self, journal: Journal, body: JsonObject) -> Turn:
        """The answer to the request, kept or waited for."""
        if kept := await journal.kept(body):
            return kept
        batch = await journal.errand(body, lambda: self._models.batch(body))
        while True:
            try:
                message = await self._models.batched(batch)
            except ApplicationError as error:
                if error.type in _LOST:
                    await journal.drop_errand(body)
                raise
            if message is not None:
                return await journal.keep(body, message)
            await asyncio.sleep(self._every)
