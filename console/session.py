"""What a command works with while it runs: a server to talk to, and a worker where it needs one.

Where Temporal's own settings name a server, that one is used and its workers are somebody else's.
Otherwise the folder's embedded server is joined or started, with a worker of our own beside it.
"""

from __future__ import annotations

import contextlib
import os
import signal
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING

from console import embedded
from console.workers import Worker
from workflows.settings import Settings

if TYPE_CHECKING:
    from temporalio.client import Client


@dataclass(frozen=True)
class Session:
    settings: Settings
    server: embedded.Server | None = None
    """The embedded server; None where another one is configured."""
    worker: Worker | None = None

    async def connect(self) -> Client:
        # Imported late: the server and the worker start while this takes its time.
        from console.connection import connect

        if self.server is None:
            return await connect(self.settings, patience=1.0)
        client = await connect(self.settings, self.server.address)
        if self.server.fresh:
            await _registered(client)
        return client


@contextlib.contextmanager
def session(settings: Settings, *, work: bool) -> Iterator[Session]:
    """A server, and with `work` somebody who does the work; all of it ended on the way out.

    SIGTERM and a closed terminal are met as Ctrl-C is: with a KeyboardInterrupt, so that whatever
    was started is stopped.
    """
    with _interruptible():
        if settings.has_server:
            yield Session(settings)
            return
        state_dir = Path(settings.state_dir)
        with embedded.server(state_dir, embedded.port_from(os.environ)) as server:
            if not work:
                yield Session(settings, server)
                return
            with Worker(settings, server.address) as worker:
                yield Session(settings, server, worker)


@contextlib.contextmanager
def _interruptible() -> Iterator[None]:
    def interrupt(_number: int, _frame: FrameType | None) -> None:
        signal.raise_signal(signal.SIGINT)

    # A script's background command is started with SIGINT ignored; it must still be stoppable.
    before = {signal.SIGINT: signal.signal(signal.SIGINT, signal.default_int_handler)}
    for number in (signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) is not signal.SIG_IGN:
            before[number] = signal.signal(number, interrupt)
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


async def _registered(client: Client) -> None:
    """A fresh server answers a few milliseconds before it knows its search attributes."""
    import asyncio

    from temporalio.api.operatorservice.v1 import ListSearchAttributesRequest

    request = ListSearchAttributesRequest(namespace=client.namespace)
    for _ in range(500):
        known = await client.operator_service.list_search_attributes(request)
        if set(embedded.SEARCH_ATTRIBUTES) <= set(known.custom_attributes):
            return
        await asyncio.sleep(0.01)
