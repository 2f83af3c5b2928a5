"""Research on a schedule: the second run's report says what changed since the first.

python -m deploy.examples.schedule "QUESTION" --corpus DIR

`starter.py schedule create` makes such a schedule too. This one runs at once, twice, on a copy of
the documents, which change in between: a figure is another one, and a file is added.
"""

from __future__ import annotations

import asyncio
import re
import shutil
import tempfile
from argparse import ArgumentParser
from datetime import timedelta
from pathlib import Path

from temporalio.client import (
    Client,
    Schedule,
    ScheduleActionExecutionStartWorkflow,
    ScheduleActionStartWorkflow,
    ScheduleHandle,
    ScheduleIntervalSpec,
    ScheduleOverlapPolicy,
    ScheduleSpec,
)

from console.client.jobs import fetch_report, get_handle
from deploy.examples.asking import connected, new_id, parsed, run
from workflows.contracts.facets import Effort
from workflows.contracts.request import TASK_QUEUE, ResearchRequest
from workflows.contracts.result import ResearchResult
from workflows.coordinator import ResearchWorkflow


async def now(client: Client, schedule: ScheduleHandle, n: int) -> ResearchResult:
    """Run it at once, beside its times, and wait for its n-th result."""
    await schedule.trigger(overlap=ScheduleOverlapPolicy.BUFFER_ONE)
    while True:
        runs = (await schedule.describe()).info.recent_actions
        if len(runs) >= n:
            break
        await asyncio.sleep(0.2)
    begun = runs[n - 1].action
    assert isinstance(begun, ScheduleActionExecutionStartWorkflow)  # noqa: S101
    return await fetch_report(get_handle(client, begun.workflow_id))


def change(documents: Path) -> None:
    for file in documents.glob("*.md"):
        text = file.read_text("utf-8")
        file.write_text(re.sub(r"(\d\d),000 passengers", r"\1,500 passengers", text), "utf-8")
    news = "# Late boats\n\nThe Lindrey route carried 12,000 passengers at night in 2025.\n"
    (documents / "late_boats.md").write_text(news, "utf-8")


async def main() -> None:
    asked = parsed(ArgumentParser())
    client = await connected()
    with tempfile.TemporaryDirectory() as place:
        documents = Path(shutil.copytree(asked.corpus, Path(place) / "documents"))
        request = ResearchRequest(
            question=asked.question,
            corpus=str(documents),
            effort=Effort.QUICK,
            report_changes=True,
        )
        name = new_id("watch")
        schedule = await client.create_schedule(
            name,
            Schedule(
                action=ScheduleActionStartWorkflow(
                    ResearchWorkflow.run, args=[request], id=name, task_queue=TASK_QUEUE
                ),
                spec=ScheduleSpec(intervals=[ScheduleIntervalSpec(every=timedelta(hours=24))]),
            ),
        )
        try:
            await now(client, schedule, 1)
            change(documents)
            result = await now(client, schedule, 2)
        finally:
            await schedule.delete()
    print(result.report_markdown.partition("## Summary")[0])
    print(result.model_dump_json(include={"changes"}, indent=1))


if __name__ == "__main__":
    run(main)
