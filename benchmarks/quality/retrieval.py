"""Whether the evidence of a question is found: every `retrieval/*.json` of the data folder.

Each file has `corpus[] {id,title,text}` and `queries[] {id,q,gold[]}`. What is measured is the tool
a subagent searches with, and the subagent that uses it:

    search      the tool's first cycle, asked the question as it stands
    loop        its second cycle, which looks at what the first hits lack and follows the names in
                them; the first four hits stay
    researcher  the whole loop of a research subagent on the configured model: dispatch, score,
                refine, loop. Its first ten are those its answer names first; `sight` is everything
                it was shown

Hits@k: any evidence among the first k documents. All@10: all of it. MAP@10 divides by the number of
evidence documents. The baselines are what plain full-text search reaches on the public samples.
"""

from __future__ import annotations

import asyncio
import json
import tempfile
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

from activities.agent.conversation import Answered
from activities.agent.schemas import ResearchAnswer
from activities.agent.toolbox import Toolbox
from activities.context import ActivityContext
from activities.llm.client import Models
from activities.storage.store import Store
from benchmarks.quality.intervals import Pair
from benchmarks.quality.sets import (
    Case,
    JsonObject,
    Measure,
    Options,
    Outcome,
    Run,
    absent,
    drawn,
)
from workflows.config.roles import RESEARCHER
from workflows.config.settings import Settings
from workflows.contracts.activity_io import Job

CYCLES = 3
_TODAY = "2026-01-01"


class Retrieval:
    name = "retrieval"
    pooled = False
    measures: tuple[Measure, ...] = (
        Measure("search hits@4", baseline={"hotpot": "1.00", "2wiki": ".990", "musique": ".870"},
                wanted={"hotpot": 1.0, "2wiki": 0.99}),
        Measure("search hits@10", baseline={"hotpot": "1.00", "2wiki": "1.00", "musique": ".930"},
                wanted={"hotpot": 1.0, "2wiki": 1.0}),
        Measure("search MAP@10", baseline={"hotpot": ".601", "2wiki": ".523", "musique": ".422"},
                wanted={"hotpot": 0.601, "2wiki": 0.523}),
        Measure("search all@10", baseline={"hotpot": ".79", "2wiki": ".35", "musique": ".27"}),
        Measure("loop hits@4", baseline={"hotpot": "1.00", "2wiki": ".990", "musique": ".870"},
                wanted={"hotpot": 1.0, "2wiki": 0.99}),
        Measure("loop hits@10", baseline={"hotpot": "1.00", "2wiki": "1.00", "musique": ".910"}),
        Measure("loop MAP@10", baseline={"hotpot": ".614", "2wiki": ".569", "musique": ".438"}),
        Measure("loop all@10", baseline={"hotpot": ".90", "2wiki": ".84", "musique": ".44"},
                wanted={"hotpot": 0.85, "2wiki": 0.75}),
        Measure("researcher hits@4"),
        Measure("researcher all@10", wanted={"hotpot": 0.85, "2wiki": 0.75}),
        Measure("researcher all in sight"),
        Measure("search ms", "lower", share=False, timed=True),
        Measure("loop ms", "lower", share=False, timed=True),
    )  # fmt: skip

    def __init__(self, options: Options) -> None:
        self._options = options
        self._folder = options.data / "retrieval"
        self._documents: dict[str, dict[str, str]] = {}
        """Which record each document of a group's corpus is, by the document's id."""

    def cases(self, limit: int | None, seed: int) -> list[Case]:
        files = sorted(self._folder.glob("*.json"))
        if not files:
            raise absent("*.json with a corpus and queries", self._folder)
        found = [
            Case(f"{path.stem}-{query['id']}", path.stem, query)
            for path in files
            for query in json.loads(path.read_text("utf-8"))["queries"]
        ]
        return drawn(found, limit, seed)

    @asynccontextmanager
    async def opened(self) -> AsyncIterator[Run]:
        settings = Settings.read({})
        with tempfile.TemporaryDirectory() as place:
            store = Store.open(str(Path(place, "store")))
            models = Models(provider=settings.provider)
            context = ActivityContext(store, models, Path(place, "indexes"))
            opening = asyncio.Lock()

            async def run(case: Case) -> Outcome:
                folder = Path(place, case.group)
                async with opening:
                    if case.group not in self._documents:
                        path = self._folder / f"{case.group}.json"
                        records = await asyncio.to_thread(_written, path, folder)
                        corpus = await context.corpus(str(folder))
                        assert corpus is not None
                        self._documents[case.group] = {
                            meta.id: records[meta.uri] for meta in corpus.documents()
                        }
                return await self._run(context, folder, case)

            try:
                yield run
            finally:
                await context.close()

    async def _run(self, context: ActivityContext, folder: Path, case: Case) -> Outcome:
        question, gold = case.content["q"], {str(one) for one in case.content["gold"]}
        documents = self._documents[case.group]
        job = Job(id=case.id, journal=case.id, model=self._options.model, question=question,
                  today=_TODAY, corpus=str(folder))  # fmt: skip
        measures: dict[str, Pair] = {}
        tools = await context.create_toolbox(RESEARCHER, job, CYCLES)
        for turn, way in enumerate(("search", "loop")):
            begun = time.perf_counter()
            answer = await tools.run("search", {"query": question, "aim": "the question"}, turn)
            measures[f"{way} ms"] = (1000 * (time.perf_counter() - begun), 1)
            found = list(dict.fromkeys(documents[one] for one, _ in answer["passages"]))
            for name, value in zip(
                ("hits@4", "hits@10", "MAP@10", "all@10"), score(found, gold), strict=True
            ):
                measures[f"{way} {name}"] = (value, 1)
        tools = await context.create_toolbox(RESEARCHER, job, CYCLES)
        ranked = await self._researched(context, job, tools)
        hits4, _, _, everything = score([documents[one] for one in ranked], gold)
        sight = gold.issubset(documents[one] for one in tools.sources)
        measures |= {"researcher hits@4": (hits4, 1), "researcher all@10": (everything, 1),
                     "researcher all in sight": (float(sight), 1)}  # fmt: skip
        return Outcome(measures, {"question": question, "cycles": len(tools.cycles())})

    async def _researched(self, context: ActivityContext, job: Job, tools: Toolbox) -> list[str]:
        """The sources a research subagent saw, in the order it gives them: best first."""
        subagent = await context.create_subagent(RESEARCHER, job, "facet")
        spoken = await subagent.converse(ResearchAnswer, _brief(job.question), tools)
        if not isinstance(spoken, Answered):
            return []
        named = (tools.resolve(score.source_id) for score in spoken.answer.scores)
        return list(dict.fromkeys(one for one in named if one in tools.sources))


def score(found: Sequence[str], gold: set[str]) -> tuple[float, float, float, float]:
    """Hits@4, Hits@10, average precision and whether all evidence was found."""
    precision = right = 0.0
    for rank, one in enumerate(found[:10], 1):
        if one in gold:
            right += 1
            precision += right / rank
    return (
        float(not gold.isdisjoint(found[:4])),
        float(not gold.isdisjoint(found[:10])),
        precision / len(gold),
        float(gold.issubset(found[:10])),
    )


def _written(path: Path, folder: Path) -> dict[str, str]:
    """The file's documents as a corpus; which record each of its addresses is."""
    records = json.loads(path.read_text("utf-8"))["corpus"]
    folder.mkdir(parents=True)
    lines = [json.dumps({"title": r["title"], "text": r["text"]}) for r in records]
    (folder / "corpus.jsonl").write_text("\n".join(lines), "utf-8")
    return {f"corpus.jsonl#line-{n}": str(r["id"]) for n, r in enumerate(records, 1)}


def _brief(question: str) -> JsonObject:
    """What a subagent is told whose facet is the whole question."""
    facet = {"title": question[:80], "question": question, "boundary": "", "prefer": []}
    return {
        "question": question, "pinned": [], "today": _TODAY, "facet": facet, "ask": question,
        "known": [], "known_claims": [], "attempt": 0, "approach": "first", "previous": "",
        "cycles": CYCLES, "max_claims": 8,
    }  # fmt: skip
