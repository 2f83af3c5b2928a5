"""The report as passages: what leads, how it is grouped, and that no word is added."""

from __future__ import annotations

import re

from activities.offline.request import JsonObject
from tests.activities.offline.reports import TITLES, brief, claim, facet, gate, ledger, written
from workflows.contracts.evidence import Contradiction, Side, SideContext
from workflows.contracts.state import Gap

BUILT = facet("tower", "When was the tower built?")
FEES = facet("fees", "What does a visit cost?")
OPENED = "The tower of Orla was built in 1871 by the harbour board."


def sections(*arguments: object, **more: object) -> dict[str, str]:
    answer = written(brief(*arguments, **more))  # type: ignore[arg-type]
    return {section.facet_id: section.markdown for section in answer.sections}


def opening(given: JsonObject) -> str:
    """What the summary opens with, without the document and section that stand before it."""
    return bare(written(given).summary).partition(": ")[2]


def bare(markdown: str) -> str:
    """The words without citations and Markdown marks."""
    return " ".join(re.sub(r" ?\[\d+\]|[*`\\]|^- ", "", markdown, flags=re.M).split())


def test_the_summary_of_one_facet_leads_with_its_best_passage() -> None:
    held = ledger(
        [
            claim(1, "Rain fell on the tower in the spring of 1999.", relevance=0.7),
            claim(2, OPENED, relevance=1.0),
        ]
    )
    assert written(brief(held, [BUILT])).summary.startswith(f"**Tower guide:** {OPENED[:-1]} [1].")


def test_the_line_of_a_facet_is_the_sentence_that_answers_with_what_it_leans_on() -> None:
    said = "Orla has a red tower. It was built in 1871. Visitors like the harbour."
    held = ledger([claim(1, said), claim(2, "A visit costs 3 crowns.", facet="fees")])
    summary = written(brief(held, [BUILT, FEES])).summary
    assert "** Orla has a red tower. It was built in 1871." in summary


def test_who_asks_how_gets_the_best_passage() -> None:
    said = "Fill the lamp oil at the pump. A lamp that is full of oil burns all night by itself."
    held = ledger([claim(1, said), claim(2, "The board meets in a hall by the sea.", source="s2")])
    given = brief(held, [facet("tower", "How do I fill the lamp oil?")])
    assert written(given).summary.startswith("**Tower guide:** Fill")
    assert opening(given) == said


def test_who_asks_how_gets_the_best_passage_with_its_code() -> None:
    passage = ("Set the oil limit of a lamp with a number:", "set_limit(3)\nfill()", "It is kept.")
    held = ledger([claim(1, *passage), claim(2, "Lamps with a limit burn oil.", relevance=0.7)])
    summary = written(brief(held, [facet("tower", "How do I set a limit for a lamp?")])).summary
    led = "**Tower guide:** Set the oil limit of a lamp with a number: [1]"
    assert summary.startswith(f"{led}\n\n```\nset_limit(3)")
    assert "It is kept [1]." in summary


def test_the_summary_of_one_facet_has_at_most_120_words() -> None:
    long = "The tower was built in {} and " + "it is tall and red and " * 6 + "stands."
    held = ledger([claim(n, long.format(1800 + n)) for n in range(8)])
    summary = written(brief(held, [BUILT])).summary
    assert 60 < len(bare(summary).split()) <= 120


def test_a_passage_far_less_relevant_than_the_best_is_not_in_the_summary() -> None:
    held = ledger([claim(1, OPENED, relevance=1.0), claim(2, "A tower is red.", relevance=0.4)])
    answer = written(brief(held, [BUILT]))
    assert "red" not in answer.summary
    assert "red" in answer.sections[0].markdown


def test_the_summary_of_several_facets_has_one_line_for_each() -> None:
    held = ledger(
        [
            claim(1, OPENED, relevance=1.0),
            claim(2, "The tower was built again in 1902 after a fire.", relevance=0.9),
            claim(3, "A visit costs 3 crowns.", facet="fees", source="s2"),
        ]
    )
    lines = written(brief(held, [BUILT, FEES])).summary.splitlines()
    assert lines == [
        "- **When was the tower built:** The tower of Orla was built in 1871 by the harbour board"
        " [1].",
        "- **What does a visit cost:** A visit costs 3 crowns [2].",
    ]


def test_the_passage_a_report_opens_with_is_not_repeated_where_there_is_more() -> None:
    opening, other = "Fill the lamp oil at the pump.", "Lamp oil is kept in a jar by the door."
    asked = facet("tower", "How do I fill the lamp oil?")
    both = ledger([claim(1, opening), claim(2, other, source="s2", relevance=0.7)])
    answer = written(brief(both, [asked]))
    assert answer.summary == "**Tower guide:** Fill the lamp oil at the pump [1]."
    assert opening[:-1] not in answer.sections[0].markdown
    assert other[:-1] in answer.sections[0].markdown
    alone = written(brief(ledger([claim(1, opening)]), [asked]))
    assert opening[:-1] in alone.sections[0].markdown


def test_a_comparison_opens_with_what_sets_the_things_side_by_side() -> None:
    question = "What is the difference between a tower and a mill?"
    beside = "A tower has a lamp and a keeper, while a mill has sails and a miller who grinds corn."
    held = ledger(
        [
            claim(1, beside, facet="whole"),
            claim(2, "A tower is tall.", facet="tower"),
            claim(3, "A mill stands on a hill.", facet="mill", source="s2"),
        ]
    )
    facets = [facet("whole", question), facet("tower", "A tower"), facet("mill", "A mill")]
    given = {**brief(held, facets), "question": question}
    answer = written(given)
    assert answer.summary == f"**Tower guide:** {beside[:-1]} [1]."
    assert len(answer.sections) == 3


def test_passages_of_a_section_stand_together_and_the_best_one_opens_the_report() -> None:
    held = ledger(
        [
            claim(1, "The first passage.", relevance=0.5, source="s1"),
            claim(2, "The best passage, of 1871.", relevance=1.0, source="s2"),
            claim(3, "The second passage.", relevance=0.6, source="s1"),
        ]
    )
    answer = written(brief(held, [BUILT]))
    assert answer.summary == "**Fees:** The best passage, of 1871 [2]."
    assert answer.sections[0].markdown.split("\n\n") == [
        "**Tower guide:** The first passage [1].",
        "The second passage [1].",
    ]


def test_what_stands_in_one_section_is_not_told_again_in_the_next() -> None:
    shared = "The harbour board keeps the tower."
    held = ledger(
        [
            claim(1, OPENED, shared),
            claim(2, "A visit costs 3 crowns.", shared, facet="fees"),
            claim(3, shared, facet="fees"),
        ]
    )
    tower, fees = (bare(one.markdown) for one in written(brief(held, [BUILT, FEES])).sections)
    assert tower.count(shared) == 1
    assert fees == "Tower guide: A visit costs 3 crowns."


def test_a_facet_whose_passages_all_stand_elsewhere_shows_its_best_again() -> None:
    held = ledger([claim(1, OPENED), claim(2, OPENED, facet="fees")])
    assert bare(sections(held, [BUILT, FEES])["fees"]) == f"Tower guide: {OPENED}"


def test_a_report_opens_with_the_section_of_the_best_passage() -> None:
    asked = facet("tower", "How do I light the lamp of the tower?")
    oil = "You can fill the lamp of the tower with oil before you light it."
    lit = "You can light the lamp of the tower with a taper."
    held = ledger([
        claim(1, oil, relevance=0.9, section="Oil"),
        claim(2, lit, relevance=1.0, section="Lamp"),
    ])  # fmt: skip
    given = brief(held, [asked])
    given["claims"][1]["start"] = 500
    assert opening(given) == lit


def test_the_section_with_the_best_passage_comes_first_and_reads_from_its_beginning() -> None:
    held = ledger(
        [
            claim(1, "A word on oil.", relevance=0.5, section="Oil"),
            claim(2, "Opening of the lamp.", relevance=0.6, section="Lamp"),
            claim(3, "Best of the lamp, of 1871.", relevance=1.0, section="Lamp"),
        ]
    )
    blocks = sections(held, [BUILT])["tower"].split("\n\n")
    assert [bare(block).rpartition(": ")[2] for block in blocks] == [
        "Opening of the lamp.", "A word on oil.",
    ]  # fmt: skip


def test_a_passage_is_headed_by_its_document_and_headings() -> None:
    held = ledger([claim(1, OPENED, section="Tower guide › History › Building")])
    assert sections(held, [BUILT])["tower"].startswith("**Tower guide › History › Building:** ")


def test_no_word_is_added_to_the_passages() -> None:
    passages = [OPENED, "It cost 12,000 crowns.", "A fee of 3 crowns is paid at the gate."]
    held = ledger([claim(n, text) for n, text in enumerate(passages)])
    answer = written(brief(held, [BUILT]))
    title = f"{TITLES['s1']}: "
    opened, told = (bare(text) for text in (answer.summary, answer.sections[0].markdown))
    assert [opened, told] == [f"{title}{OPENED}", f"{title}{' '.join(passages[1:])}"]


def test_a_list_keeps_its_lead_and_its_items() -> None:
    held = ledger([claim(1, "There are two ways in:", "by the gate", "by the harbour.")])
    assert sections(held, [BUILT])["tower"].endswith(
        "There are two ways in: [1]\n\n- by the gate [1]\n- by the harbour [1]."
    )


def test_code_stands_in_a_block_after_the_line_that_leads_to_it() -> None:
    held = ledger([claim(1, "Run it like this:", "    fee = 3\n    pay(fee)")])
    markdown = sections(held, [BUILT])["tower"]
    assert markdown.endswith("Run it like this: [1]\n\n```\nfee = 3\npay(fee)\n```")


def test_related_passages_are_not_sold_as_an_answer() -> None:
    held = ledger([claim(1, "The tower is red.")])
    question = "Who was the architect of the tower?"
    missing = ["architect", f"a direct answer to “{question}”", "they do not speak of architect"]
    asked = facet("tower", question, missing=missing)
    assert sections(held, [asked])["tower"].startswith("_In no document: “architect”._")
    several = sections(held, [asked, facet("fee", "What is the fee?")])["tower"]
    assert several.startswith(
        "_In no document: “architect”. These are the passages closest to this part._"
    )


def test_a_facet_without_claims_says_why() -> None:
    facets = [
        facet("a", "Who owns it?", "absent"),
        facet("b", "Who drives it?", "failed", reason="no answer within 60 s"),
        facet("c", "Who likes it?", "answered"),
    ]
    told = sections(ledger([]), facets)
    assert told["a"] == "_The documents were searched and hold nothing on this._"
    assert told["b"] == "_This part has no findings: no answer within 60 s._"
    assert told["c"] == "_What was found on this stands under the other headings._"


def test_a_failed_claim_is_not_told() -> None:
    held = ledger([claim(1, OPENED), claim(2, "The tower is free.")])
    given = brief(held, [BUILT])
    given["claims"][1]["verdict"] = "failed"
    assert "free" not in written(given).sections[0].markdown


def test_a_contradiction_shows_both_sides_cited_the_newest_first_in_the_summary() -> None:
    claims = [claim(1, "It cost 41 crowns."), claim(2, "It cost 58 crowns.", source="s2")]
    dated = [SideContext(date="2021-03-01"), SideContext(date="2024-03-01")]
    sides = tuple(
        Side(text=own.text, claim_ids=(own.id,), source_ids=own.source_ids, context=context)
        for own, context in zip(claims, dated, strict=True)
    )
    contradiction = Contradiction(
        id="x", about="cost of the tower", cause="unexplained", explanation="", sides=sides
    )
    held = ledger(claims, [contradiction])
    answer = written(brief(held, [BUILT]))
    told = answer.contradictions[0].markdown
    assert "- It cost 41 crowns (dated 2021-03-01) [1]." in told
    assert "- It cost 58 crowns (dated 2024-03-01) [2]." in told
    newest, oldest, _, remark = answer.summary.splitlines()
    assert newest.endswith(", 2024-03-01:** It cost 58 crowns [2].")
    assert oldest.endswith(", 2021-03-01:** It cost 41 crowns [1].")
    assert remark == "_The sources disagree: see below._"
    assert gate(answer, held) == []


def test_every_open_gap_is_named_with_what_became_of_it() -> None:
    gaps = [
        Gap(id="g1", kind="missing", facet_id="tower", text="No fee is known.", question="Fee?",
            status="absent", reason="searched"),
        Gap(id="g2", kind="thin", facet_id="tower", text="The [1] owner is unclear.",
            question="Owner?"),
    ]  # fmt: skip
    held = ledger([claim(1, OPENED)])
    given = brief(held, [BUILT], gaps=[gap.model_dump() for gap in gaps],
                  unreadable=[{"uri": "scan[1].pdf", "reason": "no text"}])  # fmt: skip
    answer = written(given)
    assert answer.gaps.splitlines() == [
        "- **Searched and absent**: No fee is known.",
        r"- **Open**: The \[1\] owner is unclear.",
        r"- **Unreadable file**: scan\[1\].pdf (no text).",
    ]
    assert gate(answer, held, gaps) == []


def test_what_the_gate_refuses_is_left_out_of_the_next_draft() -> None:
    held = ledger([claim(1, OPENED), claim(2, "A visit costs 3 crowns.")])
    complaint = "tower: 3 stands in no claim cited there, in “A visit costs 3 crowns [1].…”"
    answer = written(brief(held, [BUILT]), complaint)
    assert "3 crowns" not in answer.sections[0].markdown
    assert "1871" in answer.summary


def test_only_the_facets_under_revision_are_written_again() -> None:
    held = ledger([claim(1, OPENED), claim(2, "A visit costs 3 crowns.", facet="fees")])
    assert set(sections(held, [BUILT, FEES], revise=["fees"])) == {"fees"}


def test_without_any_claim_the_summary_says_so() -> None:
    answer = written(brief(ledger([]), [BUILT]))
    assert answer.summary == "_No passage could be cited for this question._"


def test_a_part_is_summed_up_by_its_own_words_before_those_of_its_subject() -> None:
    subject = "converting the county ferries to battery operation"
    part = facet("tower", f"What it costs ({subject})?", title="What it costs")
    said = (
        "By the latest plan the programme will cost EUR 214 million in all. It pays for seven"
        " vessels when the county ferries are converted to battery operation."
    )
    other = facet("fees", "Who owns the ferries?")
    summary = written(brief(ledger([claim(1, said)]), [part, other])).summary
    assert summary.endswith("the programme will cost EUR 214 million in all [1].")


def test_two_facets_are_not_summed_up_by_the_same_sentence() -> None:
    shared = "The county pays 3 crowns for a visit to the tower."
    held = ledger(
        [
            claim(1, shared, relevance=1.0),
            claim(2, shared, facet="fees", relevance=1.0),
            claim(3, "A visit costs 3 crowns.", facet="fees", relevance=0.9),
        ]
    )
    summary = written(brief(held, [BUILT, FEES])).summary
    assert summary.count("The county pays") == 1
    assert "A visit costs 3 crowns" in summary
