"""Whole jobs on company files: every `drbench/ID/` of the data folder, PDF, Word, slides, mail.

    insights       share of the files that hold an insight which the report cites
    distractors    share of distractor files among the cited files
    figures        share of the gold answers' figures that stand in the report
    spreadsheets   share of the spreadsheets that hold an insight which the report cites; the same
                   for pdf, docx, pptx, chat and mail
    tasks in time  share of the tasks that took less than 30 s

and all that `checks` can say of any report. Each is the mean over the tasks, except for the kinds
of files, which are counted over all tasks: few tasks have each. About a quarter of the gold
answers' figures do not stand in the files at all, so nobody can reach 1 with quotes.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from activities.evidence.quantities.amounts import quantities
from benchmarks.quality import checks, rubric
from benchmarks.quality.intervals import Pair
from benchmarks.quality.job_runner import start_runner
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
from workflows.contracts.result import ResearchResult

IN_TIME = 30.0
SPREADSHEETS = "spreadsheets"
KINDS = (SPREADSHEETS, "pdf", "docx", "pptx", "chat", "mail")


class Enterprise:
    name = "enterprise"
    pooled = False
    measures: tuple[Measure, ...] = (
        Measure("insights", wanted=0.8),
        Measure("distractors", "lower", wanted=0.25),
        Measure("figures", wanted=0.6, baseline=".14 lone sentences, .51 to .63 short windows"),
        *(Measure(kind, wanted=0.5 if kind == SPREADSHEETS else None) for kind in KINDS),
        Measure("tasks in time", wanted=1.0, timed=True),
        *checks.MEASURES,
        *rubric.MEASURES,
    )

    def __init__(self, options: Options) -> None:
        self._options = options
        self._folder = options.data / "drbench"

    def cases(self, limit: int | None, seed: int) -> list[Case]:
        tasks = sorted(self._folder.glob("*/truth.json"))
        if not tasks:
            raise MissingData.of("ID/truth.json with a corpus", self._folder)
        found = [
            Case(path.parent.name, "drbench", json.loads(path.read_text("utf-8"))) for path in tasks
        ]
        return draw_cases(found, limit, seed)

    @asynccontextmanager
    async def start(self) -> AsyncIterator[Run]:
        async with start_runner(self._options) as runner:

            async def run(case: Case) -> Outcome:
                corpus = str(self._folder / case.id / "corpus")
                result = await runner.research(case.content["question"], corpus)
                outcome = await runner.measure(result)
                measures = {**count(result, case.content), **outcome.measures}
                return Outcome(measures, outcome.notes)

            yield run


def count(result: ResearchResult, truth: JsonObject) -> dict[str, Pair]:
    """What the report has of what it should have."""
    cited = {source.uri.partition("#")[0] for source in result.sources if source.n is not None}
    insights = [item for item in truth["items"] if item["kind"] == "insight"]
    useful = {file for item in insights for file in item["files"]}
    other = {f for item in truth["items"] if item["kind"] != "insight" for f in item["files"]}
    gold = [q for item in insights for q in quantities(item["answer"]) if not q.label]
    said = {q.value for q in quantities(result.report_markdown)}
    kinds: dict[str, Pair] = {}
    for file in sorted(useful):
        part, whole = kinds.get(kind := find_kind(file), (0, 0))
        kinds[kind] = (part + (file in cited), whole + 1)
    return {
        **kinds,
        "insights": (len(cited & useful) / max(1, len(useful)), 1),
        "distractors": (len(cited & (other - useful)) / max(1, len(cited)), 1),
        "tasks in time": (result.telemetry.seconds < IN_TIME, 1),
        "figures": (sum(q.value in said for q in gold) / max(1, len(gold)), 1),
    }


def find_kind(file: str) -> str:
    """What kind of file a name stands for; exports of mail and chat are text files."""
    ending = file.rpartition(".")[2].lower()
    if ending == "xlsx":
        return SPREADSHEETS
    if ending == "txt":
        return "chat" if "chat" in file.lower() else "mail"
    return ending
