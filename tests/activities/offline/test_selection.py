"""Which of the ranked passages are shown."""

from __future__ import annotations

import pytest

from activities.evidence.text.sentences import sentences
from activities.offline.passages import Passage, Piece
from activities.offline.researcher import select
from activities.offline.scoring import Scored

TOWN = "The tower of Orla opened in 1871 with a feast for the whole town."
FEE = "Visitors pay three crowns at a gate beside the harbour."


def scored(text: str, score: float = 1.0, source: str = "d1") -> Scored:
    pieces = tuple(Piece("prose", sentence) for sentence in sentences(text))
    passage = Passage(source, "Notes", "", pieces, 0, (0, 0))
    return Scored(passage, text, score, score, True, frozenset())


def chosen(ranked: list[Scored], limit: int, per_document: int = 6) -> list[Scored]:
    return select(ranked, limit, least=0.4, per_document=per_document)


def texts(shown: list[Scored]) -> list[str]:
    return [own.passage.text for own in shown]


def different(count: int, source: str = "d1") -> list[Scored]:
    words = [f"w{n}a w{n}b w{n}c w{n}d." for n in range(count)]
    return [scored(text, source=source) for text in words]


def test_the_best_come_first_and_no_more_than_the_limit() -> None:
    shown = chosen([scored(TOWN), scored(FEE, 0.9, "d2")], 1)
    assert texts(shown) == [TOWN]


def test_no_sentence_of_a_document_is_shown_twice() -> None:
    window = f"{TOWN} {FEE}"
    shown = chosen([scored(TOWN), scored(window, 0.9), scored(FEE, 0.8)], 8)
    assert texts(shown) == [TOWN, FEE]


def test_two_documents_that_say_the_same_are_shown_once() -> None:
    copy = TOWN.replace("feast", "party")
    assert texts(chosen([scored(TOWN), scored(copy, 0.9, "d2")], 8)) == [TOWN]


@pytest.mark.parametrize(("word", "other"), [("1871", "1902"), ("Orla", "Skerry")])
def test_two_documents_that_give_another_figure_or_name_are_both_shown(
    word: str, other: str
) -> None:
    differs = TOWN.replace(word, other)
    ranked = [scored(TOWN), scored(differs, 0.9, "d2"), scored(differs, 0.8, "d3")]
    assert texts(chosen(ranked, 8)) == [TOWN, differs]


def test_a_short_passage_that_shares_a_name_and_function_words_is_news() -> None:
    keeper = "The last of the keepers in the tower was Ada Holt."
    born = "Ada Holt was born in Orla."
    assert texts(chosen([scored(keeper), scored(born, 0.9, "d2")], 8)) == [
        keeper,
        born,
    ]


def test_what_is_worth_much_less_than_the_best_is_left_out() -> None:
    assert texts(chosen([scored(TOWN), scored(FEE, 0.3, "d2")], 8)) == [TOWN]


def test_the_rest_of_a_section_is_shown_though_it_uses_the_same_words() -> None:
    first = "A timeout of a request is set in seconds, as a number for the whole pool."
    rest = "A timeout of a request may also be set for the pool, in seconds, with a class."
    shown = chosen([scored(first), scored(rest, 0.9)], 8)
    assert texts(shown) == [first, rest]


def test_one_document_cannot_fill_the_answer() -> None:
    ranked = [*different(9), scored(FEE, 0.9, "d2")]
    assert len(chosen(ranked, 9)) == 7
    assert len(chosen(ranked, 9, per_document=2)) == 3
    assert chosen(ranked, 9, per_document=2)[-1].passage.source_id == "d2"


def test_nothing_is_chosen_from_nothing() -> None:
    assert chosen([], 8) == []
