"""What a standard web job costs: `python -m benchmarks.economy [--json FILE] [--check]`.

A whole job at default models runs on an embedded server against the API of `scripted_api`. Beside
tokens, the calls to the store are counted, and the actions that a hosted Temporal bills. Heartbeats
are not among them: this model answers at once, and they come with the time that a model takes.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import sys
import tempfile
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest import mock

from temporalio.api.enums.v1 import EventType
from temporalio.client import Client

from activities.storage.backends import FolderBackend
from benchmarks.burst import percentiles
from benchmarks.scripted_api import QUESTION, JsonObject, ScriptedApi
from console.client.jobs import fetch_report
from console.client.research_request import default_budget_usd
from console.devserver.server import run_dev_server
from console.runtime.connection import connect
from worker import build_context, build_worker
from workflows.config.model_catalog import MIXED
from workflows.config.settings import Settings
from workflows.contracts.facets import Effort
from workflows.contracts.request import TASK_QUEUE, ResearchRequest, Web
from workflows.contracts.result import ResearchResult
from workflows.contracts.spend import Budget
from workflows.coordinator import ResearchWorkflow

MOST_USD = 2.0
FEWEST_PASSES = 1
MOST_UNCACHED = 0.15


_ACTIONS = {
    EventType.EVENT_TYPE_WORKFLOW_EXECUTION_STARTED: "workflows started",
    EventType.EVENT_TYPE_START_CHILD_WORKFLOW_EXECUTION_INITIATED: "child workflows started",
    EventType.EVENT_TYPE_ACTIVITY_TASK_STARTED: "activities started",
    EventType.EVENT_TYPE_MARKER_RECORDED: "local activities",
    EventType.EVENT_TYPE_TIMER_STARTED: "timers started",
    EventType.EVENT_TYPE_UPSERT_WORKFLOW_SEARCH_ATTRIBUTES: "search attributes upserted",
    EventType.EVENT_TYPE_WORKFLOW_EXECUTION_SIGNALED: "signals",
    EventType.EVENT_TYPE_WORKFLOW_EXECUTION_UPDATE_ACCEPTED: "updates",
}
_STORE_CALLS = ("create", "replace", "read", "list", "delete", "touch")


@dataclass(frozen=True)
class Ran:
    result: ResearchResult
    store_calls: Counter[str]
    actions: Counter[str]


async def run_job(api: ScriptedApi) -> Ran:
    """The job, run once; the environment must hold a key, which goes nowhere."""
    calls: Counter[str] = Counter()
    with (
        tempfile.TemporaryDirectory() as home,
        run_dev_server(Path(home)) as running,
        _counting(calls),
    ):
        settings = Settings.read({"RESEARCH_HOME": home})
        client = await connect(settings, running.address)
        context = build_context(settings, api)
        request = ResearchRequest(
            question=QUESTION,
            model=MIXED,
            web=Web(),
            budget=Budget(usd=default_budget_usd(MIXED, Effort.STANDARD)),
        )
        async with build_worker(client, settings, context):
            handle = await client.start_workflow(
                ResearchWorkflow.run, request, id="economy", task_queue=TASK_QUEUE
            )
            result = await fetch_report(handle)
        await context.close()
        return Ran(result, calls, await _count_actions(client, "economy"))


@contextmanager
def _counting(calls: Counter[str]) -> Iterator[None]:
    """Count what the stores of this process ask of their folder; a bucket is asked as much."""

    def count(name: str) -> Callable[..., Awaitable[Any]]:
        call = getattr(FolderBackend, name)

        async def counted(*given: Any) -> Any:
            calls[name] += 1
            return await call(*given)

        return counted

    with ExitStack() as patches:
        for name in _STORE_CALLS:
            patches.enter_context(mock.patch.object(FolderBackend, name, count(name)))
        yield


async def _count_actions(client: Client, job: str) -> Counter[str]:
    """The actions in the histories of a workflow and of those it started."""
    actions: Counter[str] = Counter()
    async for event in client.get_workflow_handle(job).fetch_history_events():
        if name := _ACTIONS.get(event.event_type):
            actions[name] += 1
        started = event.child_workflow_execution_started_event_attributes
        if started.workflow_execution.workflow_id:
            actions += await _count_actions(client, started.workflow_execution.workflow_id)
    return actions


def measure(api: ScriptedApi, ran: Ran) -> JsonObject:
    result = ran.result
    later = [call for call in api.calls if not call.is_first]
    total = sum(call.input for call in api.calls)
    return {
        "usd": round(sum(call.usd for call in api.calls), 2),
        "input_tokens": total,
        "output_tokens": sum(call.output for call in api.calls),
        "cached": round(sum(call.read for call in api.calls) / total, 3),
        "uncached_after_first_turns": round(
            sum(call.plain for call in later) / max(1, sum(call.input for call in later)), 3
        ),
        "turns": len(api.calls),
        "follow_ups": result.telemetry.follow_ups,
        "refinement_passes": sum(done.n > 0 for done in result.passes),
        "gaps_closed": sum(done.gaps_closed for done in result.passes),
        "stopped": str(result.passes[-1].stop_reason),
        "claims": len(result.claims),
        "store_calls": ran.store_calls.total(),
        "store_calls_by_kind": dict(ran.store_calls),
        "actions": ran.actions.total(),
        "actions_by_kind": dict(ran.actions),
        "usd_by_role": {
            role: round(spend.usd, 3) for role, spend in result.telemetry.by_role.items()
        },
        "usd_by_pass": [round(done.usd, 3) for done in result.passes],
        "usd_by_facet": percentiles(covered.usd for covered in result.coverage),
    }


def faults(figures: JsonObject) -> list[str]:
    """What is not as wanted."""
    wanted = {
        f"costs at most ${MOST_USD:.2f}": figures["usd"] <= MOST_USD,
        "reaches a refinement pass": figures["refinement_passes"] >= FEWEST_PASSES,
        f"at most {MOST_UNCACHED:.0%} of the input uncached after first turns": (
            figures["uncached_after_first_turns"] <= MOST_UNCACHED
        ),
    }
    return [what for what, kept in wanted.items() if not kept]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--json", type=Path, help="write the figures to this file")
    parser.add_argument("--check", action="store_true", help="fail where a figure is not as wanted")
    options = parser.parse_args()
    os.environ["ANTHROPIC_API_KEY"] = "sk-ant-scripted"
    api = ScriptedApi()
    figures = measure(api, asyncio.run(run_job(api)))
    for name, value in figures.items():
        print(f"{name:28} {value:,}" if isinstance(value, int | float) else f"{name:28} {value}")
    if options.json:
        options.json.write_text(json.dumps(figures, indent=1) + "\n", "utf-8")
    missed = faults(figures)
    print("\n".join(f"not as wanted: {what}" for what in missed) or "as wanted")
    if options.check and missed:
        sys.exit(1)


if __name__ == "__main__":
    main()
