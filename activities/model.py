"""The one way to a model: the Messages API through the provider's client.

The offline engine, a test's fault, a local server and Claude differ only in what stands behind the
client's transport. Keys stay in here and never enter a workflow's history.
"""

from __future__ import annotations

from typing import Any

import httpx2
from anthropic import AsyncAnthropic, DefaultAsyncHttpxClient

from activities.errors import RETRYABLE, StreamCut, as_activity_error
from activities.offline.skills import SKILLS
from activities.offline.transport import OfflineTransport
from workflows.budget import Spend
from workflows.models import OFFLINE, card

JsonObject = dict[str, Any]
TURN_SECONDS = 600.0


class Models:
    """Clients by model name. `transport` replaces the network for every one of them."""

    def __init__(self, transport: httpx2.AsyncBaseTransport | None = None) -> None:
        self._transport = transport
        self._clients: dict[str, AsyncAnthropic] = {}

    async def ask(self, request: JsonObject) -> JsonObject:
        """One turn, not retried here. Raises ApplicationError for what Temporal should act on."""
        try:
            client = self._client(request["model"])
            message = await client.messages.create(**request, timeout=TURN_SECONDS)
            if message.stop_reason is None:
                raise StreamCut("the answer ended before the model said why it stopped")
        except (*RETRYABLE, TypeError) as error:
            raise as_activity_error(error) from error
        answer: JsonObject = message.to_dict(mode="json")
        return answer

    async def close(self) -> None:
        for client in self._clients.values():
            await client.close()

    def _client(self, model: str) -> AsyncAnthropic:
        key = OFFLINE if model == OFFLINE else "provider"
        if key not in self._clients:
            self._clients[key] = self._offline() if key == OFFLINE else self._provider()
        return self._clients[key]

    def _provider(self) -> AsyncAnthropic:
        http = DefaultAsyncHttpxClient(transport=self._transport) if self._transport else None
        return AsyncAnthropic(
            max_retries=0, http_client=http, open_telemetry={"propagation": False}
        )

    def _offline(self) -> AsyncAnthropic:
        transport = self._transport or OfflineTransport(SKILLS)
        return AsyncAnthropic(
            api_key="none-needed",
            base_url="http://offline.invalid",
            max_retries=0,
            http_client=DefaultAsyncHttpxClient(transport=transport),
            open_telemetry={"propagation": False},
        )


def spend_of(model: str, message: JsonObject, bought_again: bool) -> Spend:
    """What one turn cost, from the usage the provider reported."""
    usage = message.get("usage") or {}
    plain = usage.get("input_tokens") or 0
    written = usage.get("cache_creation_input_tokens") or 0
    read = usage.get("cache_read_input_tokens") or 0
    output = usage.get("output_tokens") or 0
    return Spend(
        turns=1,
        bought_again=int(bought_again),
        input_tokens=plain + written + read,
        output_tokens=output,
        usd=card(model).cost(plain, output, cache_read=read, cache_write=written),
    )
