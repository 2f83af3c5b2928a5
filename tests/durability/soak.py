"""Seeded random kills for as long as one likes.

    python -m tests.durability.soak --seed 7 --seconds 600 --jobs 8

Workers, the server, both at once are killed and workers are frozen and thawed, at moments that
follow from the seed, while so many jobs run side by side. Every job must come to the same report
without a kept turn asked for again. Ends with 1 where one did not, and says which.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from tests.durability.campaign import undisturbed
from tests.durability.fleet import Fleet, survive
from tests.durability.site import a_site


async def soak(folder: Path, seed: int, seconds: float, jobs: int) -> int:
    async with a_site(folder / "site") as site:
        _, reference = await undisturbed(site)
        await site.endpoint.delay(0.2)
        fleet = Fleet(site, seed, blows=("worker", "worker", "server", "both", "freeze"), every=5.0)
        end = time.monotonic() + seconds
        rows = await survive(fleet, jobs, reference, lambda: time.monotonic() < end, seconds=1800)
    faults = [fault for row in rows for fault in row.faults()]
    blows = ", ".join(f"{count} × {blow}" for blow, count in Counter(fleet.struck).items())
    lost, again = sum(row.lost for row in rows), sum(row.bought_again for row in rows)
    print(
        f"seed {seed}: {len(rows)} jobs, struck {blows or 'nothing'}; {lost} turns lost,"
        f" {again} bought again; {sum(row.same for row in rows)} reports the same"
    )
    print("\n".join(faults))
    return 1 if faults else 0


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=int(time.time()))
    parser.add_argument("--seconds", type=float, default=300.0)
    parser.add_argument("--jobs", type=int, default=6)
    given = parser.parse_args(arguments)
    print(f"seed {given.seed}", flush=True)
    with tempfile.TemporaryDirectory() as folder:
        return asyncio.run(soak(Path(folder), given.seed, given.seconds, given.jobs))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
