"""Whole jobs on anyone's questions: `--questions FILE`, or the few over the sample documents.

The file is a JSON list or JSON Lines of

    {"question": "…", "corpus": "FOLDER", "id": "…", "group": "…", "request": {…}, "expect": […]}

`question` and `corpus` are needed; a corpus is a folder, relative to the file. `request` holds
further fields of a job's request. `expect` lists words that the report should hold, for whoever
knows the answer: the share of them that stand there is `expected`.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from activities.evidence.quotes import fold
from benchmarks.quality import checks, rubric
from benchmarks.quality.job_runner import start_runner
from benchmarks.quality.sets import Case, JsonObject, Measure, Options, Outcome, Run, draw_cases

SAMPLE = Path(__file__).with_name("questions.json")


class QuestionsError(ValueError):
    """The file of questions cannot be used; the message says what to change."""


class Question(BaseModel):
    """One line of the file."""

    model_config = ConfigDict(extra="forbid")

    question: str = Field(min_length=1)
    corpus: str = Field(min_length=1)
    id: str = ""
    group: str = ""
    request: JsonObject = Field(default_factory=dict)
    expect: list[str] = Field(default_factory=list)


class Jobs:
    name = "jobs"
    pooled = True
    measures: tuple[Measure, ...] = (Measure("expected"), *checks.MEASURES, *rubric.MEASURES)

    def __init__(self, options: Options) -> None:
        self._options = options

    def cases(self, limit: int | None, seed: int) -> list[Case]:
        path = self._options.questions or SAMPLE
        found = [
            Case(asked.id or f"{path.stem}-{n:03d}", asked.group or path.stem, asked.model_dump())
            for n, asked in enumerate(read_questions(path), 1)
        ]
        return draw_cases(found, limit, seed)

    @asynccontextmanager
    async def start(self) -> AsyncIterator[Run]:
        async with start_runner(self._options) as runner:

            async def run(case: Case) -> Outcome:
                asked = Question.model_validate(case.content)
                result = await runner.research(asked.question, asked.corpus, asked.request)
                outcome = await runner.measure(result)
                held = fold(result.report_markdown).lower()
                expected = sum(fold(words).lower() in held for words in asked.expect)
                measures = {"expected": (expected, len(asked.expect)), **outcome.measures}
                return Outcome(measures, outcome.notes)

            yield run


def read_questions(path: Path) -> list[Question]:
    """The questions of a file, their folders made absolute; raises QuestionsError."""
    try:
        text = path.read_text("utf-8").strip()
    except OSError as error:
        raise QuestionsError(
            f"{path} cannot be read ({error.strerror}); name a JSON or JSONL file of questions"
        ) from error
    asked = [_asked(path, n, entry) for n, entry in enumerate(_entries(path, text), 1)]
    if not asked:
        raise QuestionsError(f"{path} holds no questions; add at least one")
    ids = [one.id for one in asked if one.id]
    if twice := sorted({one for one in ids if ids.count(one) > 1}):
        raise QuestionsError(f"{path}: the id {twice[0]!r} stands twice; give each its own")
    return asked


def _entries(path: Path, text: str) -> list[object]:
    try:
        if text.startswith("["):
            listed: list[object] = json.loads(text)
            return listed
        return [json.loads(line) for line in text.splitlines() if line.strip()]
    except ValueError as error:
        raise QuestionsError(
            f"{path} is neither a JSON list nor one JSON object a line ({error}); mend it there"
        ) from error


def _asked(path: Path, n: int, entry: object) -> Question:
    try:
        asked = Question.model_validate(entry)
    except ValidationError as wrong:
        first = wrong.errors(include_url=False)[0]
        where = ".".join(str(part) for part in first["loc"]) or "entry"
        raise QuestionsError(
            f"{path}, question {n}: {where}: {first['msg']}; an entry is"
            ' {"question": "…", "corpus": "FOLDER"}, with id, group, request and expect if wanted'
        ) from wrong
    folder = (path.parent / asked.corpus).resolve()
    if not folder.is_dir():
        raise QuestionsError(
            f"{path}, question {n}: {folder} is no folder; name the folder of documents in"
            " `corpus`, relative to the file"
        )
    return asked.model_copy(update={"corpus": str(folder)})
