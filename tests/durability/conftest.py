"""A site for every test, and the report that every job must come to, worked out once."""

from __future__ import annotations

import asyncio
import fcntl
import json
from collections.abc import AsyncIterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest

from tests.durability.campaign import undisturbed
from tests.durability.jobs import JsonObject
from tests.durability.site import Site, a_site
from tests.durability.steps import Extent


@pytest.fixture
async def site(tmp_path: Path) -> AsyncIterator[Site]:
    async with a_site(tmp_path / "site") as site:
        yield site


@pytest.fixture
async def extent(undisturbed_job: JsonObject) -> Extent:
    return Extent(**undisturbed_job["extent"])


@pytest.fixture
async def reference(undisturbed_job: JsonObject) -> JsonObject:
    report: JsonObject = undisturbed_job["report"]
    return report


@pytest.fixture
async def undisturbed_job(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> JsonObject:
    """The report of the job when nobody is killed, and how many steps it has.

    The first test that needs it runs the job at a site of its own; all processes of this run of
    the suite read the file that it leaves.
    """
    shared = tmp_path_factory.getbasetemp()
    if hasattr(request.config, "workerinput"):
        # Under pytest-xdist each process has a folder of its own in that of the run.
        shared = shared.parent
    known = shared / "undisturbed.json"
    with (shared / "undisturbed.lock").open("w") as lock:
        await asyncio.to_thread(fcntl.flock, lock, fcntl.LOCK_EX)
        if not known.exists():
            known.write_text(
                json.dumps(await _run_undisturbed(tmp_path_factory.mktemp("undisturbed")))
            )
    found: JsonObject = json.loads(known.read_text())
    return found


async def _run_undisturbed(folder: Path) -> dict[str, Any]:
    async with a_site(folder) as site:
        job, report = await undisturbed(site)
        return {"report": report, "extent": asdict(await Extent.of(job))}
