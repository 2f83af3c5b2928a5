"""Drafts as Claude writes them, through the writing activity: the API is played at the wire."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from temporalio.testing import ActivityEnvironment

from activities.agent.schemas import DraftAnswer
from activities.context import ActivityContext
from activities.evidence.draft import Draft, all_sentences, sentences_of
from activities.evidence.report_repair import NOTHING_FOUND
from activities.llm.client import Models
from activities.storage.store import Store
from activities.subagents.writing import Writing, build_draft, describe_language
from tests.activities.evidence.drafts import (
    CORRECT,
    FALSE,
    GAPS,
    PARTS,
    QUESTIONS,
    Case,
    answer,
    ledger,
    plan,
)
from tests.simulator.brains import Turn, json_answer
from tests.simulator.jobs import brief as read_brief
from tests.simulator.simulator import Simulator
from tests.simulator.transport import SimulatorTransport
from workflows.contracts.activity_io import FacetReport, Job, WriteBrief
from workflows.contracts.evidence import CodeRun, Findings
from workflows.contracts.facets import QuestionKind
from workflows.contracts.state import DraftRef, LedgerRef

JsonObject = dict[str, Any]
MODEL = "claude-sonnet-5-5"


@pytest.fixture(autouse=True)
def key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-ant-test")


class Writer:
    """A writer that hands in the same draft whatever is held against it, and a judge who is right:
    what is in `false` is not entailed, everything else is."""

    def __init__(self, case: Case, accepts_all: bool = False) -> None:
        self.case = case
        self.accepts_all = accepts_all
        self.drafts: list[JsonObject] = []
        self.judgements: list[JsonObject] = []

    def __call__(self, body: JsonObject) -> Turn:
        if body["output_config"]["format"]["schema"]["title"] == "DraftAnswer":
            self.drafts.append(body)
            return json_answer(answer(self.case))
        self.judgements.append(body)
        return json_answer(self._judge(read_brief(body)))

    def _judge(self, brief: JsonObject) -> JsonObject:
        return {
            "verdicts": [
                {"id": sentence["id"], "reason": "the claims do not say so"}
                | {"verdict": "unsupported" if self._is_false(sentence["text"]) else "entailed"}
                for sentence in brief["sentences"]
            ],
            "named_gaps": [gap["id"] for gap in brief["unnamed_gaps"]],
        }

    def _is_false(self, words: str) -> bool:
        return not self.accepts_all and any(part in words for part in self.case.false)


async def write(case: Case, folder: Path, accepts_all: bool = False) -> tuple[Draft, Draft, Writer]:
    """The draft as it was handed in, as it is published, and who wrote it."""
    writer, store = Writer(case, accepts_all), Store.open(str(folder))
    return (*await run(case, writer, store, folder), writer)


async def run(
    case: Case, writer: Writer, store: Store, folder: Path, **more: Any
) -> tuple[Draft, Draft]:
    models = Models(SimulatorTransport(Simulator(writer)))
    context = ActivityContext(store, models, folder / "indexes")
    held = ledger(case.language)
    key = await store.save("ledgers", held)
    facets = plan(case)
    brief = WriteBrief(
        job=Job(id="j", journal="j", model=MODEL, question=QUESTIONS[case.language],
                today="2026-11-18"),
        plan=facets,
        ledger=LedgerRef(key=key, claims=len(held.claims)),
        reports=tuple(FacetReport(facet_id=facet.id, status="found") for facet in facets.facets),
        gaps=(GAPS[case.language],),
        task="write-0",
        **more,
    )  # fmt: skip
    written = await ActivityEnvironment().run(Writing(context).write, brief)
    handed_in = build_draft(brief, DraftAnswer.model_validate(answer(case)), None)
    return handed_in, await store.load(written.draft.key, Draft)


def test_the_table_has_thirty_drafts_in_two_languages() -> None:
    cases = [*CORRECT, *FALSE]
    assert len(cases) >= 30
    assert {case.language for case in cases} == {"en", "de"}
    assert len({case.name for case in cases}) == len(cases)


@pytest.mark.parametrize("case", CORRECT, ids=lambda case: case.name)
async def test_a_correct_draft_is_neither_sent_back_nor_touched(case: Case, tmp_path: Path) -> None:
    handed_in, published, wire = await write(case, tmp_path)
    assert published.mended == ()
    assert published == handed_in
    assert len(wire.drafts) == 1
    assert len(wire.judgements) <= 1


@pytest.mark.parametrize("case", FALSE, ids=lambda case: case.name)
async def test_what_is_false_about_its_claims_gives_way_and_nothing_else(
    case: Case, tmp_path: Path
) -> None:
    handed_in, published, wire = await write(case, tmp_path)
    said = published.model_dump_json(include={"title", "summary", "sections", "conclusion",
                                              "contradictions"})  # fmt: skip
    assert not [words for words in case.false if json.dumps(words)[1:-1] in said]
    assert len(wire.drafts) == 3, "sent back twice"
    assert published.mended
    assert NOTHING_FOUND not in said
    kept = " ".join(sentence.bare for sentence in all_sentences(published))
    right = [sentence for sentence in all_sentences(handed_in)
             if not any(words in sentence.text for words in case.false)]  # fmt: skip
    lost = [sentence.text for sentence in right
            if sentence.bare not in kept and sentence.where != "x1"]  # fmt: skip
    assert lost == []


async def test_the_writer_is_told_exactly_what_fails(tmp_path: Path) -> None:
    case = next(case for case in FALSE if "opposite" in case.name)
    _, _, wire = await write(case, tmp_path)
    complaint = wire.drafts[1]["messages"][-1]["content"][0]["text"]
    assert complaint.count("\n- ") == 1
    assert "noise: the claims do not say so: “Two thirds of residents reject" in complaint


async def test_a_failing_sentence_gives_way_to_the_claim_it_stood_for(tmp_path: Path) -> None:
    case = next(case for case in FALSE if "opposite" in case.name)
    _, published, _ = await write(case, tmp_path)
    assert published.parts()["noise"] == (
        "Two thirds of residents said noise was no concern. [5] And 12 % of residents reported"
        " sleeping badly [5]."
    )


BY_CODE = ("figure that stands", "calculation", "leads nowhere", "German share", "German date")


@pytest.mark.parametrize(
    "case", [case for case in FALSE if any(part in case.name for part in BY_CODE)],
    ids=lambda case: case.name,
)  # fmt: skip
async def test_figures_and_citations_are_checked_by_code_whatever_the_judge_says(
    case: Case, tmp_path: Path
) -> None:
    _, published, wire = await write(case, tmp_path, accepts_all=True)
    assert len(wire.drafts) == 3
    assert not any(words in "".join(published.parts().values()) for words in case.false)


async def test_a_draft_nobody_could_judge_says_so_and_keeps_what_is_cited(tmp_path: Path) -> None:
    class Silent(Writer):
        def __call__(self, body: JsonObject) -> Turn:
            if body["output_config"]["format"]["schema"]["title"] == "DraftJudgement":
                return Turn([], "refusal")
            return super().__call__(body)

    case = CORRECT[0]
    writer, store = Silent(case), Store.open(str(tmp_path))
    _, published = await run(case, writer, store, tmp_path)
    assert published.unjudged
    assert published.parts()["costs"] == PARTS["en"]["costs"]


async def test_what_a_researchers_program_printed_reaches_writer_and_report(tmp_path: Path) -> None:
    case = Case(
        "a median that no claim holds",
        sections={"riders": "One source gives 412,000 passengers [1], another 367,500 [2]. Their"
                            " mean, as calculated, is 389,750."},
    )  # fmt: skip
    run_once = CodeRun(code="print((412000 + 367500) / 2)", output="389750.0")
    held = ledger("en")
    findings = Findings(
        facet_id="riders", claims=held.claims[:1], sources=(held.sources["s1"],),
        code_runs=(run_once,),
    )  # fmt: skip
    writer, store = Writer(case), Store.open(str(tmp_path))
    key = await store.save("findings", findings)
    _, published = await run(case, writer, store, tmp_path, findings=(key,))
    assert published.mended == ()
    assert "389,750" in published.parts()["riders"]
    told = read_brief(writer.drafts[0])["programs"]
    assert told == [{"about": "Passengers", "expression": run_once.code, "result": "389750.0"}]
    assert [(one.by, one.result) for one in published.calculations] == [("program", "389750.0")]


@pytest.mark.parametrize("kind", QuestionKind)
async def test_the_form_follows_the_kind_of_the_question(
    kind: QuestionKind, tmp_path: Path
) -> None:
    _, published, wire = await write(Case("as usual", kind=kind), tmp_path)
    form = read_brief(wire.drafts[0])["form"]
    assert len(form.split()) > 30
    assert ("conclusion" in form) == (kind is not QuestionKind.FACT)
    # Only a comparison must have a table; without one it is sent back.
    is_comparison = kind is QuestionKind.COMPARISON
    assert len(wire.drafts) == (3 if is_comparison else 1)
    assert any("table" in note for note in published.mended) == is_comparison


async def test_a_revision_does_not_pay_for_judging_what_stays(tmp_path: Path) -> None:
    store, first = Store.open(str(tmp_path)), Writer(Case("first"))
    _, published = await run(first.case, first, store, tmp_path)
    key = await store.save("drafts", published)
    revised = Case("revised", sections={"noise": "Most residents did not mind the noise [5]."})
    second = Writer(revised)
    _, again = await run(
        revised, second, store, tmp_path, previous=DraftRef(key=key), revise=("noise",)
    )
    asked = read_brief(second.judgements[0])["sentences"]
    assert {sentence["part"] for sentence in asked} & {"riders", "costs", "crews"} == set()
    assert again.parts()["noise"] == "Most residents did not mind the noise [5]."
    assert again.parts()["costs"] == published.parts()["costs"]


async def test_headings_of_a_writer_stay_below_those_of_the_report(tmp_path: Path) -> None:
    case = Case("headings", sections={"costs": "# Money\n\nIt cost EUR 23 million [4].\n\n"
                                               "```\n# a comment\n```"})  # fmt: skip
    _, published, _ = await write(case, tmp_path)
    assert published.parts()["costs"].startswith("### Money\n")
    assert "\n# a comment\n" in published.parts()["costs"]


@pytest.mark.parametrize(
    ("question", "language"),
    [
        ("What is known about the line?", "English"),
        ("Was ist über Wärmepumpen bekannt?", "German"),
        ("Mikä on tiedossa?", "that of the question"),
    ],
)
def test_the_writer_is_told_the_askers_language(question: str, language: str) -> None:
    assert describe_language(question) == language


def test_a_question_in_bold_words_ends_no_sentence() -> None:
    markdown = (
        "**Who crosses? Counts › Result:** The route carried 455,000 people. It was full [1]."
    )
    first, second = sentences_of("a", markdown)
    assert first.text.startswith("**Who crosses?")
    assert second.text == "It was full [1]."
