"""A facet that takes much longer than the others does not hold up the report, and is not lost."""

from __future__ import annotations

import asyncio
from collections import Counter
from datetime import timedelta

import pytest

from activities.storage.journal import fingerprint_of
from console.client.jobs import fetch_report
from tests.activities.scripted import JsonObject
from tests.job.conftest import (
    NO_GAPS,
    PASSENGERS,
    POWER,
    UNREVIEWED,
    Office,
    Rule,
    Wire,
    about,
    facet,
    planned,
    reply,
)
from workflows.contracts.state import StopReason
from workflows.stages import fan_out

UPKEEP = facet("upkeep", "Maintenance", "What does maintenance of the electric fleet cost?")
PLAN = (planned(PASSENGERS, POWER, UPKEEP), UNREVIEWED, NO_GAPS)


@pytest.fixture(autouse=True)
def _hurried(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fan_out, "MINIMUM_WAIT", timedelta(seconds=0.2))


def dawdling(until: asyncio.Event) -> tuple[Rule, Rule]:
    """Maintenance is answered only when the first draft has been asked for."""

    async def wait(_: JsonObject) -> None:
        async with asyncio.timeout(60):
            await until.wait()

    def written(_: JsonObject) -> None:
        until.set()

    return Rule("ResearchAnswer", wait, about("Maintenance")), Rule("DraftAnswer", written)


@pytest.mark.parametrize("max_passes", [1, 0], ids=["with a pass", "though no pass was allowed"])
async def test_a_late_facet_is_written_up_in_a_pass_of_its_own(
    office: Office, max_passes: int
) -> None:
    wire = Wire(*PLAN, *dawdling(asyncio.Event()))
    async with office.working(wire):
        result = await fetch_report(await office.start(patience=1.5, max_passes=max_passes))
    first, second = wire.asked("DraftAnswer")
    assert [gap["text"] for gap in first["gaps"]] == [
        "“Maintenance” was still being researched when this was written."
    ]
    assert not [c for c in first["claims"] if c["facet_id"] == "upkeep"]
    assert second["revise"] == ["upkeep"]
    assert [c.status for c in result.coverage if c.facet_id == "upkeep"] == ["answered"]
    assert [(gap.kind, gap.status) for gap in result.gaps] == [("late", "closed")]
    assert (result.passes[1].gaps_in, result.passes[1].gaps_closed) == (1, 1)
    assert result.stop_reason is StopReason.SUFFICIENT
    assert "still being researched" not in result.report_markdown
    bought = Counter(fingerprint_of(body) for body in wire.requests)
    assert max(bought.values()) == 1, "nothing is bought twice"


async def test_a_late_facet_that_finds_nothing_costs_no_pass(office: Office) -> None:
    nothing = Rule(
        "ResearchAnswer",
        reply(summary="Nothing.", claims=[], missing=[], exhausted=True),
        lambda body: about("Maintenance")(body) and len(body["messages"]) > 1,
    )
    wire = Wire(*PLAN, *dawdling(asyncio.Event()), nothing)
    async with office.working(wire):
        result = await fetch_report(await office.start(patience=1.5))
    assert len(wire.asked("DraftAnswer")) == 1
    assert [(gap.kind, gap.status) for gap in result.gaps] == [("late", "absent")]
    assert "“Maintenance” was still being researched" in result.report_markdown


async def test_without_a_limit_to_patience_all_facets_are_waited_for(office: Office) -> None:
    async def slowly(_: JsonObject) -> None:
        await asyncio.sleep(1.5)

    wire = Wire(*PLAN, Rule("ResearchAnswer", slowly, about("Maintenance"), times=1))
    async with office.working(wire):
        result = await fetch_report(await office.start(patience=None))
    assert len(wire.asked("DraftAnswer")) == 1
    assert result.gaps == ()
