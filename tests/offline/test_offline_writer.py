"""The offline writer against the real gate: what it writes passes, and reads as prose."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from typing import Any

import pytest
from activities.offline.prose import clean, row

from activities.agent.schemas import DraftAnswer
from activities.evidence.ledger import Ledger
from activities.evidence.report_gate import Draft, Entry, Evidence, Section, faults
from activities.offline.conversation import JsonObject, read_request
from activities.offline.writer import write
from workflows.contracts.evidence import (
    Claim,
    Contradiction,
    Quote,
    Side,
    SideContext,
    Source,
    Verdict,
)
from workflows.contracts.state import Gap

QUESTION = "What are the effects of the Orla tram line on noise and costs in Venby?"
KINDS = {"s1": "report", "s2": "study", "s3": "marketing", "s4": "dataset"}
TITLES = {"s1": "Noise report 2024", "s2": "Tram study", "s3": "Why trams win", "s4": "Costs_2024"}
NUMBERS = {"s1": 1, "s2": 2, "s3": 3, "s4": 4}


def claim(cid: str, facet: str, text: str, *sources: str, **more: Any) -> Claim:
    quotes = tuple(Quote(source_id=s, text=text) for s in sources)
    given = {"verdict": Verdict.SUPPORTED, "confidence": 0.7, "relevance": 0.8, **more}
    return Claim(id=cid, facet_id=facet, text=text, quotes=quotes, **given)


CLAIMS = (
    claim("c1", "noise", "Noise along the Orla tram fell by 4 decibels in 2024.", "s1", "s2"),
    claim("c2", "noise", "Our team counted 31 complaints about noise in Venby.", "s1"),
    claim("c3", "noise", "- **Trams** are the quietest vehicles in Venby [12]", "s3"),
    claim("c4", "cost", "However, the Orla tram cost EUR 41 million.", "s1", relevance=0.9),
    claim("c5", "cost", "The Orla tram cost EUR 58 million.", "s2"),
    claim("c6", "cost", "Year: 2024; Cost: EUR 3 million; Note: Upkeep only.", "s4"),
    claim("c7", "cost", "The Orla tram is said to be free.", "s3", verdict=Verdict.FAILED),
)
CONTRADICTION = Contradiction(
    id="x1",
    about="cost of the Orla tram",
    cause="definition",
    explanation="the first leaves out the depot, the second counts it",
    sides=(
        Side(text="the Orla tram cost EUR 41 million.", claim_ids=("c4",), source_ids=("s1",),
             context=SideContext(value="EUR 41 million", date="2019", definition="without depot")),
        Side(text="The Orla tram cost EUR 58 million.", claim_ids=("c5",), source_ids=("s2",),
             context=SideContext(value="EUR 58 million")),
    ),
)  # fmt: skip
GAPS = (
    Gap(id="g1", kind="missing", facet_id="fares", text="Nothing on fares since the line opened.",
        question="What are the fares?", status="absent", reason="three searches found nothing"),
    Gap(id="g2", kind="thin", facet_id="noise", text="Noise at night rests on one source.",
        question="How loud is it at night?"),
    Gap(id="g3", kind="missing", facet_id="cost", text="Upkeep was unknown.",
        question="What is upkeep?", status="closed"),
)  # fmt: skip
LEDGER = Ledger(
    sources={
        sid: Source(id=sid, uri=f"{sid}.pdf", title=TITLES[sid], kind=KINDS[sid], sha256="0")
        for sid in TITLES
    },
    claims=CLAIMS,
    contradictions=(CONTRADICTION,),
    numbers=NUMBERS,
)


def shown(claims: Iterable[Claim]) -> list[JsonObject]:
    return [
        {"id": c.id, "facet_id": c.facet_id, "text": c.text,
         "cite": [NUMBERS[s] for s in c.source_ids], "verdict": c.verdict,
         "confidence": c.confidence, "relevance": c.relevance, "origins": len(c.source_ids),
         "uncertain": "", "not_to_overstate": "", "quotes": [q.text for q in c.quotes],
         "notes": ""}
        for c in claims if c.citable
    ]  # fmt: skip


def brief(**changes: Any) -> JsonObject:
    def facet(
        fid: str, title: str, status: str, missing: list[str], reason: str = ""
    ) -> JsonObject:
        return {"id": fid, "title": title, "question": f"What of {title}?", "status": status,
                "reason": reason, "missing": missing}  # fmt: skip

    return {
        "question": QUESTION,
        "today": "2026-01-05",
        "kind": "overview",
        "facets": [
            facet("noise", "Noise", "partial", ["noise at night"]),
            facet("cost", "Costs", "found", []),
            facet("fares", "Fares", "no_results", [], "the sources hold nothing on it"),
            facet("jobs", "Jobs", "timed_out", [], "no answer within 60 s"),
        ],
        "claims": shown(CLAIMS),
        "sources": [
            {"n": n, "title": TITLES[s], "date": None, "kind": KINDS[s], "uri": f"{s}.pdf"}
            for s, n in NUMBERS.items()
        ],
        "contradictions": [
            {"id": "x1", "about": CONTRADICTION.about, "cause": "definition",
             "explanation": CONTRADICTION.explanation, "facet_ids": ["cost"],
             "sides": [{"text": s.text, "cite": [NUMBERS[i] for i in s.source_ids],
                        **s.context.model_dump()} for s in CONTRADICTION.sides]}
        ],
        "gaps": [g.model_dump() for g in GAPS if g.status != "closed"],
        "unreadable": [{"uri": "scan[1].pdf", "reason": "no text layer"}],
        "revise": [],
        "previous": None,
        **changes,
    }  # fmt: skip


def written(given: JsonObject, *turns: tuple[str, str]) -> DraftAnswer:
    messages = [{"role": "user", "content": f"<brief>{json.dumps(given)}</brief>"}]
    for answer, complaint in turns:
        messages += [
            {"role": "assistant", "content": answer},
            {"role": "user", "content": complaint},
        ]
    body = {
        "model": "offline",
        "output_config": {"format": {"schema": {"title": "DraftAnswer"}}},
        "messages": messages,
    }
    return DraftAnswer.model_validate(write(read_request(body)).answer)


def gate(answer: DraftAnswer) -> list[str]:
    draft = Draft(
        title=answer.title,
        summary=answer.summary,
        sections=tuple(Section(**s.model_dump()) for s in answer.sections),
        contradictions=tuple(Entry(**c.model_dump()) for c in answer.contradictions),
        gaps=answer.gaps,
    )
    return [str(fault) for fault in faults(draft, Evidence(LEDGER, GAPS))]


@pytest.fixture
def draft() -> DraftAnswer:
    return written(brief())


def section(answer: DraftAnswer, facet_id: str) -> str:
    return next(s.markdown for s in answer.sections if s.facet_id == facet_id)


def test_the_draft_passes_the_gate(draft: DraftAnswer) -> None:
    assert gate(draft) == []


def test_the_title_comes_from_the_question(draft: DraftAnswer) -> None:
    assert draft.title == "Effects of the Orla tram line on noise and costs in Venby"


def test_the_summary_answers_and_names_what_is_contested_and_absent(draft: DraftAnswer) -> None:
    assert "fell by 4 decibels" in draft.summary
    assert "EUR 41 million [1], though another source says EUR 58 million [2]." in draft.summary
    assert "nothing on Fares" in draft.summary
    assert "Jobs" in draft.summary


def test_claims_read_as_prose(draft: DraftAnswer) -> None:
    noise, cost = section(draft, "noise"), section(draft, "cost")
    assert "**Trams**" not in noise
    assert "[12]" not in noise
    assert "According to the marketing text “Why trams win”" in noise
    assert "The report “Noise report 2024” says: “Our team counted 31 complaints" in noise
    assert "However" not in cost
    assert "The Orla tram cost EUR 41 million [1]." in cost


def test_a_contested_point_is_made_once_with_what_the_others_say(draft: DraftAnswer) -> None:
    cost = section(draft, "cost")
    assert "cost EUR 41 million [1]. (Contested: another source says EUR 58 million [2].)" in cost
    assert cost.count("58 million") == 1


def test_table_rows_lose_their_semicolons(draft: DraftAnswer) -> None:
    line = "“Costs_2024” lists Year 2024: cost EUR 3 million, note Upkeep only [4]."
    assert line in section(draft, "cost")


def test_rows_of_one_table_become_a_list() -> None:
    given = brief()
    other = {**given["claims"][-1], "id": "c8", "text": "Year: 2023; Cost: EUR 2 million."}
    cost = section(written({**given, "claims": [*given["claims"], other]}), "cost")
    assert "“Costs_2024” gives these figures [4]:" in cost
    assert "- Year 2023: cost EUR 2 million [4]." in cost
    assert "- Year 2024: cost EUR 3 million, note Upkeep only [4]." in cost


def test_refuted_claims_are_left_out(draft: DraftAnswer) -> None:
    assert "said to be free" not in json.dumps(draft.model_dump())


def test_facets_without_findings_get_one_plain_remark(draft: DraftAnswer) -> None:
    assert re.fullmatch(r"_The documents were searched and hold nothing on this[^_]*_",
                        section(draft, "fares"))  # fmt: skip
    assert "no answer within 60 s" in section(draft, "jobs")


def test_a_contradiction_shows_sides_values_and_reason(draft: DraftAnswer) -> None:
    (entry,) = draft.contradictions
    assert "EUR 41 million [1] against EUR 58 million [2]" in entry.markdown
    assert "without depot" in entry.markdown
    assert "leaves out the depot" in entry.markdown


def test_gaps_failures_and_unreadable_files_are_named(draft: DraftAnswer) -> None:
    assert "Nothing on fares since the line opened" in draft.gaps
    assert "three searches found nothing" in draft.gaps
    assert "Noise at night rests on one source" in draft.gaps
    assert "Jobs: no answer within 60 s" in draft.gaps
    assert "scan(1).pdf (no text layer)" in draft.gaps


def test_a_revision_writes_only_what_it_is_asked_for() -> None:
    draft = written(brief(revise=["cost"]))
    assert [s.facet_id for s in draft.sections] == ["cost"]
    assert draft.summary
    assert draft.contradictions
    assert draft.gaps


def test_no_sentence_is_told_in_two_sections() -> None:
    given = brief()
    twin = {**given["claims"][0], "id": "c9", "facet_id": "cost"}
    draft = written({**given, "claims": [*given["claims"], twin]})
    assert "fell by 4 decibels" in section(draft, "noise")
    assert "fell by 4 decibels" not in section(draft, "cost")


@pytest.mark.parametrize(
    ("harm", "part"),
    [
        (lambda d: d.model_copy(update={"summary": f"{d.summary}\n\nTrams are 900 years old [1]."}),
         "900"),
        (lambda d: d.model_copy(update={"summary": f"{d.summary}\n\nTrams are old."}),
         "Trams are old"),
        (lambda d: d.model_copy(update={"summary": f"{d.summary}\n\nTrams run [88]."}), "[88]"),
        (lambda d: d.model_copy(update={"contradictions": []}), "no entry"),
        (lambda d: d.model_copy(update={"gaps": "Nothing to report."}), "Nothing to report."),
    ],
)  # fmt: skip
def test_complaints_are_mended(draft: DraftAnswer, harm: Any, part: str) -> None:
    broken = harm(draft)
    complaints = gate(broken)
    assert complaints
    sent_back = "The draft does not pass:\n" + "\n".join(f"- {c}" for c in complaints)
    mended = written(brief(), (broken.model_dump_json(), sent_back))
    remaining = gate(mended)
    # A paragraph that lost its only citation is seen in the round after.
    if remaining:
        mended = written(brief(), (mended.model_dump_json(), "\n".join(remaining)))
    assert gate(mended) == []
    if part.startswith(("9", "T", "[")):
        assert part not in mended.summary


def test_nothing_to_write_about_is_said() -> None:
    draft = written(brief(claims=[], contradictions=[]))
    assert "Nothing that can be cited was found" in draft.summary or "hold nothing" in draft.summary
    assert all(s.markdown.startswith("_") for s in draft.sections)


@pytest.mark.parametrize(
    ("question", "first"),
    [
        ("How should ropes be dried?", "Ropes should be dried in the shade."),
        ("How many ropes are dried?", "In 2023 some 4,100 ropes were dried in 12 lofts."),
    ],
)
def test_what_is_advised_opens_where_advice_is_asked_for(question: str, first: str) -> None:
    claims = (
        claim("c1", "ropes", "In 2023 some 4,100 ropes were dried in 12 lofts.", "s1"),
        claim("c2", "ropes", "Ropes should be dried in the shade.", "s2"),
    )
    facet = {"id": "ropes", "title": question.rstrip("?"), "question": question, "status": "found"}
    given = brief(
        question=question, facets=[facet], claims=shown(claims), contradictions=[], gaps=[]
    )
    told = written(given)
    assert told.summary.startswith(first.rstrip("."))
    assert section(told, "ropes").startswith(first.rstrip("."))


def test_rows_and_residue() -> None:
    assert row("Route: North Line; Value: 483 tonnes.") == "North Line: 483 tonnes."
    assert clean("* Noise fell [3, 4]") == "Noise fell."
    assert clean("He said “no”") == "He said “no”."
