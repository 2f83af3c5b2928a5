"""Running sets: what is done stays done, what fails is said, what is wrong names the remedy."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from benchmarks.quality.__main__ import main
from benchmarks.quality.jobs import QuestionsError, read_questions
from benchmarks.quality.results import Results, UnknownRun, find_run
from benchmarks.quality.running import run
from benchmarks.quality.sets import Case, Measure, Options, Outcome, Run, draw_cases, find_data


class Counting:
    """A set that remembers what it ran, and fails on what it is told to."""

    name = "counting"
    pooled = False
    measures: tuple[Measure, ...] = (Measure("right"),)

    def __init__(self, options: Options) -> None:
        self.ran: list[str] = []
        self.fails: set[str] = set()

    def cases(self, limit: int | None, seed: int) -> list[Case]:
        return draw_cases([Case(f"case {n}", "g", n) for n in range(6)], limit, seed)

    @asynccontextmanager
    async def start(self) -> AsyncIterator[Run]:
        async def one(case: Case) -> Outcome:
            self.ran.append(case.id)
            if case.id in self.fails:
                raise RuntimeError("the server is gone")
            return Outcome({"right": (1, 1)})

        yield one


def ramdocs(folder: Path) -> None:
    """Questions with two answers in other words each time, under the name of the real set."""
    rows = [
        {
            "question": f"In which year did the {place} bridge open?",
            "documents": [
                {"text": f"The {place} bridge opened in {year}.", "type": kind, "answer": str(year)}
                for year, kind in ((1901 + n, "correct"), (1950 + n, "misinfo"))
            ],
        }
        for n, place in enumerate(["Harrow", "Linden", "Marsh", "Tolby"])
    ]
    lines = [json.dumps(row) for row in rows]
    (folder / "ramdocs-unseen.jsonl").write_text("\n".join(lines), "utf-8")


def broken_off(folder: Path) -> None:
    min(folder.glob("*.json")).write_text('{"case": "ca', "utf-8")


async def test_a_run_that_was_broken_off_goes_on(tmp_path: Path) -> None:
    kind = Counting(Options())
    cases = kind.cases(None, 1)
    results = Results(tmp_path, "this code")
    kind.fails = {"case 2", "case 4"}
    first = await run(kind, cases, results, 2)
    assert len(first.results) == 4
    assert "case 2: RuntimeError: the server is gone" in first.failed
    kind.fails, kind.ran = set(), []
    second = await run(kind, cases, results, 2)
    assert sorted(kind.ran) == ["case 2", "case 4"]
    assert (len(second.results), second.kept, second.failed) == (6, 4, ())


async def test_what_other_code_found_or_other_content_is_run_again(tmp_path: Path) -> None:
    kind = Counting(Options())
    cases = kind.cases(None, 1)
    await run(kind, cases, Results(tmp_path, "old code"), 2)
    await run(kind, cases, Results(tmp_path, "new code"), 2)
    assert len(kind.ran) == 12
    changed = [Case("case 0", "g", "another text"), *cases[1:]]
    await run(kind, changed, Results(tmp_path, "new code"), 2)
    assert kind.ran[12:] == ["case 0"]


async def test_half_a_file_is_not_taken_for_a_result(tmp_path: Path) -> None:
    kind = Counting(Options())
    cases = kind.cases(None, 1)
    results = Results(tmp_path)
    await run(kind, cases, results, 1)
    broken_off(tmp_path)
    again = await run(kind, cases, results, 1)
    assert again.kept == 5
    assert len(again.results) == 6


def test_cases_are_drawn_by_their_seed() -> None:
    kind = Counting(Options())
    assert kind.cases(3, 1) == kind.cases(3, 1)
    assert len(kind.cases(3, 1)) == 3
    assert kind.cases(None, 1) == kind.cases(99, 1)


def test_the_environment_names_the_data(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("RESEARCH_BENCH_DATA", str(tmp_path))
    assert find_data(None) == tmp_path
    assert find_data(str(tmp_path / "given")) == tmp_path / "given"


def test_unseen_files_run_with_the_same_command(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    ramdocs(tmp_path)
    place = ["--data", str(tmp_path), "--out", str(tmp_path / "runs"),
             "--trend", str(tmp_path / "trend.jsonl")]  # fmt: skip
    assert main(["finder", "retrieval", "--record", *place]) == 0
    told = capsys.readouterr().out
    assert "finder: ramdocs-unseen, second half" in told
    assert f"retrieval: skipped, no *.json with a corpus and queries in {tmp_path}" in told
    kept = json.loads((tmp_path / "runs" / "latest" / "finder.json").read_text("utf-8"))
    assert any(one["measure"] == "pairs found" and one["value"] == 1.0 for one in kept["figures"])
    assert main(["finder", "--check", *place]) == 0
    assert "4 of them from before" in capsys.readouterr().out
    assert main(["--compare", "latest", "latest", *place]) == 0
    assert "4 cases in both" in capsys.readouterr().out


def test_the_check_fails_where_a_figure_fell(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    ramdocs(tmp_path)
    trend = tmp_path / "trend.jsonl"
    place = ["--data", str(tmp_path), "--out", str(tmp_path / "runs"), "--trend", str(trend)]
    assert main(["finder", "--record", *place]) == 0
    lines = [json.loads(line) for line in trend.read_text("utf-8").splitlines()]
    better = [{**line, "low": 1.01} for line in lines if line["measure"] == "pairs found"]
    trend.write_text("\n".join(map(json.dumps, better)), "utf-8")
    capsys.readouterr()
    assert main(["finder", *place]) == 0
    assert main(["finder", "--check", *place]) == 1
    assert "fell: finder" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("content", "remedy"),
    [
        ("[]", "add at least one"),
        ("{not json", "neither a JSON list nor one JSON object a line"),
        ('[{"question": "?"}]', 'an entry is {"question": "…", "corpus": "FOLDER"}'),
        ('{"question": "?", "corpus": "nowhere"}', "name the folder of documents"),
        ('{"question": "?", "corpus": ".", "modle": "x"}', "modle"),
        ('[{"question": "?", "corpus": ".", "id": "a"}, {"question": "!", "corpus": ".",'
         ' "id": "a"}]', "give each its own"),
    ],
)  # fmt: skip
def test_a_file_of_questions_that_cannot_be_used_says_what_to_change(
    tmp_path: Path, content: str, remedy: str
) -> None:
    path = tmp_path / "questions.jsonl"
    path.write_text(content, "utf-8")
    with pytest.raises(QuestionsError) as wrong:
        read_questions(path)
    assert remedy in str(wrong.value)
    assert str(path) in str(wrong.value)


def test_questions_are_read_from_a_list_or_line_by_line(tmp_path: Path) -> None:
    asked = {"question": "Why?", "corpus": "papers", "expect": ["because"]}
    (tmp_path / "papers").mkdir()
    listed, lines = tmp_path / "list.json", tmp_path / "lines.jsonl"
    listed.write_text(json.dumps([asked, asked]), "utf-8")
    lines.write_text(f"{json.dumps(asked)}\n\n{json.dumps(asked)}\n", "utf-8")
    assert read_questions(listed) == read_questions(lines)
    assert read_questions(listed)[0].corpus == str(tmp_path / "papers")


def test_mistakes_on_the_command_line_name_the_remedy(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = ["--out", str(tmp_path)]
    assert main(["jobs", "--questions", str(tmp_path / "none.json"), *out]) == 2
    assert "name a JSON or JSONL file" in capsys.readouterr().err
    assert main(["poetry", *out]) == 2
    assert "choose from finder, retrieval" in capsys.readouterr().err
    assert main(["--set", "effort", *out]) == 2
    assert "write NAME=VALUE" in capsys.readouterr().err
    with pytest.raises(UnknownRun, match="--run before"):
        find_run("before", tmp_path)
