"""The offline clarifier asks only where a few words stand in several documents."""

from __future__ import annotations

from dataclasses import replace

from activities.agent.schemas import ClarifyAnswer
from activities.offline.asking import clarify
from activities.offline.request import Conversation, Hit, Reply, ToolCall, UseTools

HITS = (
    Hit("a", "Mills of the north", "1. Water rights", "2021-03-01", ("Mills need water.",)),
    Hit("b", "A census of mills", "2. Owners", "2023-05-02", ("There are 40 mills.",)),
    Hit("c", "Orchards", "Mills and presses", None, ("Some orchards have mills.",)),
    Hit("d", "Bridges", "Stone", "1999-01-01", ("Nothing of the kind.",)),
)


def asked(question: str, *hits: Hit) -> ClarifyAnswer | UseTools:
    """The answer; the search that is wanted first, without hits."""
    conversation = Conversation("ClarifyAnswer", {"question": question}, frozenset({"search"}))
    if hits:
        calls = (ToolCall(0, "search", {"query": question}, hits, {}, None),)
        conversation = replace(conversation, calls=calls)
    turn = clarify(conversation)
    return ClarifyAnswer.model_validate(turn.answer) if isinstance(turn, Reply) else turn


def questions(question: str, *hits: Hit) -> dict[str, tuple[str, ...]]:
    answer = asked(question, *hits)
    assert isinstance(answer, ClarifyAnswer)
    return {one.text: one.suggestions for one in answer.questions}


def test_a_vague_question_is_met_with_titles_headings_and_years_of_what_matches() -> None:
    assert isinstance(asked("What about mills?"), UseTools)
    assert questions("What about mills?", *HITS) == {
        "Which of these do you mean?": ("Mills of the north", "A census of mills", "Orchards"),
        "What matters most to you about it?": ("Mills and presses", "Water rights", "Owners"),
        "For which period?": ("2023", "2021", "2021 to 2023"),
    }


def test_a_question_that_names_a_time_is_not_asked_for_one() -> None:
    assert "For which period?" not in questions("What about mills in 2021?", *HITS)
    assert "For which period?" not in questions("What about mills today?", *HITS)


def test_a_clear_question_is_not_searched_for_and_gets_none() -> None:
    answer = asked("Who owned the water mills of the northern valley?")
    assert isinstance(answer, ClarifyAnswer)
    assert answer.questions == []


def test_words_that_stand_in_few_documents_are_clear_enough() -> None:
    assert questions("What about mills?", *HITS[:2], HITS[3]) == {}
