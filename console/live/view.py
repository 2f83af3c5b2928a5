"""Show a running job until it ends: as a table that redraws itself, or as plain lines.

Plain lines are for a file, a pipe or a terminal that cannot redraw: one line per change; a job
without changes prints once a minute what it waits for.
"""

from __future__ import annotations

import asyncio
import contextlib
import io
import time
from collections.abc import Awaitable, Callable
from typing import Protocol, TextIO

from rich.console import Console
from temporalio.client import WorkflowUpdateRPCTimeoutOrCancelledError

from console.client import jobs
from console.client.jobs import Job
from console.client.progress import Progress, ProgressPoller
from console.errors import BadInputError, ConsoleError
from console.formatting import count, plain
from console.live import status_text
from console.live.table import TableView
from workflows.contracts.messages import Resume
from workflows.contracts.result import ResearchResult, Status
from workflows.contracts.state import Gap

QUIET_SECONDS = 60.0
_TICK_SECONDS = 0.4


def open_view(stream: TextIO) -> TableView | LinesView:
    if isinstance(stream, io.TextIOWrapper):
        # A terminal whose encoding lacks a mark shows a replacement character instead of failing.
        with contextlib.suppress(OSError):
            stream.reconfigure(errors="replace")
    redraws = stream.isatty() and not Console(file=stream).is_dumb_terminal
    return TableView(stream) if redraws else LinesView(stream)


def summarize(result: ResearchResult) -> str:
    """The result in two lines: what the report holds, and what it took."""
    telemetry = result.telemetry
    open_gaps = sum(gap.status != "closed" for gap in result.gaps)
    passes = sum(item.n > 0 for item in result.passes)
    content = (
        count(len(result.claims), "claim"),
        count(sum(source.n is not None for source in result.sources), "source") + " cited",
        count(len(result.contradictions), "contradiction"),
        f"{count(open_gaps, 'gap')} not closed",
    )
    cost = (
        f"${telemetry.usd:.2f}",
        count(telemetry.turns, "turn"),
        count(passes, "refinement pass", "refinement passes"),
        f"{telemetry.seconds:.1f} s",
    )
    return f"{' · '.join(content)}\n{' · '.join(cost)}"


class LinesView:
    def __init__(self, stream: TextIO, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._stream = stream
        self._monotonic = monotonic
        self._phase = ""
        self._facets: dict[str, str] = {}
        self._gaps: tuple[Gap, ...] = ()
        self._counts = ""
        self._needs = ""
        self._failures: set[tuple[str, int]] = set()
        self._printed_at = monotonic()

    def __enter__(self) -> LinesView:
        return self

    def __exit__(self, *_: object) -> None:
        return None

    def pause(self) -> None:
        """Nothing is redrawn, so there is nothing to stop."""

    def resume(self) -> None:
        """The next change is printed as ever."""

    def say(self, text: str) -> None:
        self._printed_at = self._monotonic()
        print(text, file=self._stream, flush=True)

    def show(self, progress: Progress) -> None:
        if progress.answered:
            self._show_status(progress.status, progress.needs)
            for gap in status_text.changed_gaps(self._gaps, progress.gaps):
                self.say(f"  {status_text.gap_line(gap)}")
            self._gaps = progress.gaps
            counts = status_text.counts(progress.status, progress.gaps)
            if counts and counts != self._counts:
                self._counts = counts
                self.say(f"  {counts}")
        self._show_retries(progress)
        if self._monotonic() - self._printed_at >= QUIET_SECONDS:
            self.say(f"  still {_current_step(progress)}")

    def _show_status(self, status: Status, needs: str) -> None:
        phase = f"{status.phase} {status.passes}"
        if phase != self._phase:
            self._phase = phase
            self.say(status_text.headline(status))
        if needs != self._needs:
            self._needs = needs
            self.say(f"  {plain(needs) or 'continues'}")
        for facet in status.facets:
            if self._facets.get(facet.id) != facet.status:
                self._facets[facet.id] = facet.status
                outcome = f"{plain(facet.title)}: {status_text.outcome(facet)}"
                self.say(f"  {status_text.mark(facet)} {outcome}")

    def _show_retries(self, progress: Progress) -> None:
        """One line per failed attempt."""
        for step in progress.pending:
            attempt = (step.step, step.attempt)
            if step.last_failure and attempt not in self._failures:
                self._failures.add(attempt)
                self.say(f"  ! {status_text.pending_line(step)}")


def _current_step(progress: Progress) -> str:
    if progress.pending:
        longest = progress.pending[0]
        rest = sum(step.count for step in progress.pending) - longest.count
        return status_text.pending_line(longest) + (f", and {rest} more" if rest else "")
    if not progress.answered:
        return "no worker answers"
    return progress.needs or f"at {status_text.headline(progress.status)}"


class ReplaceableWorker(Protocol):
    def replace_if_dead(self) -> str | None: ...


async def follow(
    job: Job,
    view: TableView | LinesView,
    worker: ReplaceableWorker | None = None,
    *,
    unblock: bool = False,
    ask_approval: Callable[[Job], Awaitable[None]] | None = None,
) -> ResearchResult | Status:
    """Show the job until it ends; its result, or its status if it is blocked.

    With `unblock`, a job that is already blocked or paused is resumed once. `ask_approval` is
    called when the plan waits for approval, and cancelled if somebody else decides first.
    """
    poller = ProgressPoller(job)
    ending = asyncio.ensure_future(jobs.wait_for_result(job))
    polling = asyncio.ensure_future(_poll(poller))
    approval = _ApprovalPrompt(job, view, ask_approval)
    resumed, old_block = False, None
    try:
        while True:
            # A query waits for a worker, so the worker process is checked in the meantime.
            await asyncio.wait(
                {ending, polling}, timeout=_TICK_SECONDS, return_when="FIRST_COMPLETED"
            )
            if ending.done():
                await approval.close()
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
            await approval.update(status)
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
        await approval.close()
        for task in (ending, polling):
            task.cancel()
        await asyncio.gather(ending, polling, return_exceptions=True)


class _ApprovalPrompt:
    """Asks once for each plan that waits for approval, with the view paused meanwhile."""

    def __init__(
        self, job: Job, view: TableView | LinesView, ask: Callable[[Job], Awaitable[None]] | None
    ) -> None:
        self._job, self._view, self._ask = job, view, ask
        self._asking: asyncio.Future[None] | None = None
        self._asked_until: str | None = None

    async def update(self, status: Status) -> None:
        if self._asking is not None:
            if self._asking.done() or status.approve_by is None:
                await self.close()
        elif self._ask and status.approve_by not in (None, self._asked_until):
            self._asked_until = status.approve_by
            self._view.pause()
            self._asking = asyncio.ensure_future(self._ask(self._job))

    async def close(self) -> None:
        """End the question, and raise its error if it has one."""
        asking, self._asking = self._asking, None
        if asking is None:
            return
        asking.cancel()
        try:
            # The client tells the end of its own call for an update by an error of its own.
            with contextlib.suppress(
                asyncio.CancelledError, WorkflowUpdateRPCTimeoutOrCancelledError
            ):
                await asking
        finally:
            self._view.resume()


async def _poll(
    poller: ProgressPoller, *, after: float = 0.0, seconds: float = 3.0
) -> Progress | None:
    """None if the server does not answer: `wait_for_result` decides how long to wait."""
    await asyncio.sleep(after)
    try:
        return await poller.poll(seconds)
    except ConsoleError:
        return None
