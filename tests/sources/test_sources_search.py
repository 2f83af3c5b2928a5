"""Searching, following and reading."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from sqlite3 import Connection
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from activities.sources.corpus import Corpus
from activities.sources.documents import UnknownDocument
from activities.sources.ranking import Ranking
from tests.corpora import FolderCorpus

TEXTS = {
    "tern.md": "# MV Tern\n\nThe ferry MV Tern was built by Brekkan Yard. She carries 84 cars.",
    "yard.md": "# Brekkan Yard\n\nThe company was founded in Tholm in 1911 by two brothers.",
    "costs.md": "# Costs\n\nCharging the ferry costs EUR 71 per kilowatt. Batteries cost more.",
    "crew.md": "# Crew\n\nFive people sail the ferry. The union wanted seven.",
    "long.md": "# Long\n\n" + "The harbour master counted many ships before breakfast. " * 200,
}


@pytest.fixture
def filled(folder: Path, corpus: FolderCorpus) -> FolderCorpus:
    for name, text in TEXTS.items():
        (folder / name).write_text(text)
    corpus.refresh()
    return corpus


def uris(hits: object) -> list[str]:
    assert isinstance(hits, list)
    return [hit.document.uri for hit in hits]


def test_the_best_passage_comes_first_with_its_sentences(filled: Corpus) -> None:
    hit = filled.search("What does charging cost?")[0]
    assert hit.document.uri == "costs.md"
    assert [hit.passage.quote(s) for s in hit.passage.sentences] == [
        "Costs",
        "Charging the ferry costs EUR 71 per kilowatt.",
        "Batteries cost more.",
    ]
    text = filled.document(hit.document.id).text
    assert text[hit.passage.start : hit.passage.end] == hit.passage.text


def test_inflections_and_diacritics_are_found(folder: Path, corpus: FolderCorpus) -> None:
    (folder / "a.txt").write_text("Le café était fermé. Regulations changed.")
    corpus.refresh()
    assert uris(corpus.search("cafe")) == ["a.txt"]
    assert uris(corpus.search("regulation CHANGING")) == ["a.txt"]
    assert corpus.search("cafe")[0].score > 0


def test_a_term_in_every_document_still_counts(folder: Path, corpus: FolderCorpus) -> None:
    (folder / "a.txt").write_text("Ferry ferry ferry costs.")
    (folder / "b.txt").write_text("Ferry costs and much else that is said at greater length here.")
    corpus.refresh()
    hits = corpus.search("ferry")
    assert uris(hits) == ["a.txt", "b.txt"]
    assert hits[0].score > hits[1].score > 0


def test_excluded_documents_are_not_found(filled: Corpus) -> None:
    first = filled.search("ferry")[0].document
    assert first.uri not in uris(filled.search("ferry", exclude=[first.id]))
    assert filled.search("ferry", exclude=[d.id for d in filled.documents()]) == []


def test_per_document_and_limit(filled: Corpus) -> None:
    assert uris(filled.search("harbour ships", limit=5)) == ["long.md"]
    hits = filled.search("harbour ships", limit=5, per_document=3)
    assert uris(hits) == ["long.md"] * 3
    assert len({hit.passage.start for hit in hits}) == 3
    assert len(filled.search("ferry", limit=2)) == 2
    assert filled.search("ferry", limit=0) == []


def test_a_long_document_does_not_hide_the_others(folder: Path, corpus: FolderCorpus) -> None:
    (folder / "long.txt").write_text("Ferry news today. Other words follow it here. " * 9000)
    for number in range(3):
        text = f"Number {number}. " + "Something else is said. " * 20 + "A ferry is named once."
        (folder / f"{number}.txt").write_text(text)
    corpus.refresh()
    assert sorted(uris(corpus.search("ferry", limit=4))) == ["0.txt", "1.txt", "2.txt", "long.txt"]


@settings(
    suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=150, deadline=None
)
@given(query=st.text(max_size=80), counted=st.lists(st.text(max_size=20), max_size=3))
def test_no_text_whatever_breaks_a_search(filled: Corpus, query: str, counted: list[str]) -> None:
    hits = filled.search(query)
    assert filled.follow(query, hits, 5) is not None
    assert set(filled.frequency(counted)) == set(counted)


@pytest.mark.parametrize(
    "query",
    ['"', "'; DROP TABLE documents; --", "NEAR(a b) OR (", "title : *", "a* ^b -c", "\0", "的 ½ ²"],
)
def test_operators_are_words(filled: Corpus, query: str) -> None:
    filled.search(f"{query} ferry {query}")
    assert len(filled) == len(TEXTS)


def test_a_query_of_twenty_thousand_words(filled: Corpus) -> None:
    words = " ".join(f"word{number}" for number in range(20_000))
    assert uris(filled.search(f"union {words}"))[0] == "crew.md"


def test_follow_reaches_what_the_first_hits_name(filled: Corpus) -> None:
    question = "Where was the builder of MV Tern founded?"
    hits = filled.search(question, limit=1)
    assert uris(hits) == ["tern.md"]
    led = filled.follow(question, hits, 3)
    assert uris(led)[:2] == ["tern.md", "yard.md"]
    assert "yard.md" not in uris(filled.follow(question, hits, 3, exclude=[led[1].document.id]))


def test_what_plain_search_finds_first_stays_first(folder: Path, corpus: FolderCorpus) -> None:
    """A title of stop words only: the scored order alone puts every film of a cast before it."""
    (folder / "film.md").write_text("# Now You Are Here, Now You Are Not\n\nShot in Orla.")
    for number in range(20):
        text = f"# Film {number}\n\nThe other film has a cast. Each member of the cast is named."
        (folder / f"{number}.md").write_text(text)
    corpus.refresh()
    question = "What other film has the cast member of Now You Are Here, Now You Are Not?"
    assert "film.md" in uris(corpus.search(question))[:4]


def test_following_names_displaces_none_of_the_first_ten(
    folder: Path, corpus: FolderCorpus
) -> None:
    names = [f"Harbour{chr(97 + n)}" for n in range(12)]
    for n, name in enumerate(names):
        (folder / f"about{n}.md").write_text(f"# {name}\n\nA small place in the north.")
        (folder / f"ferry{n}.md").write_text(f"# Ferry {n}\n\nFerry line {n} calls at {name}.")
    corpus.refresh()
    hits = corpus.search("ferry line", limit=12)
    followed = corpus.follow("ferry line", hits, 14)
    assert followed[:10] == hits[:10]
    assert any(uri.startswith("about") for uri in uris(followed)[10:])


def test_follow_repeats_nothing(filled: Corpus) -> None:
    hits = filled.search("ferry Tern company harbour costs", limit=10)
    followed = filled.follow("ferry Tern company harbour costs", hits, 10)
    assert len(set(uris(followed))) == len(followed)
    assert set(uris(hits)) <= set(uris(followed))
    assert filled.follow("ferry", [], 10) == []
    assert filled.follow("ferry", hits, 2) == hits[:2]


def test_reading_part_by_part_gives_the_whole_text(filled: Corpus) -> None:
    identifier = next(d.id for d in filled.documents() if d.uri == "long.md")
    whole, position = "", 0
    while True:
        part = filled.read(identifier, position, 1500)
        if not part.text:
            break
        assert part.start == position
        assert len(part.text) <= 1500
        assert all(part.start <= s.start < s.end <= part.end for s in part.sentences)
        whole, position = whole + part.text, part.end
    assert whole == filled.document(identifier).text


@pytest.mark.parametrize("identifier", ["d0000000000", "../../etc/passwd", "tern.md", "", "'"])
def test_only_documents_of_the_corpus_can_be_read(filled: Corpus, identifier: str) -> None:
    with pytest.raises(UnknownDocument, match="search"):
        filled.read(identifier)
    with pytest.raises(LookupError):
        filled.document(identifier)


def test_frequency_counts_documents_and_phrases(filled: Corpus) -> None:
    counted = filled.frequency(
        ["ferries", "harbour", "Brekkan Yard", "yard Brekkan", "nowhere", "!"]
    )
    assert counted == {
        "ferries": 3,
        "harbour": 1,
        "Brekkan Yard": 2,
        "yard Brekkan": 0,
        "nowhere": 0,
        "!": 0,
    }


def test_threads_share_a_corpus(filled: Corpus) -> None:
    def ask(number: int) -> list[str]:
        return uris(filled.search(("ferry union", "brekkan yard")[number % 2]))

    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(ask, range(80)))
    assert all(answer == answers[number % 2] for number, answer in enumerate(answers))


def test_following_names_asks_no_more_once_all_places_are_filled(
    folder: Path, corpus: FolderCorpus, monkeypatch: pytest.MonkeyPatch
) -> None:
    towns = [f"Town{chr(97 + n)}ville" for n in range(14)]
    (folder / "first.md").write_text(f"# Ferry\n\nThe ferry calls at {', '.join(towns)}.\n")
    for n, town in enumerate(towns):
        (folder / f"{n}.md").write_text(f"# Notes {n}\n\n{town} has a ferry harbour.\n")
    corpus.refresh()
    asked: list[str] = []
    real = Ranking.matching

    def counted(self: Ranking, connection: Connection, match: str, **limits: Any) -> list[int]:
        asked.append(match)
        return real(self, connection, match, **limits)

    hits = corpus.search("ferry calls", limit=1)
    monkeypatch.setattr(Ranking, "matching", counted)
    corpus.follow("ferry calls", hits, 4)
    few = sum(" AND " in match for match in asked)
    asked.clear()
    corpus.follow("ferry calls", hits, 20)
    assert few < sum(" AND " in match for match in asked)
