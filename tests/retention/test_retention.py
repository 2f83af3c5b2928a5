"""What a retention pass deletes, and what it must not."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta
from pathlib import Path

import pytest
from temporalio.client import Client
from temporalio.common import WorkflowIDReusePolicy
from temporalio.service import RPCError

from activities.storage.references import find_references
from activities.storage.retention import (
    LOCK,
    StoreInUse,
    class_of,
    delete_old,
    exclude_others,
    find_job_folders,
    is_of_job,
)
from activities.storage.store import Store
from console.devserver.server import run_dev_server
from console.runtime.connection import RETENTION, connect, schedule_retention
from tests.durability.waiting import eventually
from tests.retention.conftest import HARBOUR, Home
from worker import build_context, build_worker
from workflows.config.settings import KEEP_DAYS, Settings
from workflows.contracts.activity_io import RetentionBrief, RetentionResult
from workflows.contracts.request import TASK_QUEUE


@asynccontextmanager
async def serving(home: Home) -> AsyncIterator[Client]:
    with run_dev_server(home.state) as server:
        yield await connect(home.settings, server.address)


def classes(home: Home) -> set[str]:
    return {class_of(path) for path in home.objects()} - {"other"}


async def test_what_is_too_old_goes_by_class_and_what_a_report_refers_to_stays(home: Home) -> None:
    store, before = home.store(), home.objects()
    reports = [path for path in before if path.startswith("reports/")]
    cited = await find_references(store, before, reports)
    async with serving(home) as client:
        young = await delete_old(store, client, KEEP_DAYS)
        assert young.deleted == {}
        for name, hours in (("abandoned#17", 2.0), ("being-written#18", 0.5)):
            file = home.state / "store" / "texts" / name
            file.write_bytes(b"half")
            os.utime(file, (time.time() - hours * 3600,) * 2)
        before = home.objects()
        await delete_old(store, client, KEEP_DAYS)
        assert before - home.objects() == {"texts/abandoned#17"}, "what a killed write left"
        (home.state / "store" / "texts" / "being-written#18").unlink()
        before = home.objects()
        home.age(100)
        planned = await delete_old(store, client, KEEP_DAYS, dry_run=True)
        assert home.objects() == before
        done = await delete_old(store, client, KEEP_DAYS)
        assert done.deleted == planned.deleted
        assert {"journal", "checkpoints"} <= done.deleted.keys()
        assert "reports" not in done.deleted
        assert sum(total.count for total in done.deleted.values()) == len(before - home.objects())
        assert len(cited) > len(reports) + 4, "texts, listings and originals"
        assert cited <= home.objects()
        home.age(300)
        await delete_old(store, client, KEEP_DAYS)
        assert classes(home) == set()


async def test_nothing_of_an_open_job_goes_however_old_it_is(home: Home) -> None:
    store = home.store()
    found = await store.inventory()
    own = await find_job_folders(store, found, ["tramway-job"])
    roots = [path for path in found if is_of_job(path) and own.have(path)]
    needed = await find_references(store, found, roots)
    async with serving(home) as client:
        await client.start_workflow(
            "ResearchWorkflow",
            {"question": "Q?"},
            id="tramway-job",
            task_queue="nobody",
            id_reuse_policy=WorkflowIDReusePolicy.ALLOW_DUPLICATE,
        )

        async def is_open() -> bool:
            return bool([run async for run in client.list_workflows('ExecutionStatus="Running"')])

        await eventually(is_open, "the job is visible")
        home.age(1000)
        result = await delete_old(store, client, KEEP_DAYS)
    assert result.open_jobs == 1
    assert {"journal", "checkpoints", "reports", "texts"} <= result.deleted.keys()
    assert home.objects() == needed | {"store-id"}


async def test_a_class_of_zero_days_is_kept_for_ever(home: Home) -> None:
    home.age(10_000)
    kept = Settings.read({"RESEARCH_KEEP_DAYS": "journal=0, reports=7"}).keep_days
    async with serving(home) as client:
        result = await delete_old(home.store(), client, kept)
    assert {"checkpoints", "reports"} == result.deleted.keys(), "texts outlive journals"


async def test_what_a_young_index_refers_to_does_not_go_before_it(home: Home) -> None:
    store = home.store()
    home.age(1000)
    indexes = await store.inventory("indexes")
    for path in indexes:
        os.utime(home.state / "store" / path)
    needed = await find_references(store, home.objects(), indexes)
    assert {"listings", "packs", "originals", "index-parts"} <= {p.split("/")[0] for p in needed}
    async with serving(home) as client:
        await delete_old(store, client, KEEP_DAYS)
    assert home.objects() == needed | {"store-id"}


async def test_an_object_that_is_wanted_again_counts_as_new(tmp_path: Path) -> None:
    store = Store.open(str(tmp_path))
    await store.keep_text("0" * 64, "words")
    file, old = tmp_path / "texts" / ("0" * 64), time.time() - 90 * 86400
    os.utime(file, (old, old))
    await Store.open(str(tmp_path)).keep_text("0" * 64, "words")
    assert time.time() - file.stat().st_mtime < 60


async def test_passes_deletions_and_backups_exclude_each_other(tmp_path: Path) -> None:
    store = Store.open(str(tmp_path))
    async with exclude_others(store, "backup"):
        with pytest.raises(StoreInUse, match="a backup of this store is under way"):
            async with exclude_others(store, "deletion"):
                pass
        # Its holder died: nobody renews it.
        old = time.time() - 3600
        os.utime(tmp_path / LOCK, (old, old))
        async with exclude_others(store, "deletion"):
            assert (tmp_path / LOCK).exists()
    assert not (tmp_path / LOCK).exists()


@pytest.mark.slow
async def test_a_worker_creates_the_schedule_and_a_pass_runs_as_a_workflow(home: Home) -> None:
    home.age(100)
    settings = home.settings.model_copy(update={"retention_hours": 6.0})
    async with serving(home) as client:
        await schedule_retention(client, settings)
        changed = settings.model_copy(update={"retention_hours": 12.0})
        await schedule_retention(client, changed)
        await schedule_retention(client, changed)
        schedule = client.get_schedule_handle(RETENTION)
        [interval] = (await schedule.describe()).schedule.spec.intervals
        assert interval.every == timedelta(hours=12)
        async with build_worker(client, settings, build_context(settings)):
            await schedule.trigger()
            result: RetentionResult | None = None

            async def has_run() -> bool:
                nonlocal result
                recent = (await schedule.describe()).info.recent_actions
                if not recent:
                    return False
                started = getattr(recent[-1].action, "workflow_id", "")
                handle = client.get_workflow_handle(started, result_type=RetentionResult)
                result = await handle.result()
                return True

            await eventually(has_run, "the pass has run")
            again = await client.execute_workflow(
                "RetentionWorkflow",
                RetentionBrief(),
                id="again",
                task_queue=TASK_QUEUE,
                result_type=RetentionResult,
            )
        assert result is not None
        assert result.deleted["journal"].count > 10
        assert again.deleted == {}
        await schedule_retention(client, settings.model_copy(update={"retention_hours": 0.0}))
        with pytest.raises(RPCError, match="not found"):
            await schedule.describe()


@pytest.mark.slow
async def test_on_the_embedded_server_a_command_deletes_what_is_too_old_once_a_day(
    home: Home,
) -> None:
    home.age(1000)
    stamp, old = home.state / "retention.stamp", time.time() - 2 * 86400
    assert stamp.exists(), "the first command wrote it"
    os.utime(stamp, (old, old))
    await asyncio.to_thread(home.research, HARBOUR, "harbour", "third-job")
    assert {path.split("/")[1] for path in home.objects() if path.startswith("journal/")} == {
        "third-job"
    }
    assert time.time() - stamp.stat().st_mtime < 600


@pytest.mark.slow
def test_the_command_shows_the_ages_and_what_it_deletes(home: Home) -> None:
    assert home.read("retention")["keep_days"] == KEEP_DAYS
    assert home.read("retention", RESEARCH_KEEP_DAYS="reports=9")["keep_days"]["reports"] == 9
    home.age(100)
    code, said = home.call("retention", "--now")
    assert code == 0, said
    assert "journal" in said
    code, said = home.call("retention", "--dry-run")
    assert "Nothing is too old." in said


@pytest.mark.parametrize("ages", ["journal", "jurnal=3", "journal=-1", "journal=x"])
def test_ages_that_cannot_be_read_are_refused(ages: str) -> None:
    with pytest.raises(ValueError, match="KEEP_DAYS"):
        Settings.read({"RESEARCH_KEEP_DAYS": ages})


@pytest.mark.slow
def test_doctor_shows_how_much_there_is_of_each_class(home: Home) -> None:
    checks = {check["name"]: check["text"] for check in home.read("doctor")}
    for name in ("journal", "checkpoints", "reports", "texts", "corpora", "database"):
        assert name in checks["sizes"]
    assert "GB free" in checks["store"]
