"""Timeouts and retries, one policy per kind of call, and what is not worth retrying.

Heartbeats are short so that a killed worker's subagent is taken over within seconds; what it had
done by then is in the journal, not in the heartbeat.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta

from temporalio.common import RetryPolicy

from workflows.contracts.request import TASK_QUEUE

SUBAGENT_QUEUE = "research-subagents"
"""Where their subagents wait for a worker."""

PAUSED = "paused"
"""What a subagent says that finds its job paused: nothing failed, it is asked again later."""

# Error types an activity raises for what asking again cannot mend; an operator can.
NEEDS_OPERATOR = ("authentication", "bad_request", "spend_limit", "bad_input", PAUSED)

HEARTBEAT = timedelta(seconds=3)
"""After so long without a sign a subagent is given to another worker."""

WORKFLOW_TASK = timedelta(seconds=4)
"""After so long a workflow task that a worker took with it is given to another one."""

STICKY = timedelta(seconds=2)
"""How long a job waits for the worker that knows it, before any other takes it up."""


@dataclass(frozen=True)
class Policy:
    """How long one call may take, in all and per try, and how often it is tried."""

    attempt: timedelta
    overall: timedelta
    attempts: int
    queue: str = SUBAGENT_QUEUE
    """Who takes it: subagents' workers, or those that run the jobs themselves."""

    @property
    def retry(self) -> RetryPolicy:
        return RetryPolicy(
            initial_interval=timedelta(seconds=0.5),
            backoff_coefficient=2.0,
            maximum_interval=timedelta(seconds=20),
            maximum_attempts=self.attempts,
            non_retryable_error_types=list(NEEDS_OPERATOR),
        )


INDEXING = Policy(timedelta(minutes=10), timedelta(minutes=40), attempts=10)
"""Reading the documents, by those who will search them."""

MECHANICAL = Policy(timedelta(minutes=10), timedelta(minutes=40), attempts=10, queue=TASK_QUEUE)
"""Pooling, publishing: no model, cheap to repeat, and never behind a queue of subagents."""

THINKING = Policy(timedelta(minutes=15), timedelta(minutes=60), attempts=10)
"""Planning, reviewing, verifying, writing, judging."""

BATCHED = Policy(timedelta(hours=26), timedelta(hours=60), attempts=10)
"""Verifying through the provider's batches, which may take a day."""

KEEPING = Policy(timedelta(seconds=20), timedelta(minutes=2), attempts=8)
"""Checkpoints and orders, written by the worker that runs the job."""


def researching(seconds: float) -> Policy:
    """A subagent ends by itself at its soft deadline; the minute above it is for handing over."""
    attempt = timedelta(seconds=seconds + 60)
    return Policy(attempt, 8 * attempt, attempts=10)
