"""A job restarts from its checkpoints: the same again, or another one with other settings."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from temporalio.client import Client, WorkflowExecutionStatus

from activities.storage.store import Store
from console.client import jobs, runs
from console.client.checkpoints import CheckpointStore, StoredCheckpoint, summarize_checkpoint
from console.devserver.server import DevServer
from console.runtime.connection import connect
from tests.console.cli.test_commands import GOOD
from tests.console.conftest import Place, call, eventually
from workflows.config.settings import Settings
from workflows.contracts.request import ResearchRequest
from workflows.contracts.state import Gap, ResearchState

Served = tuple[Place, DevServer]


@pytest.fixture
def configured(served: Served, monkeypatch: pytest.MonkeyPatch) -> Iterator[Place]:
    """A place whose commands talk to a configured server with a worker."""
    place, server = served
    monkeypatch.setenv("TEMPORAL_ADDRESS", server.address)
    (place.state / "go").unlink(missing_ok=True)
    yield place
    (place.state / "go").unlink(missing_ok=True)


def at(server: DevServer, place: Place, do: Callable[[Client], Awaitable[Any]]) -> Any:
    async def go() -> Any:
        settings = Settings.read({"RESEARCH_HOME": str(place.state)})
        return await do(await connect(settings, server.address))

    return asyncio.run(go())


def failed(job_id: str) -> None:
    assert call("start", "please fail", *GOOD, "--id", job_id)[0] == 0
    assert call("watch", job_id)[0] == 1


def names(job_id: str) -> list[str]:
    return [row["name"] for row in json.loads(call("checkpoints", job_id, "--json")[1])]


def test_what_a_checkpoint_holds_is_counted_in_words() -> None:
    gap = Gap(id="g", kind="missing", facet_id="f", text="It lacks a year.", question="When?")
    state = ResearchState(
        id="x", journal="x", request=ResearchRequest(question="When?"), started_at="", gaps=(gap,)
    )
    row = summarize_checkpoint(StoredCheckpoint("k", "r", 0, "evaluated", 0.0), state)
    assert (row["holds"], row["gaps_open"]) == ("1 gap open", 1)
    state.gaps = (gap, gap.model_copy(update={"id": "h"}))
    row = summarize_checkpoint(StoredCheckpoint("k", "r", 1, "evaluated", 0.0), state)
    assert row["holds"] == "2 gaps open"


def test_checkpoints_are_listed_with_what_they_hold(configured: Place) -> None:
    assert call("run", "look", *GOOD, "--id", "kept")[0] == 0
    said = call("checkpoints", "kept")[1]
    lines = [line.split() for line in said.splitlines()]
    assert [line[0] for line in lines[:3]] == ["run", "planned", "researched"]
    assert "1 facet, 1 outcome, 2 claims" in said
    assert "restart kept --from NAME` or `fork kept --from NAME`" in said
    rows = json.loads(call("checkpoints", "kept", "--json")[1])
    assert [(row["phase"], row["facets"], row["draft"]) for row in rows] == [
        ("planning", 1, False),
        ("researching", 1, False),
    ]
    code, _, complained = call("checkpoints", "never")
    assert (code, "has no checkpoint of a job never" in complained) == (2, True)


def test_a_failed_job_is_restarted_from_its_last_checkpoint(configured: Place) -> None:
    failed("again")
    code, said, _ = call("restart", "again", "--out", "restarted")
    assert code == 0
    assert "Job again restarts from planned ($0.00 spent before)." in said
    told = json.loads((configured.folder / "restarted" / "report.json").read_text())
    assert (told["parent"]["id"], told["parent"]["checkpoint"]) == ("again", "planned")
    assert (told["parent"]["how"], len(told["parent"]["run_id"])) == ("restart", 36)
    assert names("again") == ["planned", "researched"]
    assert "restarted from again at planned" in call("status", "again")[1]

    code, _, complained = call("restart", "again")
    assert (code, "is complete, there is nothing to restart: `fork again`" in complained) == (
        2,
        True,
    )
    assert eventually(lambda: "again " in call("list", "--status", "completed")[1])
    listed = [row["id"] for row in json.loads(call("list", "--json")[1])]
    assert listed.count("again") == 1
    assert "again " not in call("list", "--status", "failed")[1], "an older run of it was listed"


def test_a_name_that_is_not_there_changes_nothing(configured: Place) -> None:
    assert call("start", "hold on", *GOOD, "--id", "named")[0] == 0
    assert eventually(lambda: names_or_none("named") == ["planned"])
    code, _, complained = call("restart", "named", "--from", "drafted")
    assert (code, "has no checkpoint 'drafted': it has planned." in complained) == (2, True)
    assert json.loads(call("status", "named", "--json")[1])["state"] == "running"
    code, _, complained = call("restart", "nobody")
    assert (code, "There is no job nobody" in complained) == (2, True)
    for arguments in ((), ("named", "--query", "x")):
        code, _, complained = call("restart", *arguments)
        assert (code, "Give its ID, or --query for several" in complained) == (2, True)
    assert call("cancel", "named")[0] == 0
    code, said, _ = call("restart", "named", "--from", "planned")
    assert (code, "restarts from planned" in said) == (0, True)
    assert call("finish", "named")[0] == 0
    assert call("watch", "named")[0] == 0


def names_or_none(job_id: str) -> list[str] | None:
    return names(job_id) if call("checkpoints", job_id)[0] == 0 else None


def test_a_job_that_waits_is_closed_with_its_pass_and_restarted(
    configured: Place, served: Served
) -> None:
    _, server = served
    assert call("start", "block in a pass", *GOOD, "--id", "parked2")[0] == 0
    assert eventually(lambda: "parked2 " in call("list", "--status", "blocked")[1])
    code, said, _ = call("restart", "parked2", "--wait")
    assert (code, "restarts from planned" in said) == (0, True)

    async def ended(client: Client) -> Any:
        runs_of = [run async for run in client.list_workflows('WorkflowId="parked2"')]
        child = await client.get_workflow_handle("parked2/pass-1").describe()
        return [run.status for run in runs_of], child.status

    done = WorkflowExecutionStatus
    both = {done.TERMINATED, done.COMPLETED}
    assert eventually(lambda: set(at(server, configured, ended)[0]) == both)
    assert at(server, configured, ended)[1] is done.CANCELED


def test_who_follows_a_job_follows_it_through_a_restart(configured: Place, served: Served) -> None:
    _, server = served
    assert call("start", "block it", *GOOD, "--id", "followed")[0] == 0
    assert eventually(lambda: "followed " in call("list", "--status", "blocked")[1])

    async def follow(client: Client) -> str:
        job = await jobs.find_running(client, "followed")
        ending = asyncio.ensure_future(jobs.wait_for_result(job))
        await runs.restart(
            client, CheckpointStore(Settings(store=str(configured.state / "store"))), "followed"
        )
        return (await ending).id

    assert at(server, configured, follow) == "followed"


def test_many_are_restarted_by_a_query_each_once(configured: Place, served: Served) -> None:
    _, server = served
    for job_id in ("q1", "q2", "q3"):
        failed(job_id)
    assert call("run", "please fail", *GOOD, "--id", "q2")[0] == 0
    query = 'ExecutionStatus="Failed" AND WorkflowId IN ("q1", "q2", "q3")'

    async def matched(client: Client) -> int:
        return len(await runs.find_runs(client, query))

    assert eventually(lambda: at(server, configured, matched) == 3)
    code, said, complained = call("restart", "--query", query, "--out", "many")
    assert (code, complained) == (0, "")
    assert "Job q2 has a newer run and is skipped." in said
    assert "2 of 3 jobs restarted." in said
    written = sorted(path.parent.name for path in (configured.folder / "many").glob("*/report.md"))
    assert written == ["q1", "q3"]

    code, _, complained = call("restart", "--query", "Nonsense =")
    assert (code, "The query cannot be read" in complained) == (2, True)
    code, said, _ = call("restart", "--query", 'WorkflowId="nobody"')
    assert (code, said) == (0, "0 of 0 jobs restarted.\n")


def test_a_job_the_server_does_not_know_is_restarted_from_the_store(configured: Place) -> None:
    failed("known")
    folder = configured.state / "store" / "checkpoints"
    (kept,) = (folder / "known").rglob("*.json")
    store = Store.open(str(configured.state / "store"))
    path = f"{kept.parent.name}/{kept.name}"
    state = json.loads(asyncio.run(store.get(f"checkpoints/known/{path}")) or b"")
    copy = json.dumps(state | {"id": "forgotten"}).encode()
    asyncio.run(store.put_new(f"checkpoints/forgotten/{path}", copy))

    assert call("status", "forgotten")[0] == 2
    assert names("forgotten") == ["planned"]
    code, said, _ = call("restart", "forgotten", "--wait")
    assert (code, "Job forgotten restarts from planned" in said) == (0, True)


def test_a_job_without_a_checkpoint_begins_with_what_it_was_given(
    configured: Place, served: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, server = served
    with monkeypatch.context() as patch:
        patch.setattr("console.client.runs.find_task_queue", lambda *_: "deserted")
        assert call("start", "early", *GOOD, "--id", "early", "--max-passes", "7")[0] == 0
    code, _, complained = call("fork", "early")
    assert (code, "has no checkpoint yet" in complained) == (2, True)
    code, said, _ = call("restart", "early", "--wait")
    assert (code, "Job early restarts from the beginning." in said) == (0, True)

    async def given(client: Client) -> tuple[ResearchRequest, ResearchState | None]:
        return await jobs.fetch_start_input(client, "early")

    request, state = at(server, configured, given)
    assert (request.question, request.max_passes, state) == ("early", 7, None)


def test_a_fork_is_another_job_from_there_with_other_settings(
    configured: Place, served: Served
) -> None:
    _, server = served
    assert call("run", "a big one", *GOOD, "--id", "origin")[0] == 0
    code, said, _ = call(
        "fork", "origin", "--from", "planned", "--id", "branch", "--set", "max_passes=4",
        "--set", "effort=deep", "--set", "effort.writer=max", "--out", "forked",
    )  # fmt: skip
    assert code == 0
    assert "Job branch continues from origin at planned; earlier work is not paid" in said
    told = json.loads((configured.folder / "forked" / "report.json").read_text())
    assert (told["id"], told["parent"]["how"]) == ("branch", "fork")

    async def given(client: Client) -> tuple[ResearchRequest, ResearchState | None]:
        return await jobs.fetch_start_input(client, "branch")

    request, state = at(server, configured, given)
    assert (request.max_passes, request.effort, request.efforts) == (4, "deep", {"writer": "max"})
    assert (state.id, state.journal, state.plan.kind) == ("branch", "origin", "fact")

    code, _, complained = call("fork", "origin", "--id", "branch")
    assert (code, "There is already a job branch: choose another --id" in complained) == (
        2,
        True,
    )
    code, said, _ = call("fork", "origin")
    assert code == 0
    assert "Job origin-fork-2" in said
    assert "watch origin-fork-2" in said


@pytest.mark.parametrize(
    ("setting", "why"),
    [
        ("question=x", "--set question is not possible: choose among model, effort, max_passes"),
        ("max_passes", "write it as key=value"),
        ("max_passes=", "write it as key=value"),
        ("max_passes=many", "--set max_passes=many is not possible"),
        ("model.writer=gpt-9", "The model 'gpt-9' is unknown"),
        ("model=claude", "There is no key for claude: set ANTHROPIC_API_KEY"),
    ],
)
def test_a_setting_that_cannot_be_is_refused(configured: Place, setting: str, why: str) -> None:
    if not Path(configured.state / "store" / "checkpoints" / "base").exists():
        assert call("run", "base", *GOOD, "--id", "base")[0] == 0
    code, _, complained = call("fork", "base", "--set", setting, "--id", "never")
    assert (code, why in complained) == (2, True), complained
    assert call("status", "never")[0] == 2


def test_a_fork_to_a_paid_model_gets_a_limit(
    configured: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "k")
    assert call("run", "paid", *GOOD, "--id", "paid", "--model", "offline")[0] == 0
    code, said, _ = call("fork", "paid", "--set", "model=claude", "--id", "paid2", "--wait")
    assert code == 0
    assert "Spends at most $4.00: --set budget_usd=X changes it." in said
    code, said, _ = call("fork", "paid", "--set", "model=claude", "--set", "budget_usd=none")
    assert (code, "Spends" in said) == (0, False)


def test_a_restarted_run_that_fails_at_once_is_taken_up_where_it_began(
    configured: Place, served: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not where an older run of the job had got to: it was told to go back."""
    _, server = served
    failed("back")
    monkeypatch.setattr("console.client.runs.find_task_queue", lambda *_: "deserted")
    assert call("restart", "back")[0] == 0

    async def origin(client: Client) -> runs.Origin:
        about = await jobs.describe(client, "back")
        kept = CheckpointStore(Settings(store=str(configured.state / "store")))
        return await runs.find_origin(client, kept, "back", about, None)

    found = at(server, configured, origin)
    assert found.checkpoint == "planned"
    assert found.state.parent.how == "restart"


def test_a_damaged_checkpoint_is_named_and_the_one_before_it_is_used(configured: Place) -> None:
    failed("hurt")
    place = configured.state / "store" / "checkpoints" / "hurt"
    first = next(place.glob("*/000-planned.json"))
    first.with_name("001-researched.json").write_bytes(first.read_bytes())
    code, said, complained = call("checkpoints", "hurt")
    assert (code, "planned" in said) == (0, True)
    assert "001-researched.json' in" in complained
    assert "is damaged" in complained
    code, said, _ = call("restart", "hurt")
    assert code == 0
    assert "restarts from planned" in said
    assert "001-researched.json" in said
