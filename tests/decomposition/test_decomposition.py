"""Forty questions of six kinds, split as a person would split them.

The floors are what was measured, less a margin; a plan that covers less has lost something.
"""

from __future__ import annotations

from functools import lru_cache

import pytest

from tests.decomposition.measure import Case, Row, cases, means, rows
from workflows.contracts.facets import QuestionKind
from workflows.rules.plan import faults

FLOORS = {
    QuestionKind.OVERVIEW: 0.9,
    QuestionKind.COMPARISON: 0.9,
    QuestionKind.TIMELINE: 0.8,
    QuestionKind.CAUSE: 0.75,
    QuestionKind.FACT: 0.8,
    QuestionKind.DECISION: 0.75,
}


@lru_cache(maxsize=1)
def measured() -> tuple[Row, ...]:
    """Every plan once; company files, which take long to read, are for the measuring by hand."""
    return tuple(rows(case for case in cases() if not case.corpus.startswith("drbench")))


def of(kind: QuestionKind) -> list[Row]:
    return [row for row in measured() if row.case.kind is kind]


def test_there_are_thirty_questions_and_at_least_five_of_each_kind() -> None:
    every = cases()
    assert len(every) >= 30
    assert all(sum(case.kind is kind for case in every) >= 5 for kind in QuestionKind)
    assert {case.half for case in every} == {"seen", "kept"}
    assert len({case.question for case in every}) == len(every)


@pytest.mark.parametrize("case", cases(), ids=lambda case: case.id)
def test_what_is_wanted_is_not_what_is_barred(case: Case) -> None:
    wanted = {name for names in case.expected for name in names}
    assert case.expected
    assert not wanted & set(case.must_not)


@pytest.mark.parametrize("kind", list(QuestionKind))
def test_the_sub_domains_a_person_would_want_are_covered(kind: QuestionKind) -> None:
    found = of(kind)
    missed = {row.case.id: row.missed for row in found if row.missed}
    assert means(found)["coverage"] >= FLOORS[kind], missed


@pytest.mark.parametrize("half", ["seen", "kept"])
def test_both_halves_are_covered_and_hardly_anything_is_off_topic(half: str) -> None:
    found = means([row for row in measured() if row.case.half == half])
    assert found["coverage"] >= 0.78
    assert found["right_kind"] >= 0.8
    assert found["off_topic"] <= 0.05
    assert found["beside"] <= 0.25
    assert found["overlap"] <= 0.05


def test_effort_fits_the_question() -> None:
    right = [row for row in measured() if row.right_kind]
    assert means(right)["fits"] >= 0.95
    assert all(len(row.plan.facets) == 1 for row in right if row.case.kind is QuestionKind.FACT)


def test_every_plan_keeps_the_rules() -> None:
    assert {row.case.id: found for row in measured() if (found := faults(row.plan))} == {}
