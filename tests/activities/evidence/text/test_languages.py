"""Stop lists, the language of a text, and the months."""

from __future__ import annotations

import re

import pytest

from activities.evidence.text.names import MONTH_PATTERN, MONTHS
from activities.evidence.text.terms import STOP_WORDS, detect_language


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("When was the tower built and who owns it?", "en"),
        ("Wann wurde der Turm gebaut und wem gehört er?", "de"),
        ("Quand est-ce que la tour a été construite et par qui ?", "fr"),
        ("¿Cuándo se construyó la torre y de quién es?", "es"),
        ("Wanneer werd de toren gebouwd en van wie is hij?", "nl"),
        ("coffee", "en"),
        ("", "en"),
    ],
)
def test_function_words_tell_the_language(text: str, language: str) -> None:
    assert detect_language(text) == language


def test_words_with_a_meaning_of_their_own_are_in_no_stop_list() -> None:
    listed = set().union(*STOP_WORDS.values())
    assert not {"use", "new", "best", "year", "build", "cost", "kosten", "neu"} & listed


def test_the_words_of_how_many_and_how_much_are_function_words() -> None:
    assert {"how", "many", "much", "few"} <= STOP_WORDS["en"]


def test_every_month_is_known_by_its_names_whole_and_short() -> None:
    assert set(MONTHS.values()) == set(range(1, 13))
    assert MONTHS["march"] == MONTHS["mar"] == MONTHS["märz"] == 3
    assert MONTHS["dez"] == MONTHS["december"] == 12


@pytest.mark.parametrize(
    ("text", "month"), [("Sept 3", "Sept"), ("MÄRZ", "MÄRZ"), ("june", "june")]
)
def test_the_pattern_takes_the_longest_name(text: str, month: str) -> None:
    found = re.match(MONTH_PATTERN, text, re.IGNORECASE)
    assert found is not None
    assert found[0] == month
