"""Errors a person can fix, and the exit codes of the commands.

    ConsoleError        the job failed or is blocked, or a server or worker does not answer
      BadInputError     the command or a setting must change; nothing was started or spent
        NotFoundError   there is no job, corpus or schedule of this name
        ConflictError   the job or name is not in a state that allows it
      TooManyError      the person has done this too often

Each message is one sentence that names the remedy.
"""

from __future__ import annotations

import atexit
import os
import sys
from enum import IntEnum
from pathlib import Path
from typing import NoReturn

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


class BadInputError(ConsoleError):
    code = ExitCode.BAD_INPUT


class NotFoundError(BadInputError):
    pass


class ConflictError(BadInputError):
    pass


class TooManyError(ConsoleError):
    pass


def exit_process(code: int) -> NoReturn:
    """Run the exit handlers, then end the process with this code.

    A normal interpreter exit sometimes aborts with code 134, when a thread of Temporal's Rust core
    needs the interpreter during finalization (temporalio/sdk-python#300).
    """
    atexit._run_exitfuncs()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)
