"""Which lines of a document are statements that can stand alone in a report."""

from __future__ import annotations

import pytest
from activities.offline.furniture import states_nothing
from activities.offline.leaning import leans
from activities.offline.predicates import is_fragment
from activities.offline.residue import plain

from activities.offline.passages import figures, usable
from activities.sources.formats.lines import unwrap


@pytest.mark.parametrize(
    "line",
    [
        "See the Roof Repair Guide for more details.",
        "More information can be found in the harbour handbook.",
        "Refer to the user guide about creating a request.",
        "The following table summarises the routes.",
        "Collect the parameters listed below for each depot.",
        "Contact your district officer for assistance.",
        "/// Represents a value that is not ready yet.",
        'Chat happens in {% channel "#hall" %} every Friday.',
        "[Tactfully list the risks that readers should know about]",
    ],
)
def test_what_sends_the_reader_elsewhere_states_nothing(line: str) -> None:
    assert states_nothing(line)
    assert usable(line) < 0.3


@pytest.mark.parametrize(
    "line",
    [
        "The committee will see the results in May.",
        "Visitors read the sign at the gate and 40 per cent turned back.",
        "Tidewater ran 98.6 per cent of its departures in 2025.",
        "Because of the frost the list grew to sixty-one names in June 2020.",
        "The tower houses about 110 students.",
    ],
)
def test_plain_statements_stay_usable(line: str) -> None:
    assert not states_nothing(line)
    assert not is_fragment(line)
    assert usable(line) >= 0.5


@pytest.mark.parametrize(
    "line",
    [
        "Serving as the final decision-maker for all contractual matters.",
        "Starring Ada Lund, Per Holm in the lead roles and music composed by Jon Vik.",
        "Harbour Code Review Guide article on Reviewing Quays for Structural Weaknesses.",
        "Conference events that cost less than the limit, including travel.",
        "Can have a path other than the root.",
        "Because most firms do not want to turn away customers.",
    ],
)
def test_an_item_without_a_verb_of_its_own_is_a_fragment(line: str) -> None:
    assert is_fragment(line)
    assert usable(line) < 0.3


def test_a_telegram_with_a_figure_is_kept() -> None:
    assert usable("Revenue up 12% to $3.4 million in the third quarter") >= 0.3


@pytest.mark.parametrize(
    "line",
    [
        "As such, they should be treated like passwords.",
        "Secondly, the quay is too short.",
        "In her reports she would not call the route electric.",
        "Keeping her costs EUR 0.9 million a year.",
        "The project catalogs these patterns.",
        "99% of the time it is a sign of bad practice.",
    ],
)
def test_a_sentence_that_points_at_another_leans(line: str) -> None:
    assert leans(line)


def test_a_sentence_that_names_what_it_points_at_does_not_lean() -> None:
    assert not leans("Patterns recur, and the project lists these patterns by year.")


@pytest.mark.parametrize(
    ("raw", "read"),
    [
        ("Keep [card policies][guide-3] as you travel.", "Keep card policies as you travel."),
        ("It was removed by [RFC 230] early on.", "It was removed by RFC 230 early on."),
        ("Building on Rule \\#9, more is done.", "Building on Rule #9, more is done."),
        ("It takes weeks to write the [System Plan", "It takes weeks to write the System Plan"),
        ("Ada Lund (; born 1970) is a director.", "Ada Lund (born 1970) is a director."),
        ("[ ] Provide another way in.", "Provide another way in."),
    ],
)  # fmt: skip
def test_links_escapes_and_boxes_leave_their_words(raw: str, read: str) -> None:
    assert plain(raw) == read


def test_a_number_that_names_a_thing_measures_nothing() -> None:
    assert figures("Form SF-182 and step 3 of Rule #9 use SHA-256") == 0
    assert figures("The bond is EUR 96.0 million, five per cent of the whole") == 2


@pytest.mark.parametrize(
    "wrapped",
    [
        "Use the\n[Vendor Site](https://example.org)\nto request a number.",
        "It is described in the [System\nPlan](https://example.org) of the office.",
        "A year or so has twenty-seven pay periods in it rather than\n26. This was such a year.",
        "The fence was quoted at six thousand, and the members gave\n1,900 crowns of it.",
    ],
)
def test_a_wrapped_sentence_is_one_whatever_its_next_line_opens_with(wrapped: str) -> None:
    assert "\n" not in unwrap(wrapped)


def test_items_and_links_on_lines_of_their_own_stay_apart() -> None:
    listed = "The harbour has three of these:\n2. A crane\n3. A dock"
    assert unwrap(listed) == listed
    links = "[Crane](https://example.org/a)\n[Dock](https://example.org/b)"
    assert unwrap(links) == links
