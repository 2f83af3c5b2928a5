"""What a durable write of the store costs: with the disk synchronised, and without.

python -m benchmarks.durable_writes [FOLDER]
"""

from __future__ import annotations

import asyncio
import os
import statistics
import sys
import tempfile
import time
from unittest import mock

from activities.storage.store import Store

WRITES = 300
SIZES = (0, 4_000, 64_000)


async def measure(store: Store, name: str, size: int) -> list[float]:
    """Seconds of single writes, one after the other, each of a new object."""
    data, took = os.urandom(size), []
    for n in range(WRITES):
        began = time.perf_counter()
        await store.put_new(f"{name}/{size}/{n}", data)
        took.append(time.perf_counter() - began)
    return took


def describe(took: list[float]) -> str:
    ordered = sorted(took)
    return f"{statistics.median(took) * 1e3:.2f} ms · {ordered[int(0.95 * len(ordered))] * 1e3:.2f}"


def main() -> None:
    with tempfile.TemporaryDirectory(dir=sys.argv[1] if len(sys.argv) > 1 else None) as folder:
        store = Store.open(folder)
        print("| size of the object | durable, median · 95 % | without fsync |\n|---|---|---|")
        for size in SIZES:
            durable = asyncio.run(measure(store, "durable", size))
            with mock.patch("os.fsync"):
                quick = asyncio.run(measure(store, "quick", size))
            print(f"| {size:,} bytes | {describe(durable)} | {describe(quick)} |")


if __name__ == "__main__":
    main()
