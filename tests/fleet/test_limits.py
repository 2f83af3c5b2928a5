"""Limits hold for all workers together: while two are at work, while one dies, and after."""

from __future__ import annotations

import asyncio
from itertools import pairwise

import pytest

from tests.fleet.conftest import Handle, JsonObject, Provider, Site, eventually, provider

LIMIT = 4
BEYOND = 1.1
"""The limit may be passed by a tenth."""


def most_at_once(turns: list[JsonObject]) -> int:
    """Of turns the provider was busy with; one that ended as another began is not beside it."""
    edges = [(turn["at"], 1) for turn in turns]
    edges += [(turn["at"] + turn["seconds"], -1) for turn in turns if turn["seconds"] is not None]
    busy = most = 0
    for _, step in sorted(edges):
        busy += step
        most = max(most, busy)
    return most


def kept_ones(site: Site) -> set[str]:
    """Fingerprints of all turns the journal holds."""
    return {file.stem for file in (site.store / "journal").rglob("*.json") if len(file.stem) == 40}


def asked_again(turns: list[JsonObject]) -> set[str]:
    """Turns that were answered whole, and were asked for later than that."""
    answered: dict[str, float] = {}
    again: set[str] = set()
    for turn in sorted(turns, key=lambda turn: turn["at"]):
        mark = turn["fingerprint"]
        if mark in answered and turn["at"] > answered[mark]:
            again.add(mark)
        if turn["answered"]:
            answered.setdefault(mark, turn["at"] + turn["seconds"])
    return again


async def started(site: Site, count: int) -> list[Handle]:
    # Each asks something else: a turn of one is never a turn of another.
    asked = [f"How many passengers did the harbour line carry in {1900 + n}?" for n in range(count)]
    return list(await asyncio.gather(*(site.start(question) for question in asked)))


async def one_of_two_dies(site: Site, endpoint: Provider, count: int, seconds: float) -> None:
    limit = {"RESEARCH_FLEET_SUBAGENTS": str(LIMIT), "RESEARCH_WORKER_ROLE": "subagents"}
    coordinator = site.worker(RESEARCH_WORKER_ROLE="coordinator")
    with coordinator, site.worker(endpoint, **limit) as one, site.worker(endpoint, **limit):
        await eventually(lambda: site.signs == 2, "two workers", 120)
        jobs = await started(site, count)
        await eventually(lambda: len(endpoint.turns) > 2 * count, "turns", seconds)
        before = kept_ones(site)
        one.kill()
        results = await site.results(jobs, seconds)
        turns = endpoint.turns
    assert len(results) == count
    assert 2 <= most_at_once(turns) <= LIMIT * BEYOND
    assert before <= kept_ones(site), "what was kept is still there"
    # Killed between an answer and its keeping: only what the dead one had in hand, its share.
    lost = asked_again(turns)
    assert not lost & before, "nothing that was kept is bought again"
    assert len(lost) <= LIMIT // 2


async def test_a_few_jobs_keep_the_limit_while_a_worker_dies(site: Site) -> None:
    with provider(0.3) as endpoint:
        await one_of_two_dies(site, endpoint, 6, 90)


@pytest.mark.slow
@pytest.mark.timeout(600)
async def test_fifty_jobs_keep_the_limit_while_a_worker_dies(site: Site) -> None:
    with provider(0.3) as endpoint:
        await one_of_two_dies(site, endpoint, 50, 500)


async def keeps_the_pace(site: Site, endpoint: Provider, per_minute: int, count: int) -> None:
    pace = {"RESEARCH_FLEET_TURNS_PER_MINUTE": str(per_minute)}
    with site.worker(endpoint, **pace), site.worker(endpoint, **pace):
        await eventually(lambda: site.signs == 2, "two workers", 120)
        jobs = await started(site, count)
        await site.results(jobs, 400)
        at = sorted(turn["at"] for turn in endpoint.turns)
    # Every stretch of ten seconds, wherever it begins; one turn each may stand at its edge.
    allowed = per_minute / 6 * BEYOND + 2
    for n, begin in enumerate(at):
        assert sum(begin <= other < begin + 10 for other in at[n:]) <= allowed
    assert len(at) > 2 * count


@pytest.mark.slow
async def test_two_workers_together_keep_the_pace(site: Site) -> None:
    with provider(0.0) as endpoint:
        await keeps_the_pace(site, endpoint, 360, 5)


@pytest.mark.slow
@pytest.mark.timeout(600)
async def test_fifty_jobs_keep_the_pace(site: Site) -> None:
    with provider(0.0) as endpoint:
        await keeps_the_pace(site, endpoint, 240, 50)


HOLD = 10.0
"""Longer than it takes a worker to hear of it."""
HEARSAY = 5.0
"""Seconds until the other has looked, on a busy machine."""


@pytest.mark.slow
async def test_when_one_is_told_to_wait_all_wait(site: Site) -> None:
    pace = {"RESEARCH_FLEET_TURNS_PER_MINUTE": "600"}
    with provider(0.2) as endpoint:
        with site.worker(endpoint, **pace), site.worker(endpoint, **pace):
            await eventually(lambda: site.signs == 2, "two workers", 120)
            jobs = await started(site, 4)
            await eventually(lambda: len(endpoint.turns) > 4, "turns")
            endpoint.strike(kind="rate_limit", retry_after=HOLD)
            await site.results(jobs, 100)
        turns = sorted(endpoint.turns, key=lambda turn: turn["at"])
    [told] = [turn for turn in turns if turn["status"] == 429]
    during = [t for t in turns if HEARSAY < t["at"] - told["at"] < HOLD - 0.5]
    assert not during, "nobody asked while the provider wanted to be left alone"
    assert turns[-1]["at"] > told["at"] + HOLD - 0.5
    assert any(b["at"] - a["at"] > HOLD - HEARSAY - 0.5 for a, b in pairwise(turns))
