"""What is read from texts: gold answers, parts of reports, plain search, questions by rules."""

from __future__ import annotations

import io
import math
import tarfile
from pathlib import Path

import pytest

from benchmarks.quality.declarative import draw_statements, make_statement
from benchmarks.quality.documentation import _write_documents
from benchmarks.quality.gold import contains, is_measurable
from benchmarks.quality.headings import ask, draw_questions
from benchmarks.quality.peers import Bm25, Fts5, join_until
from benchmarks.quality.report_text import (
    drop_sources,
    find_section,
    join_answer,
    split_sentences,
    strip_markup,
)
from benchmarks.quality.side_by_side import PASSAGE_WORDS, cut_passages, find_passages

REPORT = """# Ferries

_Preface._

## Summary

T. Rex sailed in 1967 [1]. It sank [2].

## Costs

> A ferry costs 4 million [1].

- It was paid for [12] .

## How this was researched

1967 turns.

## Sources

1. T. Rex
"""


def test_an_answer_stands_in_a_text_at_word_boundaries_whatever_its_case_and_accents() -> None:
    assert contains("She met the Émile-Zola society.", ["Emile Zola"])
    assert contains("It had 3,559 people.", ["3559", "3,559 people"])
    assert contains("Director of Hateful Eight", ["The Hateful Eight"])
    assert not contains("Born in 19670.", ["1967"])
    assert not contains("anything", ["", "?"])


def test_only_questions_that_a_text_can_answer_are_counted() -> None:
    assert is_measurable("Who founded it?", ["Ann Lee"])
    assert not is_measurable("Who was born first, Ann Lee or Bo?", ["Ann  Lee"])
    assert not is_measurable("Was it built?", ["Yes"])
    assert not is_measurable("What?", ["?"])


def test_a_report_is_read_by_its_headings() -> None:
    assert strip_markup(find_section(REPORT, "Summary")) == "T. Rex sailed in 1967. It sank."
    answer = "T. Rex sailed in 1967. It sank.\n\nA ferry costs 4 million.\n\nIt was paid for."
    assert strip_markup(join_answer(REPORT)) == answer
    assert find_section(REPORT, "Where the sources disagree") == ""
    assert "1. T. Rex" not in drop_sources(REPORT)
    assert split_sentences("T. Rex sailed in 1967. It sank.")[0] == "T. Rex sailed in 1967."


def test_bm25_ranks_by_lucenes_formula_on_stems_without_stop_words() -> None:
    texts = ["The ferry sails.", "Ferries and ferries.", "A quay."]
    ranked = Bm25(texts)
    assert ranked.rank("Which ferries?") == [1, 0]
    assert ranked.rank("the and a") == []
    rarity = math.log(1 + (3 - 2 + 0.5) / (2 + 0.5))
    mean = (2 + 2 + 1) / 3
    length = 1 - 0.75 + 0.75 * 2 / mean
    scores = [rarity * n * 2.2 / (n + 1.2 * length) for n in (1, 2)]
    assert scores[1] > scores[0]
    assert Bm25(["quay ferry", "quay"]).rank("ferry quay") == [0, 1]


def test_fts5_is_asked_every_word_of_any_question() -> None:
    search = Fts5([("Quay", "A long pier."), ("Ferry", "Ferries sail."), ("", "Nothing.")])
    assert search.rank('Which "ferry" AND (sails?', 5) == [1]
    assert search.rank("?!", 5) == []


def test_peers_give_text_of_the_wanted_length() -> None:
    assert join_until(["one two three", "four five", "six"], 4) == "one two three four"
    assert join_until(["one"], 4) == "one"


@pytest.mark.parametrize(
    ("heading", "question"),
    [
        ("Installing Plugins", "How do I install plugins?"),
        ("How to run tests", "How do I run tests?"),
        ("Configure the WSGI server", "How do I configure the WSGI server?"),
        ("Application Context", "What is application context?"),
        ("Command Line Options", "What are command line options?"),
        ("Version 2.0", ""),
        ("Signals", ""),
        ("About the project", ""),
    ],
)
def test_a_heading_becomes_the_question_it_answers(heading: str, question: str) -> None:
    assert ask(heading) == question


def test_questions_are_drawn_from_headings_of_both_markups(tmp_path: Path) -> None:
    (tmp_path / "a.md").write_text("# Sending Signals\n\ntext\n\n## Worker Pools\n", "utf-8")
    (tmp_path / "b.rst").write_text("Running Workers\n===============\n\nText.\n", "utf-8")
    drawn = draw_questions(tmp_path, 6, 7)
    assert sorted(drawn) == ["How do I run workers?", "How do I send signals?",
                             "What are worker pools?"]  # fmt: skip
    assert drawn["How do I run workers?"] == ["b.rst"]
    assert drawn == draw_questions(tmp_path, 6, 7)


@pytest.mark.parametrize(
    ("sentence", "question", "answer"),
    [
        ("Ann Lee built Fort Hope in 1872.", "When did Ann Lee build Fort Hope?", "1872"),
        ("Dunn Center was founded in 1914.", "When was Dunn Center founded?", "1914"),
        ("Old Sea is a 1951 novella written by Ann B. Lee and others.", "Who wrote Old Sea?",
         "Ann B. Lee"),
        ("Alfonso II was born in Barcelona.", "Where was Alfonso II born?", "Barcelona"),
        ("The film received 688,832 admissions.", "How many admissions did The film receive?",
         "688,832"),
    ],
)  # fmt: skip
def test_a_sentence_becomes_a_question_and_its_answer(
    sentence: str, question: str, answer: str
) -> None:
    made = make_statement(sentence)
    assert made is not None
    assert (made.question, made.answer) == (question, answer)
    assert is_measurable(made.question, [made.answer])


def test_sentences_are_drawn_by_kind_and_verb_in_turn() -> None:
    assert make_statement("He was born in Barcelona long ago.") is None
    told = [f"Film{n} was directed by Ann Lee{n}." for n in range(5)]
    told += ["Book was written by Bo Lee.", "Dunn Center was founded in 1914."]
    drawn = draw_statements(told, 3, 7)
    assert {(one.kind, one.verb) for one in drawn} == {
        ("when", "founded"), ("who", "directed"), ("who", "written"),
    }  # fmt: skip


def test_only_documents_inside_the_docs_folder_are_unpacked(tmp_path: Path) -> None:
    archive = tmp_path / "p.tar.gz"
    names = ("p-1/docs/guide.rst", "p-1/docs/../../../evil.md", "p-1/docs/code.py", "p-1/README.md")
    with tarfile.open(archive, "w:gz") as packed:
        for name in names:
            info = tarfile.TarInfo(name)
            info.size = 4
            packed.addfile(info, io.BytesIO(b"text"))
    assert _write_documents(archive, tmp_path / "out") == 1
    assert [p.name for p in (tmp_path / "out").rglob("*")] == ["guide.rst"]
    assert not list(tmp_path.parent.glob("evil.md"))


def test_passages_for_readers_carry_their_documents_title(tmp_path: Path) -> None:
    long = "\n".join(f"- line {n} of many words on tides" for n in range(40))
    passages = list(cut_passages(long))
    assert len(passages) == 3
    assert len(passages[0].split()) >= PASSAGE_WORDS
    assert "\n".join(passages) == long
    (tmp_path / "a.rst").write_text("Tides\n=====\n\nTides come twice a day.\n", "utf-8")
    (tmp_path / "b.md").write_text("# Moons\n\nThe moon causes eclipses.\n", "utf-8")
    found = find_passages("What does the moon cause?", tmp_path)
    assert found.startswith("**Moons:** # Moons\n\nThe moon causes eclipses. [1]")
