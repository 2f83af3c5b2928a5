"""Text on the terminal: wrapped between words where a person reads it."""

from __future__ import annotations

import shutil
import sys
import textwrap
from typing import TextIO

NO_BREAK = "\N{NO-BREAK SPACE}"


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
