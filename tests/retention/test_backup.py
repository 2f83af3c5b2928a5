"""A backup made while a job runs brings back what was lost: the store and the database."""

from __future__ import annotations

import asyncio
import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from activities.storage.retention import exclude_others
from tests.durability.counter import Account, Endpoint
from tests.durability.jobs import comparable
from tests.durability.processes import ROOT, clean
from tests.durability.test_everything_killed import Machine, report
from tests.durability.waiting import until
from tests.retention.conftest import Home, Worked
from workflows.config.store_keys import journal_folder
from workflows.contracts.result import ResearchResult


@pytest.mark.slow
def test_a_finished_job_is_read_as_before_after_store_and_database_were_lost(home: Home) -> None:
    before = home.objects()
    made = home.read("backup", "saved")
    assert made["objects"] == len(before)
    assert made["database_bytes"] > 100_000
    shutil.rmtree(home.state)
    restored = home.read("restore", "saved")
    assert restored["bytes"] == made["bytes"]
    assert home.objects() == before
    code, said = home.call("result", "tramway-job", "--out", "again")
    assert code in (0, 3), said
    assert home.report("again") == home.report("tramway-job")
    # Into what is there already nothing is restored, and a backup is never written over.
    code, said = home.call("restore", "saved")
    assert code == 2
    assert "move it away" in said
    code, said = home.call("backup", "saved")
    assert code == 2
    assert "holds a backup" in said


@pytest.mark.slow
def test_a_damaged_or_unfinished_backup_is_refused(home: Home) -> None:
    home.read("backup", "saved")
    shutil.rmtree(home.state)
    victim = next((home.folder / "saved" / "objects" / "texts").iterdir())
    victim.write_bytes(victim.read_bytes()[:-1] + b"?")
    code, said = home.call("restore", "saved")
    assert code == 1
    assert f"texts/{victim.name} is damaged" in said
    assert not (home.state / "temporal.sqlite").exists()
    (home.folder / "saved" / "manifest.json").unlink()
    code, said = home.call("restore", "saved")
    assert code == 2
    assert "no complete backup" in said


@pytest.mark.slow
async def test_no_backup_is_made_while_something_is_deleted(home: Home) -> None:
    async with exclude_others(home.store(), "deletion"):
        code, said = await asyncio.to_thread(home.call, "backup", "saved")
    assert code == 1
    assert "a deletion of this store is under way" in said


@pytest.mark.slow
def test_an_encrypted_store_is_restored_and_stays_encrypted(
    encrypted: Worked, tmp_path: Path
) -> None:
    home = encrypted.copy(tmp_path / "home")
    home.read("backup", "saved")
    content = b"".join(f.read_bytes() for f in (home.folder / "saved").rglob("*") if f.is_file())
    assert b"Zephyrine" not in content
    shutil.rmtree(home.state)
    home.read("restore", "saved")
    code, said = home.call("result", "tramway-job", "--out", "again")
    assert code in (0, 3), said
    assert home.report("again") == home.report("tramway-job")


class Saved(Machine):
    def call(self, *arguments: str) -> str:
        done = subprocess.run(
            [sys.executable, str(ROOT / "starter.py"), *arguments],
            env=self._env,
            cwd=self._folder,
            capture_output=True,
            text=True,
            timeout=100,
        )
        assert done.returncode in (0, 3), done.stdout + done.stderr
        return done.stdout


@pytest.mark.slow
@pytest.mark.timeout(500)
async def test_a_job_in_the_middle_goes_on_from_a_backup_and_pays_no_stored_turn_again(
    tmp_path: Path,
) -> None:
    place = tmp_path / "machine"
    place.mkdir()
    endpoint = Endpoint(tmp_path, place / "home" / "store")
    machine: Saved | None = None
    try:
        machine = Saved(place, await endpoint.listening())
        undisturbed = await report(machine.run("quiet", tmp_path / "quiet"), tmp_path / "quiet")
        since = len(endpoint.lines())
        await endpoint.hold("in_flight", 9)
        machine.run("saved", tmp_path / "out")
        await until(lambda: endpoint.held(since), "research is under way")
        made = json.loads(
            await asyncio.to_thread(machine.call, "backup", str(tmp_path / "backup"), "--json")
        )
        assert made["database_bytes"]
        machine.pull_the_plug()
        await endpoint.go()
        shutil.rmtree(place / "home")
        await asyncio.to_thread(machine.call, "restore", str(tmp_path / "backup"))
        kept = set((machine.store / journal_folder("saved")).glob("*.json"))
        assert len(kept) > 3, "turns that were paid for before the backup"
        result = await report(machine.run("saved", tmp_path / "out"), tmp_path / "out")
        account = Account(endpoint.arrived("saved"), machine.store / journal_folder("saved"))
        assert comparable(result, machine.corpus) == comparable(undisturbed, machine.corpus)
        assert account.kept_again == 0
        await asyncio.to_thread(machine.call, "result", "quiet", "--out", str(tmp_path / "again"))
        again = (tmp_path / "again" / "report.json").read_bytes()
        assert ResearchResult.model_validate_json(again) == undisturbed
    finally:
        if machine:
            machine.pull_the_plug()
        endpoint.process.kill()


def test_with_a_server_of_ones_own_the_command_says_that_the_database_is_elsewhere(
    tmp_path: Path,
) -> None:
    (tmp_path / "store").mkdir()
    (tmp_path / "store" / "store-id").write_bytes(b"x")
    variables = {"RESEARCH_HOME": str(tmp_path / "home"), "RESEARCH_STORE": str(tmp_path / "store")}
    done = subprocess.run(
        [sys.executable, str(ROOT / "starter.py"), "backup", str(tmp_path / "saved")],
        env=clean() | variables | {"TEMPORAL_ADDRESS": "127.0.0.1:1"},
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    assert "Its backup must be older" in " ".join(done.stdout.split())
