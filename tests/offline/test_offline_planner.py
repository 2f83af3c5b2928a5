"""The plan on six kinds of question: natural, complete, lawful, and the same every time."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import pytest
from activities.offline.language import content_terms
from activities.offline.questions import read_question

from activities.agent.schemas import PlanDraft, PlanReview
from activities.offline.conversation import Conversation, JsonObject
from activities.offline.planner import plan
from activities.offline.reviewer import review
from activities.offline.transport import Reply, UseTools
from activities.sources.corpus import Corpus
from tests.offline import libraries
from tests.offline.libraries import Library, planned
from workflows.contracts.facets import Plan, QuestionKind
from workflows.rules.plan import faults

DRBENCH = Path(__file__).resolve().parents[3] / "shared" / "data" / "drbench"


@pytest.fixture
def library(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Library]:
    opened = Library(tmp_path, getattr(libraries, request.param))
    yield opened
    opened.close()


def lawful(answer: JsonObject) -> PlanDraft:
    draft = PlanDraft.model_validate(answer)
    assert faults(Plan(kind=draft.kind, facets=tuple(draft.facets))) == []
    return draft


def titles(draft: PlanDraft) -> str:
    return " | ".join(facet.title for facet in draft.facets).lower()


@pytest.mark.parametrize("library", ["COFFEE"], indirect=True)
def test_an_overview_splits_into_what_the_documents_show(library: Library) -> None:
    draft = lawful(planned(plan, library, "Give an overview of the coffee industry in Velmora."))
    assert draft.kind is QuestionKind.OVERVIEW
    assert 3 <= len(draft.facets) <= 7
    shown = titles(draft)
    for theme in ("drying beds", "seasonal pickers", "resistant varieties", "export auction"):
        assert theme in shown
    assert "football" not in shown
    assert "tram" not in shown
    assert all("coffee industry" in facet.question for facet in draft.facets)


@pytest.mark.parametrize("library", ["COFFEE"], indirect=True)
def test_what_the_question_names_is_a_facet_though_nothing_is_found(library: Library) -> None:
    question = "Describe the coffee industry in Velmora, including roasting, tourism and leaf rust."
    draft = lawful(planned(plan, library, question))
    by_title = {facet.title.lower(): facet for facet in draft.facets}
    assert {"roasting", "tourism", "leaf rust"} <= set(by_title)
    assert "found nothing on it" in by_title["tourism"].reason
    assert "passages" in by_title["leaf rust"].reason


@pytest.mark.parametrize("library", ["HEATING"], indirect=True)
def test_a_comparison_has_a_facet_for_each_side(library: Library) -> None:
    question = "How do heat pumps and gas boilers compare on running costs, noise and emissions?"
    draft = lawful(planned(plan, library, question))
    assert draft.kind is QuestionKind.COMPARISON
    assert [facet.title for facet in draft.facets] == ["Heat pumps", "Gas boilers"]
    assert all("running costs, noise and emissions" in facet.question for facet in draft.facets)


@pytest.mark.parametrize("library", ["LIGHTHOUSES"], indirect=True)
def test_a_timeline_is_cut_into_periods_without_holes(library: Library) -> None:
    question = "How did the lighthouse service of Anders Sound develop from 1960 to 2000?"
    draft = lawful(planned(plan, library, question))
    assert draft.kind is QuestionKind.TIMELINE
    spans = [facet.title.split(":")[0].split("–") for facet in draft.facets]
    assert spans[0][0] == "1960"
    assert spans[-1][-1] == "2000"
    assert len(spans) >= 3
    for before, after in pairwise(spans):
        assert int(after[0]) == int(before[-1]) + 1


@pytest.mark.parametrize("library", ["OYSTERS"], indirect=True)
def test_a_cause_gets_candidates_and_what_speaks_against_them(library: Library) -> None:
    draft = lawful(planned(plan, library, "Why did the oyster reefs of Cradle Bay decline?"))
    assert draft.kind is QuestionKind.CAUSE
    shown = titles(draft)
    assert "counter-evidence" in shown
    assert "silt" in shown or "dredging" in shown or "warm winters" in shown


@pytest.mark.parametrize("library", ["FACTS"], indirect=True)
def test_a_narrow_fact_is_one_facet(library: Library) -> None:
    draft = lawful(planned(plan, library, "Who designed the Orrin Bridge?"))
    assert draft.kind is QuestionKind.FACT
    assert [facet.question for facet in draft.facets] == ["Who designed the Orrin Bridge?"]


@pytest.mark.parametrize("library", ["SCHOOLS"], indirect=True)
def test_a_decision_weighs_costs_and_risks_beside_its_themes(library: Library) -> None:
    question = "Should the Harrow district adopt the four-day school week?"
    draft = lawful(planned(plan, library, question))
    assert draft.kind is QuestionKind.DECISION
    shown = titles(draft)
    assert "costs" in shown
    assert "risks" in shown
    assert "recruitment" in shown or "childcare" in shown


@pytest.mark.parametrize("library", ["SCHOOLS"], indirect=True)
def test_a_part_that_builds_on_another_depends_on_it(library: Library) -> None:
    question = (
        "Why did teacher recruitment fail in the Harrow district, "
        "and what does that mean for the four-day school week?"
    )
    draft = lawful(planned(plan, library, question))
    second = next(f for f in draft.facets if f.title.startswith("What it means"))
    assert second.depends_on == (draft.facets[0].id,)


@pytest.mark.parametrize("library", ["COFFEE"], indirect=True)
def test_the_cap_joins_what_is_named_rather_than_dropping_it(library: Library) -> None:
    question = (
        "Describe the coffee industry in Velmora: drying beds, seasonal pickers, leaf rust, "
        "export auction, roasting and tourism."
    )
    draft = lawful(planned(plan, library, question, max_facets=3, effort="quick"))
    assert len(draft.facets) == 3
    text = " ".join(f"{facet.title} {facet.question}" for facet in draft.facets).lower()
    for named in ("drying beds", "pickers", "leaf rust", "auction", "roasting", "tourism"):
        assert named in text


@pytest.mark.parametrize("library", ["COFFEE"], indirect=True)
def test_quick_plans_fewer_facets(library: Library) -> None:
    question = "Give an overview of the coffee industry in Velmora."
    quick = planned(plan, library, question, max_facets=4, effort="quick")
    assert len(quick["facets"]) <= 4


CLAUSES = (
    "Before the trustees meet, what is known about the rooftop gardens of Marl Hospital: "
    "what they cost and how they are paid for, how safe they are, and how parking is arranged?"
)


@pytest.mark.parametrize("library", ["HOSPITAL"], indirect=True)
def test_clauses_become_headings_and_questions_a_person_would_ask(library: Library) -> None:
    draft = lawful(planned(plan, library, CLAUSES))
    named = {facet.title: facet.question for facet in draft.facets[:3]}
    assert list(named) == ["Costs and financing", "Safety", "Parking"]
    subject = "the rooftop gardens of Marl Hospital"
    assert named["Costs and financing"] == f"What do {subject} cost, and how are they paid for?"
    assert named["Safety"].startswith(f"How safe are {subject}")
    assert named["Parking"] == f"How is parking arranged with regard to {subject}?"


@pytest.mark.parametrize("library", ["HOSPITAL"], indirect=True)
def test_what_documents_are_about_gets_a_place_beside_what_is_named(library: Library) -> None:
    shown = titles(lawful(planned(plan, library, CLAUSES)))
    for theme in ("nurses and training", "emissions", "irrigation"):
        assert theme in shown
    for theme in ("trustees", "canteen", "car park"):
        assert theme not in shown


@pytest.mark.parametrize("library", ["HOSPITAL"], indirect=True)
def test_a_vague_question_takes_its_parts_from_the_documents(library: Library) -> None:
    question = "What should the trustees know about the rooftop gardens?"
    shown = titles(lawful(planned(plan, library, question)))
    for theme in ("costs", "nurses", "emissions", "irrigation", "safety"):
        assert theme in shown


@pytest.mark.parametrize("library", ["HOSPITAL"], indirect=True)
def test_a_question_about_one_side_is_not_widened_to_the_others(library: Library) -> None:
    draft = lawful(planned(plan, library, "How do nurses cope with the rooftop gardens?"))
    assert "nurses" in draft.facets[0].title.lower()
    assert not set(content_terms(titles(draft))) & set(content_terms("costs emissions safety"))


@pytest.mark.parametrize("library", ["HOSPITAL", "COFFEE", "SCHOOLS"], indirect=True)
def test_a_facets_question_gives_two_examples_at_most(library: Library) -> None:
    for question in (CLAUSES, "Describe the coffee industry in Velmora: leaf rust and wages."):
        for planned_facet in lawful(planned(plan, library, question)).facets:
            _, _, examples = planned_facet.question.partition(", in particular ")
            assert examples.count(",") + examples.count(" and ") <= 1


def test_a_joint_clause_is_two_facets_where_much_is_known_of_each(tmp_path: Path) -> None:
    texts = {
        f"{what}-{n}": f"The {what} of Tarn Baths. {what.capitalize()} were renewed: new {what} "
        f"cost less, old {what} fail in year {n}."
        for what in ("boilers", "filters")
        for n in range(8)
    }
    library = Library(tmp_path, texts)
    question = "What is known of Tarn Baths: how boilers and filters perform, and how noisy it is?"
    many = lawful(planned(plan, library, question))
    few = lawful(planned(plan, library, question, max_facets=4))
    library.close()
    assert [f.title for f in many.facets][:3] == ["Boilers", "Filters", "Noise"]
    assert many.facets[0].question.startswith("How do boilers perform")
    assert [f.title for f in few.facets][:2] == ["Boilers and filters", "Noise"]


NOTES = {
    "queue-service": (
        "The queue service refuses payloads above two megabytes; the payload limit counts headers. "
        "Payload limits are set per queue. Retries wait one second, then two, then four. Retries "
        "stop after sixteen attempts."
    ),
    "model-service": (
        "Prompt caching keeps the beginning of a request for five minutes. Prompt caching needs at "
        "least a thousand tokens. A cache read costs a tenth. Retries honour the server's wait."
    ),
    "search-service": (
        "The index takes a minute for ten thousand documents. Queries answer within fifty "
        "milliseconds. Memory grows with the vocabulary."
    ),
}


def test_a_question_that_lists_topics_gets_these_and_nothing_invented(tmp_path: Path) -> None:
    library = Library(tmp_path, NOTES)
    asked = "What do the notes say about payload limits, retries and prompt caching?"
    draft = lawful(planned(plan, library, asked))
    library.close()
    assert draft.kind is QuestionKind.OVERVIEW
    assert [f.title for f in draft.facets] == ["Payload limits", "Retries", "Prompt caching"]


def test_several_answers_to_one_narrow_question_are_one_facet(tmp_path: Path) -> None:
    library = Library(tmp_path, NOTES)
    draft = lawful(planned(plan, library, "What limits does Temporal put on payloads?"))
    library.close()
    assert draft.kind is QuestionKind.FACT
    assert len(draft.facets) == 1


MOORINGS = {
    f"harbour-{n}": f"Harbour {n} renewed its moorings in {1990 + n}. Moorings cost {n}0,000 a "
    "year there, and the risk of storms rises. Moorings should be inspected every spring."
    for n in range(30)
}


@pytest.mark.parametrize(
    "question", ["How should moorings be inspected?", "What are best practices for moorings?"]
)
def test_in_a_large_folder_who_asks_what_to_do_gets_no_costs_and_risks(
    question: str, tmp_path: Path
) -> None:
    library = Library(tmp_path, MOORINGS)
    advised = lawful(planned(plan, library, question))
    weighed = lawful(planned(plan, library, "Should the island buy new moorings?"))
    library.close()
    assert [facet.title for facet in advised.facets] == [question.rstrip("?")]
    assert {"costs", "risks"} <= set(titles(weighed).split())


CLUB = {
    f"minutes-{year}": f"The rowing club of Sill met in {year}. {text}"
    for year, text in (
        (2021, "The boathouse roof leaks. A new boathouse roof would cost much."),
        (2022, "Members asked for a second boat. A boat was offered, and the boat needs paint."),
        (2023, "A well would give water. The well needs a permit."),
        (2024, "The permit for the well was granted. The well would be twelve metres deep."),
    )
}


def test_a_decision_is_about_what_would_be_done_not_about_who_does_it(tmp_path: Path) -> None:
    library = Library(tmp_path, CLUB)
    draft = lawful(planned(plan, library, "Should the rowing club of Sill drill a well?"))
    library.close()
    by_title = {facet.title: facet.question for facet in draft.facets}
    assert by_title["Costs and funding"].startswith("What are the costs of drilling a well,")
    assert {"Risks and problems", "Options and alternatives"} <= set(by_title)
    assert not any("roof" in title.lower() for title in by_title)


@pytest.mark.parametrize(
    ("question", "subject"),
    [
        ("Give a timeline of the Orrin Bridge from 1990 to 2020.", "the Orrin Bridge"),
        ("Trace the decline of the Orrin Bridge.", "the decline of the Orrin Bridge"),
        ("Brief a new engineer on the Orrin Bridge.", "the Orrin Bridge"),
        ("What can other towns learn from the Orrin Bridge?", "the Orrin Bridge"),
        ("Why has the Orrin Bridge sunk?", "the Orrin Bridge"),
        ("Which suits the Orrin Bridge better: a toll, a loan or a tax?", "the Orrin Bridge"),
    ],
)
def test_the_subject_is_what_is_asked_about_without_the_asking(question: str, subject: str) -> None:
    assert read_question(question).subject == subject


SAMPLE = Path(__file__).parents[2] / "sample_corpus"
TRUTH = json.loads((Path(__file__).parents[1] / "sample_truth.json").read_text())


@pytest.mark.parametrize(
    "question",
    [
        TRUTH["question"],
        "What should the council know about the ferry electrification programme?",
        "Give the committee an overview of Quiet Crossing.",
        "For our board: how well do the electric ferries work, what do they cost and what are the "
        "risks?",
    ],
)
def test_the_sample_is_covered_however_it_is_asked_for(question: str, tmp_path: Path) -> None:
    library = Library.__new__(Library)
    library._corpus = Corpus.open(SAMPLE, tmp_path)
    library._corpus.refresh()
    draft = lawful(planned(plan, library, question))
    library.close()
    shown = set(content_terms(titles(draft)))
    for part in TRUTH["sub_domains"]:
        words = " ".join([part["title"].split(",")[0].split(" and ")[0], *part["terms"][:2]])
        assert set(content_terms(words)) & shown, part["id"]
    assert not any(f.title.lower().startswith(("before", "for our")) for f in draft.facets)


def test_without_search_the_plan_still_splits_the_question() -> None:
    brief = {"question": "Overview of Mars: geology, water and weather.", "max_facets": 5}
    answer = plan(Conversation("PlanDraft", brief, frozenset()))
    assert isinstance(answer, Reply)
    draft = lawful(answer.answer)
    assert [f.title for f in draft.facets][:3] == ["Geology", "Water", "Weather"]


def test_the_first_turn_searches_broadly() -> None:
    brief = {"question": "Overview of Mars: geology, water and weather.", "max_facets": 5}
    step = plan(Conversation("PlanDraft", brief, frozenset({"search"})))
    assert isinstance(step, UseTools)
    queries = [given["query"] for _, given in step.calls]
    assert any("geology" in query and "Mars" in query for query in queries)
    assert len(queries) == len(set(queries)) > 3


_REPEATED = """
import sys, json, pathlib, tempfile
sys.path.insert(0, sys.argv[1])
from activities.offline.planner import plan
from tests.offline.libraries import Library, OYSTERS, planned
with tempfile.TemporaryDirectory() as folder:
    library = Library(pathlib.Path(folder) / "one", OYSTERS)
    answer = planned(plan, library, "Why did the oyster reefs of Cradle Bay decline?")
    library.close()
print(json.dumps(answer, sort_keys=True))
"""


def test_the_plan_does_not_hang_on_the_hash_seed() -> None:
    root = str(Path(__file__).parents[2])
    answers = {
        subprocess.run(
            [sys.executable, "-c", _REPEATED, root],
            env={**os.environ, "PYTHONHASHSEED": seed},
            check=True,
            capture_output=True,
            text=True,
        ).stdout
        for seed in ("1", "2")
    }
    assert len(answers) == 1


def reviewed(question: str, facets: list[JsonObject], max_facets: int = 10) -> PlanReview:
    brief = {
        "question": question,
        "pinned": [],
        "max_facets": max_facets,
        "plan": {"kind": "overview", "facets": facets},
    }
    return PlanReview.model_validate(review(Conversation("PlanReview", brief, frozenset())).answer)


def facet(title: str, question: str, reason: str = "Named in the question.") -> JsonObject:
    return {
        "id": title.lower().replace(" ", "-"),
        "title": title,
        "question": question,
        "boundary": "-",
        "prefer": "-",
        "reason": reason,
    }


MARS = "Overview of Mars: geology, water and weather."


def test_a_sound_plan_is_left_as_it_is() -> None:
    brief = {"question": MARS, "max_facets": 5}
    answer = plan(Conversation("PlanDraft", brief, frozenset()))
    assert isinstance(answer, Reply)
    assert reviewed(MARS, answer.answer["facets"]).changes == []


def test_a_named_part_that_is_missing_is_added() -> None:
    change, *others = reviewed(
        MARS,
        [
            facet("Geology", "What is known about the geology of Mars?"),
            facet("Water", "Where on Mars is there water ice?"),
        ],
    ).changes
    assert (change.action, others) == ("add", [])
    assert change.facet is not None
    assert change.facet.title == "Weather"
    assert "Mars" in change.facet.question


def test_twins_are_joined_and_strangers_dropped() -> None:
    changes = reviewed(
        MARS,
        [
            facet("Geology", "What is known about the geology and rocks of Mars?"),
            facet("Rocks", "What is known about the rocks and geology of Mars?"),
            facet("Water", "Where on Mars is there water ice?"),
            facet("Weather", "What is the weather of Mars like?"),
            facet("Gardening", "How are roses pruned in spring?", "An idea."),
            facet("Dust", "How thick is dust?", "12 of the 40 passages found deal with it: dust."),
        ],
    ).changes
    assert [(c.action, c.facet_ids) for c in changes] == [
        ("merge", ["geology", "rocks"]),
        ("drop", ["gardening"]),
    ]


@pytest.mark.skipif(not DRBENCH.exists(), reason=f"{DRBENCH} is not on this machine")
@pytest.mark.parametrize("task", ["DR0001", "DR0013", "DR0048", "DR0079"])
def test_company_questions_get_lawful_complete_plans_fast(task: str, tmp_path: Path) -> None:
    question = json.loads((DRBENCH / task / "truth.json").read_text())["question"]
    library = Library.__new__(Library)
    library._corpus = Corpus.open(DRBENCH / task / "corpus", tmp_path)
    library._corpus.refresh()
    spent = 0.0

    def timed(conversation: Conversation) -> UseTools | Reply:
        nonlocal spent
        before = time.process_time()
        step = plan(conversation)
        spent += time.process_time() - before
        return step

    draft = lawful(planned(timed, library, question))
    library.close()
    text = set(content_terms(" ".join(f"{f.title} {f.question}" for f in draft.facets)))
    for aspect in read_question(question).aspects:
        assert set(content_terms(aspect.text)) <= text
    assert len(draft.facets) >= 3
    assert spent < 1.0
