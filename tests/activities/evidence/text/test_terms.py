"""Words and the terms they are compared by."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from activities.evidence.text.terms import (
    extra_forms,
    inner_words,
    lemma,
    stem,
    term,
    terms,
    words,
)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("built", "build"),
        ("building", "builds"),
        ("renewed", "renew"),
        ("renewal", "renew"),
        ("went", "go"),
        ("children", "child"),
        ("cities", "city"),
        ("paid", "pay"),
        ("rose", "rise"),
        ("left", "leaves"),
    ],
)
def test_forms_of_an_english_word_are_one_term(one: str, other: str) -> None:
    assert term(one) == term(other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("häuser", "haus"),
        ("städte", "stadt"),
        ("verträge", "vertrag"),
        ("gebaut", "bauen"),
        ("verlängert", "verlängern"),
        ("alten", "alte"),
    ],
)
def test_forms_of_a_german_word_are_one_term(one: str, other: str) -> None:
    assert term(one, "de") == term(other, "de")


@pytest.mark.parametrize(
    ("one", "other"), [("build", "built-in"), ("tram", "train"), ("go", "got")]
)
def test_different_words_are_different_terms(one: str, other: str) -> None:
    assert term(one) != term(other)


def test_figures_and_short_words_are_their_own_lemma() -> None:
    assert [lemma(word) for word in ("2024", "A1", "of")] == ["2024", "a1", "of"]


@pytest.mark.parametrize(
    ("name", "inner"),
    [
        ("maxRetries", ["max", "retries"]),
        ("HTTPServer", ["http", "server"]),
        ("parseHTMLPage", ["parse", "html", "page"]),
        ("retries", []),
        ("HTTP", []),
    ],
)
def test_a_compound_name_holds_the_words_it_is_made_of(name: str, inner: list[str]) -> None:
    assert inner_words(name) == inner


def test_an_indexed_text_gains_the_forms_that_stemming_does_not_reach() -> None:
    forms = extra_forms("The tower was built when maxRetries ran out; renewals followed.").split()
    assert {"build", "max", "retries", "run"} <= set(forms)
    assert not {"be", "renewal", "tower"} & set(forms)


def test_terms_leave_out_function_words_of_the_texts_language() -> None:
    assert terms("When was the tower built?") == [stem("tower"), stem("build")]
    assert terms("Wann wurde das Haus gebaut?", "de") == [stem("haus"), stem("bauen")]


@given(st.text())
def test_words_are_lower_case_and_hold_letters_or_digits(text: str) -> None:
    assert all(word == word.lower() and any(map(str.isalnum, word)) for word in words(text))


@given(st.text(min_size=1))
def test_any_word_has_a_term(text: str) -> None:
    assert all(term(word, language) for word in words(text) for language in ("en", "de"))


def test_a_short_version_is_found_by_the_word_and_its_number() -> None:
    assert inner_words("v2") == ["version", "2"]
    assert "version" in extra_forms("The v2 protocol is in use.").split()


@pytest.mark.parametrize("word", ["inside", "another", "behind", "whenever"])
def test_a_function_word_is_no_term(word: str) -> None:
    assert terms(f"one pump {word} a pump", "en") == ["pump", "pump"]
