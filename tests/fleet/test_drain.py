"""A worker that is told to stop keeps the turn in flight, buys no other, and leaves the rest."""

from __future__ import annotations

import asyncio

from tests.fleet.conftest import JsonObject, Provider, Site, eventually, provider

LATENCY = 3.0
"""Seconds of a turn: long enough to be told to stop within one."""


def researching(endpoint: Provider) -> list[JsonObject]:
    return [turn for turn in endpoint.turns if turn["title"] == "ResearchAnswer"]


async def test_a_turn_in_flight_is_kept_and_nobody_asks_for_it_again(site: Site) -> None:
    with provider(0.0) as endpoint:
        endpoint.strike(kind="latency", title="ResearchAnswer", seconds=LATENCY, times=None)
        with site.worker(endpoint) as first:
            job = await site.start()
            await eventually(lambda: researching(endpoint), "a subagent's first turn")
            first.terminate()
            assert await asyncio.to_thread(first.wait, 60) == 0, site.logs[-1].read_text()
        turns = endpoint.turns
        [flying, *later] = researching(endpoint)
        assert flying["outcome"] == "answered"
        kept = {file.stem for file in (site.store / "journal").rglob("*.json")}
        assert flying["fingerprint"] in kept, "it was journalled before the worker left"
        assert not later, "a worker that leaves begins nothing new"
        assert site.signs == 0

        with site.worker(endpoint):
            [result] = await site.results([job], 90)
        again = [turn["fingerprint"] for turn in endpoint.turns[len(turns) :]]
    assert again, "the second worker went on"
    assert not set(again) & {turn["fingerprint"] for turn in turns}
    assert result.telemetry.turns_bought_again == 0
