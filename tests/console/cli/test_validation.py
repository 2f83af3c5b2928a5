"""Bad input gets one sentence with the remedy and exit code 2, before anything is started."""

from __future__ import annotations

import shutil
import socket
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from typer.testing import CliRunner

from console.cli.app import app
from console.client import validation
from console.client.job_options import JobOptions
from console.client.research_request import build_request, describe_budget
from console.errors import BadInputError, ExitCode
from workflows.config.model_catalog import DEFAULT_CLAUDE, MEDIUM, MIXED
from workflows.config.settings import Settings
from workflows.contracts.facets import Effort
from workflows.contracts.request import MAX_QUESTION_WORDS, OFFLINE, Approval, Web
from workflows.contracts.spend import Budget


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working directory with a small corpus in it, and an environment without any setting."""
    for name in ("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "ANTHROPIC_BASE_URL"):
        monkeypatch.delenv(name, raising=False)
    for name in ("TEMPORAL_ADDRESS", "TEMPORAL_PROFILE", "TEMPORAL_CONFIG_FILE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("RESEARCH_HOME", "home")
    monkeypatch.delenv("RESEARCH_STORE", raising=False)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "a.md").write_text("Something is written here.")
    (tmp_path / "empty.md").write_text("# Points\n\n")
    (tmp_path / "long.txt").write_text("a point\n" * 41)
    (tmp_path / "bytes.txt").write_bytes(b"\xff\xfe\xfa")
    (tmp_path / "pictures").mkdir()
    (tmp_path / "pictures" / "a.png").write_bytes(b"")
    return tmp_path


class Case(NamedTuple):
    arguments: list[str]
    said: str


GOOD = ["what is written", "--corpus", "docs"]
CASES = {
    "empty question": Case(["", "--corpus", "docs"], "question is empty: put it in quotes"),
    "blank question": Case([" \n?! ", "--corpus", "docs"], "question is empty"),
    "20,000 words": Case(
        ["word " * 20_000, "--corpus", "docs"], "20,000 words, the maximum is 2,000"
    ),
    "one endless word": Case(["w" * 50_000, "--corpus", "docs"], "50,000 characters"),
    "missing folder": Case(["q", "--corpus", "nowhere"], "correct --corpus"),
    "a file for a folder": Case(["q", "--corpus", "docs/a.md"], "is a file: give --corpus the"),
    "empty folder": Case(["q", "--corpus", "pictures"], "holds no document that can be read"),
    "no folder, no key": Case(["q"], "name a folder with --corpus DIR"),
    "missing rubric": Case(
        [*GOOD, "--rubric", "none.md"],
        "none.md cannot be read as text (No such file or directory): correct --rubric",
    ),
    "empty rubric": Case([*GOOD, "--rubric", "empty.md"], "names no point: write one a line"),
    "long rubric": Case([*GOOD, "--rubric", "long.txt"], "41 points"),
    "rubric that is no text": Case([*GOOD, "--rubric", "bytes.txt"], "cannot be read as text"),
    "folder as rubric": Case([*GOOD, "--rubric", "docs"], "cannot be read as text"),
    "endless wish": Case([*GOOD, "--tone", "x" * 400], "--tone has 400 characters"),
    "unknown model": Case([*GOOD, "--model", "gpt-9"], "(a model per role), claude-opus"),
    "empty model": Case([*GOOD, "--model", ""], "choose one of"),
    "no key": Case([*GOOD, "--model", DEFAULT_CLAUDE], "set ANTHROPIC_API_KEY, or use --model off"),
    "negative budget": Case([*GOOD, "--budget-usd", "-1"], "an amount above 0"),
    "zero budget": Case([*GOOD, "--budget-usd", "0"], "an amount above 0"),
    "budget not a number": Case([*GOOD, "--budget-usd", "nan"], "an amount above 0"),
    "endless budget": Case([*GOOD, "--budget-usd", "inf"], "omit it for no limit"),
    "negative passes": Case([*GOOD, "--max-passes", "-1"], "give a number from 0 to 20"),
    "no facets": Case([*GOOD, "--max-facets", "0"], "give a number from 1 to 60"),
    "unknown effort": Case([*GOOD, "--effort", "heroic"], "choose one of quick, standard, deep"),
    "id with a space": Case([*GOOD, "--id", "my job"], "1 to 200 letters"),
    "id of a child": Case([*GOOD, "--id", "job/pass-1"], "1 to 200 letters"),
    "endless id": Case([*GOOD, "--id", "x" * 2000], "1 to 200 letters"),
    "empty id": Case([*GOOD, "--id", ""], "1 to 200 letters"),
    "out is a file": Case([*GOOD, "--out", "docs/a.md"], "is a file: choose another folder"),
    "no tokens": Case([*GOOD, "--budget-tokens", "0"], "--budget-tokens a number above 0"),
    "web offline": Case([*GOOD, "--web"], "offline model uses no network: omit --web"),
    "code offline": Case([*GOOD, "--code"], "--code needs a Claude model"),
    "economy offline": Case([*GOOD, "--economy"], "--economy needs a Claude model"),
    "domain, no web": Case([*GOOD, "--allow-domain", "a.org"], "add --web, or omit them"),
    "both domains": Case(
        [*GOOD, "--allow-domain", "a.org", "--block-domain", "b.org"], "exclude each other"
    ),
    "no time": Case([*GOOD, "--approve-within", "soon"], "write it as 7d, 2h or 30m"),
    "no time at all": Case([*GOOD, "--approve-within", ""], "write it as 7d, 2h or 30m"),
    "too long a time": Case([*GOOD, "--approve-within", "900h"], "at most 30d"),
    "odd default": Case([*GOOD, "--unanswered", "perhaps"], "write approve or reject"),
    "out inside a file": Case(
        [*GOOD, "--out", "docs/a.md/out"], "choose another folder with --out"
    ),
}


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_bad_input_is_refused_with_its_remedy(place: Path, case: Case) -> None:
    ended = CliRunner().invoke(app, ["run", *case.arguments])

    assert ended.exit_code == ExitCode.BAD_INPUT
    assert ended.stderr.startswith("Error: ")
    assert case.said in ended.stderr
    assert ended.stderr.count("\n") == 1
    assert not list(place.rglob("temporal.sqlite")), "something was started"


def test_a_port_in_use_is_refused(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        monkeypatch.setenv("RESEARCH_TEMPORAL_PORT", str(port))
        ended = CliRunner().invoke(app, ["run", *GOOD])

    assert ended.exit_code == ExitCode.BAD_INPUT
    assert f"Port {port} is in use: choose another with RESEARCH_TEMPORAL_PORT" in ended.stderr


@pytest.mark.parametrize("port", ["http", "80", "70000", "-1"])
def test_a_port_that_is_none_is_refused(
    place: Path, monkeypatch: pytest.MonkeyPatch, port: str
) -> None:
    monkeypatch.setenv("RESEARCH_TEMPORAL_PORT", port)
    ended = CliRunner().invoke(app, ["run", *GOOD])

    assert ended.exit_code == ExitCode.BAD_INPUT
    assert "from 1024 to 65535" in ended.stderr


def test_a_full_disk_is_refused(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    usage = shutil.disk_usage(place)._replace(free=1_000_000)
    monkeypatch.setattr("shutil.disk_usage", lambda _: usage)
    ended = CliRunner().invoke(app, ["run", *GOOD])

    assert ended.exit_code == ExitCode.BAD_INPUT
    assert "1 MB left and 50 MB are needed: free some" in ended.stderr


def test_a_setting_that_cannot_be_used_is_refused(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RESEARCH_WORKER_SUBAGENTS", "many")
    ended = CliRunner().invoke(app, ["run", *GOOD])

    assert ended.exit_code == ExitCode.BAD_INPUT
    assert "correct the RESEARCH_* variables" in ended.stderr


def test_start_without_a_server_names_the_way_out(place: Path) -> None:
    ended = CliRunner().invoke(app, ["start", *GOOD])

    assert ended.exit_code == ExitCode.BAD_INPUT
    assert "set TEMPORAL_ADDRESS, or use `run`" in ended.stderr


def test_a_list_of_an_unknown_status_is_refused(place: Path) -> None:
    ended = CliRunner().invoke(app, ["list", "--status", "odd"])

    assert ended.exit_code == ExitCode.BAD_INPUT
    assert "choose one of blocked, paused, awaiting_approval, running" in ended.stderr


def test_good_input_becomes_a_request_with_an_absolute_folder(place: Path) -> None:
    options = JobOptions(
        question=" why? ok ",
        corpus="docs",
        effort="Deep",
        max_passes=0,
        max_facets=3,
        budget_usd=1.5,
    )
    request = build_request(options, Settings.read({}))

    assert request.question == "why? ok"
    assert request.corpus == str(place / "docs")
    assert (request.effort, request.max_passes, request.max_facets) == (Effort.DEEP, 0, 3)
    assert (request.budget.usd, request.model) == (1.5, OFFLINE)
    assert (request.web, request.approval, request.models) == (None, None, {})


KEY = {"ANTHROPIC_API_KEY": "k"}


def test_a_key_brings_claude_the_web_and_a_limit() -> None:
    for effort, usd in {"quick": 1, "standard": 4, "deep": 20}.items():
        request = build_request(JobOptions(question="q", effort=effort), Settings.read(KEY))
        assert (request.model, request.web, request.corpus) == (MIXED, Web(), None)
        assert request.budget == Budget(usd=usd)
    assert describe_budget(request, by_default=True) == (
        "Spends at most $20.00 (the default of deep effort): --budget-usd changes it."
    )
    request = build_request(
        JobOptions(question="q", budget_usd=3, budget_tokens=9), Settings.read(KEY)
    )
    assert request.budget == Budget(usd=3, tokens=9)
    assert describe_budget(request, by_default=False) == "Spends at most $3.00."


def test_the_web_is_bounded_or_off(place: Path) -> None:
    asked = JobOptions(
        question="q", allow_domains=["Example.org", "b.org/c"], code=True, economy=True
    )
    request = build_request(asked, Settings.read(KEY))
    assert request.web == Web(allowed_domains=("example.org", "b.org/c"))
    assert (request.code, request.economy) == (True, True)
    with pytest.raises(BadInputError, match="without https://"):
        build_request(JobOptions(question="q", block_domains=["https://a.org"]), Settings.read(KEY))
    with pytest.raises(BadInputError, match="--corpus DIR, or search the web with --web"):
        build_request(JobOptions(question="q", web=False), Settings.read(KEY))
    offline = build_request(
        JobOptions(question="q", corpus="docs", model=OFFLINE), Settings.read(KEY)
    )
    assert (offline.web, offline.budget) == (None, Budget())


def test_the_web_is_left_off_where_the_model_or_the_cloud_has_none(place: Path) -> None:
    own = Settings.read({"ANTHROPIC_BASE_URL": "http://localhost:1"})
    assert build_request(JobOptions(question="q", corpus="docs", model="mine"), own).web is None
    cloud = Settings.read({"RESEARCH_PROVIDER": "bedrock"})
    assert build_request(JobOptions(question="q", corpus="docs"), cloud).web is None
    assert build_request(JobOptions(question="q", web=True), cloud).web == Web()


@pytest.mark.parametrize(
    ("text", "seconds"), [("2h", 7200), ("30m", 1800), ("90s", 90), ("1h30m", 5400), ("1d", 86400)]
)
def test_a_time_is_read(place: Path, text: str, seconds: float) -> None:
    def approval(**more: Any) -> Approval | None:
        options = JobOptions(question="q", corpus="docs", **more)
        return build_request(options, Settings.read({})).approval

    assert approval(approve=True, approve_within=text) == Approval(seconds=seconds)
    assert approval(unanswered="Reject") == Approval(default="reject")
    assert approval() is None


def test_settings_for_single_roles_go_into_the_request() -> None:
    env = {**KEY, "RESEARCH_MODEL_WRITER": MEDIUM, "RESEARCH_EFFORT_PLANNER": "max"}
    request = build_request(JobOptions(question="q"), Settings.read(env))
    assert (request.models, request.efforts) == ({"writer": MEDIUM}, {"planner": "max"})
    odd = Settings.read({**KEY, "RESEARCH_MODEL_WRITER": "gpt-9"})
    with pytest.raises(BadInputError, match="'gpt-9' is unknown"):
        build_request(JobOptions(question="q"), odd)


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("RESEARCH_MODEL_COOK", "m", "names no role: the roles are planner, reviewer, researcher"),
        ("RESEARCH_EFFORT_COOK", "low", "names no role"),
        ("RESEARCH_EFFORT_WRITER", "huge", "is not an effort: choose one of low, medium, high"),
        ("RESEARCH_PROVIDER", "moon", "correct the RESEARCH_* variables (RESEARCH_PROVIDER: "),
    ],
)
def test_a_setting_for_no_role_is_refused(
    place: Path, monkeypatch: pytest.MonkeyPatch, name: str, value: str, said: str
) -> None:
    monkeypatch.setenv(name, value)
    ended = CliRunner().invoke(app, ["run", *GOOD])
    assert ended.exit_code == ExitCode.BAD_INPUT
    assert said in ended.stderr


def test_the_longest_question_is_taken() -> None:
    assert validation.check_question("word " * MAX_QUESTION_WORDS)


def test_any_model_is_taken_where_an_endpoint_is_set() -> None:
    settings = Settings.read({"ANTHROPIC_BASE_URL": "http://localhost:1"})
    assert validation.check_model("my-own-model", settings) == "my-own-model"
    assert validation.check_model(None, settings) == DEFAULT_CLAUDE


def test_hidden_folders_are_no_documents(tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    (tmp_path / ".git" / "notes.md").write_text("x")
    with pytest.raises(BadInputError):
        validation.check_corpus(str(tmp_path))


@pytest.mark.parametrize(
    ("text", "points"),
    [
        ("Names the cost\nNames the date\n", ("Names the cost", "Names the date")),
        ("# Must\n\nThe report:\n\n- names the cost,\n  in euros\n- [ ] names the date\n",
         ("names the cost, in euros", "names the date")),
        ("1. Cost\n2) Date\n* More", ("Cost", "Date", "More")),
    ],
)  # fmt: skip
def test_a_rubric_is_a_list_or_lines(place: Path, text: str, points: tuple[str, ...]) -> None:
    (place / "points.md").write_text(text, "utf-8")
    options = JobOptions(
        question="q", corpus="docs", model=OFFLINE, rubric=Path("points.md"),
        audience=" the  council ", length="one page", tone="plain",
    )  # fmt: skip
    request = build_request(options, Settings.read({}))
    assert request.rubric == points
    assert (request.audience, request.length, request.tone) == ("the council", "one page", "plain")
