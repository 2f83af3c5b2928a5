"""Whether the answer stands in the report: every `qa/*.json` of the data folder.

Each file has `corpus[] {id,title,text}` and `queries[] {id,q,answer,aliases[],gold[]}`. All
passages of a file are one folder; every question is one job over it. Questions whose answer is yes,
no, or stands in the question are left out.

    first sentence   share of the questions whose answer stands in the summary's first sentence
    summary          … in the summary, of which the first 120 words count
    body             … in the summary and the sections of the facets, of which the first 800 words
                     count: what the summary shows whole is not told again
    evidence used    share of the questions of which the report cites every passage in `gold`

Each stands beside plain search in the same run, over the same passages, in text of equal length:
`BM25` is the best sentences, `FTS5` the best passages, up to 120 and 800 words. `÷ BM25` is how
many times as often the report has the answer; `÷ BM25, own length` compares with as many words as
the report really has. The intervals of these ratios resample questions, both texts of each at once.
"""

from __future__ import annotations

import asyncio
import json
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from benchmarks.quality.gold import contains, is_measurable
from benchmarks.quality.intervals import Pair
from benchmarks.quality.job_runner import start_runner
from benchmarks.quality.passages import name_sources, write_passages
from benchmarks.quality.peers import Bm25, Fts5, join_until
from benchmarks.quality.report_text import (
    count_words,
    cut_words,
    find_section,
    join_answer,
    split_sentences,
    strip_markup,
)
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
from workflows.contracts.result import SUMMARY

LONGEST = {"summary": 120, "body": 800}
_WANTED_RATIO = 1.5
_PASSAGES = 100


@dataclass(frozen=True)
class Peers:
    """Plain search over the passages of one file."""

    ids: list[str]
    sentences: list[str]
    passages: list[str]
    bm25: Bm25
    fts5: Fts5

    @classmethod
    def build(cls, corpus: list[JsonObject]) -> Peers:
        sentences = [s for record in corpus for s in split_sentences(record["text"])]
        return cls(
            [str(record["id"]) for record in corpus],
            sentences,
            [f"{record['title']}. {record['text']}" for record in corpus],
            Bm25(sentences),
            Fts5((record["title"], record["text"]) for record in corpus),
        )

    def find_files(self, ids: list[str]) -> set[str]:
        """The names of the files that these passages are in."""
        return {_name(self.ids.index(str(one))) for one in ids}

    def best_sentences(self, question: str, words: int) -> str:
        return join_until((self.sentences[n] for n in self.bm25.rank(question)), words)

    def best_sentence(self, question: str) -> str:
        return " ".join(self.sentences[n] for n in self.bm25.rank(question, 1))

    def best_passages(self, question: str, words: int) -> str:
        return join_until((self.passages[n] for n in self.fts5.rank(question, _PASSAGES)), words)


class Answers:
    name = "answers"
    pooled = True
    measures: tuple[Measure, ...] = (
        Measure("first sentence"),
        Measure("BM25 first sentence", ""),
        Measure("summary"),
        Measure("BM25 summary", ""),
        Measure("FTS5 summary", ""),
        Measure("summary ÷ BM25", wanted=_WANTED_RATIO, share=False),
        Measure("summary ÷ BM25, own length", wanted=_WANTED_RATIO, share=False),
        Measure("body"),
        Measure("BM25 body", ""),
        Measure("FTS5 body", ""),
        Measure("body ÷ BM25", wanted=_WANTED_RATIO, share=False),
        Measure("body ÷ BM25, own length", wanted=_WANTED_RATIO, share=False),
        Measure("evidence used"),
        Measure("words of the summary", "", share=False),
        Measure("words of the body", "", share=False),
        Measure("seconds", "lower", share=False, timed=True),
    )

    def __init__(self, options: Options) -> None:
        self._options = options
        self._folder = options.data / "qa"

    def cases(self, limit: int | None, seed: int) -> list[Case]:
        files = sorted(self._folder.glob("*.json"))
        if not files:
            raise MissingData.of("*.json with a corpus and questions", self._folder)
        found = [
            Case(f"{path.stem}-{query['id']}", path.stem, query)
            for path in files
            for query in json.loads(path.read_text("utf-8"))["queries"]
            if is_measurable(query["q"], [query["answer"], *query["aliases"]])
        ]
        return draw_cases(found, limit, seed)

    @asynccontextmanager
    async def start(self) -> AsyncIterator[Run]:
        peers: dict[str, Peers] = {}
        opening = asyncio.Lock()
        with tempfile.TemporaryDirectory() as place:
            async with start_runner(self._options) as runner:

                async def run(case: Case) -> Outcome:
                    folder = Path(place, case.group)
                    async with opening:
                        if case.group not in peers:
                            peers[case.group] = await asyncio.to_thread(
                                _prepare, self._folder / f"{case.group}.json", folder
                            )
                    result = await runner.research(case.content["q"], str(folder))
                    measures, notes = compare(
                        result.report_markdown, case.content, peers[case.group]
                    )
                    names = name_sources(result)
                    cited = {names[s.id] for s in result.sources if s.n is not None}
                    used = cited.issuperset(peers[case.group].find_files(case.content["gold"]))
                    measures["evidence used"] = (used, 1)
                    measures["seconds"] = (result.telemetry.seconds, 1)
                    return Outcome(measures, {"status": result.status, **notes})

                yield run


def compare(markdown: str, query: JsonObject, peers: Peers) -> tuple[dict[str, Pair], JsonObject]:
    """Where the answer stands, in the report and in the peers' texts."""
    question, answers = query["q"], [query["answer"], *query["aliases"]]
    parts = {
        "summary": strip_markup(find_section(markdown, SUMMARY)),
        "body": strip_markup(join_answer(markdown)),
    }
    first = next(iter(split_sentences(parts["summary"])), "")
    best = peers.best_sentences(question, LONGEST["body"])
    measures: dict[str, Pair] = {
        "first sentence": (contains(first, answers), 1),
        "BM25 first sentence": (contains(peers.best_sentence(question), answers), 1),
    }
    for part, longest in LONGEST.items():
        text = cut_words(parts[part], longest)
        passages = peers.best_passages(question, longest)
        ours = contains(text, answers)
        theirs = contains(cut_words(best, longest), answers)
        measures |= {
            part: (ours, 1),
            f"BM25 {part}": (theirs, 1),
            f"FTS5 {part}": (contains(passages, answers), 1),
            f"{part} ÷ BM25": (ours, theirs),
            f"{part} ÷ BM25, own length": (
                ours, contains(cut_words(best, count_words(text)), answers),
            ),
            f"words of the {part}": (count_words(parts[part]), 1),
        }  # fmt: skip
    return measures, {"question": question, "answer": query["answer"], "report": markdown}


def _prepare(path: Path, folder: Path) -> Peers:
    corpus = json.loads(path.read_text("utf-8"))["corpus"]
    write_passages(folder, ((_name(n), r["title"], r["text"]) for n, r in enumerate(corpus)))
    return Peers.build(corpus)


def _name(n: int) -> str:
    return f"passage-{n:04d}"
