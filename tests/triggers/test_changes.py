"""What changed between two results: found, told, and the same from both sides."""

from __future__ import annotations

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from activities.evidence.run_comparison import LISTED, compare, tell, told
from workflows.contracts.changes import Changes
from workflows.contracts.evidence import Contradiction, Quote, Side, Verdict
from workflows.contracts.result import ClaimOut, FacetOut, PlanOut, ResearchResult, SourceOut

WORDS = "harbour line carried passengers electricity boats fares crew not 412,000 367,500 2024 2025"
SENTENCES = st.lists(st.sampled_from(WORDS.split()), min_size=1, max_size=8).map(" ".join)


def claim(n: int, text: str, verdict: Verdict = Verdict.SUPPORTED) -> ClaimOut:
    return ClaimOut(
        id=f"c{n}",
        facet_id="f",
        text=text,
        verdict=verdict,
        confidence=0.5,
        quotes=(Quote(source_id="s1", text=text),),
    )


def source(uri: str, sha256: str = "0" * 64) -> SourceOut:
    return SourceOut(
        n=1, id="s1", uri=uri, title=uri, date=None, kind="page", authority=0.5, origin=uri,
        sha256=sha256,
    )  # fmt: skip


def dispute(*sides: str) -> Contradiction:
    return Contradiction(
        id="x",
        about="passengers",
        sides=tuple(Side(text=text, claim_ids=("c1",), source_ids=("s1",)) for text in sides),
        explanation="counted differently",
    )


def result(
    *claims: str | ClaimOut,
    sources: tuple[SourceOut, ...] = (source("a.md"),),
    contradictions: tuple[Contradiction, ...] = (),
) -> ResearchResult:
    return ResearchResult(
        id="job-1",
        question="?",
        status="complete",
        model="offline",
        plan=PlanOut(kind="overview", facets=(FacetOut(id="f", title="Line", question="?"),)),
        sources=sources,
        claims=tuple(c if isinstance(c, ClaimOut) else claim(n, c) for n, c in enumerate(claims)),
        contradictions=contradictions,
        started_at="2026-03-01T06:00:00+00:00",
        report_markdown="# Title\n\n_Head._\n\n## Summary\n\nText.\n",
    )


@settings(max_examples=60, deadline=None)
@given(
    st.lists(SENTENCES, max_size=6),
    st.lists(st.sampled_from(list(Verdict)), min_size=6, max_size=6),
    st.lists(st.lists(SENTENCES, min_size=2, max_size=3), max_size=3),
)
def test_a_result_compared_with_itself_shows_no_change(
    texts: list[str], verdicts: list[Verdict], disputes: list[list[str]]
) -> None:
    claims = [claim(n, text, verdicts[n]) for n, text in enumerate(texts)]
    one = result(*claims, contradictions=tuple(dispute(*sides) for sides in disputes))
    assert compare(one, one).none


@settings(max_examples=100, deadline=None)
@given(st.lists(SENTENCES, max_size=6), st.lists(SENTENCES, max_size=6))
def test_seen_from_the_other_side_new_and_gone_change_places(
    before: list[str], after: list[str]
) -> None:
    there = compare(result(*before), result(*after))
    back = compare(result(*after), result(*before))
    assert {c.text for c in there.new_claims} == {c.text for c in back.gone_claims}
    assert {c.text for c in there.gone_claims} == {c.text for c in back.new_claims}
    pairs = {(c.before.text, c.after.text) for c in there.changed_claims}
    assert pairs == {(c.after.text, c.before.text) for c in back.changed_claims}


@settings(max_examples=100, deadline=None)
@given(st.lists(SENTENCES, max_size=6), st.lists(SENTENCES, max_size=6))
def test_no_claim_is_lost(before: list[str], after: list[str]) -> None:
    """A claim only one side has words for is new, changed, or the same in other words."""
    found = compare(result(*before), result(*after))
    shown = {c.text for c in found.new_claims} | {c.after.text for c in found.changed_claims}
    assert shown <= set(after)
    numbers = [text for text in after if any(c.isdigit() for c in text)]
    past = {word for text in before for word in text.split()}
    for text in numbers:
        if not {word for word in text.split() if word[0].isdigit()} <= past:
            assert text in shown


def test_another_figure_is_a_changed_claim_and_not_a_new_one() -> None:
    found = compare(
        result("The line carried 412,000 passengers in 2024.", "Fares rose."),
        result("Fares rose.", "The line carried 430,000 passengers in 2024."),
    )
    (changed,) = found.changed_claims
    assert (changed.what, changed.after.cites) == ("figures", (1,))
    assert not found.new_claims
    assert not found.gone_claims


def test_what_is_about_somebody_else_is_new_and_not_changed() -> None:
    found = compare(
        result("Last year the ferry Tern used 412 megawatt hours of electricity."),
        result("Last year the ferry Eider used 390 megawatt hours of electricity."),
    )
    assert not found.changed_claims
    assert len(found.new_claims) == len(found.gone_claims) == 1


def test_the_opposite_and_another_verdict_are_changes_and_other_words_are_none() -> None:
    before = result(
        "The second feeder is ready for the winter service.",
        "Boats run every twenty minutes from six in the morning.",
        claim(9, "The crew is 86 people."),
    )
    after = result(
        "The second feeder is not ready for the winter service.",
        "From six in the morning boats run every twenty minutes.",
        claim(9, "The crew is 86 people.", Verdict.CONTRADICTED),
    )
    found = compare(before, after)
    assert [c.what for c in found.changed_claims] == ["meaning", "verdict"]
    assert not found.new_claims


def test_new_contradictions_and_sources_are_told() -> None:
    before = result("A is 1.", sources=(source("a.md"), source("b.md")))
    after = result(
        "A is 1.",
        sources=(source("a.md", "1" * 64), source("c.md")),
        contradictions=(dispute("It carried 412,000.", "It carried 367,500."),),
    )
    found = compare(before, after)
    assert [c.sides for c in found.new_contradictions] == [
        ("It carried 412,000.", "It carried 367,500.")
    ]
    assert [s.uri for s in found.changed_sources] == ["a.md"]
    assert [s.uri for s in found.new_sources] == ["c.md"]
    assert [s.uri for s in found.gone_sources] == ["b.md"]
    assert "“It carried 412,000.” against “It carried 367,500.”" in tell(found)


def test_a_claim_whose_quote_is_not_in_its_source_was_never_said() -> None:
    found = compare(result("A is 1."), result(claim(0, "A is 1.", Verdict.FAILED)))
    assert [c.text for c in found.gone_claims] == ["A is 1."]


def test_the_section_stands_first_in_the_report_and_the_rest_stays() -> None:
    after = result("A is 1.", "Boats are blue and cost 12 euros.")
    shown = told(after, compare(result("A is 1."), after))
    assert shown.report_markdown.index("## What changed since 2026-03-01") < (
        shown.report_markdown.index("## Summary")
    )
    assert "- Boats are blue and cost 12 euros. [1]" in shown.report_markdown
    assert shown.report_markdown.startswith("# Title\n\n_Head._\n\n## What changed")
    assert shown.report_markdown.endswith("## Summary\n\nText.\n")
    assert shown.changes is not None
    assert [c.text for c in shown.changes.new_claims] == ["Boats are blue and cost 12 euros."]


def test_nothing_new_is_said_and_so_is_that_nothing_could_be_compared() -> None:
    one = result("A is 1.")
    assert "_Nothing: the same claims" in told(one, compare(one, one)).report_markdown
    unread = told(one, None)
    assert "cannot be read" in unread.report_markdown
    assert unread.changes is None


def test_a_long_list_is_cut_in_the_report_and_whole_in_the_json() -> None:
    many = [f"Boat {n} of the fleet has {n * 7} seats of its own kind{n}." for n in range(60)]
    found = compare(result(), result(*many))
    assert len(found.new_claims) == 60
    assert f"… and {60 - LISTED} more, in `report.json`" in tell(found)


def test_of_many_rows_in_the_same_words_the_one_about_the_same_year_is_the_changed_one() -> None:
    before = result(*(f"The line carried {n},412 passengers in 20{n}." for n in range(10, 30)))
    after = result(*(f"The line carried {n},500 passengers in 20{n}." for n in range(10, 30)))
    pairs = [(c.before.text[-5:], c.after.text[-5:]) for c in compare(before, after).changed_claims]
    assert len(pairs) == 20
    assert all(one == other for one, other in pairs)


@pytest.mark.slow
def test_thousands_of_claims_are_compared_in_seconds() -> None:
    """Also where all are rows of one table, every figure of which is another one."""
    rows = range(1000)
    letters = [f"{chr(97 + n % 26)}{chr(97 + n // 26 % 26)}{chr(97 + n // 676)}ric" for n in rows]
    before = [f"Ship {letters[n]} sails to the outer port at {n} knots." for n in rows]
    after = [f"Ship {letters[n]} sails to the outer port at 1{n} knots." for n in rows]
    table = [f"Seats on the boat number {n}" for n in rows]
    began = time.process_time()
    found = compare(result(*before, *table), result(*after, *(f"{row}000" for row in table)))
    assert time.process_time() - began < 60
    assert len(found.changed_claims) + len(found.new_claims) == 2000
    assert Changes.model_validate_json(found.model_dump_json()) == found
