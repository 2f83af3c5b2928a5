"""The simulator as an HTTP server on loopback, in a process of its own.

    python -m tests.simulator.server --port 0 --brain offline --log requests.jsonl

Prints "listening on PORT" when it is ready, and runs until SIGTERM or SIGINT.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import signal
from collections.abc import Coroutine, Sequence
from http import HTTPStatus
from pathlib import Path
from typing import Any

from tests.simulator.brains import BRAINS, Brain
from tests.simulator.delivery import Reply
from tests.simulator.errors import ConnectionDropped
from tests.simulator.faults import Fault
from tests.simulator.simulator import Call, Settings, Simulator
from tests.simulator.web import Page, Web

_LONGEST_LINE = 1 << 16
_LOOK_SECONDS = 0.05


class Server:
    """Answers HTTP/1.1 with keep-alive; a stream goes out in chunks."""

    def __init__(self, simulator: Simulator) -> None:
        self._simulator = simulator
        self._tasks: set[asyncio.Task[None]] = set()
        self._server: asyncio.Server | None = None

    async def start(self, port: int) -> int:
        """The port it listens on; 0 asks for any that is free."""
        self._server = await asyncio.start_server(
            self._connected, "127.0.0.1", port, limit=_LONGEST_LINE
        )
        return int(self._server.sockets[0].getsockname()[1])

    async def stop(self) -> None:
        if self._server:
            self._server.close()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        if task:
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)
        gone = (ConnectionError, ConnectionDropped, asyncio.IncompleteReadError, ValueError)
        with contextlib.suppress(*gone, asyncio.CancelledError):
            while (call := await _read(reader)) is not None:
                await self._while_listening(self._answer(call, writer), reader)
                if call.headers.get("connection", "").lower() == "close":
                    break
            writer.close()
        if not writer.is_closing():
            writer.transport.abort()

    async def _while_listening(
        self, answer: Coroutine[Any, Any, None], reader: asyncio.StreamReader
    ) -> None:
        """Stops answering when the client has gone: its request then counts as abandoned."""
        task = asyncio.create_task(answer)
        try:
            while not task.done():
                await asyncio.wait((task,), timeout=_LOOK_SECONDS)
                if reader.at_eof():
                    task.cancel()
            await task
        finally:
            task.cancel()

    async def _answer(self, call: Call, writer: asyncio.StreamWriter) -> None:
        reply = await self._simulator.handle(call)
        sent = False
        try:
            await _send(reply, writer, body=call.method != "HEAD")
            sent = True
        finally:
            await reply.end(sent)


async def _read(reader: asyncio.StreamReader) -> Call | None:
    """The next request of a connection; None at its end."""
    line = await reader.readline()
    if not line.strip():
        return None
    method, target, _ = line.decode("latin-1").split(" ", 2)
    headers: dict[str, str] = {}
    while (line := await reader.readline()).strip():
        name, _, value = line.decode("latin-1").partition(":")
        headers[name.strip().lower()] = value.strip()
    if headers.get("transfer-encoding", "").lower() == "chunked":
        body = await _read_chunks(reader)
    else:
        body = await reader.readexactly(int(headers.get("content-length", 0)))
    base = f"http://{headers.get('host', '127.0.0.1')}"
    return Call(method, target.partition("?")[0], headers, body, base)


async def _read_chunks(reader: asyncio.StreamReader) -> bytes:
    chunks: list[bytes] = []
    while size := int((await reader.readline()).split(b";")[0], 16):
        chunks.append(await reader.readexactly(size))
        await reader.readline()
    await reader.readline()
    return b"".join(chunks)


async def _send(reply: Reply, writer: asyncio.StreamWriter, body: bool) -> None:
    phrase = HTTPStatus(reply.status).phrase if reply.status in set(HTTPStatus) else "Error"
    chunked = "content-length" not in reply.headers
    headers = reply.headers | ({"transfer-encoding": "chunked"} if chunked else {})
    lines = [f"HTTP/1.1 {reply.status} {phrase}", *(f"{k}: {v}" for k, v in headers.items())]
    writer.write("\r\n".join([*lines, "", ""]).encode("latin-1"))
    async for part in reply.parts:
        if body:
            writer.write(b"%x\r\n%s\r\n" % (len(part), part) if chunked else part)
        await writer.drain()
    if chunked and body:
        writer.write(b"0\r\n\r\n")
    await writer.drain()


async def serve(simulator: Simulator, port: int) -> None:
    server = Server(simulator)
    stopped = asyncio.Event()
    loop = asyncio.get_running_loop()
    for name in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(name, stopped.set)
    print(f"listening on {await server.start(port)}", flush=True)
    await stopped.wait()
    await server.stop()


def main(arguments: Sequence[str] | None = None) -> None:
    options = _options(arguments)
    brain: Brain = BRAINS[options.brain]()
    if options.pages:
        pages = json.loads(options.pages.read_text("utf-8"))
        brain = Web(brain, {url: Page(**page) for url, page in pages.items()})
    described = json.loads(options.faults.read_text("utf-8")) if options.faults else []
    simulator = Simulator(
        brain,
        Settings(
            api_keys=frozenset(options.key) if options.key else None,
            latency=options.latency,
            batch_delay=options.batch_delay,
        ),
        faults=[Fault.described(each) for each in described],
        log_file=options.log,
    )
    asyncio.run(serve(simulator, options.port))
    simulator.close()


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.simulator.server")
    parser.add_argument("--port", type=int, required=True, help="0 takes any free port")
    parser.add_argument("--brain", choices=sorted(BRAINS), default="offline")
    parser.add_argument("--log", type=Path, help="a line of JSON for every request that ended")
    parser.add_argument("--latency", type=float, default=0.0, help="seconds before every answer")
    parser.add_argument("--batch-delay", type=float, default=0.0, help="seconds a batch takes")
    parser.add_argument("--key", action="append", help="an accepted key; any, unless given")
    parser.add_argument("--pages", type=Path, help='JSON {url: {"title": …, "text": …}}')
    parser.add_argument("--faults", type=Path, help="JSON list of faults")
    return parser.parse_args(arguments)


if __name__ == "__main__":
    main()
