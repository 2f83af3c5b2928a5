"""What a question asks for."""

from __future__ import annotations

import pytest

from activities.offline.question import Question, Wants
from workflows.contracts.facets import QuestionKind


@pytest.mark.parametrize(
    ("question", "wants"),
    [
        ("Who founded Acme?", Wants.PERSON),
        ("Which actor played the captain?", Wants.PERSON),
        ("Where was Ada Holt born?", Wants.PLACE),
        ("In which country is Orla?", Wants.PLACE),
        ("When was the tower built?", Wants.DATE),
        ("In what year did the tram open?", Wants.DATE),
        ("How many cars use the bridge?", Wants.NUMBER),
        ("What is the notice fee?", Wants.NUMBER),
        ("What does the Orla tram cost?", Wants.NUMBER),
        ("How do I renew a passport?", Wants.INSTRUCTION),
        ("Why was the move delayed?", Wants.REASON),
        ("May tenants keep dogs?", Wants.RULE),
        ("What is a heat pump?", Wants.DEFINITION),
        ("Wann wurde der Turm gebaut?", Wants.DATE),
        ("Wie viele Einwohner hat Orla?", Wants.NUMBER),
        ("Darf man Hunde halten?", Wants.RULE),
        ("According to the survey, who pays for the tram?", Wants.PERSON),
        ("In Orla, is it a fault that the tram stops twice?", Wants.RULE),
        ("The tram stops twice, so why is the fare the same?", Wants.REASON),
        ("When the tram stops, which door opens?", Wants.ANYTHING),
        ("We sold it; will the buyer pay for the tower?", Wants.RULE),
        ("Drying of coffee", Wants.ANYTHING),
    ],
)
def test_the_opening_of_a_question_tells_the_kind_of_answer(question: str, wants: Wants) -> None:
    assert Question(question).wants is wants


@pytest.mark.parametrize(
    ("question", "kind"),
    [
        ("Give an overview of the coffee industry.", QuestionKind.OVERVIEW),
        ("Compare heat pumps and gas boilers.", QuestionKind.COMPARISON),
        ("What is the history of the Orla tram?", QuestionKind.TIMELINE),
        ("Why did the oyster reefs shrink?", QuestionKind.CAUSE),
        ("When was the Venby lighthouse built?", QuestionKind.FACT),
        ("Should we replace gas boilers by heat pumps?", QuestionKind.DECISION),
        ("What was the budget of the tram from 2019 to 2023?", QuestionKind.FACT),
        ("How many cars used the bridge between 1990 and 1999?", QuestionKind.FACT),
    ],
)
def test_years_are_a_period_and_the_words_tell_the_kind(question: str, kind: QuestionKind) -> None:
    assert Question(question).kind is kind


def test_forms_of_one_word_are_one_term() -> None:
    question = Question("When was the tower built, and who builds towers?")
    assert set(question.terms) == question.terms_of("build tower")


@pytest.mark.parametrize("text", ["How high is the tower?", "Wie hoch ist der tower?"])
def test_what_only_asks_for_a_number_is_no_main_term(text: str) -> None:
    assert Question(text).main_terms == {"tower"}


def test_one_reason_does_not_need_many_documents() -> None:
    assert not Question("Why does the tram not stop at Orla?").is_open
    assert Question("How can we win more customers?").is_open
    assert not Question("Which ticket should I buy for the tram?").is_open


def test_the_question_around_a_part_counts_less_than_the_part() -> None:
    part = Question("How tall is it?", "How tall is it (Venby lighthouse)?")
    assert part.terms["tall"] > max(part.terms["venbi"], part.terms["lighthous"]) > 0


def test_what_somebody_does_counts_less_than_what_it_is_done_to() -> None:
    terms = Question("How do I raise the limit?").terms
    assert terms["rais"] < terms["limit"]


def test_a_denial_opens_a_question_on_a_rule() -> None:
    assert Question("Doesn't the server kill such threads?").wants is Wants.RULE
    assert Question("Won't it stop?").wants is Wants.RULE


def test_an_abbreviation_of_a_name_compares_nothing() -> None:
    assert Question("Why does VS Code open twice?").kind is not QuestionKind.COMPARISON
    assert Question("Which is faster, pipes vs. sockets?").kind is QuestionKind.COMPARISON


def test_a_german_question_is_read_in_german() -> None:
    question = Question("Wie werden die Häuser in der Stadt geheizt?")
    assert question.terms_of("Haus") <= set(question.terms)
    assert not question.terms_of("die der werden") & set(question.terms)


def test_every_term_can_be_told_as_the_question_writes_it() -> None:
    for text in (
        "What is the difference between package_data and include_package_data?",
        "How do I shut down os.path at `max_retries`?",
    ):
        asked = Question(text, "What does include_package_data of MyTool do?")
        assert asked.surface.keys() >= asked.terms.keys()


@pytest.mark.parametrize(
    "text",
    [
        "How do I serve a twisted.web site behind a proxy?",
        "What is known about os.path and set up.py files?",
        "Why does shut down.sh start up max_retries time out?",
    ],
)
def test_every_term_is_known_as_the_question_writes_it(text: str) -> None:
    question = Question(text)
    assert set(question.terms) <= set(question.surface)
