"""Jobs as a person runs them: `starter.py run` as a process, with its exit code and its files."""

from __future__ import annotations

import asyncio
import os
import sys
from dataclasses import dataclass
from pathlib import Path

from benchmarks.quality.sets import ROOT, Options
from workflows.contracts.result import ResearchResult

REPORT, BAD_INPUT, NOTHING_FOUND = 0, 2, 4
_LONGEST_SECONDS = 300.0
_PRIVATE = ("RESEARCH_STORE", "TEMPORAL_")


@dataclass(frozen=True)
class Ended:
    """How a command ended."""

    code: int | None
    """The exit code; None where it was stopped after five minutes."""
    result: ResearchResult | None
    """What its `report.json` holds, where it wrote one."""
    printed: str


async def run_command(question: str, corpus: Path, place: Path, options: Options) -> Ended:
    """Run one question. Commands with the same parent of `place` share a server and its indexes."""
    arguments = [f"--{name.replace('_', '-')}={value}" for name, value in options.request.items()]
    environment = {k: v for k, v in os.environ.items() if not k.startswith(_PRIVATE)}
    process = await asyncio.create_subprocess_exec(
        sys.executable, "starter.py", "run", question, "--corpus", str(corpus), "--out", str(place),
        "--model", options.model, *arguments,
        cwd=ROOT, env={**environment, "RESEARCH_HOME": str(place.parent / "home")},
        stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.STDOUT,
    )  # fmt: skip
    try:
        printed, _ = await asyncio.wait_for(process.communicate(), _LONGEST_SECONDS)
    except TimeoutError:
        process.kill()
        printed, _ = await process.communicate()
        return Ended(None, None, printed.decode("utf-8", "replace"))
    report = await asyncio.to_thread(_read_report, place / "report.json")
    return Ended(process.returncode, report, printed.decode("utf-8", "replace"))


def _read_report(path: Path) -> ResearchResult | None:
    if not path.exists():
        return None
    return ResearchResult.model_validate_json(path.read_text("utf-8"))
