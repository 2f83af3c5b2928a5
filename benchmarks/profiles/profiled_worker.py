"""This project's worker with the stub at its wire, and the processor's time of every function.

python -m benchmarks.profiles.profiled_worker TURN_LOG PROFILE

What is used between two SIGUSR1 is written down at the second. Each thread of Python has a profile
of its own, on the thread's own clock, so that waiting costs nothing. What the SDK's core does in
threads of its own is not seen.
"""

from __future__ import annotations

import asyncio
import cProfile
import functools
import json
import signal
import sys
import threading
import time
from collections import defaultdict
from pathlib import Path

import worker
from benchmarks.engines.stub import Stub
from benchmarks.engines.topology import TurnLog
from console.errors import exit_process

Own = dict[tuple[str, str], float]
"""Seconds in a function itself, by its file and its name."""


class Profiles:
    def __init__(self, file: Path) -> None:
        self._file = file
        self._all: list[cProfile.Profile] = []
        self._before: Own | None = None

    def begin(self, *_: object) -> None:
        """In every thread, at its first call."""
        profile = cProfile.Profile(time.thread_time)
        self._all.append(profile)
        profile.enable()

    def turn(self, *_: object) -> None:
        if self._before is None:
            self._before = self._own()
            return
        used = [
            [file, name, seconds - self._before.get((file, name), 0.0)]
            for (file, name), seconds in self._own().items()
        ]
        partial = self._file.with_suffix(".partial")
        partial.write_text(json.dumps(used), "utf-8")
        partial.rename(self._file)

    def _own(self) -> Own:
        found: defaultdict[tuple[str, str], float] = defaultdict(float)
        for profile in list(self._all):
            for entry in profile.getstats():
                code = entry.code
                # What is compiled has a name and no file.
                known = (
                    ("", code) if isinstance(code, str) else (code.co_filename, code.co_qualname)
                )
                found[known] += entry.inlinetime
        return dict(found)


if __name__ == "__main__":
    profiles = Profiles(Path(sys.argv[2]))
    signal.signal(signal.SIGUSR1, profiles.turn)
    threading.setprofile(profiles.begin)
    profiles.begin()
    stub = Stub(TurnLog(Path(sys.argv[1])))
    worker.build_context = functools.partial(worker.build_context, transport=stub)
    asyncio.run(worker.main())
    exit_process(0)
