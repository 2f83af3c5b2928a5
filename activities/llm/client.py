"""The one way to a model: the Messages API through the provider's client.

The offline engine, a test's fault, a local server and Claude differ only in what stands behind the
client's transport. Keys stay in here and never enter a workflow's history.

Answers are streamed: a long one cannot run into a proxy's time limit, and one that hangs is
noticed. A turn is asked for once; what is retried, and when, is Temporal's business.
"""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from datetime import timedelta
from typing import Any

import httpx2
from temporalio import activity
from temporalio.exceptions import ApplicationError, ApplicationErrorCategory

from activities.fleet.heartbeat import must_be_alive
from activities.fleet.limits import Fleet
from activities.llm.capabilities import Abilities, adapted, refused, unwrapped
from activities.llm.errors import (
    RATE_LIMITED,
    TOO_LARGE,
    BatchLost,
    StreamCut,
    as_activity_error,
    bad_input,
    from_type,
    raised_by_asking,
)
from activities.llm.lazy_sdk import anthropic, load
from activities.llm.prompt_cache import Warmth
from activities.llm.providers import offline_client, provider_client
from activities.llm.stream import assembled
from workflows.config.model_catalog import card
from workflows.config.settings import Provider
from workflows.contracts.request import OFFLINE
from workflows.contracts.spend import Spend

JsonObject = dict[str, Any]
TURN_SECONDS = 600.0
"""How long one turn may take in all."""
IDLE_SECONDS = 120.0
"""How long nothing may come, not even a sign of life, before a stream is given up."""
_CUSTOM_ID = "turn"


class Models:
    """Clients by model name. `transport` replaces the network for every one of them."""

    def __init__(
        self,
        transport: httpx2.AsyncBaseTransport | None = None,
        provider: Provider = "anthropic",
        idle_seconds: float = IDLE_SECONDS,
        fleet: Fleet | None = None,
    ) -> None:
        self._transport = transport
        self._provider = provider
        self._idle = idle_seconds
        self._fleet = fleet
        self._clients: dict[str, anthropic.AsyncAnthropic] = {}
        self._abilities = Abilities(own_endpoint=bool(os.environ.get("ANTHROPIC_BASE_URL")))
        self._warmth = Warmth()
        self._loading: asyncio.Task[None] | None = None

    async def loaded(self) -> None:
        """Returns when there is something to ask with; the first to call begins to load it."""
        if self._loading is None:
            self._loading = asyncio.create_task(asyncio.to_thread(load))
        # One subagent that is cancelled does not stop it for the others.
        await asyncio.shield(self._loading)

    @asynccontextmanager
    async def admitted(self, body: JsonObject) -> AsyncIterator[Callable[[], None]]:
        """Enters when the request may be sent; what it yields is for `ask`.

        Whoever puts down a purchase does it in here: a request that waits is not sent yet.
        """
        if body["model"] == OFFLINE:
            await self._allowed()
            yield lambda: None
            return
        async with self._warmth.turn(body) as warmed:
            # Made here, for it takes its time: what is put down as sent should be sent at once.
            self._client(body["model"])
            await self._allowed()
            yield warmed

    async def _allowed(self) -> None:
        """Wait for the fleet's pace. A worker that is told to stop buys no other turn."""
        if self._fleet:
            pace = asyncio.create_task(self._fleet.turn())
            stop = asyncio.create_task(_told_to_stop())
            try:
                await asyncio.wait((pace, stop), return_when=asyncio.FIRST_COMPLETED)
            finally:
                pace.cancel()
                stop.cancel()
        if activity.in_activity() and activity.is_worker_shutdown():
            raise ApplicationError(
                "this worker is told to stop; another goes on from here",
                type="draining",
                next_retry_delay=timedelta(milliseconds=100),
                category=ApplicationErrorCategory.BENIGN,
            )

    async def ask(self, body: JsonObject, warmed: Callable[[], None] | None = None) -> JsonObject:
        """One turn, not retried here. Raises ApplicationError for what Temporal should act on."""
        if warmed is None:
            async with self.admitted(body) as warmed:
                return await self.ask(body, warmed)
        must_be_alive()
        try:
            async with asyncio.timeout(TURN_SECONDS):
                if body["model"] == OFFLINE:
                    return await self._streamed(body)
                return await self._understood(body, warmed)
        except raised_by_asking() as error:
            told = as_activity_error(error)
            if self._fleet and told.type == RATE_LIMITED:
                self._fleet.too_much(float(told.details[0]))
            # Without the cause: its words go into the history too, and may hold a key.
            raise told from None

    async def batch(self, body: JsonObject) -> str:
        """Places the turn in a batch of its own, at half the price; its id is to be kept."""
        if body["model"] == OFFLINE:
            raise bad_input("the offline model has no batches: ask for its turns at once")
        try:
            known = self._abilities.missing(body["model"])
            batches = self._batches()
            params = adapted(body, known)
            placed = await batches.create(requests=[{"custom_id": _CUSTOM_ID, "params": params}])
        except raised_by_asking() as error:
            raise as_activity_error(error) from None
        found: str = placed.id
        return found

    async def batched(self, batch_id: str) -> JsonObject | None:
        """The message of a batch; None while it is in the works."""
        try:
            batches = self._batches()
            batch = await batches.retrieve(batch_id)
            if batch.processing_status != "ended":
                return None
            async for entry in await batches.results(batch_id):
                if entry.custom_id == _CUSTOM_ID:
                    return _batch_result(entry.to_dict(mode="json", warnings=False)["result"])
            raise BatchLost("the batch ended and its result is not there; place it again")
        except raised_by_asking() as error:
            raise as_activity_error(error) from None

    async def close(self) -> None:
        for client in self._clients.values():
            await client.close()

    async def _understood(self, body: JsonObject, warmed: Callable[[], None]) -> JsonObject:
        """The answer, where need be to the request as this endpoint can take it."""
        model = body["model"]
        missing, why = self._abilities.missing(model), ""
        while True:
            sent = adapted(body, missing)
            try:
                if "stream" in missing:
                    message = await self._whole(sent)
                else:
                    message = await self._streamed(sent, warmed)
                break
            except anthropic.APIStatusError as error:
                new = refused(error, sent) - missing
                if not new:
                    raise
                # Each round leaves out something more, so this ends.
                missing, why = missing | new, error.message
        self._abilities.remember(model, missing, why)
        self._abilities.overlooked(body, message)
        return unwrapped(message) if "schema" in missing else message

    async def _streamed(
        self, body: JsonObject, warmed: Callable[[], None] = lambda: None
    ) -> JsonObject:
        client = self._client(body["model"])
        if isinstance(client, anthropic.AsyncAnthropicBedrock):
            return await self._unwrapped(body, warmed)
        async with await client.messages.create(**body, stream=True) as stream:
            if "json" in stream.response.headers.get("content-type", ""):
                # Some proxies answer in one piece whatever they are asked for.
                return _plain(await stream.response.aread())
            message = await assembled(stream.response, warmed)
        if message is None:
            raise StreamCut("the answer held no message")
        return _finished(message)

    async def _unwrapped(self, body: JsonObject, warmed: Callable[[], None]) -> JsonObject:
        """Through the client's own reader: the older runtime of Bedrock wraps its events."""
        async with self._client(body["model"]).messages.stream(**body) as stream:
            started = False
            async for event in stream:
                started = started or event.type == "message_start"
                warmed()
            if not started:
                raise StreamCut("the answer held no message")
            message = await stream.get_final_message()
        return _finished(message.to_dict(mode="json", warnings=False))

    async def _whole(self, body: JsonObject) -> JsonObject:
        # With a timeout given, the client does not refuse long answers in one piece.
        client = self._client(body["model"])
        message = await client.messages.create(**body, timeout=TURN_SECONDS)
        return _finished(message.to_dict(mode="json", warnings=False))

    def _client(self, model: str) -> anthropic.AsyncAnthropic:
        key = OFFLINE if model == OFFLINE else "provider"
        if key not in self._clients:
            self._clients[key] = (
                offline_client(self._transport, self._idle)
                if key == OFFLINE
                else provider_client(self._provider, self._transport, self._idle)
            )
        return self._clients[key]

    def _batches(self) -> Any:
        # Not every provider's client has them, and the types of those that have differ.
        batches = getattr(self._client("provider").messages, "batches", None)
        if batches is None:
            raise bad_input(f"the provider {self._provider} has no batches: turn them off")
        return batches


async def _told_to_stop() -> None:
    if activity.in_activity():
        await activity.wait_for_worker_shutdown()
    else:
        await asyncio.Event().wait()


def spend_of(model: str, message: JsonObject, batch: bool = False) -> Spend:
    """What one turn cost, from the usage the provider reported."""
    usage = message.get("usage") or {}
    plain = usage.get("input_tokens") or 0
    written = usage.get("cache_creation_input_tokens") or 0
    read = usage.get("cache_read_input_tokens") or 0
    output = usage.get("output_tokens") or 0
    hour = (usage.get("cache_creation") or {}).get("ephemeral_1h_input_tokens") or 0
    searches = (usage.get("server_tool_use") or {}).get("web_search_requests") or 0
    hour = min(hour, written)
    return Spend(
        turns=1,
        input_tokens=plain + written + read,
        output_tokens=output,
        cache_read_tokens=read,
        usd=card(model).cost(
            plain,
            output,
            cache_read=read,
            cache_write=written - hour,
            cache_write_1h=hour,
            web_searches=searches,
            batch=batch,
        ),
    )


def _plain(raw: bytes) -> JsonObject:
    try:
        message: JsonObject = json.loads(raw)
        if message.get("type") == "error":
            error = message.get("error") or {}
            raise from_type(str(error.get("type")), str(error.get("message")))
        message["content"]
    except (ValueError, KeyError, AttributeError) as wrong:
        raise StreamCut(f"the answer is no message: {wrong!r}") from None
    return _finished(message)


def _finished(message: JsonObject) -> JsonObject:
    if message.get("stop_reason") is None:
        raise StreamCut("the answer ended before the model said why it stopped")
    return message


def _batch_result(result: JsonObject) -> JsonObject:
    match result["type"]:
        case "succeeded":
            message: JsonObject = result["message"]
            return _finished(message)
        case "errored":
            error = result.get("error") or {}
            # The error stands within an error response.
            error = error.get("error") or error
            failed = from_type(str(error.get("type")), str(error.get("message")))
            if failed.non_retryable and failed.type in ("bad_request", TOO_LARGE):
                raise failed
            # A result never changes: whatever a wait or an operator mends needs a new batch.
            raise BatchLost(f"the batch failed ({failed}); place it again")
        case other:
            raise BatchLost(f"the batch {other} before the turn was made; place it again")
