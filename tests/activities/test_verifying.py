"""A verifier's answer becomes contradictions, differences and rulings; silence keeps both sides."""

from __future__ import annotations

from activities.agent.schemas import GroupAnswer, RulingAnswer, SideAnswer
from activities.evidence.ledger import Ledger
from activities.subagents.verifying import _rulings
from workflows.contracts.activity_io import Group
from workflows.contracts.evidence import Claim, Position, Quote, Relation, Source, Verdict

LEDGER = Ledger(
    sources={
        f"s{n}": Source(id=f"s{n}", uri=f"{n}.md", title=f"Paper {n}", sha256="0" * 64)
        for n in (1, 2)
    },
    claims=tuple(
        Claim(id=f"c{n}", facet_id="f", text=f"Orla exported {n} tonnes.",
              quotes=(Quote(source_id=f"s{n}", text="Orla"),))
        for n in (1, 2)
    ),
)  # fmt: skip


def group(relation: Relation = "contradicts") -> Group:
    sides = tuple(Position(claim_ids=(f"c{n}",), value=f"{n} tonnes") for n in (1, 2))
    return Group(
        claim_ids=("c1", "c2"), kind="number", about="exports", relation=relation, sides=sides
    )


def answer(relation: str) -> GroupAnswer:
    return GroupAnswer.model_validate(
        {
            "claim_ids": ["c1", "c2"],
            "relation": relation,
            "sides": [SideAnswer(text="", claim_ids=[f"c{n}"]) for n in (1, 2)],
            "rulings": [RulingAnswer(claim_id="c1", verdict=Verdict.QUALIFIED, confidence=0.5)],
        }
    )


def test_only_a_contradiction_is_one() -> None:
    found = _rulings([group()], [answer("contradicts")], "", LEDGER)
    assert (len(found.contradictions), len(found.differences)) == (1, 0)
    assert [ruling.claim_id for ruling in found.rulings] == ["c1"]


def test_the_verifier_rules_over_the_relation_that_code_found() -> None:
    found = _rulings([group("contradicts")], [answer("other_period")], "", LEDGER)
    assert found.contradictions == ()
    assert [d.relation for d in found.differences] == ["other_period"]


def test_claims_that_agree_leave_no_difference() -> None:
    found = _rulings([group()], [answer("agreement")], "", LEDGER)
    assert (found.contradictions, found.differences) == ((), ())
    assert found.settled == (("c1", "c2"),)


def test_silence_keeps_the_relation_and_the_values_that_code_found() -> None:
    for relation in ("contradicts", "superseded"):
        found = _rulings([group(relation)], [], "out of budget", LEDGER)
        kept = [*found.contradictions, *found.differences][0]
        assert bool(found.contradictions) == (relation == "contradicts")
        assert [side.context.value for side in kept.sides] == ["1 tonnes", "2 tonnes"]
        assert {ruling.verdict for ruling in found.rulings} == {Verdict.UNVERIFIED}
