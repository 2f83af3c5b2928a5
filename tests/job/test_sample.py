"""The sample, as a newcomer runs it: one command, real processes, and a report held to the truth.

What is planted in the sample documents is written down in `tests/sample_truth.json` and nowhere
else.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from activities.storage.store import Store

ROOT = Path(__file__).parent.parent.parent
ANSWERED = ("answered", "contested")
TRUTH = json.loads((ROOT / "tests" / "sample_truth.json").read_text("utf-8"))
Report = dict[str, Any]

pytestmark = pytest.mark.timeout(400)


class Run:
    def __init__(self, home: Path) -> None:
        self.home = home
        env = {k: v for k, v in os.environ.items() if not k.startswith(("ANTHROPIC", "TEMPORAL"))}
        self.done = subprocess.run(
            [sys.executable, "starter.py", "run", TRUTH["question"], "--corpus", "sample_corpus",
             "--out", str(home / "out"), "--id", "sample"],
            cwd=ROOT, env=env | {"RESEARCH_HOME": str(home / "state")}, text=True,
            capture_output=True, timeout=110, check=False,
        )  # fmt: skip

    @property
    def report(self) -> Report:
        found: Report = json.loads((self.home / "out" / "report.json").read_text("utf-8"))
        return found

    @property
    def starved(self) -> bool:
        """The machine gave the worker no time for seconds, and it was rightly taken for dead."""
        return "stood still" in (self.home / "state" / "worker.log").read_text("utf-8")

    def section(self, title: str) -> str:
        text: str = self.report["report_markdown"]
        return text.partition(f"\n## {title}\n")[2].partition("\n## ")[0]


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """An undisturbed run; one that the machine was too busy for is made again, twice at most."""
    found = Run(tmp_path_factory.mktemp("sample"))
    for _ in range(2):
        if found.starved:
            found = Run(tmp_path_factory.mktemp("sample"))
    return found


def fold(text: str) -> str:
    return " ".join(text.split())


def test_one_command_writes_three_files_and_says_where(run: Run) -> None:
    assert run.done.returncode == 0, run.done.stdout + run.done.stderr
    for name in ("report.md", "report.html", "report.json"):
        assert (run.home / "out" / name).stat().st_size > 1000
        assert name in run.done.stdout


def test_the_report_says_that_no_language_model_was_used(run: Run) -> None:
    assert "No language model was used" in run.report["report_markdown"]
    assert "offline" in run.done.stdout


def test_every_part_the_question_names_is_a_facet_in_its_own_words(run: Run) -> None:
    titles = [facet["title"] for facet in run.report["plan"]["facets"]]
    assert titles == [
        "What it costs",
        "How it is paid for",
        "How vessels and charging perform",
        "How safe it is",
        "What passengers experience",
        "How insurance and liability are arranged",
    ]


def test_the_report_has_the_published_sections_in_their_order(run: Run) -> None:
    headings = re.findall(r"^## (.+)$", run.report["report_markdown"], re.M)
    facets = [facet["title"] for facet in run.report["plan"]["facets"]]
    ending = ["What is missing", "How this was researched", "Sources"]
    assert [h for h in headings if h != "Where the sources disagree"] == [
        "Summary", *facets, *ending,
    ]  # fmt: skip


def test_the_report_is_short_enough_to_be_read(run: Run) -> None:
    """About six printed pages."""
    assert len(run.report["report_markdown"].split()) < 3500


def test_the_summary_has_a_cited_line_for_each_part_that_was_answered(run: Run) -> None:
    """A contested part has a line for each side, which names its document and date."""
    lines = [line for line in run.section("Summary").splitlines() if line.startswith("- ")]
    told = [line for line in lines if line.startswith("- **")]
    labels = [line[4:].partition(":**")[0] for line in told]
    answered = [c["title"] for c in run.report["coverage"] if c["status"] in ANSWERED]
    assert len(answered) >= 4
    assert list(dict.fromkeys(label.partition(" (")[0] for label in labels)) == answered
    assert all(re.search(r"\[\d+\]", line) for line in told)


def test_the_summary_remarks_on_each_part_that_was_not_answered(run: Run) -> None:
    remarks = [line for line in run.section("Summary").splitlines() if line.startswith("- _")]
    lacking = [c["title"] for c in run.report["coverage"] if c["status"] not in ANSWERED]
    assert lacking
    assert [line[3:].partition(":")[0] for line in remarks] == lacking


def test_what_it_costs_is_answered_with_figures(run: Run) -> None:
    assert re.search(r"EUR \d", run.section("What it costs"))


def test_every_quote_stands_in_the_stored_copy_of_its_source(run: Run) -> None:
    sources = {s["id"]: s for s in run.report["sources"]}
    texts = {}
    for source in sources.values():
        text = asyncio.run(Store.open(str(run.home / "state" / "store")).text(source["sha256"]))
        assert text is not None
        assert hashlib.sha256(text.encode()).hexdigest() == source["sha256"]
        texts[source["id"]] = fold(text)
    quotes = [quote for claim in run.report["claims"] for quote in claim["quotes"]]
    assert len(quotes) > 20
    for quote in quotes:
        assert fold(quote["text"]) in texts[quote["source_id"]]


def test_every_citation_resolves(run: Run) -> None:
    known = {s["n"] for s in run.report["sources"] if s["n"] is not None}
    cited = {int(n) for n in re.findall(r"\[(\d+)\]", run.report["report_markdown"])}
    assert cited == known
    assert known == set(range(1, len(known) + 1))


def test_a_contradiction_is_told_with_sides_of_two_documents_each_cited(run: Run) -> None:
    numbers = {s["id"]: s["n"] for s in run.report["sources"]}
    told = run.section("Where the sources disagree")
    for contradiction in run.report["contradictions"]:
        sides = [set(side["source_ids"]) for side in contradiction["sides"]]
        assert len(sides) > 1
        assert not set.intersection(*sides), "one source stands on both sides"
        assert all(any(f"[{numbers[sid]}]" in told for sid in side) for side in sides)


def test_nothing_that_agrees_is_called_a_contradiction(run: Run) -> None:
    for decoy in TRUTH["decoys"]:
        quotes = [fold(entry["quote"]) for entry in decoy["quotes"]]
        for contradiction in run.report["contradictions"]:
            sides = [fold(side["text"]) for side in contradiction["sides"]]
            hit = {i for i, s in enumerate(sides) if any(q in s or s in q for q in quotes)}
            assert len(hit) < 2, decoy["about"]


def test_an_instruction_in_a_document_changes_nothing(run: Run) -> None:
    text = fold(run.report["report_markdown"])
    assert TRUTH["injection"]["false_claim"] not in text
    assert TRUTH["injection"]["phrase"] not in text


def test_the_sub_domain_without_documents_is_named_as_searched_and_absent(run: Run) -> None:
    terms = [term.lower() for term in TRUTH["missing"]["terms"]]
    absent = [c for c in run.report["coverage"] if c["status"] == "absent"]
    assert absent
    assert all(any(t in c["title"].lower() for t in terms) for c in absent)
    missing = run.section("What is missing").lower()
    assert "absent" in missing
    assert any(term in missing for term in terms)


def test_no_facet_is_silently_missing(run: Run) -> None:
    covered = {entry["facet_id"] for entry in run.report["coverage"]}
    assert covered >= {facet["id"] for facet in run.report["plan"]["facets"]}
    for facet in run.report["plan"]["facets"]:
        assert f"\n## {facet['title']}\n" in run.report["report_markdown"]


def test_unreadable_files_are_listed(run: Run) -> None:
    assert {f["uri"] for f in run.report["unreadable"]} == set(TRUTH["unreadable"])
    for uri in TRUTH["unreadable"]:
        assert uri in run.report["report_markdown"]


def test_nothing_was_bought_twice(run: Run) -> None:
    assert run.report["telemetry"]["turns_bought_again"] == 0
