"""This project's worker with the library where the network would be.

python -m benchmarks.growth.worker
"""

from __future__ import annotations

import asyncio
import functools

import worker
from benchmarks.growth.library import Library
from console.errors import exit_process

if __name__ == "__main__":
    worker.build_context = functools.partial(worker.build_context, transport=Library())
    asyncio.run(worker.main())
    exit_process(0)
