"""How fast a large corpus is indexed and searched: synthetic documents, `--size 100000` of them.

Words are invented and as unevenly frequent as those of a language; titles are names, and texts name
other documents, so that following names has something to follow. Times are of this machine.

Each command of a client is a process of its own, and so is the worker, which lives through all of
them: memory is what each holds at its peak. A time of both together is what a person waits, without
the start of the processes and without the server between them.
"""

from __future__ import annotations

import asyncio
import json
import random
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
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
_WORKERS = {"warm": "indexes", "one version behind": "behind", "cold": "cold"}
"""The folders of workers with other pasts."""


def _measure(name: str, wanted: float | None = None, baseline: str = "") -> Measure:
    return Measure(name, "lower", wanted, baseline, timed=True, share=False)


class Scale:
    name = "scale"
    pooled = False
    measures: tuple[Measure, ...] = (
        _measure("index, seconds", wanted=120),
        _measure("index, upload, seconds"),
        _measure("index, seconds of a processor"),
        _measure("refresh with nothing new, seconds"),
        _measure("refresh with nothing new, seconds of a processor"),
        _measure("refresh with a hundred changed, seconds"),
        _measure("refresh with a hundred changed, seconds of a processor"),
        _measure("refresh with a hundred changed, MB stored"),
        _measure("open, warm, seconds"),
        _measure("open, one version behind, seconds"),
        _measure("open, cold, seconds"),
        _measure("search median, ms", baseline="42"),
        _measure("search p95, ms", wanted=150, baseline="110"),
        _measure("search and follow median, ms", baseline="74"),
        _measure("search and follow p95, ms", wanted=150, baseline="135"),
        _measure("memory, MB"),
        _measure("memory of the client, MB"),
        _measure("on disk, MB", baseline="300"),
        _measure("in the store, MB"),
        _measure("in the store, objects"),
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
        library = Invented(random.Random(seed))
        library.write(Path(place, "documents"), size)
        queries = [library.query() for _ in range(QUERIES)]
        with _Processes(Path(place)) as processes:
            found = _measure_all(processes, queries, Path(place))
    return found


def _measure_all(processes: _Processes, queries: list[str], place: Path) -> dict[str, float]:
    first = processes.refresh()
    time.sleep(SETTLED_SECONDS)
    processes.refresh()
    nothing = processes.refresh()
    # A worker that has the version before the change.
    processes.ask("open", "behind", nothing["index"])
    before = _stored(place / "store")
    _change(place / "documents")
    changed = processes.refresh()
    stored = _stored(place / "store")
    opened = {
        name: processes.ask("open", folder, changed["index"])["seconds"]
        for name, folder in (
            ("warm", "indexes"),
            ("one version behind", "behind"),
            ("cold", "cold"),
        )
    }
    searched = processes.ask("search", *queries)
    return {
        "index, seconds": first["seconds"],
        "index, upload, seconds": first["upload"],
        "index, seconds of a processor": first["processor"],
        "refresh with nothing new, seconds": nothing["seconds"],
        "refresh with nothing new, seconds of a processor": nothing["processor"],
        "refresh with a hundred changed, seconds": changed["seconds"],
        "refresh with a hundred changed, seconds of a processor": changed["processor"],
        "refresh with a hundred changed, MB stored": stored[0] - before[0],
        **{f"open, {name}, seconds": seconds for name, seconds in opened.items()},
        **{key: value for key, value in searched.items() if key not in ("seconds", "processor")},
        "memory of the client, MB": max(each["memory"] for each in (first, nothing, changed)),
        "on disk, MB": max(f.stat().st_size for f in (place / "cold").iterdir()) / (1 << 20),
        "in the store, MB": stored[0],
        "in the store, objects": stored[1],
    }


def _stored(folder: Path) -> tuple[float, int]:
    """Megabytes and objects."""
    sizes = [file.stat().st_size for file in folder.rglob("*") if file.is_file()]
    return sum(sizes) / (1 << 20), len(sizes)


class _Processes:
    """A worker, and a client for each command."""

    def __init__(self, place: Path) -> None:
        self._place = place

    def __enter__(self) -> _Processes:
        self._worker = self._start("worker", stdin=subprocess.PIPE)
        return self

    def __exit__(self, *_: object) -> None:
        self._worker.communicate()

    def refresh(self) -> JsonObject:
        """Publish what changed, and have it indexed."""
        told, _ = (client := self._start("publish")).communicate()
        if client.returncode:
            raise RuntimeError(f"publishing ended with {client.returncode}; see above")
        published: JsonObject = json.loads(told)
        indexed = self.ask("index", published["version"])
        return {
            "seconds": published["seconds"] + indexed["seconds"],
            "processor": published["processor"] + indexed["processor"],
            "upload": published["seconds"],
            "memory": published["memory"],
            "index": indexed["index"],
        }

    def ask(self, *command: str) -> JsonObject:
        assert self._worker.stdin is not None
        assert self._worker.stdout is not None
        self._worker.stdin.write(json.dumps(command) + "\n")
        self._worker.stdin.flush()
        if not (line := self._worker.stdout.readline()):
            raise RuntimeError("the worker ended; see above")
        answer: JsonObject = json.loads(line)
        return answer

    def _start(self, role: str, stdin: int | None = None) -> subprocess.Popen[str]:
        command = [sys.executable, "-m", "benchmarks.quality.scale", role, str(self._place)]
        return subprocess.Popen(
            command, cwd=ROOT, stdin=stdin, stdout=subprocess.PIPE, text=True, encoding="utf-8"
        )


# --- the processes ------------------------------------------------------------------------------


async def _publish(place: Path) -> JsonObject:
    worked, begun = _worked(), time.perf_counter()
    head = await publish(Store.open(str(place / "store")), "scale", str(place / "documents"))
    return {
        "version": head.version,
        "seconds": time.perf_counter() - begun,
        "processor": _worked() - worked,
        "memory": _peak() / 1024,
    }


async def _work(place: Path) -> None:
    store = Store.open(str(place / "store"))
    cache = IndexCache(store, place / "indexes")
    corpora = Corpora(store, cache)
    index = ""
    while line := await asyncio.to_thread(sys.stdin.readline):
        name, *given = json.loads(line)
        worked, begun = _worked(), time.perf_counter()
        answer: JsonObject = {}
        match name:
            case "index":
                ref = (await corpora.make_ready("scale", given[0])).ref
                assert ref is not None
                index = answer["index"] = ref.index
            case "open":
                ref = CorpusRef(name="scale", version="", index=given[1])
                elsewhere = IndexCache(store, place / given[0])
                (await elsewhere.open(ref)).close()
                elsewhere.close()
            case "search":
                answer = _search(Corpus(await cache.fetch(index)), given)
        answer["seconds"] = time.perf_counter() - begun
        answer["processor"] = _worked() - worked
        print(json.dumps(answer), flush=True)
    await corpora.close()
    cache.close()


def _search(corpus: Corpus, queries: list[str]) -> JsonObject:
    searches: list[float] = []
    hops: list[float] = []
    for query in queries:
        begun = time.perf_counter()
        hits = corpus.search(query)
        searches.append(1000 * (time.perf_counter() - begun))
        corpus.follow(query, hits)
        hops.append(1000 * (time.perf_counter() - begun))
    corpus.close()
    return {
        "search median, ms": _at(searches, 0.5),
        "search p95, ms": _at(searches, 0.95),
        "search and follow median, ms": _at(hops, 0.5),
        "search and follow p95, ms": _at(hops, 0.95),
        "memory, MB": _peak() / 1024,
    }


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
    match sys.argv[1]:
        case "publish":
            print(json.dumps(asyncio.run(_publish(Path(sys.argv[2])))))
        case "worker":
            asyncio.run(_work(Path(sys.argv[2])))
        case size:
            print(json.dumps(measure(int(size), int(sys.argv[2]))))
