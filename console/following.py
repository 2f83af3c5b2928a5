"""Following a job to its end, or to where it needs somebody."""

from __future__ import annotations

import asyncio
import contextlib

from console import jobs
from console.faults import BadInputError, ConsoleError
from console.jobs import Job
from console.live import View
from console.progress import Look, Progress
from console.workers import Worker
from workflows.contracts.messages import Resume
from workflows.contracts.result import ResearchResult, Status

_TICK_SECONDS = 0.4


async def follow(
    job: Job, view: View, worker: Worker | None = None, *, unblock: bool = False
) -> ResearchResult | Status:
    """Show the job until it ends; its result, or its status where it is blocked.

    With `unblock` a job that was found blocked or paused is sent on, once.
    """
    look = Look(job)
    ending = asyncio.ensure_future(jobs.result(job))
    looking = asyncio.ensure_future(_seen(look))
    sent_on, blocked = False, None
    try:
        while True:
            # An answer waits for a worker; the worker is looked after in the meantime.
            await asyncio.wait(
                {ending, looking}, timeout=_TICK_SECONDS, return_when="FIRST_COMPLETED"
            )
            if ending.done():
                ended = ending.result()
                if last := await _seen(look, seconds=1.0):
                    view.show(last)
                return ended
            if worker is not None and (note := worker.look()):
                view.say(note)
            if not looking.done():
                continue
            seen, looking = looking.result(), asyncio.ensure_future(_seen(look, after=look.pause))
            if seen is None:
                continue
            view.show(seen)
            now = seen.status
            if unblock and not sent_on and (now.blocked or now.paused):
                # The same block may still be shown for a moment after it was lifted.
                sent_on, blocked = True, now.blocked
                was = f"blocked ({blocked.reason})" if blocked else "paused"
                view.say(f"It was {was} and goes on now.")
                with contextlib.suppress(BadInputError):
                    await jobs.tell(job, "resume", Resume())
            elif now.blocked is not None and now.blocked != blocked:
                return now
    finally:
        for task in (ending, looking):
            task.cancel()
        await asyncio.gather(ending, looking, return_exceptions=True)


async def _seen(look: Look, *, after: float = 0.0, seconds: float = 3.0) -> Progress | None:
    """None where the server does not answer: whoever waits for the result decides how long."""
    await asyncio.sleep(after)
    try:
        return await look.now(seconds)
    except ConsoleError:
        return None
