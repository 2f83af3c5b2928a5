"""The gate: what a draft must hold, and a repair that always passes it."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from activities.evidence.draft import Draft, Entry, Section, sentences_of
from activities.evidence.ledger import join
from activities.evidence.report_gate import Evidence, faults
from activities.evidence.report_repair import repair, tell
from tests.activities.test_ledger import CARRIED, OTHER, claim, conflicting, ledger, settled
from workflows.contracts.state import Gap

BOOK = join([conflicting()], [settled(conflicting())])
OPENED = "It opened in May 2019."
PLAIN = ledger(claim("p", OPENED, ("s3", OPENED)), s3=OPENED)
GAP = Gap(
    id="g", kind="thin", facet_id="f", text="Nothing was found on winter timetables.",
    question="What about winter?",
)  # fmt: skip
EVIDENCE = Evidence(join([BOOK, PLAIN]), (GAP,))
GOOD = Draft(
    title="Harbour",
    summary="The harbour line carried 412,000 passengers, or 367,500 [1][2].",
    sections=(Section(facet_id="f", markdown="It opened in May 2019 [3]."),),
    contradictions=(Entry(contradiction_id="x1", markdown=tell(BOOK.contradictions[0], BOOK)),),
    gaps="- Nothing was found on winter timetables.",
)


def kinds(draft: Draft) -> list[str]:
    return [fault.kind for fault in faults(draft, EVIDENCE)]


def test_a_good_draft_passes_and_is_not_touched() -> None:
    assert faults(GOOD, EVIDENCE) == []
    assert repair(GOOD, EVIDENCE) is GOOD


@pytest.mark.parametrize(
    ("change", "kind"),
    [
        ({"summary": "It opened in May 2019 [9]."}, "unresolved"),
        ({"summary": "The line opened long ago."}, "uncited"),
        ({"summary": "It carried 999,999 passengers [1]."}, "number"),
        ({"sections": (Section(facet_id="f", markdown="A bold claim."),)}, "uncited"),
        ({"contradictions": ()}, "side"),
        ({"contradictions": (Entry(contradiction_id="x1", markdown=f"- {CARRIED} [1]"),)}, "side"),
        ({"contradictions": (*GOOD.contradictions,
                             Entry(contradiction_id="x9", markdown="What? [1]"))}, "unknown"),
        ({"gaps": ""}, "gap"),
        ({"gaps": GOOD.gaps + " [77]"}, "unresolved"),
    ],
)  # fmt: skip
def test_each_rule_is_enforced_and_mended(change: dict[str, object], kind: str) -> None:
    broken = GOOD.model_copy(update=change)
    assert kind in kinds(broken)
    mended = repair(broken, EVIDENCE)
    assert faults(mended, EVIDENCE) == []
    assert mended.mended


def test_a_remark_in_italics_needs_no_citation_and_a_heading_neither() -> None:
    remark = "### Short\n\n_Two points are contested._\n\nIt opened in May 2019 [3]."
    draft = GOOD.model_copy(update={"summary": remark})
    assert faults(draft, EVIDENCE) == []


def test_a_list_is_judged_item_by_item() -> None:
    items = "- It opened in May 2019 [3].\n- And it is blue."
    assert kinds(GOOD.model_copy(update={"summary": items})) == ["uncited"]
    assert len(sentences_of("summary", items)) == 2


def test_repair_takes_out_the_sentence_with_the_wrong_number_and_keeps_the_rest() -> None:
    broken = GOOD.model_copy(
        update={"summary": "It opened in May 2019 [3]. It carried 5,555 people [1]."}
    )
    mended = repair(broken, EVIDENCE)
    assert "May 2019 [3]" in mended.summary
    assert "5,555" not in mended.summary


def test_a_contradiction_told_plainly_cites_all_its_sides() -> None:
    told = tell(BOOK.contradictions[0], BOOK)
    assert CARRIED.rstrip(".") in told
    assert OTHER.rstrip(".") in told
    assert "[1]" in told
    assert "[2]" in told


def test_sentences_keep_the_citations_that_follow_them() -> None:
    text = "One fact is this. [1] Another [2]. Last of all!"
    assert [sentence.text for sentence in sentences_of("summary", text)] == [
        "One fact is this. [1]",
        "Another [2].",
        "Last of all!",
    ]


pieces = st.lists(
    st.sampled_from(
        ["It opened in May 2019", "It carried 412,000 people.", "77 boats", "[1]", "[3]", "[42]",
         "\n\n", "\n- ", "_remark_", "# Head\n\n", "Winter. ", "contested"]
    ),
    max_size=14,
).map(" ".join)  # fmt: skip


@settings(max_examples=200, deadline=None)
@given(pieces, pieces, pieces, pieces)
def test_whatever_the_writer_hands_in_a_repaired_draft_has_no_faults(
    summary: str, section: str, entry: str, gaps: str
) -> None:
    draft = Draft(
        title="T",
        summary=summary,
        sections=(Section(facet_id="f", markdown=section),),
        contradictions=(Entry(contradiction_id="x1", markdown=entry),),
        gaps=gaps,
    )
    mended = repair(draft, EVIDENCE)
    assert faults(mended, EVIDENCE) == []
    assert repair(mended, EVIDENCE) == mended
