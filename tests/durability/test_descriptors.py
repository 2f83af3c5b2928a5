"""A worker serves many corpora with few open files: it neither runs out of them nor collects them.

`JOBS=40 CORPORA=20 python -m pytest -m slow tests/durability/test_descriptors.py` is a short one.
"""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from activities.storage.corpus_publishing import upload
from activities.storage.corpus_versions import CorpusHead
from activities.storage.store import Store
from console.client.jobs import fetch_report
from tests.durability.processes import ROOT, Process, worker_environment
from tests.durability.site import Site, a_site
from workflows.config.settings import EMBEDDED
from workflows.contracts.facets import Effort
from workflows.contracts.request import TASK_QUEUE, ResearchRequest
from workflows.coordinator import ResearchWorkflow

JOBS = int(os.environ.get("JOBS", "500"))
CORPORA = int(os.environ.get("CORPORA", "200"))
DESCRIPTORS = 256
AT_ONCE = 8


def start_worker(site: Site) -> Process:
    """A worker that may open so many files and no more."""
    command = f"ulimit -n {DESCRIPTORS}; exec {sys.executable} {ROOT / 'worker.py'}"
    env = worker_environment(site.home, site.store, site.address, site.url)
    # The offline model answers: no turn is bought.
    del env["ANTHROPIC_BASE_URL"], env["ANTHROPIC_API_KEY"]
    worker = Process("a worker", ["/bin/sh", "-c", command], site.folder / "limited.log", env)
    site.workers.append(worker)
    return worker


def open_files(worker: Process) -> int:
    return len(os.listdir(f"/proc/{worker.pid}/fd"))


async def add_corpora(store: Store, count: int) -> list[CorpusHead]:
    text = "# Harbour {0}\n\nThe harbour line carried {0},412 passengers in 2024.\n"
    return [
        await upload(store, f"harbour-{number}", {"a.md": text.format(number).encode()})
        for number in range(count)
    ]


async def run_job(site: Site, number: int, head: CorpusHead) -> int:
    handle = await site.client.start_workflow(
        ResearchWorkflow.run,
        ResearchRequest(
            question="How many passengers did the harbour line carry?",
            corpus=f"{head.name}@{head.version}",
            effort=Effort.QUICK,
            max_facets=1,
            max_passes=0,
        ),
        id=f"soak-{number}",
        task_queue=TASK_QUEUE,
        task_timeout=EMBEDDED.task,
    )
    return (await fetch_report(handle)).documents


@pytest.mark.slow
@pytest.mark.timeout(3600)
@pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")
async def test_hundreds_of_jobs_over_hundreds_of_corpora_with_256_descriptors(
    tmp_path: Path,
) -> None:
    async with a_site(tmp_path / "site", workers=0) as site:
        heads = await add_corpora(Store.open(str(site.store)), CORPORA)
        worker = start_worker(site)
        few = asyncio.Semaphore(AT_ONCE)
        counts: list[int] = []

        async def limited(run: Callable[[], Awaitable[int]]) -> int:
            async with few:
                found = await run()
            counts.append(await asyncio.to_thread(open_files, worker))
            return found

        done = await asyncio.gather(
            *(
                limited(lambda n=n: run_job(site, n, heads[n % CORPORA]))  # type: ignore[misc]
                for n in range(JOBS)
            )
        )
        assert done == [1] * JOBS
        assert worker.alive
        print(f"{JOBS} jobs over {CORPORA} corpora: at most {max(counts)} open files")
        assert max(counts) < DESCRIPTORS - 50
        first, last = counts[: JOBS // 4], counts[-JOBS // 4 :]
        assert max(last) < max(first) + 30, "they do not grow with the corpora"
