"""A report judged by a model: five criteria, each 0 to 1 with its reason.

The judge is asked through the product's own client, once for each report, with a prompt and a
schema of its own (`rubric.md`). An answer that does not follow the schema goes back once. What
cannot be judged is said, and counts nowhere: no score is invented.
"""

from __future__ import annotations

import asyncio
from pathlib import Path

from anthropic import transform_schema
from pydantic import Field, ValidationError
from temporalio.exceptions import ApplicationError

from activities.agent import messages as say
from activities.agent.schemas import Answer
from activities.llm.client import Models
from benchmarks.quality.intervals import Pair
from benchmarks.quality.report_text import drop_sources
from benchmarks.quality.sets import JsonObject, Measure
from workflows.config.model_catalog import LARGE, MIXED, card
from workflows.contracts.evidence import Share
from workflows.contracts.request import OFFLINE
from workflows.contracts.result import ResearchResult

PROMPT = Path(__file__).with_name("rubric.md")
CRITERIA = (
    "factual_accuracy", "citation_accuracy", "completeness", "source_quality", "tool_efficiency",
)  # fmt: skip
MEASURES = tuple(Measure(f"rubric {name.replace('_', ' ')}") for name in CRITERIA)
_TRIES = 4
_LONGEST_WAIT = 60.0
_CLAIMS = 150


class Judgement(Answer):
    score: Share
    """0 useless, 0.5 a careful reader would send it back, 1 nothing to add."""
    reason: str = Field(min_length=1)
    """One or two sentences that name what the score rests on."""


class RubricAnswer(Answer):
    """A report held against five criteria."""

    factual_accuracy: Judgement
    citation_accuracy: Judgement
    completeness: Judgement
    source_quality: Judgement
    tool_efficiency: Judgement


class Judge:
    """Judges reports with one model."""

    def __init__(self, models: Models, model: str) -> None:
        self._models = models
        self._model = LARGE if model == MIXED else model

    async def score(self, result: ResearchResult) -> tuple[dict[str, Pair], JsonObject | str]:
        """The rubric's measures and the judge's reasons; no measures where it could not judge."""
        try:
            answer = await self._answer([say.opening(describe(result))])
        except (ApplicationError, ValidationError) as failed:
            return {}, f"not judged: {failed}"
        measures: dict[str, Pair] = {
            measure.name: (getattr(answer, name).score, 1)
            for name, measure in zip(CRITERIA, MEASURES, strict=True)
        }
        return measures, answer.model_dump()

    async def _answer(self, messages: list[JsonObject]) -> RubricAnswer:
        message = await self._asked(messages)
        try:
            return RubricAnswer.model_validate_json(say.answer_text(message))
        except ValidationError as wrong:
            again = say.complaint([str(e["msg"]) for e in wrong.errors(include_url=False)])
            said = {"role": "assistant", "content": message["content"]}
            message = await self._asked([*messages, said, again])
            return RubricAnswer.model_validate_json(say.answer_text(message))

    async def _asked(self, messages: list[JsonObject]) -> JsonObject:
        """One turn; what passes by itself is waited for, as a workflow would."""
        for tried in range(1, _TRIES + 1):
            try:
                return await self._models.ask(build_request(self._model, messages))
            except ApplicationError as failed:
                if failed.non_retryable or tried == _TRIES:
                    raise
                wait = failed.next_retry_delay
                seconds = wait.total_seconds() if wait else 2.0**tried
                await asyncio.sleep(min(seconds, _LONGEST_WAIT))
        raise AssertionError("a turn is answered or fails")


def build_request(model: str, messages: list[JsonObject]) -> JsonObject:
    """The exact request of a judgement."""
    schema = transform_schema(RubricAnswer.model_json_schema())
    asked: JsonObject = {
        "model": model,
        "max_tokens": 8000,
        "system": [{"type": "text", "text": PROMPT.read_text("utf-8")}],
        "output_config": {"effort": "high", "format": {"type": "json_schema", "schema": schema}},
        "messages": messages,
    }
    if ways := card(model).thinking:
        asked["thinking"] = {"type": ways[0]}
    return asked


def describe(result: ResearchResult) -> JsonObject:
    """What the judge is told: the report, and what it stands on."""
    telemetry = result.telemetry
    return {
        "question": result.question,
        "report": drop_sources(result.report_markdown).strip(),
        "sources": [
            {"n": s.n, "title": s.title, "kind": s.kind, "date": s.date, "authority": s.authority}
            for s in result.sources
            if s.n is not None
        ],
        "claims": [
            {"text": c.text, "verdict": c.verdict, "quotes": [q.text for q in c.quotes]}
            for c in result.claims[:_CLAIMS]
        ],
        "contradictions": [
            {"about": c.about, "sides": [s.text for s in c.sides]} for c in result.contradictions
        ],
        "coverage": [
            {"facet": c.title, "status": c.status, "reason": c.reason,
             "queries": [q for cycle in c.cycles for q in cycle.queries]}
            for c in result.coverage
        ],
        "work": {"turns": telemetry.turns, "subagents": telemetry.spawned,
                 "follow_ups": telemetry.follow_ups, "usd": telemetry.usd,
                 "seconds": telemetry.seconds},
    }  # fmt: skip


def choose_judge(model: str, named: str | None) -> str | None:
    """Which model judges: the one named, else the run's; none where it is the offline engine."""
    chosen = named or model
    return None if chosen == OFFLINE else chosen
