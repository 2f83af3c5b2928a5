"""The offline researcher over a real folder: searching, stopping, answering, honest about gaps."""

from __future__ import annotations

from pathlib import Path

import pytest

from activities.agent.schemas import ResearchAnswer
from tests.activities.offline.library import Dialogue, library

TOWER = {
    "tower.md": "# Venby tower\n\nThe board built the Venby tower in 1871. Its last keeper was Ada"
    " Holt.\n",
    "holt.md": "# Ada Holt\n\nAda Holt was born in Orla.\n",
    "trams.md": "# Trams\n\nTrams run every ten minutes from the harbour.\n",
    "ferries.md": "# Ferries\n\nFerries need no ticket on Sundays.\n",
}

FOLLOWED = "names that the first hits lead to"


async def researched(folder: Path, question: str, files: dict[str, str] = TOWER) -> Dialogue:
    with library(folder, files) as documents:
        dialogue = await documents.research(question)
    ResearchAnswer.model_validate(dialogue.answer)
    return dialogue


def aims(dialogue: Dialogue) -> list[str]:
    return [search["aim"] for search in dialogue.searches]


def claims(dialogue: Dialogue) -> list[str]:
    return [claim["text"] for claim in dialogue.answer["claims"]]


@pytest.mark.parametrize(
    ("document", "question"),
    [
        ("They built the mill in 1872.", "When was the mill built?"),
        ("A licence is renewed every three years.", "How often do I renew a licence?"),
        ("The society was founded by Tove Lind.", "Who founded the society?"),
        ("Die Häuser am Hafen wurden 1902 gebaut.", "Wann hat man das Haus am Hafen gebaut?"),
        ("Das Haus am Hafen wurde 1902 gebaut.", "Wann wurden die Häuser am Hafen gebaut?"),
        ("Set maxRetries to 5 to try again.", "How do I set max retries?"),
        ("The children went to Orla by boat.", "Where does the child go?"),
    ],
)
async def test_one_sentence_answers_in_another_form_of_its_words(
    tmp_path: Path, document: str, question: str
) -> None:
    dialogue = await researched(tmp_path, question, {"note.md": document})
    assert claims(dialogue) == [document]
    assert dialogue.answer["missing"] == []


async def test_it_stops_where_three_sources_are_good_and_nothing_is_missing(
    tmp_path: Path,
) -> None:
    files = {f"n{n}.md": f"# Note {n}\n\nThe mill was built in 187{n}." for n in range(6)}
    files |= {f"o{n}.md": f"# Other {n}\n\nRain fell on day {n}." for n in range(6)}
    dialogue = await researched(tmp_path, "When was the mill built?", files)
    assert FOLLOWED not in aims(dialogue)


async def test_three_good_sources_do_not_end_a_narrow_question_whose_answer_lacks_a_word(
    tmp_path: Path,
) -> None:
    text = "The Venby tower had a keeper who was born in Orla in 187"
    files = {f"n{n}.md": f"# Note {n}\n\n{text}{n}." for n in range(6)}
    files |= {f"o{n}.md": f"# Other {n}\n\nA composer came on day {n}." for n in range(40)}
    dialogue = await researched(
        tmp_path, "Where was the composer keeper of Venby tower born?", files
    )
    assert FOLLOWED in aims(dialogue)


async def test_a_second_search_follows_the_names_in_the_first_hits(tmp_path: Path) -> None:
    files = TOWER | {
        f"keeper{n}.md": f"# Keeper {n}\n\nA keeper was born and kept a tower." for n in range(9)
    }
    question = "Where was the last keeper of the Venby tower born?"
    dialogue = await researched(tmp_path, question, files)
    assert aims(dialogue) == ["the question in its own words", "its main words alone", FOLLOWED]
    assert "Ada Holt was born in Orla." in claims(dialogue)[:2]


async def test_an_answer_stands_out_among_what_is_only_related(tmp_path: Path) -> None:
    related = {
        f"n{n}.md": f"# Boats {n}\n\nBoats of line {n} take bicycles on board." for n in range(8)
    }
    question = "Why do boats carry bags?"
    same = {name: text.replace("take", "carry bags and") for name, text in related.items()}
    alike = await researched(tmp_path / "alike", question, same)
    assert f"a direct answer to “{question}”" in alike.answer["missing"]
    told = {"why.md": "# Bags\n\nWhy boats carry bags: bags ride on boats because vans are full."}
    answered = await researched(tmp_path / "told", question, related | told)
    assert answered.answer["missing"] == []


async def test_a_search_is_not_repeated_where_every_document_was_seen(tmp_path: Path) -> None:
    dialogue = await researched(tmp_path, "Are Sundays free?", {"f.md": TOWER["ferries.md"]})
    assert FOLLOWED not in aims(dialogue)


async def test_the_second_search_leaves_out_what_scored_below_a_fifth(tmp_path: Path) -> None:
    files = TOWER | {"rain.md": "# Rain\n\nThe year was wet, the board said in a long report."}
    question = "When was the Venby tower built by the harbour board of the old town of Orla?"
    dialogue = await researched(tmp_path, question, files)
    second = dialogue.searches[-1]
    assert second["aim"] == FOLLOWED
    scores = {entry["source_id"]: entry["score"] for entry in second["scores"]}
    assert min(scores.values()) < 0.2 <= max(scores.values())
    assert second["exclude"] == [sid for sid, score in scores.items() if score < 0.2]


async def test_every_source_in_sight_has_a_score_with_a_reason(tmp_path: Path) -> None:
    dialogue = await researched(tmp_path, "When was the Venby tower built?")
    seen = {hit["source_id"] for report in dialogue.reports for hit in report["hits"]}
    scores = {entry["source_id"]: entry for entry in dialogue.answer["scores"]}
    assert seen == set(scores)
    assert all(0 <= entry["score"] <= 1 and entry["reason"] for entry in scores.values())


async def test_words_that_stand_in_no_document_are_missing_and_nothing_is_claimed(
    tmp_path: Path,
) -> None:
    dialogue = await researched(tmp_path, "How many penguins live in Antarctica?")
    assert claims(dialogue) == []
    assert dialogue.answer["missing"] == ["penguins", "live", "antarctica"]


async def test_a_word_that_stands_anywhere_is_never_called_absent(tmp_path: Path) -> None:
    dialogue = await researched(tmp_path, "What ticket do trams need?")
    told = " ".join(dialogue.answer["missing"])
    assert "ticket" not in told.split("a direct answer")[0]


@pytest.mark.parametrize(
    "question",
    ["Give an overview of trams", "Summarise everything on trams", "How often do trams run?"],
)
async def test_words_of_the_questions_form_are_never_called_absent(
    tmp_path: Path, question: str
) -> None:
    assert (await researched(tmp_path, question)).answer["missing"] == []


async def test_another_verb_for_what_somebody_wants_to_do_is_not_missing(tmp_path: Path) -> None:
    files = {"a.md": "# Escaping\n\nSet `autoescape` to enable automatic escaping of text."}
    with library(tmp_path, files) as documents:
        dialogue = await documents.research("How do I activate automatic escaping?")
    assert "activate" not in dialogue.answer["missing"]


@pytest.mark.parametrize(
    ("question", "missing"),
    [
        ("When did the board build the red Venby tower?", []),
        ("When did the board build the Venby tower for Orla Gate?", ["gate"]),
    ],
)
async def test_beside_an_answer_only_names_are_called_absent(
    tmp_path: Path, question: str, missing: list[str]
) -> None:
    assert (await researched(tmp_path, question)).answer["missing"] == missing


async def test_related_passages_without_an_answer_say_so(tmp_path: Path) -> None:
    dialogue = await researched(tmp_path, "Who drives the trams?")
    assert claims(dialogue) == ["Trams run every ten minutes from the harbour."]
    absent, direct = dialogue.answer["missing"]
    assert absent == "drives"
    assert direct == "a direct answer to “Who drives the trams?”"


async def test_a_part_leads_with_its_own_words_not_with_its_subject(tmp_path: Path) -> None:
    with library(tmp_path, TOWER) as documents:
        whole = "When was the Venby tower built, and how often do trams run there?"
        facet = {
            "title": "How often do trams run there",
            "question": "How often do trams run there (Venby tower built)?",
            "boundary": "Only this.",
        }
        dialogue = await documents.research(whole, facet=facet, ask=facet["question"])
    assert claims(dialogue)[0] == "Trams run every ten minutes from the harbour."


async def test_a_part_is_also_searched_for_without_its_subject(tmp_path: Path) -> None:
    ferries = {
        f"f{n}.md": f"# Ferry {n}\n\nCounty ferries sail on batteries to pier {n}."
        for n in range(40)
    }
    files = {**ferries, "fund.md": "# Fund\n\nThe fund paid 72 million crowns."}
    facet = {
        "title": "How it is paid",
        "question": "How it is paid (county ferries sail on batteries to piers)?",
        "boundary": "Only this.",
    }
    with library(tmp_path, files) as documents:
        dialogue = await documents.research(
            "How do county ferries sail, and how is it paid?", facet=facet, ask=facet["question"]
        )
    assert [search["query"] for search in dialogue.searches][:2] == [
        "paid",
        facet["question"],
    ]
    assert claims(dialogue) == ["The fund paid 72 million crowns."]


@pytest.mark.parametrize(("whole", "most"), [("Where is the mill?", 12), ("Mills and ferries?", 6)])
async def test_a_handful_of_passages_answers_a_narrow_question(
    tmp_path: Path, whole: str, most: int
) -> None:
    files = {f"n{n}.md": f"# N{n}\n\nMill a{n} b{n} c{n} d{n} e{n}." for n in range(15)}
    with library(tmp_path, files) as documents:
        dialogue = await documents.research(whole, ask="Where is the mill?")
    assert len(claims(dialogue)) == most


async def test_no_more_claims_than_the_brief_allows(tmp_path: Path) -> None:
    files = {f"n{n}.md": f"# N{n}\n\nMill a{n} b{n} c{n} d{n} e{n}." for n in range(9)}
    with library(tmp_path, files) as documents:
        dialogue = await documents.research("Tell us about the mill", max_claims=3)
    assert len(claims(dialogue)) == 3


@pytest.mark.parametrize(
    ("files", "question"),
    [
        ({"empty.md": ""}, "When was the mill built?"),
        (TOWER, "tower"),
        (TOWER, "?"),
        (TOWER, "the of and"),
        (TOWER, "日本の電車"),
    ],
)
async def test_odd_input_gets_an_answer_of_the_right_form(
    tmp_path: Path, files: dict[str, str], question: str
) -> None:
    await researched(tmp_path, question, files)


async def test_the_same_question_gets_the_same_answer(tmp_path: Path) -> None:
    one, other = tmp_path / "one", tmp_path / "other"
    one.mkdir()
    other.mkdir()
    question = "Where was the last keeper of the Venby tower born?"
    assert (await researched(one, question)).answer == (await researched(other, question)).answer
