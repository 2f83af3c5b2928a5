"""The model's stand-in at the wire of our own system: the topology's answers, after a fixed time.

It stands where the network would, so the client, its requests and its streams are the real ones.
The model's name carries the job and how long a turn takes: `stub@JOB@SECONDS`. Documents, facets
and answers are made so that a job takes exactly the topology's turns, and the reviewer's besides:
four of five facets hold two figures that differ, and the first draft lacks one thing.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

import httpx2

from activities.offline.transport import body, events
from benchmarks.engines.topology import RESEARCHERS, VERIFIED, TurnLog

JsonObject = dict[str, Any]
MODEL = "stub"
QUESTION = "What is known about the ferries, the bridges, the tunnels, the airports and the trams?"
SUBJECTS = ("ferries", "bridges", "tunnels", "airports", "trams")
MEASURES = ("passengers", "crossings", "vehicles", "flights", "riders")
_UPKEEP = "upkeep"
_UNITS = (
    "The {subject} of the county carried {n},000 {measure} in 2024.",
    "Staff at the {subject} work in two shifts; the {office} has counted since 2019.",
)


def write_documents(folder: Path) -> None:
    """Two documents for every facet, by two offices; a third on what the first draft lacks."""
    folder.mkdir(parents=True, exist_ok=True)
    for i in range(RESEARCHERS):
        subject, measure = SUBJECTS[i], MEASURES[i]
        for k, office in enumerate(("operator", "statistics bureau")):
            n = 400 + 10 * i + (70 * k if i < VERIFIED else 0)
            words = [u.format(subject=subject, measure=measure, n=n, office=office) for u in _UNITS]
            _write(folder / f"{subject}_{k}.md", f"{subject}: {office}", words)
    for k, office in enumerate(("council", "auditor")):
        cost = f"The {_UPKEEP} of the ferries cost {12 + 5 * k} million euros in 2024."
        _write(folder / f"{_UPKEEP}_{k}.md", f"{_UPKEEP}: {office}", [cost])


def _write(file: Path, title: str, words: list[str]) -> None:
    file.write_text(f"# {title}\n\nDate: 2025-03-01\n\n{chr(10).join(words)}\n", "utf-8")


class Stub(httpx2.AsyncBaseTransport):
    def __init__(
        self, log: TurnLog, seconds: Callable[[str, JsonObject], float] | None = None
    ) -> None:
        """`seconds` says how long a turn of this schema takes; else the model's name does."""
        self._log = log
        self._seconds = seconds

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        raw = await request.aread()
        asked: JsonObject = json.loads(raw)
        ident = hashlib.sha256(raw).hexdigest()[:24]
        wants_stream = bool(asked.pop("stream", False))
        _, job, latency = str(asked["model"]).split("@")
        schema = str(asked["output_config"]["format"]["schema"]["title"])
        brief = _brief(asked)
        seconds = self._seconds(schema, brief) if self._seconds else float(latency)
        turn = self._log.turn(job, f"{schema}-{ident}", seconds)
        message = _message(asked["model"], ident, _ANSWERS[schema](brief, asked["messages"]))
        if not wants_stream:
            await turn
            return httpx2.Response(200, json=message)
        kind = {"content-type": "text/event-stream"}
        return httpx2.Response(200, headers=kind, stream=_Speech(message, turn))


class _Speech(httpx2.AsyncByteStream):
    """An answer that begins at once and takes its time, as a model's does."""

    def __init__(self, message: JsonObject, turn: Awaitable[None]) -> None:
        self._message = message
        self._turn = turn

    async def __aiter__(self) -> AsyncIterator[bytes]:
        first, *rest = events(self._message)
        yield body([first])
        await self._turn
        yield body(rest)


def _brief(asked: JsonObject) -> JsonObject:
    words = asked["messages"][0]["content"][0]["text"]
    found: JsonObject = json.loads(words.removeprefix("<brief>").removesuffix("</brief>"))
    return found


def _message(model: str, ident: str, answer: JsonObject) -> JsonObject:
    call = answer.get("call")
    block = (
        {"type": "tool_use", "id": f"toolu_{ident}", "name": call, "input": answer["input"]}
        if call
        else {"type": "text", "text": json.dumps(answer)}
    )
    return {
        "id": f"msg_{ident}",
        "type": "message",
        "role": "assistant",
        "model": model,
        "content": [block],
        "stop_reason": "tool_use" if call else "end_turn",
        "stop_sequence": None,
        "usage": {"input_tokens": 1000, "output_tokens": 100},
    }


def _plan(brief: JsonObject, _: list[JsonObject]) -> JsonObject:
    return {"kind": "overview", "facets": [
        {"id": subject, "title": subject.capitalize(), "boundary": "the other facets",
         "question": f"How many {measure} did the {subject} of the county carry?",
         "prefer": "reports", "reason": "named in the question"}
        for subject, measure in zip(SUBJECTS, MEASURES, strict=True)]}  # fmt: skip


def _review(_: JsonObject, __: list[JsonObject]) -> JsonObject:
    return {"changes": []}


def _research(brief: JsonObject, messages: list[JsonObject]) -> JsonObject:
    """Two searches, then what the documents say: a claim for each that gives a figure."""
    turn = len(messages) // 2
    word = _UPKEEP if _UPKEEP in brief["ask"] else str(brief["facet"]["title"]).lower()
    if turn < 2:
        query = f"{word} county" if turn == 0 else f"{word} 2024"
        return {"call": "search", "input": {"query": query, "aim": f"figures on {word}"}}
    found = {
        text: source
        for source, text in _sentences(messages)
        if f"{word} of the" in text and "2024" in text
    }
    claims = [
        {"text": text, "quotes": [{"source_id": source, "text": text}], "confidence": 0.9,
         "relevance": 0.9}
        for text, source in found.items()
    ]  # fmt: skip
    return {"summary": f"What is known of {word}.", "claims": claims, "exhausted": True}


def _sentences(messages: list[JsonObject]) -> Iterator[tuple[str, str]]:
    for message in messages:
        for block in message["content"] if message["role"] == "user" else ():
            for result in block["content"] if block["type"] == "tool_result" else ():
                if result["type"] == "search_result":
                    for sentence in result["content"]:
                        yield result["source"], sentence["text"].strip()


def _verify(brief: JsonObject, _: list[JsonObject]) -> JsonObject:
    known = {claim["id"]: claim for claim in brief["claims"]}

    def group(shown: JsonObject) -> JsonObject:
        claims = [known[claim_id] for claim_id in shown["claim_ids"]]
        return {
            "group": shown["group"],
            "claim_ids": [claim["id"] for claim in claims],
            "relation": "contradicts",
            "about": shown["about"] or claims[0]["text"],
            "sides": [{"text": claim["text"], "claim_ids": [claim["id"]]} for claim in claims],
            "cause": "method",
            "explanation": "the offices count differently",
            "rulings": [
                {"claim_id": claim["id"], "verdict": "supported", "confidence": 0.9}
                for claim in claims
            ],
        }

    return {"groups": [group(shown) for shown in brief["groups"] if shown["sides"]]}


def _judge_claims(brief: JsonObject, _: list[JsonObject]) -> JsonObject:
    return {"claims": [{"claim_id": c["id"], "verdict": "entailed"} for c in brief["claims"]]}


def _judge_gaps(brief: JsonObject, _: list[JsonObject]) -> JsonObject:
    return {
        "gaps": [
            {"gap_id": gap["id"], "status": "closed", "reason": "new claims answer it"}
            for gap in brief["gaps"]
        ]
    }


def _judge_draft(brief: JsonObject, _: list[JsonObject]) -> JsonObject:
    return {"verdicts": [{"id": one["id"], "verdict": "entailed"} for one in brief["sentences"]]}


def _write_report(brief: JsonObject, _: list[JsonObject]) -> JsonObject:
    lines: dict[str, list[str]] = {}
    for claim in brief["claims"]:
        cites = "".join(f"[{n}]" for n in claim["cite"])
        lines.setdefault(claim["facet_id"], []).append(f"{claim['text']} {cites}")
    told = [
        {
            "contradiction_id": c["id"],
            "markdown": "\n".join(
                f"- {side['text']} {''.join(f'[{n}]' for n in side['cite'])}" for side in c["sides"]
            ),
        }
        for c in brief["contradictions"]
    ]
    first = next(iter(lines.values()), ["_Nothing was found._"])[0]
    sections = [{"facet_id": facet, "markdown": "\n\n".join(text)} for facet, text in lines.items()]
    gaps = "\n".join(f"- {gap['text']}" for gap in brief["gaps"])
    return {
        "title": "What is known",
        "summary": first,
        "sections": sections,
        "contradictions": told,
        "gaps": gaps,
        "conclusion": " ".join(text[-1] for text in lines.values()),
    }


def _evaluate(brief: JsonObject, _: list[JsonObject]) -> JsonObject:
    gap = {"facet_id": SUBJECTS[0], "kind": "thin", "text": "Upkeep is left out.",
           "question": f"What does the {_UPKEEP} of the ferries cost?"}  # fmt: skip
    return {"judgements": [], "gaps": [] if brief["pass"] else [gap]}


_ANSWERS: dict[str, Callable[[JsonObject, list[JsonObject]], JsonObject]] = {
    "PlanDraft": _plan,
    "PlanReview": _review,
    "ResearchAnswer": _research,
    "EntailmentAnswer": _judge_claims,
    "RelationsAnswer": _verify,
    "GapRulingsAnswer": _judge_gaps,
    "DraftAnswer": _write_report,
    "DraftJudgement": _judge_draft,
    "EvaluationAnswer": _evaluate,
}


def answer_to(schema: str, brief: JsonObject) -> JsonObject:
    """The stub's answer to a first message."""
    return _ANSWERS[schema](brief, [])
