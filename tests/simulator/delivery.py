"""A message on its way to the client: in one piece or as a stream, whole or broken."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from tests.simulator.errors import ConnectionDropped
from tests.simulator.faults import Fault
from tests.simulator.streaming import encode, events

JsonObject = dict[str, Any]


@dataclass
class Reply:
    """An HTTP answer, whose body comes in parts. Whoever sends it calls `end` once, at its end.

    Iterating over `parts` raises ConnectionDropped where the connection breaks.
    """

    status: int
    headers: dict[str, str]
    parts: AsyncGenerator[bytes, None]
    last: bool = False
    """The part given out last was the last of a whole answer."""
    outcome: str = "answered"
    """How it ends if everything is sent."""
    on_end: Callable[[str], None] = field(default=lambda _: None)

    @classmethod
    def of(
        cls,
        body: JsonObject | bytes,
        status: int = 200,
        headers: Mapping[str, str] | None = None,
        kind: str = "application/json",
    ) -> Reply:
        raw = body if isinstance(body, bytes) else json.dumps(body, ensure_ascii=False).encode()
        about = {"content-type": kind, "content-length": str(len(raw)), **(headers or {})}
        reply = cls(status, about, _nothing())
        reply.parts = _whole(raw, reply)
        return reply

    async def end(self, sent: bool) -> None:
        await self.parts.aclose()
        # A client that closes after the last part has had everything.
        whole = sent or self.last
        self.on_end(self.outcome if whole or self.outcome != "answered" else "abandoned")


def deliver(
    message: JsonObject,
    stream: bool,
    fault: Fault | None,
    request_id: str,
    on_end: Callable[[str], None],
) -> Reply:
    outcome = fault.kind if fault else "answered"
    if stream:
        about = {"content-type": "text/event-stream; charset=utf-8", "cache-control": "no-cache"}
        reply = Reply(200, about, _nothing(), outcome=outcome, on_end=on_end)
        reply.parts = _stream(message, fault, request_id, reply)
        return reply
    reply = Reply.of(message)
    reply.outcome, reply.on_end = outcome, on_end
    if fault:
        reply.parts = _broken(json.dumps(message, ensure_ascii=False).encode(), fault)
    return reply


async def _stream(
    message: JsonObject, fault: Fault | None, request_id: str, reply: Reply
) -> AsyncGenerator[bytes, None]:
    every = list(events(message))
    breaks = len(every) if not fault else len(every) // 2 if fault.events is None else fault.events
    for event in every[:breaks]:
        reply.last = event["type"] == "message_stop"
        yield encode(event)
    if not fault:
        return
    if fault.kind == "stream_error":
        yield encode(fault.error().body(request_id))
    elif fault.kind != "stream_ends":
        await _hang(fault)
        raise ConnectionDropped


async def _broken(raw: bytes, fault: Fault) -> AsyncGenerator[bytes, None]:
    yield raw[: len(raw) // 2]
    await _hang(fault)
    raise ConnectionDropped


async def _hang(fault: Fault) -> None:
    if fault.kind == "stream_hangs":
        await asyncio.sleep(fault.seconds if fault.seconds is not None else 86_400.0)


async def _whole(raw: bytes, reply: Reply) -> AsyncGenerator[bytes, None]:
    reply.last = True
    yield raw


async def _nothing() -> AsyncGenerator[bytes, None]:
    return
    yield b""
