"""A Messages API endpoint that counts: a process of its own on loopback, answering offline.

    python -m tests.durability.endpoint --log FILE --store DIR|URL

Every request is a line in the log as it arrives, with its fingerprint, its job (what stands behind
`@` in the model's name) and whether that job's journal held its turn already; and another one when
it was answered. Commands come as JSON lines on standard input, and are confirmed in the log:

    {"hold": {"stage": S, "nth": N}}   stop at the n-th different request since the last `reset`
    {"go": true}                       let go what is held, and hold nothing more
    {"delay": SECONDS}                 answer so much later
    {"reset": true}                    begin to count anew

Stages: `in_flight` (nothing is answered yet), `half` (half of the answer is written), `delivered`
(all of it is, just now; nothing is held up then). It ends when standard input does.
"""

from __future__ import annotations

import argparse
import asyncio
import hashlib
import json
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import httpx2

from activities.offline.request import Conversation, Reply
from activities.offline.transport import SKILLS, OfflineTransport, Skill
from activities.storage.backends import open_backend
from activities.storage.journal import fingerprint_of
from workflows.config.store_keys import journal_folder

JsonObject = dict[str, Any]
_LONGEST_LINE = 1 << 16
_LOOK_SECONDS = 0.01
_JUDGE = "EvaluationAnswer"
_FOLLOW_UP = "What does the maintenance of the electric fleet cost, and how long do batteries last?"


def strict(judge: Skill) -> Skill:
    """A judge who finds one thing lacking in every first draft, so that every job has a pass."""

    def evaluate(conversation: Conversation) -> Reply:
        judged = judge(conversation)
        assert isinstance(judged, Reply)
        if int(conversation.brief.get("pass", 0)) > 0:
            return Reply({**judged.answer, "gaps": []})
        facet = conversation.brief["facets"][-1]["id"]
        gap = {"facet_id": facet, "kind": "thin", "text": "Upkeep is left out.",
               "question": _FOLLOW_UP}  # fmt: skip
        return Reply({**judged.answer, "gaps": [gap]})

    return evaluate


class Endpoint:
    def __init__(self, log: Path, store: str | None) -> None:
        self._log = log.open("a", encoding="utf-8")
        self._store = open_backend(store) if store else None
        self._engine = OfflineTransport({**SKILLS, _JUDGE: strict(SKILLS[_JUDGE])})
        self._answers: dict[str, asyncio.Future[tuple[int, str, bytes]]] = {}
        self._numbers: dict[str, int] = {}
        self._hold: JsonObject = {}
        self._going = asyncio.Event()
        self._delay = 0.0
        self._count = 0

    def note(self, event: str, **facts: object) -> None:
        self._log.write(json.dumps({"event": event, "at": time.monotonic(), **facts}) + "\n")
        self._log.flush()

    def obey(self, command: JsonObject) -> None:
        if command.get("reset"):
            self._numbers.clear()
        if "delay" in command:
            self._delay = float(command["delay"])
        if "hold" in command:
            self._hold = command["hold"]
            self._going.clear()
        if command.get("go"):
            self._hold = {}
            self._going.set()
        self.note("obeyed", n=command["n"])

    async def connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while (call := await _read(reader)) is not None:
                await self._serve(*call, reader, writer)
        except (ConnectionError, asyncio.IncompleteReadError, EOFError):
            pass
        finally:
            writer.close()

    async def _serve(
        self, path: str, raw: bytes, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        body: JsonObject = json.loads(raw or b"{}")
        wants_stream = bool(body.pop("stream", False))
        fingerprint = fingerprint_of(body)
        job = str(body.get("model", "")).partition("@")[2]
        number = self._numbers.setdefault(fingerprint, len(self._numbers) + 1)
        self._count += 1
        seq = self._count
        kept = await self._is_kept(job, fingerprint)
        self.note("arrived", seq=seq, fingerprint=fingerprint, job=job, number=number, kept=kept)
        if self._delay:
            await asyncio.sleep(self._delay)
        await self._hold_at("in_flight", number, seq, reader)
        status, kind, answer = await self._answer(path, body, wants_stream)
        head = (
            f"HTTP/1.1 {status} -\r\ncontent-type: {kind}\r\ncontent-length: {len(answer)}\r\n\r\n"
        )
        # Cut within a stream's event, so that half an answer is never taken for a whole one.
        middle = len(answer) // 2
        writer.write(head.encode() + answer[:middle])
        await self._hold_at("half", number, seq, reader)
        writer.write(answer[middle:])
        await writer.drain()
        self.note("answered", seq=seq, fingerprint=fingerprint, job=job)
        if self._trips("delivered", number):
            self.note("held", seq=seq, stage="delivered")

    async def _hold_at(
        self, stage: str, number: int, seq: int, reader: asyncio.StreamReader
    ) -> None:
        """Wait here, if this is where to, until told to go on or until nobody waits any more."""
        if not self._trips(stage, number):
            return
        self.note("held", seq=seq, stage=stage)
        while not self._going.is_set():
            if reader.at_eof():
                raise EOFError
            await asyncio.sleep(_LOOK_SECONDS)

    def _trips(self, stage: str, number: int) -> bool:
        if self._hold.get("stage") != stage or number != self._hold.get("nth"):
            return False
        self._hold = {}
        return True

    async def _is_kept(self, job: str, fingerprint: str) -> bool:
        if self._store is None or not job:
            return False
        return await self._store.read(f"{journal_folder(job)}/{fingerprint}.json") is not None

    async def _answer(self, path: str, body: JsonObject, stream: bool) -> tuple[int, str, bytes]:
        """The same words for the same conversation, worked out once, whatever the job's name."""
        asked = json.dumps({**body, "model": "counted", "stream": stream}, sort_keys=True).encode()
        key = hashlib.sha256(path.encode() + asked).hexdigest()
        if key not in self._answers:
            self._answers[key] = asyncio.ensure_future(self._think(path, asked))
        # Shielded: others may wait for the same answer when this one's client is gone.
        return await asyncio.shield(self._answers[key])

    async def _think(self, path: str, asked: bytes) -> tuple[int, str, bytes]:
        request = httpx2.Request("POST", f"http://offline.invalid{path}", content=asked)
        response = await self._engine.handle_async_request(request)
        content = await response.aread()
        return response.status_code, response.headers["content-type"], content


async def _read(reader: asyncio.StreamReader) -> tuple[str, bytes] | None:
    """The next request's path and body; None at the connection's end."""
    line = await reader.readline()
    if not line.strip():
        return None
    _, target, _ = line.decode("latin-1").split(" ", 2)
    length = 0
    while (line := await reader.readline()).strip():
        name, _, value = line.decode("latin-1").partition(":")
        if name.lower() == "content-length":
            length = int(value)
    return target.partition("?")[0], await reader.readexactly(length)


async def main(arguments: Sequence[str]) -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--log", type=Path, required=True)
    parser.add_argument("--store")
    given = parser.parse_args(arguments)
    endpoint = Endpoint(given.log, given.store)
    commands = asyncio.StreamReader()
    await asyncio.get_running_loop().connect_read_pipe(
        lambda: asyncio.StreamReaderProtocol(commands), sys.stdin
    )
    server = await asyncio.start_server(
        endpoint.connected, "127.0.0.1", given.port, limit=_LONGEST_LINE, backlog=1024
    )
    endpoint.note("listening", port=server.sockets[0].getsockname()[1])
    while line := await commands.readline():
        endpoint.obey(json.loads(line))


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1:]))
