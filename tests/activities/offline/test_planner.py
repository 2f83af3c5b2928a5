"""The offline planner: the question leads."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from activities.agent.schemas import PlanDraft
from activities.offline.planner import facets_of_question, plan
from activities.offline.request import Conversation, Reply
from tests.activities.offline.library import Library, library
from workflows.contracts.facets import Plan, QuestionKind
from workflows.rules.plan import faults

FILES = {
    "coffee.md": """# Coffee in Velmora

## Drying of coffee on raised beds

Smallholders in Velmora dry coffee on raised beds.

## Coffee pickers and their wages

Pickers of coffee in Velmora earn by the basket.
""",
    "trams.md": "# Tram timetable\n\nTrams run every ten minutes.\n",
    "costs.md": "# Costs and risks\n\nStaff costs rose. Risks were not counted.\n",
}


@pytest.fixture
def documents(tmp_path: Path) -> Iterator[Library]:
    with library(tmp_path, FILES) as opened:
        yield opened


async def planned(documents: Library, question: str, **brief: object) -> PlanDraft:
    return PlanDraft.model_validate((await documents.plan(question, **brief)).answer)


@pytest.mark.parametrize(
    ("question", "kind"),
    [
        ("How does a tram driver learn the trade?", QuestionKind.FACT),
        ("How has the coffee of Velmora changed since 1990?", QuestionKind.TIMELINE),
        ("Why did wages in Velmora rise?", QuestionKind.CAUSE),
        ("How often do trams run?", QuestionKind.FACT),
        ("Should we buy raised beds for drying?", QuestionKind.DECISION),
    ],
)
async def test_each_kind_of_topic_is_led_by_the_question(
    documents: Library, question: str, kind: QuestionKind
) -> None:
    draft = await planned(documents, question)
    assert draft.kind is kind
    assert len(draft.facets) == 1
    assert question.rstrip("?.") in draft.facets[0].question


async def test_a_broad_question_gains_the_documents_own_headings_on_it(documents: Library) -> None:
    draft = await planned(documents, "Give an overview of coffee in Velmora.")
    assert draft.facets[0].title == "Give an overview of coffee in Velmora"
    titles = {facet.title for facet in draft.facets[1:]}
    assert titles == {"Drying of coffee on raised beds", "Coffee pickers and their wages"}
    assert all("Coffee in Velmora" in facet.reason for facet in draft.facets[1:])


async def test_nobody_gets_generic_aspects_that_were_not_asked_for(documents: Library) -> None:
    draft = await planned(documents, "Give an overview of coffee in Velmora.")
    told = " ".join(f"{facet.title} {facet.question}" for facet in draft.facets).lower()
    assert not {"costs", "risks", "staff", "timetable"} & set(told.split())


async def test_a_comparison_leads_with_the_question_then_each_thing(documents: Library) -> None:
    draft = await planned(documents, "Compare trams, ferries and buses in terms of fares.")
    whole, *things = (facet.title for facet in draft.facets)
    assert whole == "Compare trams, ferries and buses in terms of fares"
    assert things == ["Trams", "Ferries", "Buses"]
    assert all("fares" in facet.question for facet in draft.facets)
    assert faults(Plan(kind=draft.kind, facets=tuple(draft.facets))) == []


async def test_a_note_adds_what_it_asks_for(documents: Library) -> None:
    draft = await planned(documents, "How often do trams run?", notes=["Look at the fares too."])
    assert [facet.title for facet in draft.facets] == [
        "How often do trams run",
        "Look at the fares too",
    ]
    assert "note" in draft.facets[1].reason


async def test_a_note_takes_out_what_it_does_not_want(documents: Library) -> None:
    question = "What are the costs, risks and benefits of trams?"
    draft = await planned(documents, question, notes=["Leave out the risks, please."])
    assert [facet.title for facet in draft.facets] == [
        "What are the costs of trams",
        "What are the benefits of trams",
    ]


async def test_a_note_that_drops_everything_drops_nothing(documents: Library) -> None:
    draft = await planned(documents, "How often do trams run?", notes=["Skip the trams."])
    assert len(draft.facets) == 1


async def test_a_note_without_words_changes_nothing(documents: Library) -> None:
    draft = await planned(documents, "How often do trams run?", notes=["…", " ? "])
    assert len(draft.facets) == 1


async def test_pinned_facts_stand_in_every_facets_boundary(documents: Library) -> None:
    question = "When did trams open, and who pays for trams?"
    draft = await planned(documents, question, pinned=["Trams opened in 1901."])
    assert all("Known already: Trams opened in 1901." in f.boundary for f in draft.facets)


@given(st.text(min_size=1, max_size=300).filter(lambda text: text.strip() != ""))
def test_no_question_gives_a_plan_without_facets(question: str) -> None:
    step = plan(Conversation("PlanDraft", {"question": question, "pinned": []}, frozenset()))
    assert isinstance(step, Reply)
    assert PlanDraft.model_validate(step.answer).facets


@pytest.mark.parametrize("question", ["?", "…", "x", "и", "日本の電車"])
def test_even_a_question_without_a_known_word_is_a_facet(question: str) -> None:
    (facet,) = facets_of_question(question)
    assert facet.question == question
