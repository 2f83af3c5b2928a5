"""Passages ranked by what they say about what is asked."""

from __future__ import annotations

from dataclasses import replace

import pytest

from activities.evidence.text.sentences import sentences
from activities.offline.passages import Passage, Piece
from activities.offline.question import Question
from activities.offline.scoring import Scored, Scorer


def passage(
    text: str, *, source: str = "d1", title: str = "Notes", section: str = "", place: int = 0
) -> Passage:
    pieces = tuple(Piece("prose", sentence) for sentence in sentences(text))
    return Passage(source, title, section, pieces, 0, (place, 0))


def rank(
    question: str, *passages: Passage, frequency: dict[str, int] | None = None
) -> list[Scored]:
    return Scorer(Question(question), frequency or {}, 100).rank(passages)


def best(question: str, *texts: str, frequency: dict[str, int] | None = None) -> str:
    passages = [passage(text, source=f"d{n}") for n, text in enumerate(texts)]
    return rank(question, *passages, frequency=frequency)[0].passage.text


def test_another_form_of_the_verb_covers_the_question() -> None:
    (own,) = rank("When was the tower built?", passage("They build the tower in 1871."))
    assert own.coverage == 1.0
    assert own.answers


def test_a_passage_without_a_word_of_the_question_is_not_ranked() -> None:
    assert rank("When was the tower built?", passage("Trams run every ten minutes.")) == []


FILM = "Blood Pier is a film. It was shot in Venby. Music was written by Ada Holt."


@pytest.mark.parametrize(
    ("question", "told", "found"),
    [
        (
            "Where does the composer of the film Blood Pier live?",
            "She lives in Orla and keeps bees.",
            True,
        ),
        (
            "What nationality is the composer of Blood Pier?",
            "Ada Holt is a Dane who keeps bees.",
            True,
        ),
        (
            "What nationality is the composer of Blood Pier?",
            "These are all the bees we know.",
            False,
        ),
    ],
    ids=["a fact", "a document that opens with its title", "a page that is referred to"],
)
def test_what_a_good_passage_names_is_ranked_without_a_word_of_the_question(
    question: str, told: str, found: bool
) -> None:
    ranked = rank(
        question,
        passage(FILM, source="film", title="Blood Pier"),
        passage(told, source="ada", title="Ada Holt"),
        passage("Trams run every ten minutes.", source="trams", title="Trams"),
    )
    assert {own.passage.source_id for own in ranked} == {"film"} | ({"ada"} if found else set())


def test_a_passage_that_answers_beats_one_that_echoes_the_question() -> None:
    echo = "Many visitors ask when the Venby tower was built."
    answer = "The Venby tower was built in 1871."
    assert best("When was the Venby tower built?", echo, answer) == answer


def test_a_passage_that_only_announces_what_follows_is_no_answer() -> None:
    announced = "How tall is the Venby tower? Here it is, with the usual warnings."
    assert rank("How tall is the Venby tower?", passage(announced)) == []
    assert rank("How tall is the Venby tower?", passage("The Venby tower is tall:")) == []


def test_a_name_that_is_a_small_part_of_a_title_leads_to_no_document() -> None:
    ranked = rank(
        "Who pays for Blood Pier?",
        passage("Blood Pier is paid for by Venby Harbour.", source="pay", title="Money"),
        passage(
            "Nets are dry and boats lie in the bay.",
            source="plan",
            title="Venby Harbour outline plan of 1901",
        ),
    )
    assert [own.passage.source_id for own in ranked] == ["pay"]


def test_the_title_above_a_row_counts_as_its_own_words() -> None:
    row, prose = "Month: May; Sum: 12; Share: 40", "In May the sum was 12 and the share 40."
    ranked = rank(
        "How can we cut tickets of the service desk?",
        passage(prose, source="prose", title="Tickets of the service desk"),
        passage(row, source="row", title="Tickets of the service desk"),
    )
    assert [own.passage.source_id for own in ranked] == ["row", "prose"]


def test_the_names_of_columns_count_once_however_many_rows_there_are() -> None:
    rows = tuple(f"Year: {year}; Passengers: {year}; Trams: 9" for year in (2021, 2022, 2023))
    one = replace(passage(""), pieces=(Piece("row", rows[0]),))
    many = replace(one, pieces=tuple(Piece("row", row) for row in rows), place=(1, 0))
    by_length = {len(own.passage.parts): own for own in rank("What do passengers pay?", one, many)}
    assert by_length[3].coverage == by_length[1].coverage
    assert by_length[3].score <= by_length[1].score


def test_a_rare_word_counts_more_than_a_common_one() -> None:
    counts = {"tower": 90, "seaweed": 2}
    texts = "The tower is near.", "The seaweed is near."
    assert best("tower seaweed", *texts, frequency=counts) == "The seaweed is near."


def test_a_question_is_a_poor_answer() -> None:
    asked, told = "Is the tower of Orla tall and red?", "The tower of Orla is tall and red."
    assert best("Drying of the tower of Orla", asked, told) == told


def test_a_section_is_shown_from_its_beginning() -> None:
    opening = replace(passage("Lamp oil is kept in the cellar.", section="Oil"), heading="Oil")
    later = passage("Fill lamp oil by the lamp oil pump.", section="Oil", place=1)
    other = passage("Lamp oil is sold in town.", source="d2", section="Shops")
    ranked = [own.passage for own in rank("How do I fill lamp oil?", opening, later, other)]
    assert ranked == [later, opening, other]


def test_headings_and_titles_cover_what_the_passage_leaves_out() -> None:
    under = passage("It is 41 metres tall.", section="Venby tower", place=1)
    elsewhere = passage("It is 12 metres tall.", section="Ferries", place=2)
    first, *_ = rank("How tall is the Venby tower?", elsewhere, under)
    assert first.passage == under


def test_a_line_of_a_few_other_words_is_not_ranked_for_its_title() -> None:
    stamp = passage("Date: 2025-03-01", title="Tower of Orla")
    assert rank("When was the tower of Orla built?", stamp) == []


def test_a_word_that_comes_again_adds_to_the_score_and_covers_nothing_more() -> None:
    once = passage("The red tower stands in Orla.", source="d1")
    again = passage("The red tower stands in Orla. A tower is a tower.", source="d2")
    scores = {own.passage.source_id: own for own in rank("Who designed the tower?", once, again)}
    assert scores["d2"].score > scores["d1"].score
    assert scores["d2"].coverage == scores["d1"].coverage < 1


def test_an_answer_is_found_over_two_documents() -> None:
    names = passage("The last keeper of the Venby tower was Ada Holt.", source="d1")
    about = passage("She was born in Orla.", source="d2", title="Ada Holt")
    other = passage("She was born in Skerry.", source="d3", title="Tove Lind")
    ranked = rank("Where was the last keeper of the Venby tower born?", names, about, other)
    scores = {own.passage.source_id: own for own in ranked}
    assert scores["d2"].score > scores["d3"].score


def test_a_word_that_stands_in_no_document_is_told_and_not_counted() -> None:
    question = Question("When did the penguin tower open?")
    scorer = Scorer(question, {"penguin": 0, "tower": 3, "open": 5}, 10)
    assert scorer.absent == question.terms_of("penguin")
    (own,) = scorer.rank([passage("The tower opened in 1871.")])
    assert own.coverage == 1.0


def test_ranking_does_not_hang_on_the_order_of_the_hits() -> None:
    texts = ["The tower opened.", "A tower is red.", "The tower stands.", "Towers are tall."]
    passages = [passage(text, source=f"d{n}", place=n) for n, text in enumerate(texts)]
    question = "When did the tower open?"
    assert rank(question, *passages) == rank(question, *reversed(passages))


def test_what_stands_under_the_name_that_is_asked_about_leads() -> None:
    under = "The final cost of the repair was EUR 9 million."
    of_all = "The programme with MV Gull and its repair will cost EUR 151 million in total."
    ranked = rank(
        "What did the repair of MV Gull cost?",
        passage(of_all, source="report", title="Annual report"),
        passage(under, source="gull", title="Close-out: repair of MV Gull", section="Money"),
    )
    assert ranked[0].passage.text == under


def test_a_passage_on_the_context_alone_is_not_ranked() -> None:
    question = Question("How safe it is", "How safe it is (converting county ferries)?")
    ferries = passage("The county converts its ferries.")
    assert Scorer(question, {}, 100).rank([ferries]) == []


def test_a_row_is_about_what_its_table_says_of_its_columns() -> None:
    row = passage("Fee: 5 euros; Year: 1910")
    plain, told = replace(row, source_id="d1"), replace(row, source_id="d2")
    told = replace(told, columns="About the columns: Fee: what a visit of the tower costs.")
    assert rank("What was the fee for a tower visit?", plain, told)[0].passage == told
