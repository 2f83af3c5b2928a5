"""What a command works with while it runs: a server to talk to, and a worker where it needs one.

Where Temporal's own settings name a server, that one is used and its workers are somebody else's.
Otherwise the folder's embedded server is joined or started, with a worker of our own beside it.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
from collections.abc import Awaitable, Callable, Coroutine, Iterator
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Any, TypeVar

from pydantic import ValidationError

from console import checks, embedded
from console.faults import BadInputError, ConsoleError, ExitCode
from console.workers import Worker
from workflows.config.settings import Settings

if TYPE_CHECKING:
    from temporalio.client import Client

Answer = TypeVar("Answer")

# How long a worker that is said to be there has to answer.
_HEARING_SECONDS = 10.0
# The same on the embedded server, where a worker can be hired when nobody answers.
_ASKING_SECONDS = 8.0
_HIRED_SECONDS = 60.0


@dataclass(frozen=True)
class Session:
    settings: Settings
    server: embedded.Server | None = None
    """The embedded server; None where another one is configured."""
    worker: Worker | None = None

    async def connect(self) -> Client:
        # Imported late: the server and the worker start while this takes its time.
        from console.attributes import FRESH_SECONDS, missing
        from console.connection import connect

        if self.server is None:
            return await connect(self.settings, patience=1.0)
        client = await connect(self.settings, self.server.address)
        if self.server.fresh:
            await missing(client, FRESH_SECONDS)
        return client

    async def heard(self, asked: Awaitable[Answer], job_id: str) -> tuple[Answer, bool]:
        """What a worker answers, and whether one had to be hired for it.

        On the embedded server one that only answers is hired where no other does: it runs the
        job's workflow and none of its research.
        """
        answer = asyncio.ensure_future(asked)
        try:
            if self.server is None or self.worker is not None:
                return await self._waited(answer, job_id, _HEARING_SECONDS), False
            if not self.server.fresh:
                done, _ = await asyncio.wait({answer}, timeout=_ASKING_SECONDS)
                if done:
                    return answer.result(), False
            worker = Worker(self.settings, self.server.address, answers_only=True)
            try:
                return await self._waited(answer, job_id, _HIRED_SECONDS, worker), True
            finally:
                await asyncio.to_thread(worker.stop)
        finally:
            answer.cancel()
            await asyncio.gather(answer, return_exceptions=True)

    async def _waited(
        self,
        answer: asyncio.Future[Answer],
        job_id: str,
        seconds: float,
        worker: Worker | None = None,
    ) -> Answer:
        deadline = asyncio.get_running_loop().time() + seconds
        while not (await asyncio.wait({answer}, timeout=0.2))[0]:
            if worker is not None:
                worker.look()
            if asyncio.get_running_loop().time() > deadline:
                raise ConsoleError(
                    f"Nobody answered for the job {job_id} within {seconds:.0f} seconds: start a"
                    " worker with `python worker.py` and the same TEMPORAL_* settings, then say it"
                    " again."
                )
        return answer.result()


Go = Callable[["Client", Session], Coroutine[Any, Any, ExitCode]]


def visit(
    go: Go, *, settings: Settings | None = None, work: bool = False, left: Callable[[], str] = str
) -> ExitCode:
    """Do something on the server, and say what `left` says when it was interrupted."""
    settings = settings or checks.local_settings(current_settings())

    async def connected(desk: Session) -> ExitCode:
        return await go(await desk.connect(), desk)

    with session(settings, work=work) as desk:
        try:
            return asyncio.run(connected(desk))
        except KeyboardInterrupt:
            print(left(), flush=True)
            return ExitCode.INTERRUPTED


def current_settings() -> Settings:
    checks.role_variables(os.environ)
    try:
        return Settings.read(os.environ)
    except (ValidationError, ValueError) as error:
        reason = str(error).splitlines()[0]
        if isinstance(error, ValidationError):
            fault = error.errors()[0]
            reason = f"{'.'.join(str(part) for part in fault['loc'])}: {fault['msg']}"
        raise BadInputError(
            f"A setting in the environment cannot be used: correct the RESEARCH_* variables"
            f" ({reason})."
        ) from None


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
        hired = contextlib.ExitStack()
        workers: list[Worker] = []

        def hire(address: str) -> None:
            # A worker takes longer to start than the server: they start side by side. One that was
            # sent to a port the server did not get is called back before it has arrived.
            hired.close()
            if work:
                workers.append(hired.enter_context(Worker(settings, address)))

        state_dir, port = Path(settings.state_dir), embedded.port_from(os.environ)
        # Left twice: where the server does not start, and before it is stopped.
        with hired, embedded.server(state_dir, port, hire) as server, hired:
            yield Session(settings, server, workers[-1] if workers else None)


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
