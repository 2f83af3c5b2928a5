"""The smallest questions: fifty folders of one sentence each, and the cases at the edge.

The sentences are drawn by the seed from the passages of `qa/*.json`, and rules make the question
that each answers (see `declarative`). A folder holds one file with exactly that sentence. The cases
at the edge are written here: an empty file, a question of one word, a German question over German
documents, a question about nothing in the documents. Every question is one run of the command.

    answered     share of the reports whose summary or facets hold the answer
    right exits  share of the commands that ended with a report, with "nothing found" (4) or, where
                 something about the command is wrong, with 2; at the edge with the code it calls
                 for. A blocked job ends with 1
"""

from __future__ import annotations

import asyncio
import json
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path

from benchmarks.quality.command import BAD_INPUT, NOTHING_FOUND, REPORT, Ended, run_command
from benchmarks.quality.declarative import draw_statements
from benchmarks.quality.gold import contains
from benchmarks.quality.intervals import Pair
from benchmarks.quality.report_text import join_answer, split_sentences
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

SENTENCES = 50
_ANY_CLEAR_END = (REPORT, NOTHING_FOUND, BAD_INPUT)
_EDGE = "at the edge"


@dataclass(frozen=True)
class Edge:
    """A case at the edge: its documents, and how a command should end on them."""

    id: str
    question: str
    documents: dict[str, str]
    exits: tuple[int, ...] = _ANY_CLEAR_END
    answer: str = ""
    group: str = field(default=_EDGE, init=False)


_TIDES = "# Tides\n\nTides are caused by the pull of the moon and, less, of the sun.\n"
EDGES = (
    Edge("empty file", "What does the harbour cost?", {"empty.md": ""}, (BAD_INPUT, NOTHING_FOUND)),
    Edge("one word", "Tides?", {"tides.md": _TIDES}, answer="moon"),
    Edge(
        "German",
        "Wann wurde die Brücke über die Alme eröffnet?",
        {
            "bruecke.md": "# Die Almebrücke\n\nDie Brücke über die Alme ist 84 Meter lang. Sie"
            " wurde am 3. Mai 1894 für den Verkehr eröffnet und ersetzte eine Fähre.\n",
            "markt.md": "# Der Wochenmarkt\n\nDer Markt findet jeden Samstag vor dem Rathaus statt."
            " Im Winter öffnen die Stände erst um acht Uhr.\n",
            "schule.md": "# Die alte Schule\n\nDas Gebäude der Schule stammt aus dem Jahr 1911."
            " Heute nutzt es die Stadtbücherei.\n",
        },
        answer="1894",
    ),
    Edge(
        "nothing in the documents",
        "Which vaccines are recommended for domestic rabbits?",
        {"tides.md": _TIDES},
        (NOTHING_FOUND,),
    ),
)


class Sentences:
    name = "sentences"
    pooled = True
    measures: tuple[Measure, ...] = (
        Measure("answered", wanted=1.0),
        Measure("right exits", wanted=1.0),
    )

    def __init__(self, options: Options) -> None:
        self._options = options

    def cases(self, limit: int | None, seed: int) -> list[Case]:
        files = sorted((self._options.data / "qa").glob("*.json"))
        if not files:
            raise MissingData.of("*.json with a corpus", self._options.data / "qa")
        texts = (
            passage["text"]
            for path in files
            for passage in json.loads(path.read_text("utf-8"))["corpus"]
        )
        sentences = [sentence for text in texts for sentence in split_sentences(text)]
        found = [
            Case(
                f"sentence-{n:02d}",
                one.kind,
                {
                    "question": one.question,
                    "answer": one.answer,
                    "documents": {"sentence.md": one.sentence},
                    "exits": _ANY_CLEAR_END,
                },
            )
            for n, one in enumerate(draw_statements(sentences, SENTENCES, seed), 1)
        ]
        edges = [Case(edge.id, edge.group, asdict(edge)) for edge in EDGES]
        return draw_cases([*found, *edges], limit, seed)

    @asynccontextmanager
    async def start(self) -> AsyncIterator[Run]:
        with tempfile.TemporaryDirectory() as place:

            async def run(case: Case) -> Outcome:
                name = case.id.replace(" ", "-")
                folder = Path(place, "documents", name)
                await asyncio.to_thread(_write, folder, case.content["documents"])
                out = Path(place, name)
                ended = await run_command(case.content["question"], folder, out, self._options)
                return count(ended, case.content)

            yield run


def count(ended: Ended, content: JsonObject) -> Outcome:
    """Whether a command ended as it should, with the answer where there is one."""
    report = ended.result.report_markdown if ended.result else ""
    measures: dict[str, Pair] = {"right exits": (ended.code in content["exits"], 1)}
    if content["answer"]:
        text = join_answer(report)
        measures["answered"] = (contains(text, [content["answer"]]), 1)
    notes = {**content, "exit": ended.code, "printed": ended.printed[-2000:], "report": report}
    return Outcome(measures, notes)


def _write(folder: Path, documents: dict[str, str]) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in documents.items():
        (folder / name).write_text(text, "utf-8")
