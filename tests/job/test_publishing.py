"""What a result tells beside the report: the text about each quote, and which step ran when."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from activities.evidence.quotes import fold
from activities.records import REACH, text_around
from activities.storage.store import Store
from console.client.jobs import fetch_report
from tests.job.conftest import NO_GAPS, Office, Wire
from tests.job.test_restart import BOTH, checkpoints, one_gap, stopped_at, take_up
from workflows.contracts.result import ResearchResult
from workflows.rules.restart import restart_state


def steps(result: ResearchResult) -> list[tuple[str, str, int]]:
    return [(span.step, span.facet_id, span.n) for span in result.timeline]


async def test_quotes_stand_in_their_text_and_steps_in_their_order(office: Office) -> None:
    result = await office.run(*BOTH, *one_gap())

    store = Store.open(office.settings.store)
    hashes = {source.id: source.sha256 for source in result.sources}
    quotes = [quote for claim in result.claims for quote in claim.quotes]
    assert quotes
    for quote in quotes:
        text = fold(await store.text(hashes[quote.source_id]) or "")
        shown = f"{quote.before}{fold(quote.text)}{quote.after}"
        assert shown.removeprefix("… ").removesuffix(" …") in text
    assert any(quote.before or quote.after for quote in quotes)

    found = steps(result)
    assert found[:3] == [("open", "", 0), ("plan", "", 0), ("review", "", 0)]
    assert {"passengers", "power"} == {f for step, f, _ in found if step == "research"}
    assert ("verify", "", 0) in found
    first, second = found.index(("write", "", 0)), found.index(("research", "power", 1))
    assert first < found.index(("evaluate", "", 0)) < second
    assert all(0 <= span.began <= span.ended for span in result.timeline)


async def test_a_restart_keeps_when_the_earlier_steps_ran(office: Office) -> None:
    job, _ = await stopped_at(office, "DraftAnswer", *BOTH, NO_GAPS)
    kept = (await checkpoints(office, job))["researched"]
    assert kept.timeline
    async with office.working(Wire(*BOTH, NO_GAPS)):
        state = restart_state(kept, run_id="r", checkpoint="researched")
        result = await fetch_report(await take_up(office, state))
    before = len(kept.timeline)
    assert result.timeline[:before] == kept.timeline
    assert ("write", "", 0) in steps(result)[before:]
    assert result.timeline[before].began >= kept.timeline[-1].ended


@pytest.mark.parametrize(
    ("reach", "before", "after"),
    [(5, "… two ", " five …"), (100, "one two ", " five six"), (0, "… ", " …")],
)
def test_no_word_about_a_quote_is_torn(reach: int, before: str, after: str) -> None:
    assert text_around("one\n two three four five six", 9, 19, reach) == (before, after)


@given(st.text(), st.integers(0, 50), st.integers(0, 50), st.integers(0, 60))
def test_what_is_shown_about_a_quote_stands_there(
    text: str, at: int, size: int, reach: int
) -> None:
    start, end = min(at, len(text)), min(at + size, len(text))
    before, after = text_around(text, start, end, reach)
    assert len(before) <= reach + 2
    assert len(after) <= reach + 2
    assert fold(before.removeprefix("… ")) in fold(text[:start])
    assert fold(after.removesuffix(" …")) in fold(text[end:])
    assert len(text_around("word " * 200, 400, 500)[0]) <= REACH + 2
