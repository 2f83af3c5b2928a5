"""Who acts, and the log of what they did.

The actor of the running task is in a context variable: the command line sets it to the user of the
operating system, the console to the person who sends the request. The functions that start, change
or end a job take it from there, so that no way to a job can leave it out.

The log has one JSON object per line: time, who, role, address, act, job, outcome.
"""

from __future__ import annotations

import contextlib
import fcntl
import getpass
import json
import os
from collections.abc import Collection, Iterator
from contextvars import ContextVar
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from console.errors import BadInputError, ConsoleError
from workflows.config.settings import Settings
from workflows.contracts.request import ResearchRequest

if TYPE_CHECKING:
    from temporalio.client import (
        ScheduleDescription,
        ScheduleListDescription,
        WorkflowExecution,
    )

TENANT = "ResearchTenant"
COMMAND_LINE = "command line"
_MAX_TEXT = 300


class JsonLines:
    """A file of JSON objects, one a line, that is only appended to; only its owner can read it."""

    def __init__(self, file: Path, max_text: int = _MAX_TEXT) -> None:
        self.file = file
        self._max_text = max_text

    def write(self, **fields: str) -> None:
        """Append a line, in one write, so that lines of several processes do not mix."""
        values = {name: value[: self._max_text] for name, value in fields.items()}
        line = json.dumps({"time": datetime.now(UTC).isoformat(timespec="seconds")} | values)
        try:
            descriptor = os.open(self.file, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX)
                os.write(descriptor, f"{line}\n".encode())
            finally:
                os.close(descriptor)
        except OSError as error:
            raise ConsoleError(
                f"The file {self.file} cannot be written ({error.strerror}): {line}"
            ) from None

    def read(self, job: str | None = None) -> Iterator[dict[str, Any]]:
        """The lines, oldest first; with `job`, those of that job."""
        try:
            with self.file.open(encoding="utf-8") as lines:
                for line in lines:
                    entry: dict[str, Any] = json.loads(line)
                    if job is None or entry.get("job") == job:
                        yield entry
        except FileNotFoundError:
            return

    def delete(self, jobs: Collection[str]) -> None:
        """Delete the lines of these jobs, in place: others may append meanwhile."""
        with contextlib.suppress(FileNotFoundError), self.file.open("r+", encoding="utf-8") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            kept = [line for line in file if json.loads(line).get("job") not in jobs]
            file.seek(0)
            file.writelines(kept)
            file.truncate()


class AuditLog(JsonLines):
    def __init__(self, settings: Settings) -> None:
        super().__init__(Path(settings.state_dir) / "audit.jsonl")


class FeedbackLog(JsonLines):
    """Citations that readers called wrong; `benchmarks.quality.feedback` reads it.

    A line quotes a document, so it is deleted with its job.
    """

    def __init__(self, settings: Settings) -> None:
        super().__init__(Path(settings.state_dir) / "feedback.jsonl", max_text=2000)


@dataclass(frozen=True)
class Actor:
    name: str = ""
    role: str = ""
    address: str = ""
    tenant: str = ""
    """The only tenant whose jobs the actor sees and starts; empty for all."""
    labels: tuple[str, ...] | None = None
    """The labels that the actor's jobs may have; None for any."""
    log: AuditLog | None = None

    def record(self, act: str, job: str = "", outcome: str = "done") -> None:
        if self.log is not None:
            self.log.write(who=self.name, role=self.role, address=self.address, act=act, job=job,
                           outcome=outcome)  # fmt: skip

    def sees(self, tenant: str, labels: tuple[str, ...] = ()) -> bool:
        """Whether a job of this tenant with these labels exists for the actor."""
        return self.tenant in ("", tenant) and (
            self.labels is None or set(labels) <= set(self.labels)
        )

    def restrict(self, request: ResearchRequest) -> ResearchRequest:
        """The request in the actor's tenant, with the actor's labels unless it names fewer."""
        if request.tenant and not self.sees(request.tenant):
            raise BadInputError(
                f"{self.name} starts jobs in the tenant {self.tenant} only: omit the tenant."
            )
        more = set(request.labels) - set(request.labels if self.labels is None else self.labels)
        if more:
            raise BadInputError(
                f"{self.name} has no right to the label {min(more)}: omit it, or ask an admin."
            )
        return request.model_copy(
            update={
                "by": self.name,
                "tenant": self.tenant or request.tenant,
                "labels": request.labels or self.labels or (),
            }
        )


_ACTOR: ContextVar[Actor] = ContextVar("actor", default=Actor())  # noqa: B039


def current_actor() -> Actor:
    return _ACTOR.get()


def act_as(actor: Actor) -> None:
    """Make this the actor of the running task and of the tasks it starts."""
    _ACTOR.set(actor)


def command_line_actor(settings: Settings) -> Actor:
    try:
        name = getpass.getuser()
    except (OSError, KeyError):
        # A container may run under a number without a name.
        name = f"uid {os.getuid()}"
    return Actor(name, COMMAND_LINE, log=AuditLog(settings))


async def is_visible(
    execution: WorkflowExecution | ScheduleDescription | ScheduleListDescription,
) -> bool:
    """Whether the job or schedule exists for the current actor, by its tenant and its labels."""
    actor = current_actor()
    labels = await execution.memo_value("labels", []) if actor.labels is not None else []
    tenant = [pair.value for pair in execution.typed_search_attributes if pair.key.name == TENANT]
    return actor.sees(str(tenant[0]) if tenant else "", tuple(labels))


@contextlib.contextmanager
def recorded(act: str, job: str) -> Iterator[None]:
    """Write what the body does to a job into the log, with its outcome."""
    actor = current_actor()
    try:
        yield
    except ConsoleError as error:
        actor.record(act, job, f"refused: {error}")
        raise
    except BaseException as error:
        actor.record(act, job, f"failed: {type(error).__name__}")
        raise
    actor.record(act, job)
