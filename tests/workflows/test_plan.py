"""The plan's rules: effort fits the question, facets do not overlap, nothing is dropped unnamed."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from activities.agent.schemas import PlanChange
from activities.subagents.planning import revise
from workflows.contracts.facets import Effort, Facet, Plan, QuestionKind
from workflows.rules.plan import LIMITS, faults, fit, limits_for, repair, twins


def facet(fid: str, question: str = "", depends_on: tuple[str, ...] = ()) -> Facet:
    return Facet(
        id=fid,
        title=f"Title {fid}",
        question=question or f"What is known about {fid} {fid}thing {fid}matter?",
        boundary="nothing else",
        prefer="reports",
        reason="named in the question",
        depends_on=depends_on,
    )


def plan(*facets: Facet, kind: QuestionKind = QuestionKind.OVERVIEW) -> Plan:
    return Plan(kind=kind, facets=facets)


NAMES = ["alpha", "bravo", "charlie", "delta", "echo", "foxtrot", "golf", "hotel", "india",
         "juliett", "kilo", "lima", "mike", "november"]  # fmt: skip

plans = st.builds(
    lambda kind, facets: Plan(kind=kind, facets=tuple(facets)),
    st.sampled_from(QuestionKind),
    st.lists(
        st.builds(
            facet,
            st.sampled_from(NAMES),
            depends_on=st.lists(st.sampled_from(NAMES), max_size=3).map(tuple),
        ),
        min_size=1,
        max_size=30,
    ),
)


@pytest.mark.parametrize("effort", list(Effort))
def test_a_narrow_fact_gets_one_researcher_and_no_refinement(effort: Effort) -> None:
    fitted = fit(plan(facet("a"), facet("b"), kind=QuestionKind.FACT), effort)
    assert [f.id for f in fitted.facets] == ["a"]
    (cut,) = fitted.left_out
    assert (cut.id, cut.left_out_because) == ("b", "a narrow question gets one researcher")
    assert limits_for(effort, QuestionKind.FACT).passes == 0


def test_an_explicit_number_of_facets_and_passes_wins_over_the_kind_of_the_question() -> None:
    fact = plan(facet("a"), facet("b"), kind=QuestionKind.FACT)
    assert len(fit(fact, Effort.QUICK, max_facets=2).facets) == 2
    assert limits_for(Effort.QUICK, QuestionKind.FACT, max_passes=3).passes == 3


def test_a_question_judged_narrow_that_has_different_parts_is_widened() -> None:
    fact = plan(*(facet(name) for name in NAMES[:3]), kind=QuestionKind.FACT)
    wide = fit(fact, Effort.STANDARD)
    assert wide.kind is QuestionKind.OVERVIEW
    assert len(wide.facets) == 3
    assert "judged narrow" in wide.changes[-1]


def test_three_wordings_of_one_fact_stay_one_fact() -> None:
    wordings = (
        facet("a", "When was the harbour bridge opened?"),
        facet("b", "When was the harbour bridge first opened?"),
        facet("c", "In which year was the harbour bridge opened?"),
    )
    narrow = fit(plan(*wordings, kind=QuestionKind.FACT), Effort.STANDARD)
    assert narrow.kind is QuestionKind.FACT
    assert [f.id for f in narrow.left_out] == ["b", "c"]


def test_a_comparison_keeps_one_researcher_per_thing() -> None:
    things = plan(*(facet(n) for n in NAMES[:4]), kind=QuestionKind.COMPARISON)
    assert fit(things, Effort.STANDARD).facets == things.facets


def test_what_the_cap_cuts_is_kept_by_name() -> None:
    broad = plan(*(facet(name) for name in NAMES))
    fitted = fit(broad, Effort.STANDARD)
    assert len(fitted.facets) == LIMITS[Effort.STANDARD].facets
    assert [f.id for f in (*fitted.facets, *fitted.left_out)] == [f.id for f in broad.facets]
    assert {f.left_out_because for f in fitted.left_out} == {"standard effort allows 10 facets"}


def test_an_explicit_cap_replaces_the_efforts_own() -> None:
    fitted = fit(plan(*(facet(name) for name in NAMES)), Effort.QUICK, max_facets=7)
    assert len(fitted.facets) == 7


def test_a_dependency_on_a_facet_that_was_cut_is_dropped() -> None:
    broad = plan(facet("a", depends_on=("z",)), facet("z"))
    assert fit(broad, Effort.STANDARD, max_facets=1).facets[0].depends_on == ()


def test_faults_name_what_is_wrong() -> None:
    same = "How do charging stations connect to the regional electricity grid?"
    text = " | ".join(
        faults(
            plan(
                facet("a", same),
                facet("b", same),
                facet("a"),
                facet("c", depends_on=("nowhere",)),
            )
        )
    )
    assert "share the id 'a'" in text
    assert "'a' and 'b' ask the same" in text
    assert "depends on 'nowhere'" in text


def test_a_circle_of_dependencies_is_a_fault_and_is_cut() -> None:
    circle = plan(facet("alpha", depends_on=("bravo",)), facet("bravo", depends_on=("alpha",)))
    assert any("circle" in fault for fault in faults(circle))
    assert all(f.depends_on == () for f in repair(circle).facets)


@given(plans)
def test_a_mended_plan_has_no_faults_and_mending_again_changes_nothing(broken: Plan) -> None:
    mended = repair(broken)
    assert faults(mended) == []
    assert repair(mended) == mended


@given(plans, st.sampled_from(Effort))
def test_fitting_never_exceeds_the_cap_and_loses_no_facet(given_plan: Plan, effort: Effort) -> None:
    lawful = repair(given_plan)
    fitted = fit(lawful, effort)
    assert len(fitted.facets) <= limits_for(effort, fitted.kind).facets
    assert [f.id for f in (*fitted.facets, *fitted.left_out)] == [f.id for f in lawful.facets]
    assert faults(fitted) == []


def test_words_that_name_the_whole_questions_subject_make_no_twins() -> None:
    subject = "converting the county ferries to battery electric operation"
    plans = [facet(n, f"Regarding {subject}: what of {n}{n}?") for n in NAMES[:4]]
    assert twins(plans) == []
    assert twins([*plans, plans[0]])


def test_two_facets_of_one_id_are_both_kept() -> None:
    mended = repair(plan(facet("a", "Where is north?"), facet("a", "Who came second?")))
    assert [f.id for f in mended.facets] == ["a", "a-2"]


# What any model may propose, and what becomes of it.


def worded(fid: str, title: str, question: str, **more: Any) -> Facet:
    return facet(fid, question, **more).model_copy(update={"title": title})


def test_overlapping_facets_are_joined_and_the_plan_says_so() -> None:
    split = repair(
        plan(
            worded("cost", "Cost", "What did the harbour tunnel cost to build?"),
            worded("price", "Building cost", "What did the harbour tunnel cost to build?"),
            worded("air", "Ventilation", "How is the air in the harbour tunnel kept clean?"),
        )
    )
    assert [f.id for f in split.facets] == ["cost", "air"]
    assert split.changes == ("joined “Building cost” with “Cost”: the same question",)


def test_what_depended_on_a_joined_facet_waits_for_nothing_that_is_gone() -> None:
    same = "What did the harbour tunnel cost to build?"
    split = repair(plan(facet("a", same), facet("b", same), facet("c", depends_on=("b", "a"))))
    assert [f.id for f in split.facets] == ["a", "c"]
    assert split.facet("c").depends_on == ("a",)


def test_facets_that_differ_in_one_telling_word_are_two() -> None:
    first = worded("north", "Northern line", "How punctual are trams on the northern line?")
    second = worded("south", "Southern line", "How punctual are trams on the southern line?")
    assert twins([first, second]) == []


def test_three_copies_become_one() -> None:
    same = "How do charging stations connect to the regional electricity grid?"
    split = repair(plan(*(worded(n, "Charging", same) for n in NAMES[:3])))
    assert len(split.facets) == 1
    assert faults(split) == []


def test_the_same_words_about_two_things_are_two_questions() -> None:
    first = worded("lend", "Lending", "What does the city lend the harbour?")
    second = worded("owe", "Debts", "What does the harbour lend the city?")
    assert twins([first, second]) == []


def test_no_review_removes_what_the_question_names() -> None:
    named = plan(
        facet("fares", "What do tickets for the line cost?"),
        facet("pirates", "What is known of pirates on the line?"),
    )
    question = "What is known about tickets and pirates?"
    drop = PlanChange(action="drop", facet_ids=["pirates"], reason="off topic")
    kept = revise(named, [drop], question)
    assert kept.facets == named.facets
    assert "the question names pirates" in kept.changes[-1]
    other = PlanChange(
        action="rewrite",
        facet_ids=["pirates"],
        facet=facet("piracy", "Which pirates were tried?"),
        reason="clearer",
    )
    assert [f.id for f in revise(named, [other], question).facets] == ["fares", "piracy"]


def test_a_facet_that_depends_on_itself_is_a_fault_and_is_freed() -> None:
    own = plan(facet("alpha", depends_on=("alpha",)), facet("bravo"))
    assert faults(own) == ["facet 'alpha' depends on 'alpha', which is not another facet"]
    assert repair(own).facet("alpha").depends_on == ()


def test_a_long_circle_is_cut_and_what_stands_outside_keeps_its_dependencies() -> None:
    ring = ("alpha", "bravo", "charlie")
    circle = plan(
        *(facet(n, depends_on=(ring[i - 1],)) for i, n in enumerate(ring)),
        facet("delta"),
        facet("echo", depends_on=("delta",)),
    )
    assert faults(circle) == [f"facets depend on each other in a circle: {sorted(ring)}"]
    cut = repair(circle)
    assert [f.depends_on for f in cut.facets] == [(), (), (), (), ("delta",)]
    assert "circle" in " ".join(cut.changes)


@pytest.mark.parametrize("field", ["title", "question", "boundary", "prefer", "reason"])
def test_a_facet_without_one_of_its_parts_is_no_facet(field: str) -> None:
    told = facet("alpha").model_dump()
    for empty in ({**told, field: ""}, {k: v for k, v in told.items() if k != field}):
        with pytest.raises(ValidationError, match=field):
            Facet.model_validate(empty)


def test_a_plan_without_facets_is_no_plan() -> None:
    with pytest.raises(ValidationError, match="facets"):
        plan()


def test_far_too_many_facets_are_cut_in_the_planners_order() -> None:
    many = plan(*(facet(f"{name}{n}") for n in range(3) for name in NAMES))
    fitted = fit(many, Effort.DEEP)
    assert [f.id for f in fitted.facets] == [f.id for f in many.facets[:24]]
    assert [f.id for f in fitted.left_out] == [f.id for f in many.facets[24:]]


def test_a_review_cannot_empty_a_plan_nor_touch_what_is_not_in_it() -> None:
    only = plan(facet("alpha"), facet("bravo"))
    off_topic = [
        PlanChange(action="drop", facet_ids=["alpha", "bravo"], reason="off topic"),
        PlanChange(action="drop", facet_ids=["zulu"], reason="off topic"),
        PlanChange(action="merge", facet_ids=["zulu"], facet=facet("yankee"), reason="same"),
    ]
    assert revise(only, off_topic) == only
    without = revise(only, [PlanChange(action="drop", facet_ids=["bravo"], reason="off topic")])
    assert [f.id for f in without.facets] == ["alpha"]
    assert without.changes == ("dropped “Title bravo”: off topic",)
