"""What the front desk says when it cannot go on, and exit codes a script can rely on.

    ConsoleError        the job failed, is blocked, or its server or worker cannot be reached
      BadInputError     something about the command must change; nothing was started or spent

Every message is one sentence that names the remedy.
"""

from __future__ import annotations

import atexit
import os
import sys
from enum import IntEnum
from pathlib import Path
from typing import NoReturn

COMMAND = "python starter.py"
"""How a remedy begins that is a command."""


class ExitCode(IntEnum):
    REPORT = 0
    FAILED = 1
    BAD_INPUT = 2
    GAPS = 3
    NOTHING_FOUND = 4
    INTERRUPTED = 130


class ConsoleError(Exception):
    code = ExitCode.FAILED


class BadInputError(ConsoleError):
    code = ExitCode.BAD_INPUT


def last_lines(log: Path, count: int = 12, start: int = 0) -> str:
    """The end of a log file, indented to stand under a message; nothing where there is none."""
    try:
        with log.open("rb") as file:
            file.seek(start)
            lines = file.read().decode("utf-8", "replace").splitlines()
    except OSError:
        return ""
    return "".join(f"\n    {line}" for line in lines[-count:])


def leave(code: int) -> NoReturn:
    """End the process with exactly this code, after what was registered for its end has run.

    Python's own way out now and then aborts with code 134, when a thread of Temporal's core wants
    the interpreter that is being taken down (temporalio/sdk-python#300).
    """
    atexit._run_exitfuncs()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)
