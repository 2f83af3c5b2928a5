"""Numbers, times and texts as people read them, on the terminal, in the browser and in reports."""

from __future__ import annotations

import shutil
import sys
import textwrap
from typing import TextIO

_TONES = {
    "good": ("answered", "closed", "complete", "completed", "found", "supported"),
    "busy": ("running",),
    "warn": (
        *("absent", "partly", "awaiting_approval", "cancelled", "complete_with_gaps", "contested"),
        *("contradicted", "left_out", "no_results", "open", "partial", "paused", "qualified"),
    ),
    "bad": (
        *("blocked", "failed", "nothing_found", "rate_limited", "refused", "terminated"),
        *("timed_out",),
    ),
}
_TONE = {status: tone for tone, statuses in _TONES.items() for status in statuses}

NO_BREAK = "\N{NO-BREAK SPACE}"


def tone(status: str) -> str:
    """The CSS class of a status: good, busy, warn, bad or none."""
    return _TONE.get(status, "")


def format_size(count: float) -> str:
    """Bytes in a unit that people read."""
    for unit in ("bytes", "kB", "MB"):
        if count < 1000:
            return f"{count:,.0f} {unit}"
        count /= 1000
    return f"{count:,.1f} GB"


def printable(text: str) -> str:
    """The lines without control characters, which could move the cursor of a terminal."""
    return "".join(c if c.isprintable() or c == "\n" else " " for c in text)


def plain(text: str) -> str:
    """One line without control characters: titles and failures quote untrusted sources."""
    return " ".join(printable(text).split())


def cut(text: str, length: int) -> str:
    """At most `length` characters, cut between words unless a word is very long."""
    text = plain(text)
    if len(text) <= length:
        return text
    short, _, rest = text[:length].rpartition(" ")
    short = short if len(rest) < length // 4 else text[: length - 1]
    return f"{short.rstrip(' ,;:')}…"


def capitalize(text: str) -> str:
    return text[:1].upper() + text[1:]


def sentence(text: str) -> str:
    """Capitalized and with a full stop."""
    text = text.strip().rstrip(".")
    return f"{capitalize(text)}{'' if text[-1] in '…?!' else '.'}" if text else ""


def count(number: int, one: str, many: str = "") -> str:
    return f"{number:,} {one if number == 1 else many or one + 's'}"


def usd(amount: float) -> str:
    """Dollars and cents; four decimals for less than ten cents."""
    return f"${amount:,.2f}" if amount == 0 or amount >= 0.1 else f"${amount:.4f}"


def clock(seconds: float) -> str:
    """A running time as 4:05 or 1:04:05."""
    whole = max(0, int(seconds))
    hours, minutes = divmod(whole // 60, 60)
    return f"{hours}:{minutes:02}:{whole % 60:02}" if hours else f"{minutes}:{whole % 60:02}"


def duration(seconds: float) -> str:
    """A length of time in its two largest units."""
    if seconds < 0.05:
        return "0 s"
    if seconds < 60:
        return f"{seconds:.1f} s"
    whole = round(seconds)
    for size, unit, small, rest in (
        (86_400, "d", 3_600, "h"),
        (3_600, "h", 60, "min"),
        (60, "min", 1, "s"),
    ):
        if whole >= size:
            left = whole % size // small
            return f"{whole // size} {unit}" + (f" {left} {rest}" if left else "")
    return f"{whole} s"


def age(seconds: float) -> str:
    """How long ago, in the largest unit."""
    for size, name in ((86_400, "d"), (3_600, "h"), (60, "min")):
        if seconds >= size:
            return f"{int(seconds // size)} {name}"
    return f"{max(0, int(seconds))} s"


def message_stream(as_json: bool) -> TextIO:
    """Where messages to a person go: standard error if standard output carries JSON."""
    return sys.stderr if as_json else sys.stdout


def say(text: str, stream: TextIO | None = None, *, first: str = "", then: str = "") -> None:
    """Print a message; `first` stands before its first line, `then` before the following ones."""
    stream = stream or sys.stdout
    lines = text.split("\n")
    if stream.isatty():
        width = max(40, shutil.get_terminal_size().columns)
        lines = [
            textwrap.fill(
                line,
                width,
                initial_indent=then if number else first,
                subsequent_indent=then,
                break_long_words=False,
                break_on_hyphens=False,
                replace_whitespace=False,
            )
            or first
            for number, line in enumerate(lines)
        ]
    else:
        lines[0] = f"{first}{lines[0]}"
    print("\n".join(lines).replace(NO_BREAK, " ").rstrip(" "), file=stream, flush=True)
