"""How fast a large corpus is indexed and searched: synthetic documents, `--size 100000` of them.

Words are invented and as unevenly frequent as those of a language; titles are names, and texts name
other documents, so that following names has something to follow. Times are of this machine. Memory
is what a process that does nothing else holds at its peak, so it is one of its own.
"""

from __future__ import annotations

import asyncio
import json
import random
import resource
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from itertools import accumulate
from pathlib import Path

from activities.sources.corpus_indexes import Corpora
from activities.sources.corpus_search import Corpus
from activities.sources.index_cache import IndexCache
from activities.storage.corpus_publishing import publish
from activities.storage.store import Store
from benchmarks.quality.sets import ROOT, Case, JsonObject, Measure, Options, Outcome, Run
from workflows.contracts.state import CorpusRef

QUERIES = 200
CHANGED = 100
SETTLED_SECONDS = 2.5
"""After this long, a file's time says whether it has changed."""
_VOCABULARY = 40_000


def _measure(name: str, wanted: float | None = None, baseline: str = "") -> Measure:
    return Measure(name, "lower", wanted, baseline, timed=True, share=False)


class Scale:
    name = "scale"
    pooled = False
    measures: tuple[Measure, ...] = (
        _measure("index, seconds", wanted=120),
        _measure("index, seconds of a processor"),
        _measure("refresh with nothing new, seconds"),
        _measure("refresh with a hundred changed, seconds"),
        _measure("open, warm, seconds"),
        _measure("open, cold, seconds"),
        _measure("search median, ms", baseline="42"),
        _measure("search p95, ms", wanted=150, baseline="110"),
        _measure("search and follow median, ms", baseline="74"),
        _measure("search and follow p95, ms", wanted=150, baseline="135"),
        _measure("memory, MB"),
        _measure("on disk, MB", baseline="300"),
    )

    def __init__(self, options: Options) -> None:
        self._size = options.size

    def cases(self, limit: int | None, seed: int) -> list[Case]:
        size = self._size if limit is None else min(self._size, 1000 * limit)
        return [Case(f"{size}", f"{size} documents", {"seed": seed})]

    @asynccontextmanager
    async def start(self) -> AsyncIterator[Run]:
        async def run(case: Case) -> Outcome:
            process = await asyncio.create_subprocess_exec(
                sys.executable, "-m", "benchmarks.quality.scale", case.id,
                str(case.content["seed"]), stdout=asyncio.subprocess.PIPE, cwd=ROOT,
            )  # fmt: skip
            told, _ = await process.communicate()
            if process.returncode:
                raise RuntimeError(f"measuring ended with {process.returncode}; see above")
            found: JsonObject = json.loads(told)
            return Outcome({name: (value, 1) for name, value in found.items()})

        yield run


def measure(size: int, seed: int) -> dict[str, float]:
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place, "documents")
        library = Invented(random.Random(seed))
        library.write(folder, size)
        times, corpus = asyncio.run(_index(folder, Path(place)))
        searches: list[float] = []
        hops: list[float] = []
        for query in (library.query() for _ in range(QUERIES)):
            begun = time.perf_counter()
            hits = corpus.search(query)
            searches.append(1000 * (time.perf_counter() - begun))
            corpus.follow(query, hits)
            hops.append(1000 * (time.perf_counter() - begun))
        corpus.close()
        stored = sum(file.stat().st_size for file in Path(place, "indexes").iterdir())
    return times | {
        "search median, ms": _at(searches, 0.5),
        "search p95, ms": _at(searches, 0.95),
        "search and follow median, ms": _at(hops, 0.5),
        "search and follow p95, ms": _at(hops, 0.95),
        "memory, MB": _peak() / 1024,
        "on disk, MB": stored / (1 << 20),
    }


async def _index(folder: Path, place: Path) -> tuple[dict[str, float], Corpus]:
    """Add, refresh with nothing new and with a hundred changed, open where it is and elsewhere."""
    store = Store.open(str(place / "store"))
    cache, elsewhere = IndexCache(store, place / "indexes"), IndexCache(store, place / "cold")
    corpora = Corpora(store, cache)
    times: dict[str, float] = {}
    ref: CorpusRef | None = None

    @contextmanager
    def timed(name: str) -> Iterator[None]:
        begun = time.perf_counter()
        yield
        times[f"{name}, seconds"] = time.perf_counter() - begun

    async def refresh() -> None:
        nonlocal ref
        head = await publish(store, "scale", str(folder))
        ref = (await corpora.make_ready(head.name, head.version)).ref

    worked = _worked()
    with timed("index"):
        await refresh()
    times["index, seconds of a processor"] = _worked() - worked
    await asyncio.sleep(SETTLED_SECONDS)
    await refresh()
    with timed("refresh with nothing new"):
        await refresh()
    _change(folder)
    with timed("refresh with a hundred changed"):
        await refresh()
    assert ref is not None
    with timed("open, warm"):
        await cache.open(ref)
    with timed("open, cold"):
        (await elsewhere.open(ref)).close()
    corpus = await cache.open(ref)
    await corpora.close()
    return times, corpus


def _change(folder: Path) -> None:
    for path in sorted(folder.rglob("*.md"))[:CHANGED]:
        path.write_text(f"# Changed\n\nThe ferry {path.stem} was changed.\n", "utf-8")


def _worked() -> float:
    """What this process and those it started have computed, however busy the machine is."""
    used = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(each.ru_utime + each.ru_stime for each in used)


def _peak() -> float:
    """Kilobytes this program held at most. What the system counts by process also counts the
    program that started this one, whose memory it was for a moment."""
    try:
        told = Path("/proc/self/status").read_text("utf-8")
        return float(told.partition("VmHWM:")[2].split()[0])
    except (OSError, IndexError):
        return float(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)


def _at(values: list[float], share: float) -> float:
    return sorted(values)[int(share * (len(values) - 1))]


class Invented:
    """A library whose words are as unevenly frequent as those of a language."""

    def __init__(self, chance: random.Random) -> None:
        self._chance = chance
        self._words = list(self._invented(_VOCABULARY))
        self._weights = list(accumulate(1 / (rank + 3) for rank in range(len(self._words))))
        self._titles: list[str] = []

    def write(self, folder: Path, size: int) -> None:
        for number in range(size):
            part = folder / f"{number // 1000:04}"
            part.mkdir(parents=True, exist_ok=True)
            title = " ".join(self._some(2)).title()
            (part / f"{number}.md").write_text(f"# {title}\n\n{self._text()}\n", "utf-8")
            if len(self._titles) < 10_000:
                self._titles.append(title)

    def query(self) -> str:
        """A question in eight words, a name among them as often as not."""
        words = self._some(8)
        if self._chance.random() < 0.5:
            words[:2] = self._chance.choice(self._titles).split()
        return " ".join(words)

    def _text(self) -> str:
        sentences = (self._sentence() for _ in range(7))
        return " ".join(sentence[0].upper() + sentence[1:] + "." for sentence in sentences)

    def _sentence(self) -> str:
        words = self._some(self._chance.randint(8, 20))
        if self._titles and self._chance.random() < 0.3:
            words[len(words) // 2] = self._chance.choice(self._titles)
        return " ".join(words)

    def _some(self, count: int) -> list[str]:
        return self._chance.choices(self._words, cum_weights=self._weights, k=count)

    def _invented(self, count: int) -> Iterator[str]:
        pick = self._chance.choice
        for _ in range(count):
            syllables = range(self._chance.randint(1, 4))
            stem = "".join(pick("bcdfghklmnprstvw") + pick("aeiou") for _ in syllables)
            yield stem + pick(["", "s", "ing", "er", "tion"])


if __name__ == "__main__":
    print(json.dumps(measure(int(sys.argv[1]), int(sys.argv[2]))))
