"""The server and the worker of one command.

If Temporal's settings name a server, the command uses it, and its workers run elsewhere. Otherwise
the command joins or starts the embedded server of the state folder. There every job has a task
queue of its own, and a command starts a worker for the job it was asked for: a job that was stopped
with Ctrl-C stays stopped until a command names it.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import signal
import time
from collections.abc import Awaitable, Callable, Coroutine, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Any, TypeVar

from pydantic import ValidationError

from console.client import audit, validation
from console.devserver.server import DevServer, read_port, run_dev_server
from console.devserver.worker_process import WorkerProcess
from console.errors import BadInputError, ConsoleError, ExitCode, first_fault
from workflows.config.settings import Settings
from workflows.contracts.request import TASK_QUEUE

if TYPE_CHECKING:
    from temporalio.client import Client

_log = logging.getLogger(__name__)
Answer = TypeVar("Answer")

# How long a running worker has to answer an update.
_ANSWER_SECONDS = 10.0
# The same on the embedded server, where a worker can be started if none answers.
_PROBE_SECONDS = 8.0
_NEW_WORKER_SECONDS = 60.0
_CHECK_SECONDS = 1.0


@dataclass(frozen=True)
class Session:
    settings: Settings
    client: Client
    server: DevServer | None = None
    """The embedded server; None if Temporal's settings name another one."""
    workers: dict[str, WorkerProcess] = field(default_factory=dict)
    """The workers of this command on the embedded server, by job id."""

    def start_worker(self, job_id: str) -> bool:
        """Have the job worked on; False if it already is, or if workers run elsewhere."""
        if self.server is None or job_id in self.workers:
            return False
        queue = find_task_queue(self.settings, job_id)
        self.workers[job_id] = WorkerProcess(self.settings, self.server.address, task_queue=queue)
        return True

    async def stop_worker(self, job_id: str) -> None:
        if worker := self.workers.pop(job_id, None):
            await asyncio.to_thread(worker.stop)

    async def supervise_workers(
        self, on_error: Callable[[str, str], None], on_replaced: Callable[[str], object] = str
    ) -> None:
        """Replace dead workers, and stop those whose job has ended; until it is cancelled.

        `on_error` gets the id of a job whose worker cannot be replaced, and why.
        """
        from console.client.asking import ASKS
        from console.client.job_list import needs_worker

        while True:
            await asyncio.sleep(_CHECK_SECONDS)
            for job_id, worker in list(self.workers.items()):
                try:
                    if note := worker.replace_if_dead():
                        on_replaced(note)
                    if job_id != ASKS and not await needs_worker(self.client, job_id):
                        await self.stop_worker(job_id)
                except ConsoleError as error:
                    self.workers.pop(job_id, None)
                    on_error(job_id, str(error))

    async def wait_for_worker(self, call: Awaitable[Answer], job_id: str) -> tuple[Answer, bool]:
        """The result of a call that a worker must answer, and whether one was started for it.

        If no worker answers on the embedded server, one is started that runs the job's workflow and
        no subagents.
        """
        answer = asyncio.ensure_future(call)
        try:
            if worker := self.workers.get(job_id):
                return await self._wait(answer, job_id, _NEW_WORKER_SECONDS, worker), False
            if self.server is None:
                return await self._wait(answer, job_id, _ANSWER_SECONDS), False
            if not self.server.fresh:
                done, _ = await asyncio.wait({answer}, timeout=_PROBE_SECONDS)
                if done:
                    return answer.result(), False
            queue = find_task_queue(self.settings, job_id)
            worker = WorkerProcess(
                self.settings, self.server.address, task_queue=queue, subagents=False
            )
            try:
                return await self._wait(answer, job_id, _NEW_WORKER_SECONDS, worker), True
            finally:
                await asyncio.to_thread(worker.stop)
        finally:
            answer.cancel()
            await asyncio.gather(answer, return_exceptions=True)

    async def _wait(
        self,
        answer: asyncio.Future[Answer],
        job_id: str,
        seconds: float,
        worker: WorkerProcess | None = None,
    ) -> Answer:
        deadline = asyncio.get_running_loop().time() + seconds
        while not (await asyncio.wait({answer}, timeout=0.2))[0]:
            if worker is not None:
                worker.replace_if_dead()
            if asyncio.get_running_loop().time() > deadline:
                raise ConsoleError(
                    f"No worker answered for the job {job_id} within {seconds:.0f} seconds: start"
                    " one with `python worker.py` and the same TEMPORAL_* settings, then repeat the"
                    " command."
                )
        return answer.result()


Action = Callable[[Session], Coroutine[Any, Any, ExitCode | None]]
"""Returns the exit code of the command; None for success."""


def run(
    action: Action,
    *,
    settings: Settings | None = None,
    job_id: str | None = None,
    on_interrupt: str = "",
) -> ExitCode:
    """Run an action with a connected client; print `on_interrupt` after Ctrl-C.

    On the embedded server, a worker is started for the job of this id.
    """
    settings = settings or prepare_settings()
    audit.act_as(audit.command_line_actor(settings))

    async def connect_and_run() -> ExitCode | None:
        client = await _connect(settings, server)
        if server is not None and job_id is not None:
            await _delete_old_objects(settings, client)
        return await action(Session(settings, client, server, workers))

    with _start_processes(settings, job_id) as (server, workers):
        try:
            return asyncio.run(connect_and_run()) or ExitCode.REPORT
        except KeyboardInterrupt:
            if on_interrupt:
                print(on_interrupt, flush=True)
            return ExitCode.INTERRUPTED


def find_task_queue(settings: Settings, job_id: str) -> str:
    """The queue of a job's tasks: its own on the embedded server, else that of all workers."""
    return TASK_QUEUE if settings.has_server else f"{TASK_QUEUE}-{job_id}"


def read_settings() -> Settings:
    """The settings of the environment. Raises `BadInputError` for an invalid variable."""
    validation.check_role_variables(os.environ)
    validation.check_endpoints(os.environ)
    try:
        return Settings.read(os.environ)
    except (ValidationError, ValueError) as error:
        reason = str(error).splitlines()[0]
        if isinstance(error, ValidationError):
            reason = ": ".join(first_fault(error))
        raise BadInputError(
            f"A setting in the environment is invalid: correct the RESEARCH_* variables ({reason})."
        ) from None


def prepare_settings() -> Settings:
    """The settings of the environment, with absolute, writable state and store folders."""
    return validation.prepare_folders(read_settings())


def check_job_files(settings: Settings) -> None:
    """Read the files that a worker will need, before anything is started."""
    validation.check_mcp_file(settings)
    if settings.keys is not None:
        from console.runtime.data_converter import load_keyring

        load_keyring(settings)


async def _connect(settings: Settings, server: DevServer | None) -> Client:
    # Imported late: the server and the worker start while this import runs.
    from console.runtime.connection import FRESH_SERVER_SECONDS, connect, find_missing

    if server is None:
        return await connect(settings, patience=1.0)
    client = await connect(settings, server.address)
    if server.fresh:
        await find_missing(client, FRESH_SERVER_SECONDS)
    return client


async def _delete_old_objects(settings: Settings, client: Client) -> None:
    """Once a day, on the embedded server, which runs no schedules: delete what is too old."""
    stamp, seconds = Path(settings.state_dir) / "retention.stamp", settings.retention_hours * 3600
    if not stamp.exists():
        stamp.touch()
    if not seconds or time.time() - stamp.stat().st_mtime < seconds:
        return
    from temporalio.exceptions import ApplicationError
    from temporalio.service import RPCError

    from activities.storage.retention import delete_old
    from console.runtime.data_converter import store_of

    try:
        await delete_old(store_of(client), client, settings.keep_days)
        stamp.touch()
    except (ApplicationError, RPCError) as error:
        _log.warning("What is too old was not deleted: %s", error)


@contextlib.contextmanager
def _start_processes(
    settings: Settings, job_id: str | None
) -> Iterator[tuple[DevServer | None, dict[str, WorkerProcess]]]:
    """An embedded server, if none is configured, and the job's worker; all are stopped at the end.

    SIGTERM and SIGHUP raise KeyboardInterrupt, as Ctrl-C does, so that all child processes are
    stopped.
    """
    workers: dict[str, WorkerProcess] = {}
    with _interrupt_on_signals():
        if settings.has_server:
            yield None, workers
            return

        def start_worker(address: str) -> None:
            # A worker takes longer to start than the server, so both start at the same time. If
            # the server moves to another port, the worker is stopped and started again.
            _stop_all(workers)
            if job_id is not None:
                queue = find_task_queue(settings, job_id)
                workers[job_id] = WorkerProcess(settings, address, task_queue=queue)

        state_dir, port = Path(settings.state_dir), read_port(os.environ)
        with contextlib.ExitStack() as stack:
            # Called twice: if the server does not start, and before the server is stopped.
            stack.callback(_stop_all, workers)
            server = stack.enter_context(run_dev_server(state_dir, port, start_worker))
            stack.callback(_stop_all, workers)
            yield server, workers


def _stop_all(workers: dict[str, WorkerProcess]) -> None:
    """Stop the workers at the same time: each may take seconds to drain."""
    stopped = list(workers.values())
    workers.clear()
    if stopped:
        with ThreadPoolExecutor(len(stopped)) as threads:
            list(threads.map(WorkerProcess.stop, stopped))


@contextlib.contextmanager
def _interrupt_on_signals() -> Iterator[None]:
    def interrupt(_number: int, _frame: FrameType | None) -> None:
        signal.raise_signal(signal.SIGINT)

    # A shell starts background commands with SIGINT ignored; they must still be stoppable.
    before = {signal.SIGINT: signal.signal(signal.SIGINT, signal.default_int_handler)}
    for number in (signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) is not signal.SIG_IGN:
            before[number] = signal.signal(number, interrupt)
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
