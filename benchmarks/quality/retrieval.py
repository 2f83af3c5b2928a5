"""Whether the evidence of a question is found: `retrieval/*.json` and `qa/*.json` of the data.

Each file has `corpus[] {id,title,text}` and `queries[] {id,q,gold[]}`. What is measured is the tool
a subagent searches with, the subagent that uses it, and plain search beside them:

    search      the tool's first cycle, asked the question as it stands; `in sight` is all it shows
    loop        its second cycle, which looks at what the first hits lack, follows the names in
                them and adds what it finds
    researcher  the whole loop of a research subagent on the configured model: dispatch, score,
                refine, loop. Its first ten are those its answer names first; `in sight` is
                everything it was shown; `answer` is the gold answer in the first words of its
                claims, where the file gives one that says something (see `gold`)
    FTS5, BM25  plain search over the same passages (see `peers`)

Hits@k: any evidence among the first k documents. All@10: all of it. MAP@10 divides by the number of
evidence documents. `less FTS5` is the difference to plain search, question by question.
"""

from __future__ import annotations

import asyncio
import json
import tempfile
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from activities.agent.conversation import Answered
from activities.agent.schemas import ResearchAnswer
from activities.agent.toolbox import Toolbox
from activities.context import ActivityContext
from activities.llm.client import Models
from activities.storage.store import Store
from benchmarks.quality.gold import contains, is_measurable
from benchmarks.quality.intervals import Pair
from benchmarks.quality.peers import Bm25, Fts5
from benchmarks.quality.report_text import cut_words
from benchmarks.quality.sets import (
    Case,
    JsonObject,
    Measure,
    MissingData,
    Options,
    Outcome,
    Run,
    draw_cases,
)
from workflows.config.roles import RESEARCHER
from workflows.config.settings import Settings
from workflows.contracts.activity_io import Job
from workflows.contracts.state import CorpusRef

CYCLES = 3
SCORES = ("hits@4", "hits@10", "MAP@10", "all@10")
_FOLDERS = ("retrieval", "qa")
_WAYS = ("search", "loop")
LENGTHS = (120, 800)
_FIRST = 10
_TODAY = "2026-01-01"


@dataclass(frozen=True)
class Collection:
    """The passages of one file as a corpus, and plain search over them."""

    corpus: CorpusRef
    ids: list[str]
    documents: dict[str, str]
    """Which passage each document of the corpus is, by the document's id."""
    fts5: Fts5
    bm25: Bm25


class Retrieval:
    name = "retrieval"
    pooled = False
    measures: tuple[Measure, ...] = (
        *(Measure(f"search {name}") for name in SCORES),
        Measure("search all in sight"),
        Measure("loop all in sight"),
        Measure("researcher hits@4"),
        Measure("researcher all@10", wanted={"hotpot": 0.85, "2wiki": 0.75}),
        Measure("researcher all in sight"),
        *(Measure(f"researcher answer in {words} words") for words in LENGTHS),
        *(Measure(f"{peer} {name}", "") for peer in ("FTS5", "BM25") for name in SCORES),
        *(Measure(f"search {name} less FTS5", wanted=0.0, share=False) for name in SCORES),
        Measure("search ms", "lower", share=False, timed=True),
        Measure("loop ms", "lower", share=False, timed=True),
    )

    def __init__(self, options: Options) -> None:
        self._options = options
        self._files: dict[str, Path] = {}

    def cases(self, limit: int | None, seed: int) -> list[Case]:
        for folder in _FOLDERS:
            for path in sorted((self._options.data / folder).glob("*.json")):
                self._files[path.stem if folder == _FOLDERS[0] else f"{folder} {path.stem}"] = path
        if not self._files:
            places = " and ".join(_FOLDERS)
            raise MissingData.of("*.json with a corpus and queries", self._options.data / places)
        found = [
            Case(f"{group}-{query['id']}", group, query)
            for group, path in self._files.items()
            for query in json.loads(path.read_text("utf-8"))["queries"]
        ]
        return draw_cases(found, limit, seed)

    @asynccontextmanager
    async def start(self) -> AsyncIterator[Run]:
        settings = Settings.read({})
        with tempfile.TemporaryDirectory() as place:
            store = Store.open(str(Path(place, "store")))
            models = Models(provider=settings.provider)
            context = ActivityContext(store, models, Path(place, "indexes"))
            opening = asyncio.Lock()
            collections: dict[str, Collection] = {}

            async def run(case: Case) -> Outcome:
                async with opening:
                    if case.group not in collections:
                        path = self._files[case.group]
                        collections[case.group] = await _open(context, path, Path(place))
                return await self._run(context, collections[case.group], case)

            try:
                yield run
            finally:
                await context.close()

    async def _run(self, context: ActivityContext, collection: Collection, case: Case) -> Outcome:
        question, gold = case.content["q"], {str(one) for one in case.content["gold"]}
        documents = collection.documents
        job = Job(id=case.id, journal=case.id, model=self._options.model, question=question,
                  today=_TODAY, corpus=collection.corpus)  # fmt: skip
        measures: dict[str, Pair] = {}
        for peer, search in (("FTS5", collection.fts5.rank), ("BM25", collection.bm25.rank)):
            ranks = search(question, _FIRST)
            measures |= score(peer, [collection.ids[n] for n in ranks], gold)
        tools = await context.create_toolbox(RESEARCHER, job, CYCLES)
        for turn, way in enumerate(_WAYS):
            asked = {"query": question, "aim": "the question"}
            begun = time.perf_counter()
            answer = await tools.run("search", asked, turn)
            measures[f"{way} ms"] = (1000 * (time.perf_counter() - begun), 1)
            tools.record(turn, "search", asked, answer)
            if way == "search":
                found = list(dict.fromkeys(documents[one] for one, _ in answer["passages"]))
                measures |= score(way, found, gold)
            measures[f"{way} all in sight"] = _in_sight(gold, tools, documents)
        for name in SCORES:
            less = measures[f"search {name}"][0] - measures[f"FTS5 {name}"][0]
            measures[f"search {name} less FTS5"] = (less, 1)
        tools = await context.create_toolbox(RESEARCHER, job, CYCLES)
        researched = await self._research(context, job, tools)
        named = [tools.resolve(score.source_id) for score in researched.scores]
        ranked = list(dict.fromkeys(documents[one] for one in named if one in tools.sources))
        measures |= score("researcher", ranked, gold)
        measures["researcher all in sight"] = _in_sight(gold, tools, documents)
        answers = [case.content.get("answer", ""), *case.content.get("aliases", ())]
        if is_measurable(question, answers):
            told = " ".join(claim.text for claim in researched.claims)
            for words in LENGTHS:
                held = contains(cut_words(told, words), answers)
                measures[f"researcher answer in {words} words"] = (float(held), 1)
        return Outcome(measures, {"question": question, "cycles": len(tools.log.cycles())})

    async def _research(self, context: ActivityContext, job: Job, tools: Toolbox) -> ResearchAnswer:
        """What a research subagent answers; nothing where it gave up."""
        subagent = await context.create_subagent(RESEARCHER, job, "facet")
        spoken = await subagent.converse(ResearchAnswer, _brief(job.question), tools)
        if isinstance(spoken, Answered):
            return spoken.answer
        return ResearchAnswer(summary="", claims=[], scores=[], missing=[], exhausted=True)


def _in_sight(gold: set[str], tools: Toolbox, documents: dict[str, str]) -> Pair:
    return float(gold.issubset(documents[one] for one in tools.sources)), 1


def score(way: str, found: Sequence[str], gold: set[str]) -> dict[str, Pair]:
    """Hits@4, Hits@10, average precision and whether all evidence was found."""
    precision = right = 0.0
    for rank, one in enumerate(found[:_FIRST], 1):
        if one in gold:
            right += 1
            precision += right / rank
    values = (
        float(not gold.isdisjoint(found[:4])),
        float(not gold.isdisjoint(found[:_FIRST])),
        precision / len(gold),
        float(gold.issubset(found[:_FIRST])),
    )
    return {f"{way} {name}": (value, 1) for name, value in zip(SCORES, values, strict=True)}


async def _open(context: ActivityContext, path: Path, place: Path) -> Collection:
    """Write a file's passages as a corpus and index it, for the tool and for its peers."""
    folder = place / path.parent.name / path.stem
    records = await asyncio.to_thread(_write_corpus, path, folder)
    ready = await context.corpora.make_ready(*await context.find_version(str(folder)))
    assert ready.ref is not None
    corpus = await context.indexes.open(ready.ref)
    ids = [str(record["id"]) for record in records]
    addresses = {f"corpus.jsonl#line-{n}": one for n, one in enumerate(ids, 1)}
    return Collection(
        ready.ref,
        ids,
        {meta.id: addresses[meta.uri] for meta in corpus.documents()},
        Fts5((record["title"], record["text"]) for record in records),
        Bm25([f"{record['title']} {record['text']}" for record in records]),
    )


def _write_corpus(path: Path, folder: Path) -> list[JsonObject]:
    records: list[JsonObject] = json.loads(path.read_text("utf-8"))["corpus"]
    folder.mkdir(parents=True)
    lines = [json.dumps({"title": r["title"], "text": r["text"]}) for r in records]
    (folder / "corpus.jsonl").write_text("\n".join(lines), "utf-8")
    return records


def _brief(question: str) -> JsonObject:
    """What a subagent is told whose facet is the whole question."""
    facet = {"title": question[:80], "question": question, "boundary": "", "prefer": []}
    return {
        "question": question, "pinned": [], "today": _TODAY, "facet": facet, "ask": question,
        "known": [], "known_claims": [], "attempt": 0, "approach": "first", "previous": "",
        "cycles": CYCLES, "max_claims": 8,
    }  # fmt: skip
