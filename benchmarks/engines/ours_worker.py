"""This project's worker as users have it, with the stub where the network would be.

python -m benchmarks.engines.ours_worker TURN_LOG
"""

from __future__ import annotations

import asyncio
import functools
import sys
from pathlib import Path

import worker
from benchmarks.engines.stub import Stub
from benchmarks.engines.topology import TurnLog
from console.errors import exit_process

if __name__ == "__main__":
    stub = Stub(TurnLog(Path(sys.argv[1])))
    worker.build_context = functools.partial(worker.build_context, transport=stub)
    asyncio.run(worker.main())
    exit_process(0)
