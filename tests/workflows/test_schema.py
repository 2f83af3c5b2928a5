"""The published schema of `report.json` says what the code does."""

from __future__ import annotations

import json
from pathlib import Path

from workflows.contracts.result import ResearchResult

PUBLISHED = Path(__file__).parents[2] / "workflows" / "contracts" / "report.schema.json"


def test_the_published_schema_is_the_one_in_force() -> None:
    """After a change: write `ResearchResult.model_json_schema()` into the file, and say so."""
    assert json.loads(PUBLISHED.read_text("utf-8")) == ResearchResult.model_json_schema()


def test_the_names_outside_scripts_rely_on_are_there() -> None:
    fields = ResearchResult.model_json_schema()["properties"]
    assert set(fields) >= {
        "id", "question", "status", "model", "plan", "coverage", "sources", "claims",
        "contradictions", "gaps", "passes", "telemetry", "report_markdown",
    }  # fmt: skip
