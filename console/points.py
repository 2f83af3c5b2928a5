"""The checkpoints of a job, as the command of that name lists them."""

from __future__ import annotations

import asyncio
import json
from typing import Any

from console import checks
from console.faults import COMMAND, BadInputError, ExitCode
from console.live_words import say
from console.session import current_settings
from console.store import Checkpoints, Kept
from workflows.contracts.state import ResearchState
from workflows.rules.gaps import open_gaps

_ONE = {"facets": "facet", "outcomes": "outcome", "claims": "claim", "passes": "pass"}


def checkpoints(job_id: str, *, as_json: bool = False) -> ExitCode:
    """What a job can be taken up from, out of the store: no server is asked."""
    job_id = checks.job_id(job_id)
    kept = Checkpoints.open(checks.local_settings(current_settings()))
    found = asyncio.run(_loaded(kept, job_id))
    if not found:
        raise BadInputError(
            f"The store keeps no checkpoint of a job {job_id}: `list` shows the jobs there are, and"
            " RESEARCH_STORE must name the workers' store."
        )
    rows = [_point(item, state) for item, state in found]
    if as_json:
        print(json.dumps(rows, indent=2))
        return ExitCode.REPORT
    run = ""
    for row in rows:
        if row["run_id"] != run:
            run = row["run_id"]
            print(f"run {run}")
        spent = f"${row['usd']:.2f} {row['turns']:>5} turns"
        known = f"  {row['name']:<12} {row['at']:<20} {spent}  "
        say(row["holds"], known, " " * len(known))
    say(f"`{COMMAND} restart {job_id} --from NAME` or `fork {job_id} --from NAME` takes it up.")
    return ExitCode.REPORT


async def _loaded(kept: Checkpoints, job_id: str) -> list[tuple[Kept, ResearchState]]:
    found = await kept.of(job_id)
    return list(zip(found, await asyncio.gather(*map(kept.load, found)), strict=True))


def _point(item: Kept, state: ResearchState) -> dict[str, Any]:
    facets = len(state.plan.facets) if state.plan else 0
    claims = sum(o.findings.claims for o in state.outcomes.values() if o.findings)
    holds = {
        "facets": facets,
        "outcomes": len(state.outcomes),
        "claims": claims,
        "gaps open": len(open_gaps(state.gaps)),
        "passes": sum(done.n > 0 for done in state.passes),
    }
    words = [f"{n} {name if n > 1 else _ONE.get(name, name)}" for name, n in holds.items() if n]
    return {
        "name": item.name,
        "run_id": item.run_id,
        "n": item.n,
        "at": item.at.strftime("%Y-%m-%d %H:%M:%SZ"),
        "phase": state.phase.value,
        "usd": state.spend.usd,
        "turns": state.spend.turns,
        "draft": state.draft is not None,
        **{name.replace(" ", "_"): count for name, count in holds.items()},
        "holds": ", ".join([*words, *(["a draft"] if state.draft else [])]),
    }
