"""The Messages API in one object: a call comes in, a reply goes out, and everything is recorded.

A request goes this way: key and version, shape and history, faults, the brain, signatures and ids,
cache and usage, delivery. How bytes travel is the business of `transport` and `server`.
"""

from __future__ import annotations

import asyncio
import json
import logging
import time
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

from activities.storage.journal import fingerprint_of
from tests.simulator import cache, delivery
from tests.simulator.batches import Batches
from tests.simulator.blocks import output_tokens
from tests.simulator.brains import Brain, Turn, echo, think
from tests.simulator.delivery import Reply
from tests.simulator.endings import cut_short, ending
from tests.simulator.errors import ApiError, ConnectionDropped
from tests.simulator.faults import DELIVERIES, ENDINGS, Fault, Schedule
from tests.simulator.history import NOVELTY
from tests.simulator.models import ModelProfile, thinks
from tests.simulator.records import Record, Records
from tests.simulator.settings import Call, Settings
from tests.simulator.signatures import Signer
from tests.simulator.validation import check_headers, check_request
from tests.simulator.web import server_tool_usage

JsonObject = dict[str, Any]
T = TypeVar("T")
log = logging.getLogger(__name__)
__all__ = ["Call", "Settings", "Simulator"]

THOUGHT = "What was asked, what stands in the sources, and what follows from it."


class Simulator:
    def __init__(
        self,
        brain: Brain = echo,
        settings: Settings | None = None,
        faults: Iterable[Fault] = (),
        clock: Callable[[], float] = time.time,
        log_file: Path | None = None,
    ) -> None:
        self.settings = settings or Settings()
        self.faults = Schedule(faults)
        self._brain = brain
        self._clock = clock
        self._signer = Signer(self.settings.signing_key)
        self._cache = cache.PromptCache(clock)
        self._records = Records(log_file)
        self._batches = Batches(self._batched, clock, self.settings.batch_delay)
        self._calls = 0

    @property
    def records(self) -> list[Record]:
        """Every request for a message, for a count or in a batch, in the order they came."""
        return self._records.all

    @property
    def messages(self) -> list[Record]:
        return [record for record in self.records if record.path == "/v1/messages"]

    def reset(self) -> None:
        """As if started anew: no records, no faults, a cold cache, no batches."""
        self._records.clear()
        self.faults.clear()
        self._cache.forget()
        self._batches.clear()

    def close(self) -> None:
        self._records.close()

    async def handle(self, call: Call) -> Reply:
        """The reply to a call. Raises ConnectionDropped where there is none."""
        self._calls += 1
        request_id = f"req_{self._calls:012d}"
        try:
            reply = await self._route(call, request_id)
        except ApiError as error:
            reply = Reply.of(error.body(request_id), error.status, error.headers)
        except ConnectionDropped:
            raise
        except Exception as wrong:
            log.exception("%s %s was not understood", call.method, call.path)
            broken = ApiError(500, f"the simulator failed: {type(wrong).__name__}: {wrong}")
            reply = Reply.of(broken.body(request_id), broken.status)
        reply.headers["request-id"] = request_id
        return reply

    async def _route(self, call: Call, request_id: str) -> Reply:
        match call.method, call.path.strip("/").split("/"):
            case (("GET" | "HEAD"), [""]):
                return Reply.of({"status": "ok"})
            case "GET", ["_log"]:
                lines = "".join(record.line() + "\n" for record in self.records)
                return Reply.of(lines.encode(), kind="application/x-ndjson")
            case "POST", ["_faults"]:
                return Reply.of({"added": self._add_faults(call.body)})
            case "POST", ["_reset"]:
                self.reset()
                return Reply.of({"status": "ok"})
            case _, ["v1", *rest]:
                return await self._endpoint(call, rest, self._admitted(call), request_id)
        raise ApiError(404, f"Not found: {call.method} {call.path}")

    def _admitted(self, call: Call) -> Any:
        """The body of a call that may come in; one that may not is on record too."""
        try:
            check_headers(call.headers, self.settings.api_keys)
            if len(call.body) > self.settings.max_bytes:
                raise ApiError(413, "Request exceeds the maximum size")
            return _parsed(call.body) if call.body else {}
        except ApiError as error:
            record = self._records.open(call.path, self._clock())
            record.status, record.error = error.status, error.message
            self._records.end(record, error.kind, self._clock())
            raise

    async def _endpoint(self, call: Call, rest: list[str], body: Any, request_id: str) -> Reply:
        match call.method, rest:
            case "POST", ["messages"]:
                return await self._message(body, request_id)
            case "POST", ["messages", "count_tokens"]:
                return Reply.of({"input_tokens": await self._count(body)})
            case "GET", ["models"]:
                known = [profile.info() for profile in self.settings.models.values()]
                ends = {"first_id": known[0]["id"], "last_id": known[-1]["id"]} if known else {}
                return Reply.of({"data": known, "has_more": False, **ends})
            case "GET", ["models", name]:
                if name not in self.settings.models:
                    raise ApiError(404, f"model: {name}")
                return Reply.of(self.settings.models[name].info())
            case "POST", ["messages", "batches"]:
                return Reply.of(self._batches.create(body).public(call.base))
            case "GET", ["messages", "batches", batch]:
                return Reply.of((await self._batches.retrieve(batch)).public(call.base))
            case "POST", ["messages", "batches", batch, "cancel"]:
                return Reply.of((await self._batches.cancel(batch)).public(call.base))
            case "GET", ["messages", "batches", batch, "results"]:
                lines = await self._batches.results(batch)
                return Reply.of(lines, kind="application/x-jsonl")
        raise ApiError(404, f"Not found: {call.method} {call.path}")

    async def _message(self, body: Any, request_id: str) -> Reply:
        record = self._open("/v1/messages", body)

        async def answer() -> Reply:
            profile = check_request(body, self.settings.models, self._signer)
            fault, delay = self.faults.strike(record.number, body)
            message = await self._generate(body, profile, record, fault, delay)
            broken = fault if fault and fault.kind in DELIVERIES else None
            return delivery.deliver(
                message, bool(body.get("stream")), broken, request_id,
                lambda outcome: self._records.end(record, outcome, self._clock()),
            )  # fmt: skip

        return await self._recorded(record, answer)

    async def _count(self, body: Any) -> int:
        record = self._open("/v1/messages/count_tokens", body)

        async def answer() -> int:
            check_request(body, self.settings.models, self._signer, counting=True)
            record.status = 200
            self._records.end(record, "answered", self._clock())
            return cache.count_tokens(body)

        return await self._recorded(record, answer)

    async def _batched(self, body: Any, custom_id: str) -> JsonObject:
        record = self._open("batch", body, custom_id=custom_id)

        async def answer() -> JsonObject:
            profile = check_request(body, self.settings.models, self._signer)
            if body.get("stream"):
                raise ApiError(400, "stream: not supported in a batch")
            fault, delay = self.faults.strike(record.number, body)
            message = await self._generate(body, profile, record, fault, delay)
            message["usage"]["service_tier"] = "batch"
            self._records.end(record, "answered", self._clock())
            return message

        return await self._recorded(record, answer)

    async def _generate(
        self, body: JsonObject, profile: ModelProfile, record: Record,
        fault: Fault | None, delay: float,
    ) -> JsonObject:  # fmt: skip
        """The message the model says. From here on it is paid for, delivered or not."""
        account = self._cache.look(body)
        # Also without latency others get their turn here, as they would on a network.
        await asyncio.sleep(self.settings.latency + delay)
        if fault:
            await _strike_before(fault, bool(body.get("stream")))
        turn = await self._turn(self._read(body), fault)
        content = [block for block in turn.content if block.get("text") != ""]
        if content and thinks(profile, body, turn.stopped_for == "tool_use"):
            shown = (body.get("thinking") or {}).get("display") != "omitted"
            content = [{"type": "thinking", "thinking": THOUGHT if shown else ""}, *content]
        if self.settings.novelties:
            content = [{"type": NOVELTY, "value": 1}, *content]
        content, whole = cut_short(content, body["max_tokens"])
        turn = turn if whole else replace(turn, stop_reason="max_tokens")
        sealed = self._signer.seal(body, content)
        self._cache.begin(account)
        record.begun, record.status = True, 200
        record.usage = {
            **account.usage(sealed),
            "output_tokens": output_tokens(sealed),
            "output_tokens_details": {
                "thinking_tokens": output_tokens([b for b in sealed if b["type"] == "thinking"])
            },
            "server_tool_use": server_tool_usage(sealed),
            "service_tier": "standard",
        }
        runs_code = any(block["type"] == "code_execution_tool_result" for block in sealed)
        container = body.get("container") or f"container_{record.number:06d}"
        return {
            "id": f"msg_{(record.fingerprint or '')[:16]}{record.number:06d}",
            "type": "message",
            "role": "assistant",
            "model": body["model"],
            "content": sealed,
            "stop_reason": turn.stopped_for,
            "stop_sequence": None,
            "stop_details": turn.stop_details,
            "container": {"id": container, "expires_at": "2026-12-01T00:00:00Z"}
            if runs_code
            else None,
            "usage": dict(record.usage),
        }

    def _read(self, body: JsonObject) -> JsonObject:
        """The request as the model sees it."""
        if not self.settings.ignores_output_format:
            return body
        config = {k: v for k, v in (body.get("output_config") or {}).items() if k != "format"}
        return {**body, "output_config": config}

    async def _turn(self, body: JsonObject, fault: Fault | None) -> Turn:
        if body["max_tokens"] == 0:
            return Turn([], "max_tokens")
        struck = fault if fault and fault.kind in ENDINGS else None
        if struck and struck.kind in ("refusal", "pause_turn"):
            return ending(struck, Turn())
        try:
            turn = await think(self._brain, body)
        except ApiError:
            raise
        except Exception as wrong:
            log.exception("the brain failed")
            raise ApiError(500, f"the brain failed: {type(wrong).__name__}: {wrong}") from wrong
        return ending(struck, turn) if struck else turn

    def _open(self, path: str, body: Any, **about: Any) -> Record:
        if not isinstance(body, dict):
            return self._records.open(path, self._clock(), **about)
        asked = {key: value for key, value in body.items() if key != "stream"}
        config = body.get("output_config")
        wanted = config.get("format") if isinstance(config, dict) else None
        schema = wanted.get("schema") if isinstance(wanted, dict) else None
        return self._records.open(
            path,
            self._clock(),
            fingerprint=fingerprint_of(asked),
            model=str(body.get("model")),
            title=schema.get("title") if isinstance(schema, dict) else None,
            stream=bool(body.get("stream")),
            **about,
        )

    async def _recorded(self, record: Record, answer: Callable[[], Awaitable[T]]) -> T:
        """What `answer` gives; if it ends before there is a reply, the record says how."""
        try:
            return await answer()
        except ApiError as error:
            record.status, record.error = error.status, error.message
            self._records.end(record, error.kind, self._clock())
            raise
        except ConnectionDropped:
            self._records.end(record, "drop", self._clock())
            raise
        except BaseException:
            self._records.end(record, "abandoned", self._clock())
            raise

    def _add_faults(self, body: bytes) -> int:
        described = _parsed(body)
        try:
            faults = [
                Fault.described(each)
                for each in (described if isinstance(described, list) else [described])
            ]
        except (ValueError, TypeError, AttributeError) as wrong:
            raise ApiError(400, f"faults: {wrong}") from wrong
        self.faults.add(*faults)
        return len(faults)


async def _strike_before(fault: Fault, streamed: bool) -> None:
    """The faults that leave no answer at all."""
    if fault.kind == "drop":
        raise ConnectionDropped
    if fault.kind == "hang":
        await asyncio.sleep(fault.seconds if fault.seconds is not None else 86_400.0)
        raise ConnectionDropped
    if fault.kind not in DELIVERIES | ENDINGS or (fault.kind == "stream_error" and not streamed):
        raise fault.error()


def _parsed(body: bytes) -> Any:
    try:
        return json.loads(body)
    except ValueError as wrong:
        raise ApiError(400, f"The request body is not valid JSON: {wrong}") from wrong
