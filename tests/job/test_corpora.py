"""Jobs over corpora of the store: versions, labels, parsing by several activities, cancellation."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Sequence
from pathlib import Path

import pytest
from temporalio.client import WorkflowFailureError

from activities.sources import corpus_indexes as corpora_module
from activities.sources.corpus_indexes import Corpora
from activities.storage import corpus_publishing
from activities.storage.corpus_publishing import publish
from activities.storage.corpus_versions import PackedFile, Rules, load_head
from activities.storage.store import Store
from console.client import corpora as client_corpora
from console.client.jobs import Job, StartState, fetch_report
from console.client.progress import read_progress
from tests.job.conftest import (
    NO_GAPS,
    PASSENGERS,
    POWER,
    UNREVIEWED,
    Office,
    Wire,
    planned,
    status_when,
)
from tests.security.test_bombs import nested_forms
from tests.sources.test_sources_parsers import parsers_of, wait_for
from workflows.contracts.request import TASK_QUEUE
from workflows.coordinator import ResearchWorkflow

pytestmark = pytest.mark.sandbox

RULES = (planned(PASSENGERS, POWER), UNREVIEWED, NO_GAPS)


def add_files(folder: Path, count: int) -> None:
    for number in range(count):
        (folder / f"note_{number}.md").write_text(
            f"# Note {number}\n\nThe quay has {number} cranes."
        )


async def test_a_job_carries_labels_into_its_claims_and_sees_nothing_else(office: Office) -> None:
    store = Store.open(office.settings.store)
    rules: Rules = {"energy/*": ("power",)}
    head = await publish(store, "harbour", str(office.corpus), rules=rules)
    async with office.working(Wire(*RULES)):
        office.corpus = Path("harbour")
        without = await fetch_report(await office.start())
        labelled = await fetch_report(await office.start(labels=("power",)))
    assert without.corpus is not None
    assert without.corpus.version != head.version
    assert {source.uri.partition("/")[0] for source in without.sources} == {"harbour"}
    assert "gigawatt" not in without.report_markdown
    assert without.documents == 2
    assert labelled.corpus is not None
    assert labelled.corpus.version == head.version
    energy = {s.id for s in labelled.sources if s.uri.startswith("energy/")}
    assert energy
    for source in labelled.sources:
        assert source.labels == (("power",) if source.id in energy else ())
    for claim in labelled.claims:
        secret = any(quote.source_id in energy for quote in claim.quotes)
        assert claim.labels == (("power",) if secret else ())


async def test_a_large_corpus_is_parsed_in_parts_with_progress(
    office: Office, monkeypatch: pytest.MonkeyPatch
) -> None:
    add_files(office.corpus, 16)
    monkeypatch.setattr(corpora_module, "PART_FILES", 5)
    monkeypatch.setattr(corpus_publishing, "PACK_FILES", 1)
    parse, release = Corpora._parse_files, asyncio.Event()

    async def wait(
        self: Corpora, contents: Sequence[tuple[PackedFile, bytes]], place: Path, spread: bool
    ) -> list[bytes]:
        if contents[0][0].path == "note_9.md":
            await release.wait()
        return await parse(self, contents, place, spread)

    monkeypatch.setattr(Corpora, "_parse_files", wait)
    async with office.working(Wire(*RULES)):
        handle = await office.start()
        status = await status_when(handle, lambda status: status.files_parsed == 15)
        assert status.files == 20
        async with asyncio.timeout(30):
            while True:
                progress = await read_progress(Job(handle, StartState.RUNNING))
                steps = [step.step for step in progress.pending]
                if steps == ["parsing the documents: 19 of 20 files"]:
                    break
                await asyncio.sleep(0.2)
        release.set()
        result = await fetch_report(handle)
    assert result.documents == 20
    events = [event async for event in handle.fetch_history_events()]
    named = [event.activity_task_scheduled_event_attributes.activity_type.name for event in events]
    assert (named.count("open_corpus"), named.count("parse_files")) == (2, 4)


@pytest.mark.timeout(120)
async def test_a_cancelled_job_stops_parsing_within_two_seconds(office: Office) -> None:
    (office.corpus / "bomb.pdf").write_bytes(nested_forms())
    async with office.working(Wire(*RULES)):
        handle = await office.start()
        await asyncio.to_thread(wait_for, lambda: bool(parsers_of(os.getpid())), "a parser works")
        await asyncio.sleep(2)  # heartbeats have begun, and the file takes a minute
        begun = time.monotonic()
        await handle.cancel()
        await asyncio.to_thread(wait_for, lambda: not parsers_of(os.getpid()), "it is gone")
        took = time.monotonic() - begun
        with pytest.raises(WorkflowFailureError):
            await handle.result()
    if took > 2 and os.getloadavg()[0] > 2 * (os.cpu_count() or 1):
        pytest.skip(f"it took {took:.1f} s on a machine that is busy with something else")
    assert took <= 2


async def test_a_restarted_job_keeps_its_version(office: Office) -> None:
    store = Store.open(office.settings.store)
    head = await publish(store, "harbour", str(office.corpus))
    async with office.working(Wire(*RULES)):
        office.corpus, folder = Path("harbour"), office.corpus
        handle = await office.start()
        await handle.result()
        state = await handle.query(ResearchWorkflow.state)
        add_files(folder, 3)
        newer = await publish(store, "harbour", str(folder))
        restarted = await office.client.start_workflow(
            ResearchWorkflow.run,
            args=[state.request, state],
            id=f"{handle.id}-again",
            task_queue=TASK_QUEUE,
        )
        again = await fetch_report(restarted)
    assert again.corpus is not None
    assert again.corpus.version == head.version != newer.version


async def test_a_corpus_is_indexed_ahead_of_its_jobs(office: Office) -> None:
    said: list[str] = []
    settings = office.settings
    async with office.working(Wire(*RULES)):
        head = await client_corpora.publish(settings, "harbour", str(office.corpus))
        ready = await client_corpora.index(office.client, head, TASK_QUEUE, said.append)
        assert ready.documents == 4
        assert ready.ref is not None
        assert ready.ref.version == head.version
        again = await client_corpora.index(office.client, head, TASK_QUEUE)
    assert again == ready
    assert (await load_head(Store.open(settings.store), "harbour")) == head


async def test_an_unknown_corpus_blocks_the_job_with_a_remedy(office: Office) -> None:
    async with office.working(Wire(*RULES)):
        office.corpus = Path("nowhere")
        handle = await office.start()
        status = await status_when(handle, lambda status: status.blocked is not None)
        assert status.blocked is not None
        assert "corpus add" in status.blocked.reason
        await handle.terminate()
