"""Calls the Messages API through the provider's client.

The offline engine, a test's fault, a local server and Claude differ only in the transport of the
client. Keys stay in here and never enter a workflow's history.

Answers are streamed: a long one cannot run into a proxy's time limit, and one that hangs is
noticed. The client makes one call; Temporal retries.
"""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from datetime import timedelta
from functools import partial
from typing import Any

import httpx2
from temporalio import activity
from temporalio.exceptions import ApplicationError, ApplicationErrorCategory

from activities.fleet.heartbeat import ensure_not_replaced
from activities.fleet.limits import Fleet
from activities.llm.answers import normalize, read_message
from activities.llm.capabilities import Capabilities, ModelLimits, adapt, find_refused
from activities.llm.errors import (
    RATE_LIMITED,
    TOO_LARGE,
    BatchLost,
    StreamCut,
    bad_input,
    client_errors,
    from_type,
    to_activity_error,
)
from activities.llm.lazy_sdk import anthropic, load
from activities.llm.local_server import LocalServer
from activities.llm.prompt_cache import PromptCache, prefix_of
from activities.llm.providers import endpoint_client, offline_client, provider_client
from workflows.config.model_catalog import LOCAL, card
from workflows.config.settings import Provider
from workflows.contracts.request import OFFLINE
from workflows.contracts.spend import Spend

JsonObject = dict[str, Any]
TURN_SECONDS = 850.0
"""How long one turn may take in all; the activities of the roles have fifteen minutes."""
IDLE_SECONDS = 120.0
"""How long a stream may be silent, without even a keep-alive, before it is given up."""
_CUSTOM_ID = "turn"
_MALFORMED_STREAM = (AttributeError, KeyError, TypeError)
"""What events that make no sense raise."""


class Models:
    """Clients by model name. `transport` replaces the network for every one of them."""

    def __init__(
        self,
        transport: httpx2.AsyncBaseTransport | None = None,
        provider: Provider = "anthropic",
        idle_seconds: float = IDLE_SECONDS,
        fleet: Fleet | None = None,
        context_window: int = 0,
        local_model: str | None = None,
    ) -> None:
        """`context_window` is that of models that are not in the catalog; 0 where unknown.

        `local_model` is a file that is served as the model `local`.
        """
        self._local = LocalServer(local_model, context_window) if local_model else None
        self._context_window = context_window
        self._transport = transport
        self._provider = provider
        self._idle = idle_seconds
        self._fleet = fleet
        self._clients: dict[str, anthropic.AsyncAnthropic] = {}
        self._capabilities = Capabilities(own_endpoint=bool(os.environ.get("ANTHROPIC_BASE_URL")))
        self._limits = ModelLimits()
        self._prompt_cache = PromptCache()
        self._loading: asyncio.Task[None] | None = None

    async def wait_until_loaded(self) -> None:
        """Return when the SDK is imported; the first caller starts the import in a thread."""
        if self._loading is None:
            self._loading = asyncio.create_task(asyncio.to_thread(load))
        # A subagent that is cancelled does not stop the import for the others.
        await asyncio.shield(self._loading)

    def context_window(self, model: str) -> int:
        """Tokens a conversation with this model may hold; 0 where it is not known."""
        if model == LOCAL and self._local:
            return self._local.context_window
        return card(model).context or self._context_window or self._limits.context(model)

    @asynccontextmanager
    async def admit(self, body: JsonObject) -> AsyncIterator[None]:
        """Enters when the request may be sent.

        The journal marks a call inside this context: a request that waits is not sent yet.
        """
        async with AsyncExitStack() as stack:
            if body["model"] == LOCAL:
                await stack.enter_async_context(self._local_server().turn)
            elif body["model"] != OFFLINE:
                await stack.enter_async_context(self._prompt_cache.admit(body))
                # Created here, because it takes time: a call that is marked should be sent at once.
                self._client(body["model"])
            await self._wait_for_fleet()
            if body["model"] == LOCAL:
                await self._connect_local()
            yield

    async def _wait_for_fleet(self) -> None:
        """Wait for the fleet's rate limit. A worker that shuts down makes no further call."""
        if self._fleet:
            pace = asyncio.create_task(self._fleet.wait_for_turn())
            stop = asyncio.create_task(_wait_for_shutdown())
            try:
                await asyncio.wait((pace, stop), return_when=asyncio.FIRST_COMPLETED)
            finally:
                pace.cancel()
                stop.cancel()
        if activity.in_activity() and activity.is_worker_shutdown():
            raise ApplicationError(
                "this worker is shutting down; another one continues",
                type="draining",
                next_retry_delay=timedelta(milliseconds=100),
                category=ApplicationErrorCategory.BENIGN,
            )

    async def ask(self, body: JsonObject) -> JsonObject:
        """One turn, sent when it is admitted."""
        async with self.admit(body):
            return await self.send(body)

    async def send(self, body: JsonObject) -> JsonObject:
        """One turn that was admitted, not retried here.

        Raises ApplicationError for what Temporal should act on.
        """
        ensure_not_replaced()
        with self._convert_errors():
            async with asyncio.timeout(TURN_SECONDS):
                if body["model"] == OFFLINE:
                    return await self._stream(body)
                return await self._send_adapted(body)

    async def create_batch(self, body: JsonObject) -> str:
        """Create a batch with this one request, at half the price; returns its id."""
        if body["model"] == OFFLINE:
            raise bad_input("the offline model has no batches: ask for its turns at once")
        with self._convert_errors():
            params = adapt(body, self._capabilities.missing(body["model"]))
            request = {"custom_id": _CUSTOM_ID, "params": params}
            created = await self._batches().create(requests=[request])
        batch_id: str = created.id
        return batch_id

    async def fetch_batch(self, batch_id: str) -> JsonObject | None:
        """The message of a batch; None while it is processed."""
        with self._convert_errors():
            batches = self._batches()
            batch = await batches.retrieve(batch_id)
            if batch.processing_status != "ended":
                return None
            async for entry in await batches.results(batch_id):
                if entry.custom_id == _CUSTOM_ID:
                    return _batch_result(entry.to_dict(mode="json", warnings=False)["result"])
            raise BatchLost("the batch ended and its result is not there; place it again")

    @contextmanager
    def _convert_errors(self) -> Iterator[None]:
        try:
            yield
        except client_errors() as error:
            failure = to_activity_error(error)
            if self._fleet and failure.type == RATE_LIMITED:
                self._fleet.slow_down(float(failure.details[0]))
            # Without the cause: its text would go into the history, and may hold a key.
            raise failure from None

    async def close(self) -> None:
        for client in self._clients.values():
            await client.close()
        if self._local:
            await self._local.close()

    def _local_server(self) -> LocalServer:
        if self._local is None:
            raise bad_input(
                "this worker has no local model: set RESEARCH_LOCAL_MODEL to a GGUF file"
            )
        return self._local

    async def _connect_local(self) -> None:
        """Start the local server if need be; one that was started again has another address."""
        address = await self._local_server().address()
        client = self._clients.get(LOCAL)
        if client is None or str(client.base_url).rstrip("/") != address:
            # Without a word while it reads a long prompt.
            self._clients[LOCAL] = endpoint_client(address, TURN_SECONDS)

    async def _send_adapted(self, body: JsonObject) -> JsonObject:
        """Ask as the endpoint can take it, without the features that it refuses."""
        model = body["model"]
        missing, why = self._capabilities.missing(model), ""
        limit = self._limits.output(model, body["max_tokens"])
        on_event = partial(self._prompt_cache.record, prefix_of(body))
        while True:
            sent = {**adapt(body, missing), "max_tokens": limit}
            try:
                if "stream" in missing:
                    message = await self._send_whole(sent)
                else:
                    message = await self._stream(sent, on_event)
            except anthropic.APIStatusError as error:
                # Each round asks for less or leaves out one feature more, so the loop ends.
                if smaller := self._limits.learn(model, error, limit):
                    limit = smaller
                    continue
                new = find_refused(error, sent) - missing
                if not new:
                    raise
                missing, why = missing | new, error.message
                continue
            if not self._capabilities.ignores_schema(sent, message):
                break
            missing, why = missing | {"schema"}, "its answer does not follow the schema"
        self._capabilities.remember(model, missing, why)
        return normalize(message, sent) if "schema" in missing else message

    async def _stream(
        self, body: JsonObject, on_event: Callable[[], None] = lambda: None
    ) -> JsonObject:
        async with await self._client(body["model"]).messages.create(**body, stream=True) as stream:
            if "json" in stream.response.headers.get("content-type", ""):
                # Some proxies do not stream, whatever they are asked for.
                return _parse_whole(await stream.response.aread())
            try:
                message = await read_message(stream, on_event)
            except _MALFORMED_STREAM as wrong:
                raise StreamCut(f"the stream is no message: {wrong!r}") from None
        return _check_finished(message)

    async def _send_whole(self, body: JsonObject) -> JsonObject:
        # With a timeout given, the client does not refuse long answers in one piece.
        client = self._client(body["model"])
        message = await client.messages.create(**body, timeout=TURN_SECONDS)
        return _check_finished(message.to_dict(mode="json", warnings=False))

    def _client(self, model: str) -> anthropic.AsyncAnthropic:
        key = model if model in (OFFLINE, LOCAL) else "provider"
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


async def _wait_for_shutdown() -> None:
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


def _parse_whole(raw: bytes) -> JsonObject:
    try:
        message: JsonObject = json.loads(raw)
        if message.get("type") == "error":
            error = message.get("error") or {}
            raise from_type(str(error.get("type")), str(error.get("message")))
        message["content"]
    except (ValueError, KeyError, AttributeError) as wrong:
        raise StreamCut(f"the answer is no message: {wrong!r}") from None
    return _check_finished(message)


def _check_finished(message: JsonObject) -> JsonObject:
    if message.get("stop_reason") is None:
        raise StreamCut("the answer ended before the model said why it stopped")
    return message


def _batch_result(result: JsonObject) -> JsonObject:
    match result["type"]:
        case "succeeded":
            message: JsonObject = result["message"]
            return _check_finished(message)
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
