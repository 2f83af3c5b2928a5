"""Documents and a model's stand-in for jobs of any size, at the wire and without delay.

The model's name says how large: `grow@FACETS@CLAIMS@PASSES`, claims by facet. Each facet is a town
with a document of its own; a fifth of its claims are pairs that give one thing two figures, so that
there is something to verify. A pass looks into two gaps.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import httpx2

from activities.offline.transport import streamed
from benchmarks.engines import stub
from benchmarks.engines.stub import JsonObject

QUESTION = "What do the towns of the county count, and how much of it?"
MODEL = "grow"
GAPS = 2
MOST_CLAIMS = 50
_SPARE = 10
"""Sentences that only a follow-up asks for."""
TOWNS = tuple(
    first + last
    for first in ("Ald", "Brax", "Corl", "Dun", "Elver", "Fenn", "Gris", "Hollow", "Ilm", "Jast")
    for last in ("mere", "stead", "wick", "ford", "gate", "burgh")
)
_WHAT = ("bridge", "harbour", "school", "clinic", "market", "station", "library", "museum",
         "bakery", "garage", "quarry", "tunnel")  # fmt: skip
_MEASURES = ("visitors", "vehicles", "letters", "tonnes", "workers", "meals")


@dataclass(frozen=True)
class Shape:
    """How large a job is."""

    facets: int
    claims: int
    passes: int

    @property
    def model(self) -> str:
        return f"{MODEL}@{self.facets}@{self.claims}@{self.passes}"

    @classmethod
    def named(cls, model: str) -> Shape:
        return cls(*(int(part) for part in model.split("@")[1:]))


def sentence(town: int, n: int, value: int) -> str:
    what, measure = _WHAT[n % len(_WHAT)], _MEASURES[n // len(_WHAT)]
    return f"The {TOWNS[town]} {what} counted {value} {measure} in 2024."


def said(town: int) -> list[str]:
    """All of a town's sentences; of every five, the last two are about one thing."""
    return [
        sentence(town, n - (n % 5 == 4), 1000 + 61 * town + 7 * n + 400 * (n % 5 == 4))
        for n in range(MOST_CLAIMS + _SPARE)
    ]


def write_documents(folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for n, town in enumerate(TOWNS):
        sentences = said(n)
        body = "\n\n".join(" ".join(sentences[i : i + 6]) for i in range(0, len(sentences), 6))
        words = f"# Town records of {town}\n\nDate: 2025-02-03\n\n{body}\n"
        (folder / f"{town.lower()}.md").write_text(words, "utf-8")


class Library(httpx2.AsyncBaseTransport):
    """Answers at once, as large as the model's name says."""

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        raw = await request.aread()
        body: JsonObject = json.loads(raw)
        wants_stream = bool(body.pop("stream", False))
        answer = _answer(body, Shape.named(str(body["model"])))
        message = stub._message(body["model"], hashlib.sha256(raw).hexdigest()[:24], answer)
        return streamed(message) if wants_stream else httpx2.Response(200, json=message)


def _answer(body: JsonObject, shape: Shape) -> JsonObject:
    brief, messages = stub._brief(body), body["messages"]
    match body["output_config"]["format"]["schema"]["title"]:
        case "PlanDraft":
            return {"kind": "overview", "facets": [_facet(n) for n in range(shape.facets)]}
        case "PlanReview":
            return {"changes": []}
        case "ResearchAnswer":
            return _research(brief, messages, shape)
        case "EntailmentAnswer" | "RelationsAnswer" | "GapRulingsAnswer" | "DraftJudgement" as name:
            return stub._ANSWERS[name](brief, messages)
        case "DraftAnswer":
            return _write(brief)
        case "EvaluationAnswer":
            return _evaluate(brief, shape)
        case other:
            raise ValueError(f"the library has no answer to {other}")


def _facet(n: int) -> JsonObject:
    town = TOWNS[n]
    return {
        "id": f"town-{n:02}",
        # Few words: facets that share most of theirs would be taken for one.
        "title": town,
        "question": f"What does {town} say?",
        "boundary": "the other towns",
        "prefer": "the town's own records",
        "reason": "one of the towns",
    }


def _research(brief: JsonObject, messages: Sequence[JsonObject], shape: Shape) -> JsonObject:
    """One search, then the claims; or the one sentence a follow-up asks for."""
    town = next(n for n, name in enumerate(TOWNS) if brief["facet"]["title"].endswith(name))
    if len(messages) == 1:
        query = f"Town records of {TOWNS[town]}"
        return {"call": "search", "input": {"query": query, "aim": "the records"}}
    source = next(
        result["source"]
        for block in messages[-1]["content"]
        if block["type"] == "tool_result"
        for result in block["content"]
        if result["type"] == "search_result" and result["title"].endswith(TOWNS[town])
    )
    sentences = said(town)
    number = brief["ask"].rpartition("record number ")[2].split()[0].strip("?.")
    wanted = [sentences[int(number)]] if number.isdigit() else sentences[: shape.claims]
    claims = [
        {"text": text, "quotes": [{"source_id": source, "text": text}], "confidence": 0.9,
         "relevance": 0.9}
        for text in wanted
    ]  # fmt: skip
    return {"summary": f"What {TOWNS[town]} counts.", "claims": claims, "exhausted": True}


def _write(brief: JsonObject) -> JsonObject:
    """The first and the last claim of each facet, every contradiction, every gap."""
    whole = stub._write_report(brief, [])
    for section in whole["sections"]:
        paragraphs = section["markdown"].split("\n\n")
        section["markdown"] = "\n\n".join(dict.fromkeys((paragraphs[0], paragraphs[-1])))
    return whole


def _evaluate(brief: JsonObject, shape: Shape) -> JsonObject:
    n = int(brief["pass"])
    if n >= shape.passes:
        return {"judgements": [], "gaps": []}
    towns = [(n * GAPS + k) % shape.facets for k in range(GAPS)]
    number = MOST_CLAIMS + n
    return {"judgements": [], "gaps": [
        {"facet_id": f"town-{town:02}", "kind": "thin",
         "text": f"Record number {number} of {TOWNS[town]} is left out.",
         "question": f"What does record number {number} of {TOWNS[town]} say?"}
        for town in towns]}  # fmt: skip
