"""Whether a text holds the kind of answer a question wants."""

from __future__ import annotations

import pytest

from activities.offline.answer_types import holds_answer
from activities.offline.question import Question


@pytest.mark.parametrize(
    ("question", "text"),
    [
        ("When was the tower built?", "The tower was built in 1871."),
        ("How tall is the tower?", "The tower is 41 metres tall."),
        ("Who built the tower?", "The tower was built by Ada Holt."),
        ("To whom was the tower given?", "The tower was given to Ada Holt."),
        ("Where was Ada Holt born?", "Holt was born in Orla."),
        ("How do I install it?", "Run the installer."),
        ("How do I install it?", "To begin, set `HOME` first."),
        ("How do I install it?", "You can use the package manager."),
        ("How do I install it?", "make\nmake install"),
        ("Why is the tram late?", "The tram is late because of the rain."),
        ("May tenants keep dogs?", "Tenants must not keep dogs."),
        ("What is a heat pump?", "A heat pump is a device that moves heat."),
        ("Darf man Hunde halten?", "Hunde sind nicht erlaubt."),
        ("Drying of coffee", "Coffee dries on beds."),
        ("How the tower is paid for", "The tower is paid for by the board."),
    ],
)
def test_a_text_of_the_right_kind_holds_an_answer(question: str, text: str) -> None:
    assert holds_answer(text, Question(question))


@pytest.mark.parametrize(
    ("question", "text"),
    [
        ("When was the tower built?", "The tower was built by the board."),
        ("How tall is the tower?", "The tower is very tall."),
        ("Who built the tower?", "The tower is tall."),
        ("Who runs the boats?", "Boats run on the long route to Outer Skarn."),
        ("Who runs the boats?", "Boats run between Venby and Morrow Point."),
        ("Where was Ada Holt born?", "Ada Holt was born at sea."),
    ],
)
def test_a_text_of_another_kind_holds_none(question: str, text: str) -> None:
    assert not holds_answer(text, Question(question))


@pytest.mark.parametrize(
    ("question", "text"),
    [
        ("When did the tower of 1871 open?", "The tower of 1871 opened."),
        ("How many of the 41 towers stand?", "There were 41 towers."),
        ("Who was Ada Holt?", "They called her Ada Holt."),
    ],
)
def test_what_the_question_says_itself_is_no_answer(question: str, text: str) -> None:
    assert not holds_answer(text, Question(question))


def test_the_name_of_what_a_part_belongs_to_is_no_answer() -> None:
    part = Question("Who built its batteries?", "Who built its batteries (the Vexholm ferry)?")
    assert not holds_answer("The batteries of the Vexholm ferry last ten years.", part)
