"""A running job is shown calmly: a line per change, or a view that fits its window."""

from __future__ import annotations

import io
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from rich.console import Console

from console.client.progress import (
    PendingStep,
    Progress,
    assign_facets,
    describe_needs,
    group_by_facet,
    name_facet,
)
from console.formatting import NO_BREAK, cut, say
from console.live import status_text as words
from console.live.table import TableView, render
from console.live.view import LinesView, open_view, summarize
from tests.console.results import finished
from workflows.contracts.result import FacetStatus, Status
from workflows.contracts.state import Gap, GapStatus, Phase

LONG = "The governance of offshore wind permitting across the northern provinces, in detail"


def job(phase: Phase, first: str, claims: int = 0, **more: Any) -> Status:
    facets = (
        FacetStatus(id="a", title="Prices", status=first, claims=claims, sources=claims // 2),
        FacetStatus(id="b", title=LONG, status="timed_out"),
    )
    told = {"id": "j", "phase": phase, "question": "q", "model": "offline", "facets": facets}
    return Status.model_validate(told | more)


def seen(status: Status, *waiting: PendingStep, **more: Any) -> Progress:
    since = datetime.now(UTC) - timedelta(seconds=3725)
    return Progress(status, waiting, needs=describe_needs(status), since=since, **more)


def gap(name: str, status: GapStatus = "open") -> Gap:
    text = f"Nothing is said on {name}."
    return Gap(id=name, kind="missing", facet_id="a", text=text, question="?", status=status)


def researching(**more: Any) -> PendingStep:
    since = datetime.now(UTC) - timedelta(seconds=75)
    return PendingStep("researching Prices", since, "a", **more)


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


def drawn(now: Progress, width: int, **options: Any) -> str:
    stream = io.StringIO()
    console = Console(file=stream, width=width, no_color=True)
    console.print(render(now, width, **options))
    return stream.getvalue()


def test_lines_are_printed_for_changes_only() -> None:
    stream = io.StringIO()
    lines = LinesView(stream)
    for _ in range(3):
        lines.show(seen(job(Phase.RESEARCHING, "running"), researching()))
    lines.show(seen(job(Phase.RESEARCHING, "found", 4)))
    refining = job(Phase.REFINING, "found", 4, gaps_open=2, turns=7, usd=0.5, budget_usd=2)
    lines.show(seen(refining, gaps=(gap("tides"), gap("moons"))))
    closed = refining.model_copy(update={"gaps_open": 1, "gaps_closed": 1})
    lines.show(seen(closed, gaps=(gap("tides", "closed"), gap("moons"))))

    assert stream.getvalue().splitlines() == [
        "researching",
        "  ▸ Prices: running",
        f"  ✗ {LONG}: timed out",
        "  ✓ Prices: found, 4 claims from 2 sources",
        "refining pass 1 · 7 turns · $0.50 of $2.00",
        "  ○ gap: Nothing is said on tides.",
        "  ○ gap: Nothing is said on moons.",
        "  gaps: 2 open, 0 closed",
        "  ✓ gap closed: Nothing is said on tides.",
        "  gaps: 1 open, 1 closed",
    ]


def test_a_quiet_job_says_what_it_waits_for_once_a_minute() -> None:
    stream, clock = io.StringIO(), Clock()
    lines = LinesView(stream, clock)
    now = seen(job(Phase.RESEARCHING, "running"), researching(turns=3), researching())
    for clock.now in (0.0, 30.0, 59.0, 61.0, 90.0, 122.0):
        lines.show(now)
    said = stream.getvalue().splitlines()[3:]
    assert [line.startswith("  still researching Prices (1:1") for line in said] == [True, True]
    assert said[0].endswith(", 3 turns), and 1 more")


def test_a_failure_that_is_tried_again_is_told_once() -> None:
    stream = io.StringIO()
    lines = LinesView(stream)
    soon = datetime.now(UTC) + timedelta(seconds=90)
    again = researching(started=False, attempt=2, last_failure="overloaded\x1b[2J", retry_at=soon)
    for _ in range(3):
        lines.show(seen(job(Phase.RESEARCHING, "running"), again))
    (told,) = [line for line in stream.getvalue().splitlines() if "attempt 2" in line]
    assert told.startswith("  ! researching Prices (1:1")
    assert ", again in " in told
    assert told.endswith("last: overloaded [2J"), "what could steer a terminal is not passed on"


def test_a_job_that_waits_says_for_whom() -> None:
    stream = io.StringIO()
    lines = LinesView(stream)
    block = {"step": "plan", "reason": "no key", "remedy": "set one, then resume", "since": "now"}
    lines.show(seen(job(Phase.APPROVING, "waiting", approve_by="2026-11-02T10:00:00+00:00")))
    for _ in range(2):
        lines.show(seen(job(Phase.APPROVING, "waiting", paused=True)))
    lines.show(seen(job(Phase.APPROVING, "waiting")))
    lines.show(seen(job(Phase.APPROVING, "waiting", blocked=block, paused=True)))

    said = [line for line in stream.getvalue().splitlines() if ": waiting" not in line][1:]
    assert said == [
        "  the plan waits for approval until 2026-11-02 10:00 UTC; in another shell,"
        " `python starter.py plan j` shows it, `python starter.py approve j` approves it",
        f"  ✗ {LONG}: timed out",
        "  paused: `python starter.py resume j` continues it",
        "  continues",
        "  blocked at plan: no key; set one, then `python starter.py resume j`",
    ]


@pytest.mark.parametrize("width", [60, 80, 120])
def test_the_view_fits_its_window(width: int) -> None:
    status = job(
        Phase.REFINING, "found", 1234, contradictions=3, turns=99, usd=1.5, budget_usd=2.0,
        question="Why " * 60, paused=True, gaps_open=2,
    )  # fmt: skip
    shown = drawn(seen(status, researching(turns=6, sources=12), gaps=(gap("tides"),)), width,
                  gaps=(gap("tides"),))  # fmt: skip
    assert max(len(line) for line in shown.splitlines()) <= width
    rail = " ".join(shown.replace("\N{NO-BREAK SPACE}", " ").split())
    assert "✓ research ✓ write ✓ evaluate ▸ pass 1 · publish" in rail
    for told in ("1:02:05", "1,234", "running 1:1", "timed out", "contested  3 points",
                  "cost       $1.50 of $2.00 ████████████░░░░ 75% · 99 turns",
                  "missing    2 open", "○ open: Nothing is said on tides",
                  "now        paused: `python starter.py resume"):  # fmt: skip
        assert told in shown
    assert "           researching Prices (1:1" in shown


def test_a_free_model_is_said_to_cost_nothing_and_no_number_stands_alone() -> None:
    shown = drawn(seen(job(Phase.RESEARCHING, "found", 4, turns=51)), 80)
    assert "cost       $0.00 · 51 turns" in shown
    assert "now        merging the findings" in shown, "never nothing"


def test_what_is_missing_is_not_counted_in_noughts() -> None:
    closed = job(Phase.FINISHED, "found", gaps_closed=2)
    assert words.missing(closed) == "nothing, 2 closed"
    assert words.missing(closed, (gap("x", "absent"),)) == "1 absent, 2 closed"
    assert words.missing(job(Phase.WRITING, "found")) == ""


def test_what_was_searched_for_and_is_absent_is_no_failure() -> None:
    shown = drawn(seen(job(Phase.WRITING, "no_results")), 80)
    assert "∅  Prices" in shown


def test_several_at_once_are_named_together() -> None:
    facets = [FacetStatus(id=n, title=f"Part {n}", status="running") for n in "abcd"]
    now = datetime.now(UTC)

    def bare(**more: Any) -> PendingStep:
        return PendingStep("researching", now, **more)

    heard = name_facet(bare(turns=2), "researching", facets[0])
    starting = assign_facets([heard, bare(), bare(started=False), bare(started=False)], facets)
    assert words.current_work(starting, job(Phase.RESEARCHING, "running")) == (
        "researching Part a; starting on “Part b”, “Part c” and 1 more"
    )
    others = [name_facet(bare(), "researching", facet) for facet in facets[:2]]
    queued = assign_facets([*others, bare(started=False), bare(started=False)], facets)
    assert (
        words.current_work(queued, job(Phase.RESEARCHING, "running"))
        == "researching “Part a” and “Part b”; 2 queued"
    )
    assert {name: one.started for name, one in group_by_facet(queued, facets).items()} == {
        "a": True, "b": True, "c": False, "d": False,
    }  # fmt: skip
    (left,) = assign_facets([bare()], facets[:1])
    assert (left.step, left.facet_id) == ("researching Part a", "a")
    (unknown,) = assign_facets([bare()], [])
    assert unknown.step == "researching a facet", "never without an object"


@pytest.mark.parametrize("phase", list(Phase))
def test_a_job_between_two_steps_says_what_it_does(phase: Phase) -> None:
    said = words.current_work((), job(phase, "found"))
    assert len(said.split()) > 2


def test_what_is_cut_is_cut_between_words() -> None:
    assert cut("what vessels and charging perform", 28) == "what vessels and charging…"
    assert cut("x" * 50, 10) == f"{'x' * 9}…"


def test_many_facets_leave_room_for_the_rest() -> None:
    facets = [FacetStatus(id=str(n), title=f"Facet {n}", status="waiting") for n in range(40)]
    facets[30] = facets[30].model_copy(update={"status": "running"})
    status = job(Phase.RESEARCHING, "found").model_copy(update={"facets": tuple(facets)})
    shown = drawn(seen(status), 80, room=8)
    assert "Facet 30" in shown, "one that works is shown before those that wait"
    assert "and 33 more: 33 waiting" in shown
    assert len(shown.splitlines()) < 16


def test_a_view_that_was_left_stays_readable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("NO_COLOR", "1")
    stream = Terminal()
    with TableView(stream) as table:
        table.say("[bold]not markup[/bold]")
        table.show(seen(job(Phase.RESEARCHING, "found", 12)))
    assert "[bold]not markup[/bold]" in stream.getvalue()
    assert "✓  Prices" in stream.getvalue()


def test_a_terminal_gets_the_table_and_all_else_the_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm")
    assert isinstance(open_view(Terminal()), TableView)
    assert isinstance(open_view(io.StringIO()), LinesView)
    monkeypatch.setenv("TERM", "dumb")
    assert isinstance(open_view(Terminal()), LinesView), "it cannot redraw"


def test_the_summary_has_no_line_that_a_terminal_would_break() -> None:
    assert summarize(finished("x")).splitlines() == [
        "2 claims · 2 sources cited · 1 contradiction · 1 gap not closed",
        "$0.50 · 11 turns · 1 refinement pass · 12.3 s",
    ]


def test_a_terminal_gets_lines_broken_between_words(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    say("word " * 30, first="  ", then="    ")
    assert len(capsys.readouterr().out.splitlines()) == 1, "a pipe gets what was said"
    terminal = Terminal()
    monkeypatch.setattr("sys.stdout", terminal)
    monkeypatch.setenv("COLUMNS", "60")
    say(f"one{NO_BREAK}fact " * 20, first="  ", then="    ")
    lines = terminal.getvalue().splitlines()
    assert max(map(len, lines)) <= 60
    assert lines[0].startswith("  one fact")
    assert all(line.startswith("    one ") for line in lines[1:])
    assert all(line.endswith(" fact") for line in lines)
