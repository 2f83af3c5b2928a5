"""The judge's answers become rulings; silence refutes nothing and keeps every side."""

from __future__ import annotations

import pytest

from activities.agent.schemas import (
    ClaimJudgement,
    EntailmentAnswer,
    GroupAnswer,
    RelationsAnswer,
    RulingAnswer,
    SideAnswer,
    WeakSource,
)
from activities.evidence import entailment, relations
from activities.evidence.ledger import Ledger, join
from activities.evidence.quotes import StoredText
from workflows.contracts.activity_io import Group
from workflows.contracts.evidence import (
    Claim,
    Position,
    Quote,
    Relation,
    Rulings,
    Source,
    Verdict,
)

LEDGER = Ledger(
    sources={
        f"s{n}": Source(id=f"s{n}", uri=f"{n}.md", title=f"Paper {n}", sha256="0" * 64)
        for n in (1, 2, 3)
    },
    claims=tuple(
        Claim(id=f"c{n}", facet_id="f", text=f"Orla exported {n} tonnes.",
              verdict=Verdict.SUPPORTED, quotes=(Quote(source_id=f"s{n}", text="Orla"),))
        for n in (1, 2, 3)
    ),
)  # fmt: skip


# Claims beside their quotes


def judge(*entries: ClaimJudgement, weak: tuple[WeakSource, ...] = ()) -> Ledger:
    answer = EntailmentAnswer(claims=list(entries), weak_sources=list(weak))
    return join([LEDGER], [entailment.rule(LEDGER.claims, answer)])


def test_an_unsupported_claim_is_kept_with_its_reason_and_not_written() -> None:
    ledger = judge(
        ClaimJudgement(claim_id="c1", verdict="unsupported", reason="it says the opposite"),
        ClaimJudgement(claim_id="c2", verdict="entailed"),
        ClaimJudgement(claim_id="c3", verdict="entailed"),
    )
    assert [claim.id for claim in ledger.citable()] == ["c2", "c3"]
    assert len(ledger.claims) == 3
    (dropped,) = ledger.all_dropped()
    assert dropped.cause == "unsupported"
    assert "it says the opposite" in dropped.reason
    assert "s1" not in ledger.numbers, "nothing cites its source"


def test_an_overstated_claim_is_written_as_corrected() -> None:
    ledger = judge(
        ClaimJudgement(claim_id="c1", verdict="overstated", correction="Orla may export a tonne.",
                       reason="an estimate"),
    )  # fmt: skip
    claim = ledger.claim("c1")
    assert (claim.text, claim.stated) == ("Orla may export a tonne.", "Orla exported 1 tonnes.")
    assert (claim.verdict, claim.entailment, claim.notes) == (
        Verdict.SUPPORTED, "overstated", "an estimate",
    )  # fmt: skip


def test_a_claim_the_judge_left_out_is_unverified_and_not_refuted() -> None:
    ledger = judge(ClaimJudgement(claim_id="c1", verdict="entailed"))
    left = ledger.claim("c2")
    assert (left.verdict, left.entailment, left.citable) == (Verdict.UNVERIFIED, None, True)


def test_the_judge_is_told_what_its_answer_lacks() -> None:
    answer = EntailmentAnswer(
        claims=[
            ClaimJudgement(claim_id="c1", verdict="overstated"),
            ClaimJudgement(claim_id="c2", verdict="overstated", correction="It was 44 tonnes."),
        ]
    )
    complaints = entailment.complain(answer, LEDGER.claims)
    assert [complaint[:3] for complaint in complaints] == ["c3:", "c1:", "c2:"]
    assert "44" in complaints[2], "a figure that no quote holds is no correction"


def test_a_weak_source_is_marked_for_good() -> None:
    ledger = judge(weak=(WeakSource(source_id="s1", reason="the maker's own page"),))
    again = join([ledger, LEDGER])
    assert again.sources["s1"].marks == ("undated", "weak: the maker's own page")
    assert again.sources["s2"].marks == ("undated",)


def test_the_judge_sees_two_sentences_on_either_side_of_a_quote() -> None:
    text = "First one. Second one. Third one. The quote stands here. Fourth one. Fifth one. Sixth."
    quote = StoredText(text).find(Quote(source_id="s1", text="The quote stands here."))
    assert quote is not None
    assert entailment.read_context(quote, text) == (
        "Second one. Third one. The quote stands here. Fourth one. Fifth one."
    )


# Claims against each other


def group(relation: Relation = "contradicts", claims: int = 2) -> Group:
    numbers = range(1, claims + 1)
    return Group(
        claim_ids=tuple(f"c{n}" for n in numbers),
        kind="number",
        about="exports",
        relation=relation,
        sides=tuple(Position(claim_ids=(f"c{n}",), value=f"{n} tonnes") for n in numbers),
    )


def answer(relation: str, claims: int = 2, sides: int = 2) -> RelationsAnswer:
    entry = GroupAnswer.model_validate(
        {
            "group": "g1",
            "claim_ids": [f"c{n + 1}" for n in range(claims)],
            "relation": relation,
            "sides": [SideAnswer(text="", claim_ids=[f"c{n + 1}"]) for n in range(sides)],
            "rulings": [RulingAnswer(claim_id="c1", verdict=Verdict.QUALIFIED, confidence=0.5)],
        }
    )
    return RelationsAnswer(groups=[entry])


def rule(group: Group, given: RelationsAnswer | None, why: str = "") -> Rulings:
    return relations.rule({"g1": group}, given, why, LEDGER)


def test_only_a_contradiction_is_one() -> None:
    found = rule(group(), answer("contradicts"))
    assert (len(found.contradictions), len(found.differences)) == (1, 0)
    assert [ruling.claim_id for ruling in found.rulings] == ["c1"]


def test_the_verifier_rules_over_the_relation_that_code_found() -> None:
    found = rule(group("contradicts"), answer("other_period"))
    assert found.contradictions == ()
    assert [d.relation for d in found.differences] == ["other_period"]


def test_claims_that_agree_leave_no_difference() -> None:
    found = rule(group(), answer("agreement"))
    assert (found.contradictions, found.differences) == ((), ())
    assert found.settled == (("c1", "c2"),)


@pytest.mark.parametrize("relation", ["contradicts", "superseded"])
def test_silence_keeps_the_relation_and_the_values_that_code_found(relation: Relation) -> None:
    found = rule(group(relation), None, "out of budget")
    kept = [*found.contradictions, *found.differences][0]
    assert bool(found.contradictions) == (relation == "contradicts")
    assert [side.context.value for side in kept.sides] == ["1 tonnes", "2 tonnes"]
    assert {ruling.verdict for ruling in found.rulings} == {Verdict.UNVERIFIED}


def test_silence_on_related_claims_settles_nothing() -> None:
    related = Group(claim_ids=("c1", "c2"), kind="related", about="")
    found = rule(related, None, "out of budget")
    assert found == Rulings()
    judged = rule(related, RelationsAnswer(groups=[]))
    assert judged.settled == (("c1", "c2"),)


def test_a_ruling_that_names_two_of_three_sides_goes_back() -> None:
    for given in (answer("contradicts", claims=2), answer("contradicts", claims=3, sides=2)):
        (complaint,) = relations.complain(given, {"g1": group(claims=3)})
        assert complaint.endswith("c3")
    assert relations.complain(answer("contradicts", 3, 3), {"g1": group(claims=3)}) == []


def test_a_side_that_the_judge_never_names_reaches_the_ledger() -> None:
    (found,) = rule(group(claims=3), answer("contradicts", claims=3, sides=2)).contradictions
    assert [side.claim_ids for side in found.sides] == [("c1",), ("c2",), ("c3",)]
    assert found.sides[2].context.value == "3 tonnes"


def test_what_is_unclear_stays_visible() -> None:
    found = rule(group(), answer("unclear", sides=0))
    assert found.contradictions == ()
    (difference,) = found.differences
    assert difference.relation == "unclear"
    assert [side.claim_ids for side in difference.sides] == [("c1",), ("c2",)]


def test_no_ruling_on_a_group_makes_an_unverified_claim_supported() -> None:
    unjudged = join([LEDGER], [entailment.rule(LEDGER.claims, None, "refused")])
    supported = [RulingAnswer(claim_id="c1", verdict=Verdict.SUPPORTED, confidence=0.9)]
    given = RelationsAnswer(
        groups=[answer("agreement").groups[0].model_copy(update={"rulings": supported})]
    )
    assert join([unjudged], [rule(group(), given)]).claim("c1").verdict is Verdict.UNVERIFIED
