"""A folder as a corpus, without a server: published, indexed and opened as a worker does it."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Coroutine
from pathlib import Path
from typing import Any, TypeVar

from activities.sources.corpus_indexes import Corpora
from activities.sources.corpus_search import Corpus
from activities.sources.index_cache import IndexCache
from activities.storage.corpus_publishing import publish
from activities.storage.store import Store
from workflows.contracts.state import CorpusReady

T = TypeVar("T")


class FolderCorpus(Corpus):
    """The documents of a folder as they were at the last `refresh`."""

    def __init__(self, folder: Path, place: Path) -> None:
        self._folder = folder
        self._place = place

    def refresh(self) -> CorpusReady:
        return in_a_thread(self._refresh())

    async def _refresh(self) -> CorpusReady:
        store = Store.open(str(self._place / "store"))
        ready = await publish_index(store, self._folder, self._place / "indexes")
        cache = IndexCache(store, self._place / "indexes")
        assert ready.ref is not None
        super().__init__(await cache.fetch(ready.ref.index))
        cache.close()
        return ready


async def publish_index(store: Store, folder: Path, indexes: Path) -> CorpusReady:
    """A folder in the store, indexed for jobs without labels."""
    cache = IndexCache(store, indexes)
    corpora = Corpora(store, cache)
    try:
        head = await publish(store, "test", str(folder))
        return await corpora.make_ready("test", head.version)
    finally:
        await corpora.close()
        cache.close()


def index_folder(folder: Path, place: Path) -> FolderCorpus:
    corpus = FolderCorpus(folder, place)
    corpus.refresh()
    return corpus


def in_a_thread(work: Coroutine[Any, Any, T]) -> T:
    """The result of a coroutine, also where an event loop is running already."""
    results: list[T] = []
    errors: list[BaseException] = []

    def run() -> None:
        try:
            results.append(asyncio.run(work))
        except BaseException as error:
            errors.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    if errors:
        raise errors[0]
    return results[0]
