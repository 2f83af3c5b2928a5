"""A whole job with keys: neither the server's database nor the store can be read without them."""

from __future__ import annotations

import asyncio
import base64
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from google.protobuf.message import Message
from temporalio.api.common.v1 import Payload, SearchAttributes, WorkflowExecution
from temporalio.api.query.v1 import WorkflowQuery
from temporalio.api.workflowservice.v1 import (
    DescribeWorkflowExecutionRequest,
    GetWorkflowExecutionHistoryRequest,
    QueryWorkflowRequest,
)
from temporalio.client import Client
from temporalio.exceptions import ApplicationError

import console.runtime.data_converter
from activities.storage.store import Store
from console.client.checkpoints import CheckpointStore
from console.client.jobs import fetch_report, get_handle
from console.devserver.server import run_dev_server
from console.errors import ConsoleError
from console.runtime.connection import connect
from console.runtime.data_converter import ENCODING, EncryptionCodec, read_claim
from console.runtime.keys_file import add_key, create_file, use_key
from tests.confidential.conftest import ring_of, without
from tests.confidential.jobs import BONDS, QUESTION, SECRETS, TOLD, corpus, work
from tests.console.conftest import call
from tests.job.conftest import UNREVIEWED, Office, Wire, planned
from workflows.config.settings import Settings
from workflows.contracts.result import ResearchResult, ResearchSummary

MARKER = ".history.events.marker_recorded_event_attributes.details.payloads"


@dataclass(frozen=True)
class Done:
    """A job that is over, and where it left its traces."""

    settings: Settings
    address: str
    job_id: str
    result: ResearchResult
    blocked: dict[str, Any]

    @property
    def keys(self) -> Path:
        return Path(self.settings.keys or "")

    def database(self) -> bytes:
        files = sorted(Path(self.settings.state_dir).parent.glob("server/temporal.sqlite*"))
        assert files
        return b"".join(file.read_bytes() for file in files)

    def store(self) -> bytes:
        """Every file of the store, and its name."""
        folder = Path(self.settings.store)
        files = [file for file in folder.rglob("*") if file.is_file()]
        assert len(files) > 10
        return b"".join(
            f"{file.relative_to(folder)}\n".encode() + file.read_bytes() for file in files
        )

    async def client(self, **other: Any) -> Client:
        return await connect(self.settings.model_copy(update=other), self.address)


def worked(folder: Path, keys: Path | None) -> Iterator[Done]:
    """The job, done on a server of its own."""
    documents = corpus(folder / "documents")
    env = {"RESEARCH_HOME": str(folder / "home")}
    settings = Settings.read(env | ({"RESEARCH_KEYS": str(keys)} if keys else {}))
    with run_dev_server(folder / "server") as running, pytest.MonkeyPatch.context() as patch:
        # So low that this small job's payloads go to the store as well as to the server.
        patch.setattr(console.runtime.data_converter, "THRESHOLD", 4000)

        async def go() -> tuple[str, ResearchResult, dict[str, Any]]:
            return await work(Office(await connect(settings, running.address), settings, documents))

        yield Done(settings, running.address, *asyncio.run(go()))


@pytest.fixture(scope="module")
def done(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Done]:
    folder = tmp_path_factory.mktemp("sealed")
    create_file(folder / "keys.json")
    yield from worked(folder, folder / "keys.json")


@pytest.fixture(scope="module")
def open_job(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Done]:
    yield from worked(tmp_path_factory.mktemp("open"), None)


def test_without_keys_all_of_it_can_be_read(open_job: Done) -> None:
    """So that not finding it says something."""
    database, store = open_job.database(), open_job.store()
    assert set(readable(database)) | set(readable(store)) == set(SECRETS)
    assert "wexcombe" in readable(database)
    assert any(Path(open_job.settings.store, "payloads").rglob("*")), "some went to the store"


def test_with_keys_none_of_it_can_be_read(done: Done) -> None:
    assert readable(done.database()) == []
    assert readable(done.store()) == []
    assert ENCODING in done.database()
    assert any(Path(done.settings.store, "payloads").rglob("*"))


def readable(data: bytes) -> list[str]:
    """Which of the secrets stand in there, in plain words or in base64."""
    lower = data.lower()
    return [
        word
        for word in SECRETS
        if word.encode() in lower
        or any(form in data for w in (word, word.capitalize()) for form in base64_forms(w))
    ]


def base64_forms(word: str) -> list[bytes]:
    """As it looks at each of the places in a text where it may begin."""
    forms = []
    for before in range(3):
        encoded = base64.b64encode(b" " * before + word.encode())
        # What shares its four characters with a neighbour looks different each time.
        forms.append(encoded[4 if before else 0 : (before + len(word)) // 3 * 4])
    return forms


async def test_with_the_key_the_report_comes_out(done: Done) -> None:
    client = await done.client()
    result = await fetch_report(get_handle(client, done.job_id))
    assert result == done.result
    assert result.status == "complete"
    assert "Wexcombe" in result.report_markdown
    assert TOLD in str(done.blocked)


async def test_every_payload_the_server_holds_is_sealed(done: Done) -> None:
    client, execution = await done.client(), WorkflowExecution(workflow_id=done.job_id)
    service, space = client.workflow_service, client.namespace
    history = await service.get_workflow_execution_history(
        GetWorkflowExecutionHistoryRequest(namespace=space, execution=execution)
    )
    about = await service.describe_workflow_execution(
        DescribeWorkflowExecutionRequest(namespace=space, execution=execution)
    )
    found = [*payloads(history), *payloads(about)]
    assert len(found) > 20
    # The notes the SDK's core makes of local activities: names, numbers and times, no arguments.
    assert {where for where, p in found if not sealed(p)} <= {MARKER}
    places = " ".join(where for where, _ in found)
    for place in ("memo", "input", "result", "user_metadata.summary", "encoded_attributes"):
        assert place in places, "the job had one of each"


async def test_search_attributes_are_words_for_where_a_job_stands(done: Done) -> None:
    about = await (await done.client()).get_workflow_handle(done.job_id).describe()
    shown = {pair.key.name: pair.value for pair in about.typed_search_attributes}
    ours = {name: value for name, value in shown.items() if name.startswith("Research")}
    assert ours == {
        "ResearchPhase": "finished",
        "ResearchStatus": "completed",
        "ResearchModel": done.settings.default_model,
    }
    assert not any(word in str(shown).lower() for word in SECRETS)


async def test_what_a_running_job_shows_the_ui_is_sealed(done: Done) -> None:
    client = await done.client()
    asked = QueryWorkflowRequest(
        namespace=client.namespace,
        execution=WorkflowExecution(workflow_id=done.job_id),
        query=WorkflowQuery(query_type="__temporal_workflow_metadata"),
    )
    async with Office(client, done.settings, Path("nowhere")).working(Wire()):
        answer = await client.workflow_service.query_workflow(asked)
    assert [sealed(p) for p in answer.query_result.payloads] == [True]
    [opened] = await EncryptionCodec(ring_of(done.keys)).decode(answer.query_result.payloads)
    assert b"Zephyrine bonds: found" in opened.data


async def test_whoever_lacks_the_key_is_told_which(done: Done) -> None:
    key_id = ring_of(done.keys).current
    for other, remedy in ((None, "set RESEARCH_KEYS"), (without(done.keys, key_id), "add it to")):
        keys = str(other) if other else None
        job = (await done.client(keys=keys)).get_workflow_handle(done.job_id)
        with pytest.raises(ConsoleError, match=f"the key '{key_id}': {remedy}"):
            await job.result()
        ring = ring_of(other) if other else None
        kept = CheckpointStore(done.settings.model_copy(update={"keys": keys}))
        last = (await kept.find(done.job_id))[-1]
        with pytest.raises(ConsoleError, match=f"the key '{key_id}': {remedy}"):
            await kept.load(last)
        with pytest.raises(ApplicationError, match=f"the key '{key_id}': {remedy}"):
            await Store.open(done.settings.store, ring).get(last.key)


async def test_checkpoints_are_read_with_the_key(done: Done) -> None:
    kept = CheckpointStore(done.settings)
    state = await kept.load((await kept.find(done.job_id))[-1])
    assert state.request.question == QUESTION


def test_the_desk_uses_the_keys_and_says_when_they_are_missing(
    done: Done, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RESEARCH_HOME", done.settings.state_dir)
    monkeypatch.setenv("RESEARCH_KEYS", str(done.keys))
    code, said, _ = call("checkpoints", done.job_id)
    assert (code, "evaluated" in said) == (0, True)
    monkeypatch.delenv("RESEARCH_KEYS")
    code, _, complained = call("checkpoints", done.job_id)
    assert (code, "set RESEARCH_KEYS" in " ".join(complained.split())) == (1, True)


async def test_a_worker_without_the_key_says_so_and_one_with_a_new_key_too_goes_on(
    done: Done, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    keys = tmp_path / "keys.json"
    create_file(keys)
    first = ring_of(keys).current
    settings = Settings.read({"RESEARCH_HOME": str(tmp_path / "home"), "RESEARCH_KEYS": str(keys)})
    folder = Path(done.settings.state_dir).parent / "documents"
    handle = await Office(await connect(settings, done.address), settings, folder).start(QUESTION)

    wire = Wire(planned(BONDS), UNREVIEWED)
    keyless = settings.model_copy(update={"keys": None})
    async with Office(await connect(keyless, done.address), keyless, folder).working(wire):
        async with asyncio.timeout(60):
            while True:
                if f"encrypted with the key '{first}'" in caplog.text:
                    break
                await asyncio.sleep(0.1)
    assert "RESEARCH_KEYS" in caplog.text
    assert wire.requests == []

    use_key(keys, add_key(keys))
    rotated = Office(await connect(settings, done.address), settings, folder)
    async with rotated.working(wire):
        result = await rotated.client.get_workflow_handle(
            handle.id, result_type=ResearchSummary
        ).result()
    assert result.status == "complete"


def payloads(message: Message, where: str = "") -> list[tuple[str, Payload]]:
    """Every payload in a message but search attributes, and its place."""
    if isinstance(message, Payload):
        return [(where, message)]
    if isinstance(message, SearchAttributes):
        return []
    found: list[tuple[str, Payload]] = []
    for field, value in message.ListFields():
        place = f"{where}.{field.name}"
        if field.message_type is None:
            continue
        if field.message_type.GetOptions().map_entry:
            items = list(value.values())
        else:
            items = list(value) if field.is_repeated else [value]
        for item in items:
            if isinstance(item, Message):
                found += payloads(item, place)
    return found


def sealed(payload: Payload) -> bool:
    return payload.metadata["encoding"] == ENCODING or read_claim(payload) is not None
