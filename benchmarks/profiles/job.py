"""Where the time of one job goes, from its histories: activities, what they wait for, the rest.

Local activities have no spans of their own there: they are part of the workflow tasks.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from temporalio.api.enums.v1 import EventType
from temporalio.api.history.v1 import HistoryEvent

from benchmarks.engines.ours import Ours
from benchmarks.sample import Span, covered


class Remembered(Ours):
    """This project's engine, whose histories are read."""

    def history(self, run: str) -> list[HistoryEvent]:
        async def fetched() -> list[HistoryEvent]:
            return [
                event
                async for event in self._client.get_workflow_handle(run).fetch_history_events()
            ]

        return self._do(fetched())


@dataclass
class Kind:
    """All activities of one kind, or all workflow tasks."""

    count: int = 0
    waited: float = 0.0
    """Seconds from asked for to begun."""
    worked: float = 0.0
    """Seconds from begun to done."""


@dataclass
class Spent:
    """One job's time."""

    seconds: float = 0.0
    kinds: dict[str, Kind] = field(default_factory=lambda: defaultdict(Kind))
    tasks: Kind = field(default_factory=Kind)
    busy: list[Span] = field(default_factory=list)
    tasked: list[Span] = field(default_factory=list)

    @property
    def idle(self) -> float:
        """The share of the job with no activity under way."""
        return 1 - covered(self.busy) / self.seconds

    @property
    def idle_and_untasked(self) -> float:
        """The share with neither an activity nor a workflow task under way: the server's own."""
        return 1 - covered(self.busy + self.tasked) / self.seconds

    def told(self) -> dict[str, Any]:
        return {
            "seconds": round(self.seconds, 3),
            "no_activity_running": round(self.idle, 3),
            "nothing_running": round(self.idle_and_untasked, 3),
            "workflow_tasks": _told(self.tasks),
            "activities": {name: _told(kind) for name, kind in sorted(self.kinds.items())},
        }


def spent(*histories: Iterable[HistoryEvent]) -> Spent:
    """The job's own history first, then those of its passes."""
    found = Spent()
    for n, history in enumerate(histories):
        events = {event.event_id: event for event in history}
        if n == 0:
            times = [_at(event) for event in events.values()]
            found.seconds = (max(times) - min(times)).total_seconds()
        for event in events.values():
            if event.event_type == EventType.EVENT_TYPE_ACTIVITY_TASK_COMPLETED:
                done = event.activity_task_completed_event_attributes
                asked = events[done.scheduled_event_id]
                name = asked.activity_task_scheduled_event_attributes.activity_type.name
                begun = events[done.started_event_id]
                found.busy.append(_add(found.kinds[name], asked, begun, event))
            elif event.event_type == EventType.EVENT_TYPE_WORKFLOW_TASK_COMPLETED:
                task = event.workflow_task_completed_event_attributes
                asked, begun = events[task.scheduled_event_id], events[task.started_event_id]
                _add(found.tasks, asked, begun, event)
                found.tasked.append((_at(begun), _at(event)))
    return found


def _add(kind: Kind, asked: HistoryEvent, begun: HistoryEvent, done: HistoryEvent) -> Span:
    kind.count += 1
    kind.waited += (_at(begun) - _at(asked)).total_seconds()
    kind.worked += (_at(done) - _at(begun)).total_seconds()
    return _at(asked), _at(done)


def _at(event: HistoryEvent) -> datetime:
    return event.event_time.ToDatetime()


def _told(kind: Kind) -> dict[str, float]:
    return {"count": kind.count, "waited": round(kind.waited, 3), "worked": round(kind.worked, 3)}


def table(title: str, found: Spent) -> str:
    rows = [f"| {title}: {found.seconds:.2f} s | count | waited, ms | worked, ms |"]
    rows.append("| --- | --- | --- | --- |")
    named = sorted(found.kinds.items(), key=lambda item: -item[1].worked)
    for name, kind in [*named, ("workflow tasks", found.tasks)]:
        rows.append(
            f"| {name} | {kind.count} | {1000 * kind.waited:.0f} | {1000 * kind.worked:.0f} |"
        )
    return "\n".join(rows) + (
        f"\n\n{found.idle:.0%} of it with no activity running,"
        f" {found.idle_and_untasked:.0%} with no workflow task either."
    )
