"""Versioned workers: a running job stays with the code it began on, new jobs go to the current."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import AbstractAsyncContextManager
from pathlib import Path

import pytest
from temporalio.api.enums.v1 import VersioningBehavior
from temporalio.api.workflow.v1 import WorkflowExecutionVersioningInfo

from console.client.jobs import fetch_report
from console.devserver.server import find_binary, run_dev_server
from console.runtime.connection import connect
from tests.job.conftest import (
    NO_GAPS,
    PASSENGERS,
    POWER,
    UNREVIEWED,
    Handle,
    Office,
    Rule,
    Wire,
    documents,
    planned,
    reply,
)
from tests.job.test_steering import Gate
from workflows.config.settings import Settings

BOTH = (planned(PASSENGERS, POWER), UNREVIEWED)
OLD, NEW = "What did the old harbour line do?", "What does the new harbour line do?"
A_GAP = {
    "facet_id": "power",
    "kind": "thin",
    "text": "Maintenance is thin.",
    "question": "How long is each electric boat out of service for maintenance?",
}


def one_gap() -> tuple[Rule, Rule]:
    return Rule("EvaluationAnswer", reply(judgements=[], gaps=[A_GAP]), times=1), NO_GAPS


@pytest.fixture(scope="module")
def own_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A current version would keep jobs from the unversioned workers of other tests."""
    with run_dev_server(tmp_path_factory.mktemp("versioned")) as running:
        yield running.address


@pytest.fixture
async def fleet(own_server: str, tmp_path: Path) -> Office:
    settings = Settings.read({"RESEARCH_HOME": str(tmp_path / "home")})
    return Office(await connect(settings, own_server), settings, documents(tmp_path / "documents"))


def version(fleet: Office, build_id: str, wire: Wire) -> AbstractAsyncContextManager[None]:
    """A worker as RESEARCH_DEPLOYMENT and RESEARCH_BUILD_ID make it."""
    env = {"RESEARCH_DEPLOYMENT": "research", "RESEARCH_BUILD_ID": build_id}
    named = Settings.read(env | {"RESEARCH_HOME": fleet.settings.state_dir})
    return Office(fleet.client, named, fleet.corpus).working(wire)


async def temporal(fleet: Office, *words: str) -> tuple[int, str]:
    address = fleet.client.service_client.config.target_host
    process = await asyncio.create_subprocess_exec(
        str(find_binary()), *words, "--address", address,
        stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.STDOUT,
    )  # fmt: skip
    said, _ = await process.communicate()
    return process.returncode or 0, said.decode()


async def make_current(fleet: Office, build_id: str) -> None:
    """As an operator does it; the server must have seen the version's workers first."""
    words = ("worker", "deployment", "set-current-version", "--deployment-name", "research")
    for _ in range(100):
        code, said = await temporal(fleet, *words, "--build-id", build_id, "--yes")
        if code == 0:
            return
        await asyncio.sleep(0.3)
    pytest.fail(said)


async def versioning(fleet: Office, workflow_id: str) -> WorkflowExecutionVersioningInfo:
    seen = await fleet.client.get_workflow_handle(workflow_id).describe()
    return seen.raw_description.workflow_execution_info.versioning_info


def asked_about(wire: Wire, question: str) -> int:
    return sum(question in str(body["messages"][0]) for body in wire.requests)


async def test_a_job_stays_on_its_version_while_new_jobs_go_to_the_current_one(
    fleet: Office,
) -> None:
    gate = Gate()
    first, second = Wire(gate.rule("ResearchAnswer"), *BOTH, *one_gap()), Wire(*BOTH, NO_GAPS)
    async with version(fleet, "1", first), version(fleet, "2", second):
        await make_current(fleet, "1")
        old: Handle = await fleet.start(question=OLD)
        await asyncio.wait_for(gate.reached.wait(), 60)
        await make_current(fleet, "2")
        new: Handle = await fleet.start(question=NEW)
        await fetch_report(new)
        gate.open.set()
        result = await fetch_report(old)
        of_old, of_pass, of_new = [
            await versioning(fleet, name) for name in (old.id, f"{old.id}/pass-1", new.id)
        ]
    assert [p.n for p in result.passes] == [0, 1]
    assert asked_about(first, OLD)
    assert asked_about(second, NEW)
    assert asked_about(first, NEW) == asked_about(second, OLD) == 0, "subagents keep to it as well"
    assert of_old.deployment_version.build_id == "1"
    assert of_pass.deployment_version.build_id == "1", "a pass runs where its job does"
    assert of_new.deployment_version.build_id == "2"
    assert of_old.behavior == VersioningBehavior.VERSIONING_BEHAVIOR_PINNED


async def test_a_job_whose_version_has_no_workers_left_is_moved_to_the_current_one(
    fleet: Office,
) -> None:
    gate = Gate()
    first, second = Wire(gate.rule("DraftAnswer"), *BOTH), Wire(*BOTH, NO_GAPS)
    async with version(fleet, "3", first):
        await make_current(fleet, "3")
        job: Handle = await fleet.start(question=OLD)
        await asyncio.wait_for(gate.reached.wait(), 60)
        gate.open.set()
    async with version(fleet, "4", second):
        await make_current(fleet, "4")
        code, said = await temporal(
            fleet, "workflow", "update-options", "--workflow-id", job.id,
            "--versioning-override-behavior", "auto_upgrade",
        )  # fmt: skip
        assert code == 0, said
        result = await fetch_report(job)
    assert result.status == "complete"
    assert result.telemetry.turns_bought_again == 0


@pytest.mark.parametrize("named", [(), ("RESEARCH_DEPLOYMENT",), ("RESEARCH_BUILD_ID",)])
async def test_workers_are_unversioned_unless_deployment_and_build_are_both_named(
    office: Office, named: tuple[str, ...]
) -> None:
    env = {"RESEARCH_HOME": office.settings.state_dir} | dict.fromkeys(named, "1")
    office.settings = Settings.read(env)
    async with office.working(Wire(planned(PASSENGERS), UNREVIEWED, NO_GAPS)):
        job = await office.start()
        await fetch_report(job)
    seen = await versioning(office, job.id)
    assert seen.behavior == VersioningBehavior.VERSIONING_BEHAVIOR_UNSPECIFIED
    assert not seen.deployment_version.build_id
