"""A running job is shown calmly: a line per change, or a table that fits eighty columns."""

from __future__ import annotations

import io

import pytest

from console.live import LinesView, TableView, summary, view
from workflows.contracts import FacetStatus, Phase, Status

from .results import finished

LONG = "The governance of offshore wind permitting across the northern provinces, in detail"


def job(phase: Phase, first: str, claims: int = 0, **more: object) -> Status:
    facets = (
        FacetStatus(id="a", title="Prices", status=first, claims=claims, sources=claims // 2),
        FacetStatus(id="b", title=LONG, status="timed_out"),
    )
    told = {"id": "j", "phase": phase, "question": "q", "model": "offline", "facets": facets}
    return Status.model_validate(told | more)


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_lines_are_printed_for_changes_only() -> None:
    stream = io.StringIO()
    lines = LinesView(stream)
    for _ in range(3):
        lines.show(job(Phase.RESEARCHING, "running"))
    lines.show(job(Phase.RESEARCHING, "found", 4))
    lines.show(job(Phase.REFINING, "found", 4, gaps_open=2, turns=7, usd=0.5, budget_usd=2))

    assert stream.getvalue().splitlines() == [
        "researching",
        "  ▸ Prices: running",
        f"  ✗ {LONG}: timed out",
        "  ✓ Prices: found, 4 claims from 2 sources",
        "refining pass 1 · 7 turns · $0.50 of $2.00",
        "  gaps: 2 open, 0 closed",
    ]


def test_a_job_that_waits_says_for_whom() -> None:
    stream = io.StringIO()
    lines = LinesView(stream)
    block = {"step": "plan", "reason": "no key", "remedy": "set one", "since": "now"}
    lines.show(job(Phase.APPROVING, "waiting", approve_by="2026-11-02T10:00:00+00:00"))
    for _ in range(2):
        lines.show(job(Phase.APPROVING, "waiting", paused=True))
    lines.show(job(Phase.APPROVING, "waiting"))
    lines.show(job(Phase.APPROVING, "waiting", blocked=block, paused=True))

    said = [line for line in stream.getvalue().splitlines() if ": waiting" not in line][1:]
    assert said == [
        "  the plan waits for a word until 2026-11-02 10:00 UTC, from another shell:"
        " `python starter.py plan j` shows it, `python starter.py approve j` takes it",
        f"  ✗ {LONG}: timed out",
        "  paused: `python starter.py resume j` sends it on",
        "  goes on",
        "  blocked at plan",
    ]


def test_the_table_fits_eighty_columns(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setenv("TERM", "dumb")
    stream = Terminal()
    with TableView(stream) as table:
        table.say("[bold]not markup[/bold]")
        table.show(job(Phase.REFINING, "found", 1234, contradictions=3, turns=99, paused=True))
    shown = stream.getvalue()
    assert "[bold]not markup[/bold]" in shown
    assert "3 contradictions" in shown
    assert "paused: `python starter.py resume j`" in shown
    assert "1234" in shown
    assert max(len(line) for line in shown.splitlines()) <= 80


def test_a_terminal_gets_the_table_and_a_pipe_the_lines() -> None:
    assert isinstance(view(Terminal()), TableView)
    assert isinstance(view(io.StringIO()), LinesView)


def test_the_summary_is_one_line() -> None:
    assert summary(finished("x")) == (
        "2 claims · 2 sources cited · 1 contradiction · 1 gap not closed · 1 refinement pass ·"
        " 11 turns · 12.3 s · $0.50"
    )
