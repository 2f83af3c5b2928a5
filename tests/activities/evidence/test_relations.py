"""Claims that bear on each other reach the judge, however each source puts it."""

from __future__ import annotations

import json
from functools import cache
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest

from activities.evidence.ledger import Ledger
from activities.evidence.reconcile import _pool
from activities.evidence.relations import (
    BATCH,
    LARGEST,
    NEIGHBOURS,
    batch_groups,
    group_claims,
)
from benchmarks.engines.verification import statements
from workflows.contracts.activity_io import Group
from workflows.contracts.evidence import Claim, Quote, Source, Verdict

PAIRS: list[dict[str, Any]] = json.loads(
    (Path(__file__).parent / "related_claims.json").read_text("utf-8")
)


def ledger(texts: list[str]) -> Ledger:
    """Every claim of a document of its own, which quotes it."""
    return Ledger(
        sources={
            f"s{n}": Source(id=f"s{n}", uri=f"{n}.md", title=f"Paper {n}", sha256="0" * 64)
            for n in range(len(texts))
        },
        claims=tuple(
            Claim(
                id=f"c{n}",
                facet_id=f"f{n % 5}",
                text=text,
                verdict=Verdict.SUPPORTED,
                quotes=(Quote(source_id=f"s{n}", text=text),),
            )
            for n, text in enumerate(texts)
        ),
    )


ONE_TOPIC = [
    ("A heat pump saves the average household 340 pounds a year.",
     "Owners pay about 90 pounds more per year for heating after switching to a pump."),
    ("Installers fitted 55,000 heat pumps in Britain in 2022.",
     "British sales of heat pumps reached 72,000 units that year."),
    ("Heat pumps work well below minus 15 degrees.",
     "In hard frost the pumps cannot keep a house warm without a heater."),
    ("Neighbours rarely complain about the sound of a heat pump.",
     "Noise is the most common reason for complaints to councils about heat pumps."),
    ("A heat pump lasts 20 to 25 years.",
     "After 12 years most units have to be replaced."),
    ("The grant of 7,500 pounds covers half of the price.",
     "The subsidy pays for less than a third of what an installation costs."),
    ("There are 3,000 trained heat pump installers.",
     "The trade counts 9,400 qualified fitters."),
    ("Old houses must be insulated before a pump makes sense.",
     "Uninsulated Victorian homes were heated efficiently by a pump in the trial."),
    ("Planning permission is not needed for a heat pump in England.",
     "English councils require permission if the unit stands within a metre of the boundary."),
    ("Heat pumps emit 76 % less carbon than gas boilers.",
     "Over its life a pump causes about half the emissions of a boiler."),
    ("Most owners would recommend their heat pump to friends.",
     "Four in ten owners told the panel they regret the purchase."),
    ("Electricity for a heat pump costs 1,100 pounds in a typical winter.",
     "A winter's power bill for the pump came to 640 pounds in monitored homes."),
    ("The seasonal efficiency of pumps in the field is 2.8.",
     "Field measurements put the average coefficient of performance at 3.9."),
    ("The government wants 600,000 installations a year by 2028.",
     "Ministers dropped the target for annual heat pump installations."),
    ("Radiators usually have to be replaced when a pump is fitted.",
     "Nine out of ten homes kept all their radiators."),
    ("The grid can supply all homes with heat pumps.",
     "Distribution networks would be overloaded if every third street switched to pumps."),
    ("Refrigerants used in heat pumps leak about 1 % a year.",
     "Annual leakage of the refrigerant is below 0.2 percent."),
    ("Hydrogen boilers will be cheaper to run than heat pumps.",
     "Heating with hydrogen costs twice as much as with a pump, the academics found."),
    ("Flats in tower blocks cannot use heat pumps.",
     "Shared ground loops supply pumps in 60 tower blocks in Enfield and Sunderland."),
    ("Installation takes two days.",
     "Households lived with the builders for two weeks on average before the system ran."),
]  # fmt: skip
"""Claims of one job: all of them share the topic's words, each bears on its partner."""


def judged_together(groups: list[Group]) -> set[frozenset[str]]:
    return {frozenset(pair) for group in groups for pair in combinations(group.claim_ids, 2)}


@cache
def pooled() -> tuple[set[frozenset[str]], int]:
    """Which claims of the table are judged together, all of them in one ledger."""
    texts = [entry[side] for entry in PAIRS for side in ("one", "other")]
    _, groups = _pool([ledger(texts)], [], {})
    return judged_together(groups), len(groups)


def test_the_table_has_sixty_pairs_of_five_kinds_and_some_that_do_not_bear() -> None:
    assert len(PAIRS) == 60
    kinds = {entry["kind"] for entry in PAIRS if entry["bears"]}
    assert kinds == {"statistic", "opposite", "date", "name", "qualified"}
    assert sum(not entry["bears"] for entry in PAIRS) >= 10


def test_claims_that_bear_on_each_other_are_put_before_the_judge() -> None:
    together, _ = pooled()
    missed = [
        entry
        for n, entry in enumerate(PAIRS)
        if entry["bears"] and frozenset((f"c{2 * n}", f"c{2 * n + 1}")) not in together
    ]
    bearing = sum(entry["bears"] for entry in PAIRS)
    assert len(missed) <= 0.05 * bearing, missed


def test_partners_are_found_among_claims_that_all_share_a_topic() -> None:
    texts = [text for pair in ONE_TOPIC for text in pair]
    groups = group_claims(ledger(texts), ())
    together = judged_together(groups)
    missed = [
        pair
        for n, pair in enumerate(ONE_TOPIC)
        if frozenset((f"c{2 * n}", f"c{2 * n + 1}")) not in together
    ]
    assert len(missed) <= 0.05 * len(ONE_TOPIC), missed
    assert sum(len(group.claim_ids) for group in groups) <= 2 * NEIGHBOURS * len(texts)


def test_most_claims_that_do_not_bear_on_each_other_are_not() -> None:
    together, _ = pooled()
    unrelated = [
        frozenset((f"c{2 * n}", f"c{2 * n + 1}"))
        for n, entry in enumerate(PAIRS)
        if not entry["bears"]
    ]
    assert sum(pair in together for pair in unrelated) <= len(unrelated) / 4


@pytest.mark.slow
@pytest.mark.parametrize("crowded", [False, True])
def test_groups_grow_with_the_claims_and_not_with_their_pairs(crowded: bool) -> None:
    shown = {}
    for n in (100, 200, 400, 800):
        texts = (
            [f"Heat pumps of maker {i} cost {900 + i} euros in homes." for i in range(n)]
            if crowded
            else statements(n)
        )
        groups = group_claims(ledger(texts), ())
        assert all(1 < len(group.claim_ids) <= LARGEST for group in groups)
        assert len(groups) <= n
        shown[n] = sum(len(group.claim_ids) for group in groups)
        assert shown[n] <= 2 * NEIGHBOURS * n
        batches = batch_groups(groups)
        assert [group for batch in batches for group in batch] == groups
        assert len(batches) <= 1 + shown[n] / (BATCH - LARGEST)


def test_claims_of_one_source_are_not_held_against_each_other() -> None:
    one = ledger(["The dam is 40 metres high.", "The dam is 52 metres high."])
    claims = tuple(
        claim.model_copy(update={"quotes": (Quote(source_id="s0", text=claim.text),)})
        for claim in one.claims
    )
    assert group_claims(one.model_copy(update={"claims": claims}), ()) == []


def test_what_was_judged_together_is_not_judged_again() -> None:
    known = ledger(["The dam is 40 metres high.", "The dam is 52 metres high."])
    (group,) = group_claims(known, ())
    settled = known.model_copy(update={"settled": (tuple(sorted(group.claim_ids)),)})
    assert group_claims(settled, ()) == []
