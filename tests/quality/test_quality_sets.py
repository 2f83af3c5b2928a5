"""What the sets count: reports and labels made by hand, and one set run as jobs."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pytest

from benchmarks.quality import conflicts, contradictions, reference, sentences, topics
from benchmarks.quality.__main__ import main
from benchmarks.quality.ablation import check_family, list_falls
from benchmarks.quality.answers import Peers, compare
from benchmarks.quality.command import Ended, run_command
from benchmarks.quality.enterprise import count as count_enterprise
from benchmarks.quality.finder import list_kept, make_claim
from benchmarks.quality.intervals import estimate
from benchmarks.quality.results import Results, pool_precision
from benchmarks.quality.retrieval import Retrieval
from benchmarks.quality.sets import Case, Options, Outcome
from benchmarks.quality.side_by_side import render_report
from tests.quality.reports import report
from workflows.contracts.result import ResearchResult


def named(*files: str, **changed: Any) -> ResearchResult:
    """The small report, its two sources in these files."""
    sources = [source.model_dump() for source in report().sources]
    for source, file in zip(sources, files, strict=True):
        source["uri"] = file
    return report(sources=sources, **changed)


def documents(*labels: tuple[str, str]) -> list[dict[str, Any]]:
    return [{"type": kind, "answer": answer} for kind, answer in labels]


# --- answers ------------------------------------------------------------------------------------


PEERS = Peers.build(
    [
        {"id": 1, "title": "Ferry", "text": "The ferry was built in Norway. The ferry is red."},
        {"id": 2, "title": "Quay", "text": "The quay was paid for by Ann Lee."},
    ]
)


def told(summary: str, body: str) -> str:
    return f"# T\n\n## Summary\n\n{summary}\n\n## Facet\n\n{body}\n\n## Sources\n\n1. Ann Lee\n"


def test_an_answer_is_looked_for_in_the_parts_of_a_report_and_in_plain_search() -> None:
    query = {"q": "Who paid for the quay?", "answer": "Ann Lee", "aliases": []}
    measures, _ = compare(told("The ferry is red [1]. Ann Lee paid [2].", "Red."), query, PEERS)
    assert measures["first sentence"] == (False, 1)
    assert measures["summary"] == (True, 1)
    assert measures["BM25 first sentence"] == (True, 1)
    assert measures["summary ÷ BM25"] == (True, True)


def test_the_body_of_a_report_is_its_summary_and_its_facets() -> None:
    query = {"q": "Who paid for the quay?", "answer": "Ann Lee", "aliases": []}
    measures, _ = compare(told("Red.", "Ann Lee paid."), query, PEERS)
    assert (measures["summary"], measures["body"]) == ((False, 1), (True, 1))
    measures, _ = compare(told("Ann Lee paid.", "Red."), query, PEERS)
    assert measures["body"] == (True, 1)
    measures, _ = compare(told("Ferry.", "Red."), query, PEERS)
    # Two words of plain search beside the two words of the body.
    assert measures["body ÷ BM25, own length"] == (False, False)


def test_what_stands_beyond_the_longest_summary_does_not_count() -> None:
    query = {"q": "Who paid?", "answer": "Ann Lee", "aliases": ["A. Lee"]}
    filler = "word " * 120
    assert compare(told(f"{filler} Ann Lee.", ""), query, PEERS)[0]["summary"] == (False, 1)
    assert compare(told("Only A. Lee.", ""), query, PEERS)[0]["summary"] == (True, 1)


def test_a_ratio_counts_the_questions_that_only_the_report_answers() -> None:
    found = estimate([(1, 0), (1, 0), (1, 1), (0, 0)], share=False)
    assert found is not None
    assert found.value == 3.0
    assert estimate([(1, 0)], share=False) is None


# --- contradictions -----------------------------------------------------------------------------


def test_distractors_bring_no_second_contradiction() -> None:
    rows = [
        {"title": f"Page {n // 2}", "a": {"title": f"Page {n // 2}", "text": f"a{n}"},
         "b": {"title": f"Page {n // 2}", "text": f"b{n}"}}
        for n in range(40)
    ]  # fmt: skip
    mixed = contradictions.mix_passages(rows, 4, random.Random(7))
    titles = [title for _, (role, title, _) in mixed if not role]
    assert len(titles) == len(set(titles)) == 8
    assert "Page 2" not in titles
    assert {text for _, (role, _, text) in mixed if role} == {"a4", "b4"}


def test_a_contradiction_is_told_only_with_the_two_passages_on_different_sides() -> None:
    pair = named("passage-0.md", "passage-1.md")
    right = contradictions.count(pair, {"passage-0": "a", "passage-1": "b"})
    assert right.measures["told"] == (True, 1)
    assert right.measures["precision"] == (1, 1)
    wrong = contradictions.count(pair, {"passage-0": "a", "passage-1": ""})
    assert wrong.measures["told"] == (False, 1)
    assert wrong.measures["other pairs"] == (1, 1)
    assert wrong.measures["precision"] == (0, 1)
    assert wrong.measures["both cited"] == (False, 1)
    silent = contradictions.count(
        named("passage-0.md", "passage-1.md", contradictions=[]),
        {"passage-0": "a", "passage-1": "b"},
    )
    assert silent.measures["told"] == (False, 1)
    assert silent.measures["both cited"] == (True, 1)
    assert silent.measures["precision"] == (0, 0)


def test_conflicting_answers_are_counted_by_pairs_of_documents() -> None:
    two = named("document-00.md", "document-01.md")
    labels = documents(("correct", "4 million"), ("misinfo", "5 million"), ("misinfo", "6 million"))
    found = conflicts.count(two, labels).measures
    assert found["pairs found"] == (1, 3)
    assert found["pairs precision"] == (1, 1)
    assert found["precision"] == (1, 1)
    assert found["kept"] == (False, 1)
    assert found["parted"] == (False, 1)
    whole = conflicts.count(two, labels[:2]).measures
    assert whole["kept"] == (True, 1)
    assert whole["parted"] == (True, 1)


def test_noise_on_a_side_makes_a_contradiction_false() -> None:
    two = named("document-00.md", "document-01.md")
    found = conflicts.count(two, documents(("correct", "4 million"), ("noise", "unknown"))).measures
    assert found["precision"] == (0, 1)
    assert found["false flags"] == (True, 1)


def test_an_answer_is_kept_by_a_quote_that_the_report_shows() -> None:
    labels = documents(("correct", "4 million"), ("correct", "5 million"))
    files = ("document-00.md", "document-01.md")
    quiet = named(*files, contradictions=[])
    assert conflicts.count(quiet, labels).measures["kept"] == (True, 1)
    cut = named(*files, contradictions=[], report_markdown="## Summary\n\n4 million [1].\n")
    assert conflicts.count(cut, labels).measures["kept"] == (False, 1)


def test_an_answer_is_lost_where_a_side_joins_it_with_another() -> None:
    claims = [
        make_claim(f"document-{n:02d}", "When did it open?", f"It opened in {year}.")
        for n, year in enumerate((1901, 1950))
    ]
    truth = {"document-00": "1901", "document-01": "1950"}
    assert set(list_kept(claims, [], truth)) == {"1901", "1950"}
    assert set(list_kept(claims, [("document-00",), ("document-01",)], truth)) == {"1901", "1950"}
    assert set(list_kept(claims, [("document-00", "document-01")], truth)) == set()


def test_precision_is_counted_over_all_sets(tmp_path: Path) -> None:
    results = Results(tmp_path)
    kept = [
        results.keep(Case(str(n), "g"), Outcome({"precision": pair}))
        for n, pair in enumerate([(3, 4), (0, 1), (0, 0)])
    ]
    (figure,) = pool_precision(kept)
    assert figure.estimate.value == pytest.approx(3 / 5)
    assert figure.estimate.n == 5
    assert pool_precision(kept[2:]) == []


def test_a_contradiction_in_documentation_is_false_unless_somebody_read_it() -> None:
    ended = Ended(0, named("a.rst", "b.rst#part"), "")
    case = Case("flask-1", "flask", {"question": "What is it?", "files": ["b.rst"]})
    found = reference.count(ended, case, set()).measures
    assert (found["own file cited"], found["own file first"]) == ((True, 1), (False, 1))
    assert reference.count(ended, case, set()).measures["precision"] == (0, 1)
    real = {("flask", frozenset({"a.rst", "b.rst"}))}
    assert reference.count(ended, case, real).measures["precision"] == (1, 1)
    failed = reference.count(Ended(1, None, "blocked"), case, real).measures
    assert failed["other exits"] == (True, 1)
    assert "contradictions" not in failed
    assert reference.read_real(reference.READ) == set()


# --- topics, retrieval --------------------------------------------------------------------------


def test_a_topic_counts_what_the_report_lost() -> None:
    topic = topics.Topic(
        "What does the ferry cost?",
        {"price": ("What is paid?", "4"), "crew": ("How many sail?", "7")},
        {},
        (("1.md", "2.md"),),
        {"1.md": "4", "2.md": "5"},
    )
    whole = topics.count(report(), topic)
    assert whole["gaps"] == (1, 2)
    assert whole["contradictions preserved"] == (1, 1)
    assert whole["pairs told"] == (1, 1)
    silent = report(contradictions=[], report_markdown="## Summary\n\nIt costs 4 million. [1]\n")
    lost = topics.count(silent, topic)
    assert lost["contradictions preserved"] == (0, 1)
    assert lost["pairs told"] == (0, 1)


async def test_the_second_cycle_of_retrieval_follows_names(tmp_path: Path) -> None:
    """It lies a document away from the question's words, beyond what the first cycle shows."""
    crowd = [
        {"id": f"x{n}", "title": f"Ferry {n}", "text": f"Who was the builder of ferry {n}, where"
         " was it built and where was it founded?"}
        for n in range(60)
    ]  # fmt: skip
    gold = [
        {
            "id": "tern",
            "title": "MV Tern",
            "text": "The ferry MV Tern has Brekkan Yard as builder.",
        },
        {"id": "yard", "title": "Brekkan Yard", "text": "Two brothers began it in Tholm."},
    ]
    query = {"id": "q", "q": "Where was the builder of MV Tern founded?", "gold": ["tern", "yard"],
             "answer": "Tholm", "aliases": []}  # fmt: skip
    (tmp_path / "qa").mkdir()
    (tmp_path / "qa" / "ferries.json").write_text(
        json.dumps({"corpus": [*crowd, *gold], "queries": [query]})
    )
    measured = Retrieval(Options(data=tmp_path))
    (case,) = measured.cases(None, 7)
    async with measured.start() as run:
        measures = (await run(case)).measures
    assert measures["search all in sight"] == (0.0, 1)
    assert measures["loop all in sight"] == (1.0, 1)
    assert measures["researcher answer in 800 words"] == (1.0, 1)


# --- sentences, enterprise ----------------------------------------------------------------------


def test_a_sentence_is_answered_in_the_summary_or_the_facets_only() -> None:
    content = {"answer": "Ann Lee", "exits": (0, 4), "question": "Who?"}
    hidden = report(report_markdown=told("Nothing.", "Nothing."))
    assert sentences.count(Ended(0, hidden, ""), content).measures["answered"] == (False, 1)
    shown = report(report_markdown=told("Nothing.", "It was Ann Lee [1]."))
    assert sentences.count(Ended(0, shown, ""), content).measures["answered"] == (True, 1)
    blocked = sentences.count(Ended(1, None, ""), content).measures
    assert blocked == {"answered": (False, 1), "right exits": (False, 1)}


def test_files_with_an_insight_are_counted_by_their_kind() -> None:
    items = [
        {"kind": "insight", "files": ["a.xlsx", "b.xlsx"], "answer": "It costs 4 million."},
        {"kind": "insight", "files": ["team_chat_1.txt"], "answer": "9 boats."},
        {"kind": "distractor", "files": ["c.pdf"], "answer": ""},
    ]
    found = count_enterprise(named("a.xlsx#Sheet1", "c.pdf"), {"items": items})
    assert found["spreadsheets"] == (1, 2)
    assert found["chat"] == (0, 1)
    assert "pdf" not in found
    assert found["insights"] == pytest.approx((1 / 3, 1))
    assert found["distractors"] == (0.5, 1)


# --- families of rules --------------------------------------------------------------------------


def test_without_a_family_the_figures_that_fall_are_named(tmp_path: Path) -> None:
    for run, right in (("whole", 1), ("part", 0)):
        results = Results(tmp_path / run / "finder")
        for n in range(12):
            pairs = {"pairs found": (right, 1), "false flags": (right, 1)}
            results.keep(Case(f"c{n}", "g"), Outcome(pairs))
    lines = list(list_falls(tmp_path / "whole", tmp_path / "part", ["finder"]))
    assert lines == ["  finder, all: pairs found 1.000 → 0.000 (-1.000, -1.000 to -1.000)*"]
    assert list(list_falls(tmp_path / "whole", tmp_path / "whole", [])) == []


def test_an_unknown_family_is_refused() -> None:
    with pytest.raises(ValueError, match="famil"):
        check_family("no such family")


# --- whole runs ---------------------------------------------------------------------------------


def test_a_report_for_readers_is_as_printed_without_how_it_was_made() -> None:
    text = render_report(report())
    assert "It costs 4 million. [1]" in text
    assert "**Where the sources disagree**" in text
    assert "Sources" not in text.replace("Where the sources", "")


def test_sides_are_traced_from_the_claims_to_the_ledger_to_the_report() -> None:
    sides = {"1": "a", "2": "b", "3": ""}
    names = ("sides claimed", "sides in ledger", "sides in report")

    def trace(**changed: Any) -> list[tuple[float, float]]:
        found = contradictions.trace_sides(report(**changed), sides)
        return [found[name] for name in names]

    assert trace() == [(2, 2), (2, 2), (2, 2)]
    cut = report().report_markdown.replace("[2]", "")
    assert trace(report_markdown=cut) == [(2, 2), (2, 2), (1, 2)], "the writer lost one"
    assert trace(contradictions=[]) == [(2, 2), (0, 2), (0, 0)], "the verifier lost both"
    (told,) = [entry.model_dump() for entry in report().contradictions]
    assert trace(contradictions=[], differences=[{**told, "relation": "unclear"}]) == trace()
    only = [claim.model_dump() for claim in report().claims[:1]]
    assert trace(claims=only)[0] == (1, 2), "the researcher lost one"


def test_contradictions_are_measured_on_jobs(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    row = {
        "title": "Harrow Bridge",
        "question": "In which year did the Harrow Bridge open?",
        "a": {"title": "Harrow Bridge", "text": "The Harrow Bridge opened in 1901."},
        "b": {"title": "Harrow Bridge", "text": "The Harrow Bridge opened in 1950."},
    }
    (tmp_path / "wikicontradict-unseen.jsonl").write_text(json.dumps(row), "utf-8")
    place = ["--data", str(tmp_path), "--out", str(tmp_path / "runs"),
             "--trend", str(tmp_path / "trend.jsonl")]  # fmt: skip
    assert main(["contradictions", "answers", "sentences", *place]) == 0
    printed = capsys.readouterr().out
    assert "contradictions: wikicontradict-unseen" in printed
    assert "answers: skipped, no *.json with a corpus and questions" in printed
    assert "sentences: skipped, no *.json with a corpus" in printed
    kept = json.loads((tmp_path / "runs" / "latest" / "contradictions.json").read_text("utf-8"))
    values = {one["measure"]: one["value"] for one in kept["figures"]}
    assert {"told", "both cited", "other pairs"} <= set(values)
    assert values["both cited"] == 1.0


async def test_a_command_that_cannot_start_tells_its_exit_code(tmp_path: Path) -> None:
    ended = await run_command("What?", tmp_path / "no folder", tmp_path / "out", Options())
    assert (ended.code, ended.result) == (2, None)
    assert "no folder" in ended.printed
