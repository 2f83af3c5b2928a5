"""What a standard web job costs: `python -m benchmarks.economy [--json FILE] [--check]`.

A whole job at default models runs on an embedded server against the API of `scripted_api`.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import sys
import tempfile
from pathlib import Path

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


async def run_job(api: ScriptedApi) -> ResearchResult:
    """The result of the job; the environment must hold a key, which goes nowhere."""
    with tempfile.TemporaryDirectory() as home, run_dev_server(Path(home)) as running:
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
    return result


def measure(api: ScriptedApi, result: ResearchResult) -> JsonObject:
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
