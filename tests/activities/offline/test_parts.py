"""A question split into the parts it names."""

from __future__ import annotations

import pytest

from activities.offline.planner import split_comparison, split_question


def titles(question: str) -> list[str]:
    return [part.title for part in split_question(question)]


@pytest.mark.parametrize(
    "question",
    [
        "When was the Venby lighthouse built?",
        "How does the client handle retries, timeouts and heartbeats?",
        "What was spent on trams between 2019 and 2023?",
        "coffee",
    ],
)
def test_a_question_about_one_thing_stays_whole(question: str) -> None:
    (part,) = split_question(question)
    assert part.question == question


def test_clauses_with_a_question_word_each_are_parts() -> None:
    assert titles("When was the lighthouse built, how tall is it and who owns it?") == [
        "When was the lighthouse built",
        "How tall is it",
        "Who owns it",
    ]


def test_a_list_after_a_colon_names_parts_of_the_subject_before_it() -> None:
    parts = split_question("What is known about coffee in Velmora: drying, labour and exports?")
    assert [part.title for part in parts] == ["Drying", "Labour", "Exports"]
    assert {part.question for part in parts} == {
        "Drying (coffee Velmora)?",
        "Labour (coffee Velmora)?",
        "Exports (coffee Velmora)?",
    }


def test_several_things_asked_of_one_subject_are_parts() -> None:
    assert titles("What are the costs, risks and benefits of remote work?") == [
        "What are the costs of remote work",
        "What are the risks of remote work",
        "What are the benefits of remote work",
    ]


def test_things_that_are_the_subject_of_one_question_are_parts() -> None:
    assert titles("What do ships, cables and turbines cost in the north?") == [
        "What do ships cost in the north",
        "What do cables cost in the north",
        "What do turbines cost in the north",
    ]


def test_an_article_in_a_list_is_not_doubled_and_the_subject_stays_whole() -> None:
    assert titles("What is the notice period, the deposit and the rent for the flat in Orla?") == [
        "What is the notice period for the flat in Orla",
        "What is the deposit for the flat in Orla",
        "What is the rent for the flat in Orla",
    ]


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("When was the Venby lighthouse built, and how tall is it?", "Venby lighthouse built"),
        ("Who founded Acme? What does it sell?", "founded Acme"),
        ("What does the Orla tram cost, who drives it and what are its routes?", "Orla tram cost"),
        ("Wie wird der Vertrag verlängert und was kostet das?", "Vertrag verlängert"),
    ],
)
def test_a_part_that_leans_on_the_first_one_carries_its_subject(
    question: str, expected: str
) -> None:
    last = split_question(question)[-1]
    assert expected in last.question
    assert expected not in last.title


def test_a_part_with_its_own_subject_is_left_as_it_is() -> None:
    last = split_question("When did the tram open, and who pays for the tram?")[-1]
    assert last.question == "Who pays for the tram?"


@pytest.mark.parametrize(
    ("question", "things"),
    [
        ("Compare heat pumps and gas boilers in terms of noise.", ["heat pumps", "gas boilers"]),
        ("What are the differences between Orla, Venby and Skerry?", ["Orla", "Venby", "Skerry"]),
        ("Heat pumps versus gas boilers: which is cheaper?", ["Heat pumps", "gas boilers"]),
        ("How does Kafka compare to RabbitMQ?", ["Kafka", "RabbitMQ"]),
        ("What is the difference between define and attr.s?", ["define", "attr.s"]),
        (
            "What differs when you compare a pump and a boiler, and which should I buy?",
            ["a pump", "a boiler"],
        ),
        ("Unterschied zwischen Wärmepumpe und Gasheizung", ["Wärmepumpe", "Gasheizung"]),
    ],
)
def test_a_comparison_has_a_part_for_each_thing(question: str, things: list[str]) -> None:
    parts = split_comparison(question)
    assert [part.title.lower() for part in parts] == [thing.lower() for thing in things]
    for part, thing in zip(parts, things, strict=True):
        assert thing in part.question
        assert not any(other in part.question for other in things if other != thing)


def test_each_thing_is_asked_about_by_the_comparisons_criteria() -> None:
    parts = split_comparison("Compare heat pumps and gas boilers in terms of noise.")
    assert all("in terms of noise" in part.question for part in parts)


@pytest.mark.parametrize(
    "question",
    ["When was the lighthouse built?", "this versus that", "How did rents rise compared to 2019?"],
)
def test_what_names_no_two_things_is_not_split_as_a_comparison(question: str) -> None:
    assert split_comparison(question) == []


@pytest.mark.parametrize(
    "whole",
    [
        "Which lifts had broken doors and what was done about them?",
        "How does the lift choose a floor, and why is it sometimes wrong?",
        "How many people may ride in the lift, and how do I raise that number?",
        "When riding a full lift, which floor comes first?",
        "The lift stops between floors, what causes that?",
    ],
)
def test_a_clause_that_asks_nothing_of_its_own_is_no_part(whole: str) -> None:
    assert [part.question for part in split_question(whole)] == [whole]
