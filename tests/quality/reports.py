"""A small finished job, as its report.json has it."""

from __future__ import annotations

from typing import Any

from workflows.contracts.result import ResearchResult

TEXT = "The ferry costs  4 million.\nThe harbour office says 5 million."


def report(**changed: Any) -> ResearchResult:
    sources = [
        {"n": n, "id": f"s{n}", "uri": f"{n}.md", "title": f"Paper {n}", "date": None,
         "kind": "report", "authority": 0.2 * n, "origin": f"o{n}", "sha256": f"h{n}"}
        for n in (1, 2)
    ]  # fmt: skip
    claims = [
        {"id": f"c{n}", "facet_id": "f1", "text": "It costs.", "verdict": "supported",
         "confidence": 0.8, "quotes": [{"source_id": f"s{n}", "text": quote}]}
        for n, quote in ((1, "The ferry costs 4 million."), (2, "office says 5 million"))
    ]  # fmt: skip
    sides = [{"text": "4", "claim_ids": ["c1"], "source_ids": ["s1"]},
             {"text": "5", "claim_ids": ["c2"], "source_ids": ["s2"]}]  # fmt: skip
    told = {
        "id": "job",
        "question": "What does the ferry cost?",
        "status": "complete",
        "model": "offline",
        "plan": {"kind": "overview", "facets": []},
        "coverage": [
            {"facet_id": "f1", "status": "contested", "reason": "",
             "cycles": [{"queries": ["ferry", "cost"]}, {"queries": ["price"]}]},
            {"facet_id": "f2", "status": "absent", "reason": ""},
        ],
        "sources": sources,
        "claims": claims,
        "contradictions": [{"id": "x", "about": "cost", "sides": sides, "explanation": ""}],
        "telemetry": {"turns": 6, "usd": 0.5, "seconds": 3.0},
        "report_markdown": (
            "# Ferries\n\n## Summary\n\nIt costs 4 million. [1]\n\n"
            "## Where the sources disagree\n\n- 4 million [1]\n- 5 million [2]\n\n"
            "## Sources\n\n1. Paper 1\n"
        ),
    }  # fmt: skip
    return ResearchResult.model_validate({**told, **changed})
