"""The published reports of a job in the store: one object for each version."""

from __future__ import annotations

import re
from urllib.parse import unquote

from activities.storage.store import Store
from workflows.config.store_keys import checkpoints_folder, reports_folder
from workflows.contracts.asking import ReportVersion
from workflows.contracts.state import ResearchState

_KEY = re.compile(r"(?P<n>\d+)-(?P<run>[^/]+)\.json$")


async def list_versions(store: Store, job_id: str) -> list[ReportVersion]:
    """The reports of a job, the first one first; of a run that was reset, the last to publish."""
    found = {
        int(key["n"]): ReportVersion(
            job_id=job_id, n=int(key["n"]), run_id=unquote(key["run"]), key=path
        )
        for path in await store.list(reports_folder(job_id))
        if (key := _KEY.search(path))
    }
    return [found[n] for n in sorted(found)]


async def load_last_state(store: Store, job_id: str, run_id: str = "") -> ResearchState | None:
    """The job at the last checkpoint of a run; of any run where that one has none of its own."""
    ages = await store.ages(checkpoints_folder(job_id))
    keys = sorted(ages, key=lambda key: (-ages[key], key))
    own = [key for key in keys if key.split("/")[-2] == run_id] or keys
    return await store.load(own[-1], ResearchState) if own else None
