"""What a standard web job costs, by the benchmark's own script: this is what keeps it cheap."""

from __future__ import annotations

from typing import Any

import pytest
import pytest_asyncio

from benchmarks.economy import faults, measure, run_job
from benchmarks.scripted_api import ScriptedApi

pytestmark = pytest.mark.asyncio(loop_scope="module")


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def figures() -> dict[str, Any]:
    api = ScriptedApi()
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ANTHROPIC_API_KEY", "sk-ant-scripted")
        return measure(api, await run_job(api))


async def test_a_standard_web_job_keeps_to_its_price_and_reaches_a_refinement_pass(
    figures: dict[str, Any],
) -> None:
    assert faults(figures) == []


async def test_holes_that_are_not_critical_cost_no_follow_up(figures: dict[str, Any]) -> None:
    assert figures["follow_ups"] == 0


async def test_what_is_not_as_wanted_is_named(figures: dict[str, Any]) -> None:
    dear = {**figures, "usd": 2.5, "refinement_passes": 0, "uncached_after_first_turns": 0.5}
    assert len(faults(dear)) == 3
