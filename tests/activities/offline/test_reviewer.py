"""The offline reviewer: adds what the question names and the plan lacks, drops nothing."""

from __future__ import annotations

from activities.agent.schemas import PlanReview
from activities.offline.planner import facets_of_question, review
from activities.offline.request import Conversation
from activities.subagents.planning import revise
from workflows.contracts.facets import Facet, Plan, QuestionKind

QUESTION = "When was the Venby lighthouse built, how tall is it and who owns it?"


def reviewed(question: str, facets: list[Facet], notes: tuple[str, ...] = ()) -> PlanReview:
    plan = {"facets": [f.model_dump() for f in facets]}
    brief = {"question": question, "plan": plan, "notes": notes}
    return PlanReview.model_validate(review(Conversation("PlanReview", brief, frozenset())).answer)


def test_a_plan_that_covers_the_question_is_left_alone() -> None:
    assert reviewed(QUESTION, facets_of_question(QUESTION)).changes == []


def test_a_part_that_no_facet_covers_is_added() -> None:
    first, *_ = facets_of_question(QUESTION)
    changes = reviewed(QUESTION, [first]).changes
    assert [change.facet and change.facet.title for change in changes] == [
        "How tall is it",
        "Who owns it",
    ]
    assert all(change.action == "add" and change.facet_ids == [] for change in changes)


def test_a_part_that_a_note_dropped_is_not_added_again() -> None:
    first, second, _ = facets_of_question(QUESTION)
    assert reviewed(QUESTION, [first, second], ("Leave out who owns it.",)).changes == []


def test_an_added_facet_has_an_id_of_its_own() -> None:
    first, second, *_ = facets_of_question(QUESTION)
    other = first.model_copy(update={"id": second.id})
    (change, _) = reviewed(QUESTION, [other]).changes
    assert change.facet is not None
    assert change.facet.id != second.id


def test_facets_beside_the_question_stay_in_the_plan() -> None:
    first, *_ = facets_of_question(QUESTION)
    beside = first.model_copy(
        update={"id": "paint", "title": "Colour of the paint", "question": "Which colour is it?"}
    )
    changes = reviewed(QUESTION, [first, beside]).changes
    plan = revise(Plan(kind=QuestionKind.FACT, facets=(first, beside)), changes)
    assert {first.id, "paint"} < {facet.id for facet in plan.facets}


def test_a_compared_thing_without_a_facet_is_added() -> None:
    question = "Compare trams and ferries in terms of noise."
    _, trams, _ = facets_of_question(question)
    (change,) = reviewed(question, [trams]).changes
    assert change.facet is not None
    assert change.facet.title == "Ferries"
