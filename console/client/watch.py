"""Follow a job to its end, or to a block."""

from __future__ import annotations

import asyncio
import contextlib
from typing import Protocol

from console.client import jobs
from console.client.jobs import Job
from console.client.progress import Progress, ProgressPoller
from console.devserver.worker_process import WorkerProcess
from console.errors import BadInputError, ConsoleError
from workflows.contracts.messages import Resume
from workflows.contracts.result import ResearchResult, Status

_TICK_SECONDS = 0.4


class ProgressSink(Protocol):
    def show(self, progress: Progress) -> None: ...

    def say(self, text: str) -> None: ...


async def follow(
    job: Job, view: ProgressSink, worker: WorkerProcess | None = None, *, unblock: bool = False
) -> ResearchResult | Status:
    """Show the job until it ends; its result, or its status if it is blocked.

    With `unblock`, a job that is already blocked or paused is resumed once.
    """
    poller = ProgressPoller(job)
    ending = asyncio.ensure_future(jobs.wait_for_result(job))
    polling = asyncio.ensure_future(_poll(poller))
    resumed, old_block = False, None
    try:
        while True:
            # A query waits for a worker, so the worker process is checked in the meantime.
            await asyncio.wait(
                {ending, polling}, timeout=_TICK_SECONDS, return_when="FIRST_COMPLETED"
            )
            if ending.done():
                result = ending.result()
                if last := await _poll(poller, seconds=1.0):
                    view.show(last)
                return result
            if worker is not None and (note := worker.replace_if_dead()):
                view.say(note)
            if not polling.done():
                continue
            progress = polling.result()
            polling = asyncio.ensure_future(_poll(poller, after=poller.interval))
            if progress is None:
                continue
            view.show(progress)
            status = progress.status
            if unblock and not resumed and (status.blocked or status.paused):
                # The status may show the same block for a moment after the update.
                resumed, old_block = True, status.blocked
                state = f"blocked ({old_block.reason})" if old_block else "paused"
                view.say(f"It was {state} and continues now.")
                with contextlib.suppress(BadInputError):
                    await jobs.send_update(job, "resume", Resume())
            elif status.blocked is not None and status.blocked != old_block:
                return status
    finally:
        for task in (ending, polling):
            task.cancel()
        await asyncio.gather(ending, polling, return_exceptions=True)


async def _poll(
    poller: ProgressPoller, *, after: float = 0.0, seconds: float = 3.0
) -> Progress | None:
    """None if the server does not answer: `wait_for_result` decides how long to wait."""
    await asyncio.sleep(after)
    try:
        return await poller.poll(seconds)
    except ConsoleError:
        return None
