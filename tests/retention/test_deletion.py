"""After `delete` nothing of a job is left, and nothing of another one is missing."""

from __future__ import annotations

import asyncio
import getpass
import hashlib
import json
from pathlib import Path

import pytest
from temporalio.client import Client
from temporalio.common import SearchAttributeKey, SearchAttributePair, TypedSearchAttributes

from activities.storage.corpus_versions import load_head
from activities.storage.references import find_references
from activities.storage.retention import find_job_folders, is_of_job
from console.client.audit import JsonLines
from console.devserver.server import run_dev_server
from console.runtime.connection import connect
from tests.durability.waiting import eventually
from tests.retention.conftest import DOCUMENTS, MARKERS, TRAMWAY, Home, Worked


def test_a_deleted_job_is_found_in_no_file_of_the_store_and_the_database(
    worked: Worked, home: Home
) -> None:
    JsonLines(home.state / "feedback.jsonl").write(job="tramway-job", quote=MARKERS[0])
    assert len(home.find(*MARKERS)) > 10
    receipt = home.read("delete", "tramway-job", "--yes")
    assert home.find(*MARKERS) == {}
    assert home.objects() == worked.before
    assert receipt["by"] == getpass.getuser()
    written = (home.state / "audit.jsonl").read_text()
    [*_, logged] = [json.loads(line) for line in written.splitlines()]
    assert (logged["act"], logged["job"], logged["outcome"]) == ("delete", "tramway-job", "done")
    assert logged["who"] == receipt["by"]
    assert receipt["jobs"] == ["tramway-job"]
    assert receipt["histories"] >= 1
    assert {"journal", "checkpoints", "reports", "texts", "corpora"} <= receipt["objects"].keys()
    assert receipt["left"] == []
    assert not any(word in json.dumps(receipt).lower() for word in MARKERS)
    # The other job is as it was.
    code, said = home.call("result", "harbour-job", "--out", "again")
    assert code == 0, said
    assert home.report("again") == home.report("harbour-job")
    code, said = home.call("delete", "tramway-job", "--yes")
    assert code == 2
    assert "no job tramway-job" in said


@pytest.mark.slow
def test_a_deleted_job_leaves_nothing_in_an_encrypted_store(
    encrypted: Worked, tmp_path: Path
) -> None:
    home = encrypted.copy(tmp_path / "home")
    receipt = home.read("delete", "tramway-job", "--yes")
    assert home.objects() == encrypted.before
    assert {"journal", "checkpoints", "reports", "texts", "corpora"} <= receipt["objects"].keys()
    code, said = home.call("result", "harbour-job", "--out", "again")
    assert code == 0, said


@pytest.mark.slow
def test_what_was_asked_and_compared_of_a_job_goes_with_it(home: Home) -> None:
    for job, question in (
        ("tramway-job", "What are Zephyrine bonds for?"),
        ("harbour-job", "Who?"),
    ):
        code, said = home.call("ask", job, question)
        assert code in (0, 4), said
    code, said = home.call("diff", "harbour-job", "tramway-job")
    assert code == 0, said
    receipt = home.read("delete", "tramway-job", "--yes")
    assert receipt["histories"] == 3
    assert home.find(*MARKERS) == {}
    code, said = home.call("ask", "harbour-job", "How many passengers were carried in 2024?")
    assert code == 0, said


@pytest.mark.slow
async def test_what_another_job_refers_to_stays(home: Home) -> None:
    store = home.store()

    async def reach() -> set[str]:
        found = await store.inventory()
        own = await find_job_folders(store, found, ["tramway-job"])
        roots = [path for path in found if is_of_job(path) and own.have(path)]
        return await find_references(store, found, roots)

    before = await reach()
    await asyncio.to_thread(home.research, TRAMWAY, "tramway", "second-job")
    assert any("second-job" in path for path in home.objects())
    await asyncio.to_thread(home.read, "delete", "second-job", "--yes")
    assert before <= await reach()
    assert not any("second-job" in path for path in home.objects())
    code, said = await asyncio.to_thread(home.call, "verify")
    assert code == 0, said
    await asyncio.to_thread(home.read, "delete", "tramway-job", "--yes")
    assert home.find(*MARKERS) == {}


@pytest.mark.slow
def test_an_open_job_is_not_deleted_and_the_message_says_how_to_end_it(home: Home) -> None:
    async def start() -> None:
        with run_dev_server(home.state) as server:
            client = await connect(home.settings, server.address)
            await client.start_workflow(
                "ResearchWorkflow", {"question": "Q?"}, id="open-job", task_queue="nobody"
            )

    asyncio.run(start())
    before = home.objects()
    code, said = home.call("delete", "open-job", "--yes")
    assert code == 2
    assert "`cancel open-job`" in said
    assert home.objects() == before


def test_without_an_answer_nothing_is_deleted(home: Home) -> None:
    before = home.objects()
    code, _ = home.call("delete", "tramway-job")
    assert code != 0
    assert home.objects() == before


@pytest.mark.slow
async def test_a_forgotten_document_is_in_no_corpus_text_or_index(home: Home) -> None:
    code, said = home.call("corpus", "add", "towns", str(home.folder / "tramway"))
    assert code == 0, said
    harbour = (home.folder / "harbour" / "report.md").read_text()
    (home.folder / "tramway" / "harbour.md").write_text(harbour)
    code, said = home.call("corpus", "refresh", "towns")
    assert code == 0, said
    receipt = await asyncio.to_thread(
        home.read, "forget", "document", "accounts.md", "--with-reports", "--yes"
    )
    assert receipt["corpora"][0] == "towns"
    assert len(receipt["corpora"]) == 2, "and the one that was made in passing"
    assert receipt["read_by"] == ["tramway-job"]
    assert home.find("pellamby", "zephyrine") == {}
    assert (await load_head(home.store(), "towns")).files == 1
    # What is left of the corpus is indexed again, and found.
    await asyncio.to_thread(
        home.research, "How many passengers did the harbour line carry in 2024?", "towns", "later"
    )
    assert home.report("later")["claims"]
    assert home.find("pellamby", "zephyrine") == {}


@pytest.mark.slow
def test_a_document_is_found_by_its_hash_and_those_who_read_it_are_named(home: Home) -> None:
    sha256 = hashlib.sha256(DOCUMENTS["tramway/accounts.md"].encode()).hexdigest()
    code, said = home.call("forget", "document", sha256, "--yes")
    assert code == 0, said
    assert "--with-reports" in said
    left = home.find("pellamby")
    assert left
    assert {path.split("/")[1] for path in left if path.startswith("store/")} <= {
        "journal", "transcripts", "reports", "findings", "ledgers", "rulings", "drafts",
    }  # fmt: skip
    code, said = home.call("forget", "document", sha256, "--yes")
    assert code == 2
    assert "No corpus has a document" in said


@pytest.mark.slow
async def test_a_forgotten_tenant_has_no_job_left(home: Home) -> None:
    """One job that the server knows, one whose history is gone."""
    before, store = home.objects(), home.store()
    known = await store.inventory("checkpoints/harbour-job")
    state = json.loads(await store.read(min(known)) or b"")
    state |= {"id": "older", "journal": "older"}
    state["request"]["tenant"] = "acme"
    await store.put_new("checkpoints/older/run/001-planned.json", json.dumps(state).encode())
    await store.put_new("journal/older/0.json", b"{}")

    with run_dev_server(home.state) as server:
        client = await connect(home.settings, server.address)
        handle = await client.start_workflow(
            "ResearchWorkflow",
            {"question": "Q?", "tenant": "acme"},
            id="newer",
            task_queue="nobody",
            search_attributes=TypedSearchAttributes(
                [SearchAttributePair(SearchAttributeKey.for_keyword("ResearchTenant"), "acme")]
            ),
        )
        await handle.terminate()
        await until_visible(client, "newer")
    receipt = await asyncio.to_thread(home.read, "forget", "tenant", "acme", "--yes")
    assert receipt["jobs"] == ["newer", "older"]
    assert receipt["histories"] == 1
    assert home.objects() == before
    code, _ = await asyncio.to_thread(home.call, "forget", "tenant", "acme", "--yes")
    assert code == 2


async def until_visible(client: Client, job_id: str) -> None:
    closed = f'WorkflowId="{job_id}" AND ExecutionStatus="Terminated"'

    async def is_visible() -> bool:
        return bool([run async for run in client.list_workflows(closed)])

    await eventually(is_visible, "the end of the job is visible")


@pytest.mark.slow
def test_an_unknown_document_is_refused(home: Home) -> None:
    code, said = home.call("forget", "document", "0" * 64, "--yes")
    assert code == 2
    assert "corpus show" in said
