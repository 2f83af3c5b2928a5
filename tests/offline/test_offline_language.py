"""Reading English: what comparing, naming and splitting stand on."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest
from activities.offline.headings import asked, heading
from activities.offline.language import (
    capitalised,
    content_terms,
    noun_phrases,
    question_aspects,
    similarity,
    stem,
    words,
)
from activities.offline.questions import read_question
from hypothesis import given
from hypothesis import strategies as st

from workflows.contracts.facets import QuestionKind

SHARED = Path(__file__).resolve().parents[3] / "shared" / "data" / "retrieval"


@pytest.mark.parametrize(
    ("forms", "root"),
    [
        (("charge", "charges", "charged", "charging"), "charg"),
        (("policy", "policies"), "polici"),
        (("relational", "relate"), "relat"),
        (("operator", "operators", "operate"), "oper"),
        (("company's", "company"), "compani"),
    ],
)
def test_forms_of_a_word_share_a_root(forms: tuple[str, ...], root: str) -> None:
    assert {stem(form) for form in forms} == {root}


def test_words_keep_numbers_whole_and_part_hyphens() -> None:
    assert words("Long-term cost: 1,250.5 kWh in the operator’s plan") == [
        *("long", "term", "cost", "1,250.5", "kwh", "in", "the", "operator's", "plan"),
    ]


def test_content_terms_drop_grammar_and_question_words() -> None:
    assert content_terms("What is known about the charging of vehicles?") == ["charg", "vehicl"]


def test_noun_phrases_stop_at_verbs_and_marks() -> None:
    found = noun_phrases(
        "The depot charging capacity limits night service, and drivers need training."
    )
    assert "drivers" in found
    assert all("need" not in phrase for phrase in found)
    assert any(phrase.startswith("depot charging capacity") for phrase in found)


def test_a_common_word_at_a_sentence_start_is_no_name() -> None:
    text = "Trains were late. The Bank of Tarn paid. NATO met in Oslo, and Oslo was cold."
    names = [name.text for name in capitalised(text)]
    assert names == ["Bank of Tarn", "NATO", "Oslo", "Oslo"]
    assert all(text[name.start : name.end] == name.text for name in capitalised(text))


@pytest.mark.parametrize(
    ("question", "aspects"),
    [
        ("How do they compare on cost, noise and range in winter?", ["cost", "noise", "range"]),
        (
            "What are the environmental, economic and social effects of dams in Peru?",
            ["environmental effects", "economic effects", "social effects"],
        ),
        (
            "Overview of the paper industry: forestry, pulping, and export controls.",
            ["forestry", "pulping", "export controls"],
        ),
        (
            "How can the team reduce response times and improve staff safety at Acme?",
            ["response times", "staff safety"],
        ),
        ("On sleep. Cover:\n- stages of sleep\n- disorders", ["stages of sleep", "disorders"]),
        ("What of (a) the price of the fleet, (b) its noise and (c) charging?",
         ["price of the fleet", "noise", "charging"]),
        (
            "What caused the flood, how did it spread, and what does that mean for insurers?",
            ["What caused the flood", "how did it spread", "what does that mean for insurers"],
        ),
        ("Which options, such as leasing or shared depots, exist?", ["leasing", "shared depots"]),
        (
            "Before we vote, what is known about moving the library to the old mill: what it costs "
            "and how it is paid for, how lifts and heating work, and how loans are handled?",
            ["what it costs and how it is paid for", "how lifts and heating work",
             "how loans are handled"],
        ),
        ("For our board: how safe is the dam, and what do farmers say?",
         ["how safe is the dam", "what do farmers say"]),
        ("How do generics and protocols work?", ["generics", "protocols"]),
        ("What should I know about hiring, leave and travel?", ["hiring", "leave", "travel"]),
        ("Should we sell the mill, and what does it cost tenants?", ["what does it cost tenants"]),
        ("Who built the Orrin Bridge?", []),
        ("Which actor, who was born in Tarn, played the king?", []),
    ],
)  # fmt: skip
def test_a_questions_aspects(question: str, aspects: list[str]) -> None:
    assert question_aspects(question) == aspects


@pytest.mark.parametrize(
    ("clause", "title", "question"),
    [
        ("how safe it is", "Safety", "How safe is the mill"),
        ("how reliable the lifts are", "Reliability of the lifts",
         "How reliable are the lifts with regard to the mill"),
        ("what it costs", "Costs", "What does the mill cost"),
        ("what it costs and how it is paid for", "Costs and financing",
         "What does the mill cost, and how is it paid for"),
        ("what readers experience", "Readers' experience",
         "What do readers experience with regard to the mill"),
        ("how lifts and heating work", "Lifts and heating",
         "How do lifts and heating work with regard to the mill"),
        ("how loans and fines are arranged", "Loans and fines",
         "How are loans and fines arranged with regard to the mill"),
        ("how staff are trained", "Training of staff",
         "How is staff trained with regard to the mill"),
        ("how loans are granted and recorded", "Granting and recording of loans",
         "How are loans granted and recorded with regard to the mill"),
        ("what do users complain about", "Users' complaints",
         "What do users complain about with regard to the mill"),
        ("what does it cost tenants", "Costs for tenants", "What does the mill cost tenants"),
        ("how noisy is it", "Noise", "How noisy is the mill"),
        ("what the risks are", "Risks", None),
        ("how many people use it", "How many people use it", None),
    ],
)  # fmt: skip
def test_a_clause_has_a_heading_and_stands_alone(
    clause: str, title: str, question: str | None
) -> None:
    assert heading(clause) == title
    assert asked(clause, "the mill") == question


@pytest.mark.parametrize(
    ("question", "subject"),
    [
        ("Before we vote on the budget, what is known about our new library: cost and noise?",
         "the new library"),
        ("As a new teacher, what should I know about school trips?", "school trips"),
        ("What should the council know about the harbour wall?", "the harbour wall"),
        ("Given the Water Act, how can Acme reduce waste?", "Acme, waste and the Water Act"),
        ("Give the committee an overview of the Tarn Bypass.", "the Tarn Bypass"),
        ("Is the pilot of the night bus working?", "the pilot of the night bus"),
    ],
)  # fmt: skip
def test_the_subject_is_what_is_asked_about_not_who_asks(question: str, subject: str) -> None:
    assert read_question(question).subject == subject


@pytest.mark.parametrize(
    ("question", "kind"),
    [
        ("Give an overview of the coffee industry in Velmora.", "overview"),
        ("What is the state of the hydrogen economy?", "overview"),
        ("What should the council know about the hydrogen economy?", "overview"),
        ("Compare heat pumps and gas boilers on running costs.", "comparison"),
        ("TCP vs UDP: latency and reliability", "comparison"),
        ("How did lighthouse automation develop from 1960 to 2000?", "timeline"),
        ("Explain the history of the tram network.", "timeline"),
        ("Why did the oyster reefs decline?", "cause"),
        ("What effect does noise have on sleep and mood?", "cause"),
        ("Who designed the Orrin Bridge?", "fact"),
        ("How many stations did Acme run in 2021?", "fact"),
        ("The engineer of the Orrin Bridge was born in which town?", "fact"),
        ("Should the district adopt a four-day school week?", "decision"),
        ("How can Acme use sensor data to cut waste and delays?", "decision"),
    ],
)
def test_the_kind_follows_from_the_form(question: str, kind: str) -> None:
    assert read_question(question).kind == kind


def test_a_comparison_knows_its_sides_and_criteria() -> None:
    read = read_question("Compare the cost and noise of lead-acid and lithium-ion batteries.")
    assert read.things == ("lead-acid batteries", "lithium-ion batteries")
    assert [aspect.text for aspect in read.aspects] == ["cost", "noise"]


def test_a_side_of_a_comparison_gets_the_noun_it_waits_for() -> None:
    things = read_question("Compare diesel and battery-electric buses on noise.").things
    assert things == ("diesel buses", "battery-electric buses")


def test_similarity_is_of_roots() -> None:
    assert similarity("charging of vehicles", "vehicle charges") == 1.0
    assert similarity("charging", "noise") == 0.0


@given(st.text(max_size=300))
def test_any_text_can_be_read(text: str) -> None:
    words(text)
    noun_phrases(text)
    question_aspects(text)
    assert all(text[name.start : name.end] == name.text for name in capitalised(text))
    assert read_question(text).kind in set(QuestionKind)


@pytest.mark.parametrize("name", ["hotpot", "2wiki"])
def test_published_fact_questions_are_read_as_facts(name: str) -> None:
    path = SHARED / f"{name}.json"
    if not path.exists():
        pytest.skip(f"{path} is not on this machine")
    questions = [query["q"] for query in json.loads(path.read_text())["queries"]]
    kinds = Counter(read_question(question).kind for question in questions)
    assert kinds[QuestionKind.FACT] >= 0.9 * len(questions)


def test_a_heading_never_starts_in_the_middle_of_a_word() -> None:
    for clause in (
        "what should an administrator watch for",
        "what does removing it mean for users",
    ):
        first = heading(clause).split()[0].lower()
        assert first in clause.split()
