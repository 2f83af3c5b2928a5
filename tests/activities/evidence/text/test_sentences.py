"""Where sentences begin and end."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from activities.evidence.text.sentences import sentences, split_sentences


@pytest.mark.parametrize(
    "text",
    [
        "Dr. Smith met Mr. Jones Jr. at noon.",
        "The fee is 3.50 euros per day.",
        "It opened on 3. May 1901.",
        "Der Turm wurde am 3. Mai 1901 eröffnet.",
        "See e.g. the second chapter.",
        "The U.S. Senate voted.",
        "Version 2.1 of node.js was released.",
    ],
)
def test_a_full_stop_within_a_sentence_does_not_end_it(text: str) -> None:
    assert sentences(text) == [text]


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("It rained. The tram ran late.", ["It rained.", "The tram ran late."]),
        ("Is it open? Yes! Come in.", ["Is it open?", "Yes!", "Come in."]),
        ("It rained.\nThe tram\nran late.", ["It rained.", "The tram ran late."]),
        ("One. … Two.", ["One. …", "Two."]),
        ("", []),
        ("…  — ", []),
    ],
)
def test_sentences_end_where_the_next_one_begins(text: str, parts: list[str]) -> None:
    assert sentences(text) == parts


@given(st.text(alphabet=st.sampled_from('Ab. \n?!1…"’,éß'), max_size=80))
def test_spans_are_in_order_trimmed_and_keep_every_letter(text: str) -> None:
    spans = split_sentences(text)
    assert all(a < b for a, b in spans)
    assert all(one[1] <= other[0] for one, other in pairwise(spans))
    assert all(text[a:b] == text[a:b].strip() for a, b in spans)
    kept = "".join(text[a:b] for a, b in spans)
    assert sum(map(str.isalnum, kept)) == sum(map(str.isalnum, text))


@pytest.mark.parametrize(
    "text",
    [
        "It works if -- and only if! -- the lamp is lit.",
        "Do as little as possible (ideally: nothing!), and it can come in handy.",
    ],
)
def test_a_mark_inside_a_sentence_does_not_end_it(text: str) -> None:
    assert sentences(text) == [text]
