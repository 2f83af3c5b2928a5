"""All processes are killed in the middle of `starter.py run`; the same command ends the job.

Nothing is left but files: the server's SQLite file, the store, the documents.
"""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path

import pytest

from tests.durability.counter import Account, Endpoint
from tests.durability.jobs import MODEL, QUESTION, JsonObject, comparable, write_documents
from tests.durability.processes import ROOT, Process, clean
from tests.durability.waiting import until
from workflows.config.store_keys import journal_folder
from workflows.contracts.result import ResearchResult


class Machine:
    """A folder in which `starter.py run` is called, with everything that it starts."""

    def __init__(self, folder: Path, url: str) -> None:
        self._folder = folder
        self.corpus = folder / "documents"
        write_documents(self.corpus)
        self._env = clean() | {
            "RESEARCH_HOME": str(folder / "home"),
            "ANTHROPIC_BASE_URL": url,
            "ANTHROPIC_API_KEY": "none-needed",
        }
        self.starters: list[Process] = []

    @property
    def store(self) -> Path:
        return self._folder / "home" / "store"

    def run(self, job: str, out: Path) -> Process:
        command = [sys.executable, str(ROOT / "starter.py"), "run", QUESTION, "--no-web"]
        command += ["--corpus", str(self.corpus), "--model", f"{MODEL}@{job}", "--id", job]
        command += ["--max-facets", "3", "--max-passes", "1", "--out", str(out)]
        starter = Process("the starter", command, self._folder / "starter.log", self._env)
        self.starters.append(starter)
        return starter

    def pull_the_plug(self) -> int:
        """SIGKILL to the starter and all that descends from it; returns how many that were."""
        pids = [pid for starter in self.starters if starter.alive for pid in family(starter.pid)]
        for pid in pids:
            os.kill(pid, signal.SIGKILL)
        for starter in self.starters:
            starter.kill()
        return len(pids)


def family(pid: int) -> list[int]:
    """The process and its descendants, eldest first."""
    parents: dict[int, int] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                # The name stands in brackets and may hold anything; the parent comes second after.
                fields = (entry / "stat").read_text().rpartition(")")[2].split()
            except OSError:
                continue
            parents[int(entry.name)] = int(fields[1])
    found = [pid]
    for elder in found:
        found += [child for child, parent in parents.items() if parent == elder]
    return found


async def report(starter: Process, out: Path) -> ResearchResult:
    await until(lambda: not starter.alive, "the starter ends", seconds=180)
    file = out / "report.json"
    assert file.exists(), starter.said()
    return ResearchResult.model_validate_json(file.read_bytes())


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="processes are found in /proc")
@pytest.mark.timeout(400)
async def test_the_same_command_ends_a_job_whose_machine_lost_its_power(
    tmp_path: Path, reference: JsonObject
) -> None:
    home = tmp_path / "machine"
    home.mkdir()
    endpoint = Endpoint(tmp_path, home / "home" / "store")
    machine: Machine | None = None
    try:
        machine = Machine(home, await endpoint.listening())
        since = len(endpoint.lines())
        await endpoint.hold("in_flight", 9)
        machine.run("disturbed", tmp_path / "out")
        await until(lambda: endpoint.held(since), "research is under way")
        # Starter, the server with its keeper, the worker with its own.
        assert machine.pull_the_plug() >= 5
        await endpoint.go()
        result = await report(machine.run("disturbed", tmp_path / "out"), tmp_path / "out")
        account = Account(
            endpoint.arrived("disturbed"), machine.store / journal_folder("disturbed")
        )
        assert plain(result, machine) == reference
        assert account.kept_again == 0
        assert result.telemetry.turns_bought_again == account.again + account.unsent
    finally:
        if machine:
            machine.pull_the_plug()
        endpoint.process.kill()


def plain(result: ResearchResult, machine: Machine) -> JsonObject:
    assert result.passes[1:], "there was a refinement pass"
    return comparable(result, machine.corpus)
