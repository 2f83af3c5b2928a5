"""Whatever the sources say, the offline writer's draft passes the gate."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.activities.offline.reports import brief, claim, facet, gate, ledger, written
from workflows.contracts.evidence import Claim

QUESTION = "What does a visit to the tower cost?"
FACETS = [facet("tower", QUESTION), facet("fees", "Who collects the fees?")]

_AWKWARD = (
    "tower fee visit Ada Holt cost the is 1871 41 3.5 % EUR [1] [12] [1,2] int[5] [a] _x_ "
    "snake_case __init__ `code` **bold** * # ## > | - + 1. 2) (see [link](https://a.example/x_y)) "
    "[ref][1] \\ … . ! ? : ; <b> &amp; ``` ~~~ !"
)
_WORDS = st.sampled_from(_AWKWARD.split())
_PROSE = (
    st.lists(_WORDS, min_size=1, max_size=25)
    .map(" ".join)
    .filter(lambda text: any(map(str.isalnum, text)))
)
_CODE = st.lists(_PROSE, min_size=2, max_size=6).map("\n".join)


@st.composite
def claims(draw: st.DrawFn) -> list[Claim]:
    found = []
    for number in range(draw(st.integers(0, 5))):
        parts = draw(st.lists(_PROSE, min_size=1, max_size=3))
        if draw(st.booleans()):
            parts.append(draw(_CODE))
        found.append(
            claim(
                number,
                *parts,
                facet=draw(st.sampled_from(["tower", "fees"])),
                source=draw(st.sampled_from(["s1", "s2", "s3"])),
                relevance=draw(st.floats(0, 1)),
                section=draw(
                    st.sampled_from(
                        ["", "Visits", "Visits › Fees [2]", "2. Scope", "3.1 Fees", "max_fee"]
                    )
                ),
            )
        )
    return found


@given(claims())
def test_no_text_of_a_source_breaks_the_gate(found: list[Claim]) -> None:
    held = ledger(found)
    assert gate(written(brief(held, FACETS)), held) == []


@pytest.mark.parametrize(
    "parts",
    [
        ("As shown in [12], a visit costs 3 crowns.",),
        ("# Not a heading",),
        ("- not an item: 41",),
        ("| a | 12 |",),
        ("_Nothing but italics_",),
        ("Run it like this:", "fee = 41\nprint(fee)"),
        ("Run it like this:", "```python\nfee = 41\n```"),
        ("Run it like this:", "a\n\n\nb[12]"),
        ("x" * 3000,),
        ("Two ways:", "pay 3 crowns", "pay [7] nothing"),
        ("Set max_fee or __fee__ to 3.",),
    ],
)
def test_awkward_passages_pass(parts: tuple[str, ...]) -> None:
    held = ledger([claim(1, *parts)])
    assert gate(written(brief(held, FACETS)), held) == []
