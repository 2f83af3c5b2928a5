"""The table of engines as a picture: `python -m benchmarks.engines.plot FILE [OUT]`.

Plain SVG on a card of its own, so that it can be read on a light page and on a dark one; bars begin
at zero, and each carries its value. The bar of an engine that keeps nothing is cut where it would
leave no room for the others, and says so.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Any

from benchmarks.engines.bare import Bare
from benchmarks.engines.ours import Ours
from benchmarks.engines.processes import ROOT

OUT = ROOT / "docs" / "engines.svg"
Row = dict[str, Any]
_WIDTH, _EDGE = 920, 24
_ROW, _BAR = 22, 14
_NAMES, _VALUE = 212, 92
"""Room for the engines' names and, behind a bar, for its value."""
_HEAD, _TITLE = 62, 34
_STYLE = """\
text{font:13px system-ui,-apple-system,"Segoe UI",sans-serif;fill:#24292f}
.card{fill:#fff;stroke:#d0d7de}.head{font-size:16px;font-weight:600}.title{font-weight:600}
.soft{fill:#57606a;font-size:12px}.bar{fill:#9aa4b0}.ours{fill:#0969da}.bold{font-weight:600}
@media (prefers-color-scheme:dark){text{fill:#e6edf3}.card{fill:#161b22;stroke:#30363d}
.soft{fill:#9da7b3}.bar{fill:#6e7681}.ours{fill:#4493f8}}"""


@dataclass(frozen=True)
class Panel:
    """One measure of all engines."""

    title: str
    better: str
    value: Callable[[Row], float | None]
    worded: Callable[[float, Row], str]


PANELS = (
    Panel("Overhead of a job, model of 0 s", "shorter is better",
          lambda row: _median(row, "overhead_seconds", 1000), lambda v, _: f"{v:,.0f} ms"),
    Panel("A job with turns of 0.2 s", "shorter is better",
          lambda row: _median(row, "job_seconds_with_turns"), lambda v, _: f"{v:.2f} s"),
    Panel("Jobs a second, many at once", "longer is better",
          lambda row: _median(row, "jobs_per_second"), lambda v, _: f"{v:,.1f}"),
    Panel("Processor per job, all processes", "shorter is better",
          lambda row: _median(row, "cpu_seconds_per_job", 1000), lambda v, _: f"{v:,.0f} ms"),
    Panel("Turns paid twice after SIGKILL", "shorter is better",
          lambda row: _median(row, "turns_paid_twice"),
          lambda v, row: f"{v:g}, {row['finished_turns_paid_twice']} finished"),
    Panel("From its restart to progress", "shorter is better",
          lambda row: _median(row, "seconds_to_progress"), lambda v, _: f"{v:.1f} s"),
)  # fmt: skip


def drawn(found: dict[str, Any]) -> str:
    rows: list[Row] = [row for row in found["engines"] if row.get("overhead_seconds")]
    high = _TITLE + _ROW * len(rows) + 18
    columns = 2
    lines = -(-len(PANELS) // columns)
    height = _HEAD + lines * high + _EDGE
    machine = found["machine"]
    notes = (
        f"13 turns one after another, 28 in all (ours 14 and 29); {found['jobs_at_once']} jobs at"
        f" once, {machine['cores']} cores, medians of {_rounds(found['rounds'])}"
    )
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {height}" width="{_WIDTH}"'
        f' height="{height}" role="img" aria-labelledby="title desc">',
        '<title id="title">What coordination costs, by engine</title>',
        f'<desc id="desc">{escape(_described(rows))}</desc>',
        f"<style>{_STYLE}</style>",
        f'<rect class="card" x=".5" y=".5" width="{_WIDTH - 1}" height="{height - 1}" rx="8"/>',
        _text(_EDGE, 30, "What coordination costs, by engine", "head"),
        _text(_EDGE, 48, notes, "soft"),
    ]
    wide = (_WIDTH - _EDGE * (columns + 1)) / columns
    for n, panel in enumerate(PANELS):
        left = _EDGE + (n % columns) * (wide + _EDGE)
        parts += _panel(panel, rows, left, _HEAD + (n // columns) * high, wide)
    return "\n".join([*parts, "</svg>"]) + "\n"


def _panel(panel: Panel, rows: Sequence[Row], left: float, top: float, wide: float) -> list[str]:
    values = [panel.value(row) for row in rows]
    kept = [v for row, v in zip(rows, values, strict=True) if row["engine"] != Bare.name]
    largest = max((value for value in kept if value is not None), default=0.0) or 1.0
    # What keeps nothing is cut only where it would leave no room for the others.
    highest = max(value for value in [*values, largest] if value is not None)
    largest = highest if highest < 2 * largest else largest
    room = wide - _NAMES - _VALUE
    parts = [
        _text(left, top + 20, panel.title, "title"),
        _text(left + wide, top + 20, panel.better, "soft", 'text-anchor="end"'),
    ]
    for n, (row, value) in enumerate(zip(rows, values, strict=True)):
        y = top + _TITLE + n * _ROW
        ours = row["engine"] == Ours.name
        parts.append(_text(left, y + 11.5, row["engine"], "bold" if ours else ""))
        if value is None:
            continue
        # A bar of nothing is still a line: zero is a value.
        long = min(max(1.0, room * value / largest), room)
        parts.append(
            f'<rect class="{"ours" if ours else "bar"}" x="{left + _NAMES:.1f}" y="{y:.1f}"'
            f' width="{long:.1f}" height="{_BAR}" rx="2"/>'
        )
        where = left + _NAMES + long + 6
        said = panel.worded(value, row) + (" (cut)" if value > largest else "")
        parts.append(_text(where, y + 11.5, said, "bold" if ours else ""))
    return parts


def _described(rows: Sequence[Row]) -> str:
    """The picture in words, for whoever hears it."""
    told = []
    for row in rows:
        values = ((panel.title, panel.value(row), panel.worded) for panel in PANELS)
        each = [
            f"{title.lower()}: {worded(v, row)}" for title, v, worded in values if v is not None
        ]
        told.append(f"{row['engine']}: {'; '.join(each)}.")
    return " ".join(told)


def _text(x: float, y: float, words: str, kind: str = "", more: str = "") -> str:
    kind = f' class="{kind}"' if kind else ""
    return f'<text x="{x:.1f}" y="{y:.1f}"{kind}{" " + more if more else ""}>{escape(words)}</text>'


def _rounds(n: int) -> str:
    return "1 round" if n == 1 else f"{n} rounds"


def _median(row: Row, name: str, times: float = 1.0) -> float | None:
    return None if not row.get(name) else float(row[name]["median"]) * times


def main() -> None:
    if not 2 <= len(sys.argv) <= 3:
        raise SystemExit("python -m benchmarks.engines.plot FILE [OUT]: FILE is what --json wrote")
    found = json.loads(Path(sys.argv[1]).read_text("utf-8"))
    out = Path(sys.argv[2]) if len(sys.argv) == 3 else OUT
    out.parent.mkdir(parents=True, exist_ok=True)
    out.write_text(drawn(found), "utf-8")
    print(out)


if __name__ == "__main__":
    main()
