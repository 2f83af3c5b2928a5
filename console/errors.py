"""Errors a person can fix, and the exit codes of the commands.

    ConsoleError        the job failed or is blocked, or a server or worker does not answer
      BadInputError     the command or a setting must change; nothing was started or spent
        NotFoundError   there is no job, corpus or schedule of this name
        ConflictError   the job or name is not in a state that allows it
      TooManyError      the person has done this too often

Each message is one sentence that names the remedy, in the words of the command line.
"""

from __future__ import annotations

import atexit
import os
import sys
from enum import IntEnum
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

if TYPE_CHECKING:
    from pydantic import ValidationError

PROGRAM = "durable-research"
COMMAND = PROGRAM if Path(sys.argv[0]).name == PROGRAM else "python starter.py"
"""How this program is called, for the commands that messages name."""


class ExitCode(IntEnum):
    REPORT = 0
    FAILED = 1
    BAD_INPUT = 2
    GAPS = 3
    NOTHING_FOUND = 4
    INTERRUPTED = 130


class ConsoleError(Exception):
    code = ExitCode.FAILED
    http_status = 503


class BadInputError(ConsoleError):
    code = ExitCode.BAD_INPUT
    http_status = 422


class NotFoundError(BadInputError):
    http_status = 404


class ConflictError(BadInputError):
    http_status = 409


class TooManyError(ConsoleError):
    http_status = 429


def first_fault(error: ValidationError) -> tuple[str, str]:
    """Where a value is invalid first, as names with dots between them, and why."""
    first = error.errors()[0]
    return ".".join(map(str, first["loc"])) or "the file", first["msg"]


def exit_process(code: int) -> NoReturn:
    """Run the exit handlers, then end the process with this code.

    A normal interpreter exit sometimes aborts with code 134, when a thread of Temporal's Rust core
    needs the interpreter during finalization (temporalio/sdk-python#300).
    """
    atexit._run_exitfuncs()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)
