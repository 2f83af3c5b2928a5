"""Whole jobs with a writer and a judge at the wire: only what holds is published."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tests.simulator.brains import Brain, ByTitle, Offline, Turn, json_answer
from tests.simulator.jobs import (
    Office,
    Wire,
    brief,
    credentials,
    documents,
    office,
    refused,
    temporal,
)
from tests.simulator.simulator import Simulator

__all__ = ["credentials", "documents", "office", "temporal"]

JsonObject = dict[str, Any]
QUESTION = "How many passengers did the harbour line carry, and what are its fares?"


class Writer:
    """Writes prose of its own about the first two claims that hold a figure."""

    def __init__(self, false: str = "") -> None:
        self.false = false
        self.briefs: list[JsonObject] = []

    def __call__(self, body: JsonObject) -> Turn:
        asked = brief(body)
        self.briefs.append(asked)
        one, other, *_ = [claim for claim in asked["claims"] if claim["cite"]]
        cites = sorted({*one["cite"], *other["cite"]})
        listed = ", ".join(map(str, cites))
        section = (
            f"Two points matter. {one['text']} {other['text']} [{listed}] {self.false}".strip()
        )
        return json_answer(
            {
                "title": "The harbour line",
                "summary": f"{one['text']} [{listed}]\n\nThat is one of two points.",
                "sections": [
                    {"facet_id": facet["id"], "markdown": section} for facet in asked["facets"]
                ],
                "conclusion": "Taken together, the sources speak of one line.",
                "derived": [],
                "contradictions": [
                    {"contradiction_id": one["id"], "markdown": " ".join(
                        f"{side['text']} [{', '.join(map(str, side['cite']))}]"
                        for side in one["sides"])}
                    for one in asked["contradictions"]
                ],
                "gaps": "\n".join(f"- {gap['text']}" for gap in asked["gaps"]),
            }
        )  # fmt: skip


class Judge:
    def __init__(self, false: str = "") -> None:
        self.false = false

    def __call__(self, body: JsonObject) -> Turn:
        asked = brief(body)
        return json_answer(
            {
                "verdicts": [
                    {"id": one["id"], "reason": "no claim says so"}
                    | {"verdict": "unsupported" if self._is_false(one["text"]) else "entailed"}
                    for one in asked["sentences"]
                ],
                "named_gaps": [gap["id"] for gap in asked["unnamed_gaps"]],
            }
        )

    def _is_false(self, text: str) -> bool:
        return bool(self.false) and self.false in text


async def test_synthesis_and_usual_citations_pass_and_the_judge_is_on_the_bill(
    office: Office, documents: str
) -> None:
    writer = Writer()
    wire = Wire(Simulator(ByTitle({"DraftAnswer": writer, "DraftJudgement": Judge()}, Offline())))
    result = await office.run(
        wire, QUESTION, corpus=documents, max_passes=0,
        audience="the council", length="one page", tone="plain", pinned=("The line is municipal.",),
    )  # fmt: skip
    assert refused(wire.simulator.records) == []
    assert result.mended == ()
    assert "Two points matter." in result.report_markdown
    assert "That is one of two points." in result.report_markdown
    assert "## What this adds up to" in result.report_markdown
    assert result.telemetry.by_role["draft_judge"].turns == 1
    told = writer.briefs[0]
    assert told["wishes"] == {"audience": "the council", "length": "one page", "tone": "plain"}
    assert told["pinned"] == ["The line is municipal."]
    assert told["language"] == "English"
    assert "add up to" in told["form"]


async def test_a_false_sentence_goes_back_twice_and_then_alone_gives_way(
    office: Office, documents: str
) -> None:
    false = "The line was closed for good."
    writer = Writer(false)
    brains: dict[str, Brain] = {"DraftAnswer": writer, "DraftJudgement": Judge(false)}
    wire = Wire(Simulator(ByTitle(brains, Offline())))
    result = await office.run(wire, QUESTION, corpus=documents, max_passes=0)
    assert len(writer.briefs) == 3
    assert false not in result.report_markdown
    assert "Two points matter." in result.report_markdown
    assert "Nothing that could be cited" not in result.report_markdown
    assert any("no claim says so" in note for note in result.mended)


async def test_the_askers_points_are_judged_each_pass_and_what_fails_is_researched(
    office: Office, documents: str, tmp_path: Path
) -> None:
    def evaluate(body: JsonObject) -> Turn:
        asked = brief(body)
        assert [point["text"] for point in asked["rubric"]] == ["Names the fares", "Has a date"]
        first = asked["pass"] == 0
        cite = asked["claims"][0]["cite"]
        return json_answer(
            {
                "judgements": [],
                "gaps": [],
                "rubric": [
                    {"point": 1, "status": "met", "reason": "It does.", "cite": cite},
                    {"point": 2, "status": "not_met" if first else "met", "reason": "None yet.",
                     "cite": [] if first else cite},
                ],
            }
        )  # fmt: skip

    wire = Wire(Simulator(ByTitle({"EvaluationAnswer": evaluate}, Offline())))
    result = await office.run(
        wire, QUESTION, corpus=documents, max_passes=1, rubric=("Names the fares", "Has a date")
    )
    assert [(one.point, one.status) for one in result.rubric] == [
        ("Names the fares", "met"),
        ("Has a date", "met"),
    ]
    gap = next(gap for gap in result.gaps if gap.id == "rubric-2")
    assert gap.question == "Has a date"
    assert [done.n for done in result.passes] == [0, 1]
    cited = {source.n for source in result.sources if source.n}
    assert set(result.rubric[0].cite) <= cited
    table = result.report_markdown.partition("## The points you asked for")[2]
    assert "| Names the fares | met | It does. [" in table
    assert json.loads(result.model_dump_json())["rubric"][0]["status"] == "met"
