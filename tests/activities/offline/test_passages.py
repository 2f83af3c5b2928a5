"""Passages cut from the hits of a search."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from activities.evidence.quotes import StoredText, fold
from activities.offline.passages import Passage, cut_passages, grow, leans
from activities.offline.question import Question
from activities.offline.request import Hit
from activities.offline.scoring import Scorer
from tests.activities.offline.library import Library, library
from workflows.contracts.evidence import Quote

LEAD = "The client can be set up in two ways:"
CODE = "client = Client(max_retries=5)\nclient.run()"
CHANGES = (
    "The client now reads its settings from a file when it starts.",
    "The server closes connections that were idle for more than an hour.",
)


def hit(*blocks: str, section: str = "") -> Hit:
    return Hit("d1", "Client guide", section, None, blocks)


def cut(*blocks: str, section: str = "", is_open: bool = False) -> list[Passage]:
    return list(cut_passages([hit(*blocks, section=section)], is_open=is_open))


def parts(*blocks: str, is_open: bool = False) -> list[tuple[str, ...]]:
    return [passage.parts for passage in cut(*blocks, is_open=is_open)]


def count_words(passage: Passage) -> int:
    return len(passage.text.split())


def test_the_paragraphs_of_a_section_are_one_passage() -> None:
    one, other = "The tower stands in Orla. It was built in 1871.", "The harbour board owns it."
    (passage,) = cut(one, other)
    assert passage.parts == (f"{one} {other}",)
    assert passage.sentences == ("The tower stands in Orla.", "It was built in 1871.", other)


def test_lines_that_open_a_text_head_a_passage_and_are_not_quoted_but_a_name_is() -> None:
    told, decided = "You applied for a smaller crew.", "The board has not approved it."
    letter = ("Harbour board", "12 November 2025", "Request for a crew of five", told)
    first, second = cut(*letter, "Decision", decided)
    assert (first.parts, first.sentences) == ((told,), (told,))
    assert first.heading == "Harbour board 12 November 2025 Request for a crew of five"
    assert (second.heading, second.parts) == ("", ("Decision", decided))


def test_a_setting_keeps_its_name_and_its_default() -> None:
    setting = ("Option: retries", "Default: 5", "It says how often a call is made again.")
    (passage,) = cut(*setting, section="Client guide › Settings")
    assert passage.parts == setting


def test_the_steps_that_a_line_leads_to_stay_together() -> None:
    steps = [f"- Step {n}: {' '.join(['press'] * 10)} the button." for n in range(5)]
    (passage,) = cut("Do the following:", *steps)
    assert len(passage.parts) == 6


def test_a_few_words_behind_a_paragraph_stay_with_it() -> None:
    told = f"The setting says how long a call may take{' and how often' * 15}."
    assert parts(told, "It is 15 seconds.") == [(f"{told} It is 15 seconds.",)]


def test_code_stays_with_the_paragraph_before_it() -> None:
    told = f"The client is made once{' and used again' * 15}."
    assert parts(told, f"```\n{CODE}\n```") == [(told, f"{CODE}\n")]


def test_lines_without_a_sentence_are_what_a_passage_says() -> None:
    (passage,) = cut("Trams: 14", "Boats: none", section="Fleet")
    assert passage.parts == ("Trams: 14", "Boats: none")
    assert passage.heading == ""


@pytest.mark.parametrize(("is_open", "most"), [(False, 40), (True, 105)])
def test_a_long_section_is_cut_between_sentences(is_open: bool, most: int) -> None:
    told = [f"Sentence number {n} says a few words about the tram." for n in range(40)]
    passages = cut(" ".join(told), is_open=is_open)
    assert most - 10 < max(map(count_words, passages)) <= most
    assert " ".join(passage.text for passage in passages) == " ".join(told)


def test_a_paragraph_that_fits_into_a_passage_is_not_cut() -> None:
    first = " ".join(f"Sentence number {n} says a few words about the tram." for n in range(3))
    second = " ".join(f"Step number {n} is done with a key of the tram." for n in range(3))
    assert parts(first, second) == [(first,), (second,)]


def grown(passages: list[Passage], seed: Passage) -> tuple[str, ...]:
    """The parts of what one of the passages grows into."""
    ((_, whole),) = grow([seed], passages)
    return whole.parts


def test_a_passage_grows_by_what_follows_as_long_as_there_is_room() -> None:
    rules = [f"Rule {n} of the tram: {'no one may ride on the roof, ' * 5}ever." for n in "12345"]
    cuts = cut(*rules)
    assert [passage.parts for passage in cuts] == [(rule,) for rule in rules]
    assert grown(cuts, cuts[1]) == (rules[1], rules[2])
    first, second = (whole.parts for _, whole in grow([cuts[2], cuts[1]], cuts))
    assert (first, second) == ((rules[2], rules[3]), (rules[1],))


def test_a_passage_grows_back_to_what_it_leans_on() -> None:
    before = "The pump of the tower fills the lamps with oil, one after the other, every evening."
    half = f"By doing this, the lamps burn until morning{' and are not seen to smoke' * 5}."
    cuts = [*cut(before), *cut(half)]
    after = replace(cuts[1], place=(0, 1))
    assert grown([cuts[0], after], after) == (before, half)


@pytest.mark.parametrize("blocks", [("## Oil", "Lamp oil is red."), ()])
def test_a_passage_grows_neither_into_another_section_nor_another_hit(
    blocks: tuple[str, ...],
) -> None:
    one = hit("The tower is tall.", *blocks, section="Tower")
    cuts = list(cut_passages([one, replace(one, blocks=("It is red.",))]))
    assert [whole for _, whole in grow(cuts, cuts)] == cuts


ENTRIES = (
    "max_lamps (default: 4): How many lamps of the tower may burn at once on a clear night.",
    "--oil Litres: What the pump of the tower fills into each of the lamps before they burn.",
)


def test_entries_of_a_list_of_definitions_do_not_grow_together() -> None:
    cuts = cut(*ENTRIES)
    assert [whole.parts for _, whole in grow(cuts, cuts)] == [(entry,) for entry in ENTRIES]


@pytest.mark.parametrize("name", ["Persistent=", "oil_limit", "--oil LITRES"])
def test_what_stands_within_an_entry_is_shown_with_its_name(name: str) -> None:
    about = f"Takes a number. {'The lamp of the tower burns no more oil than that. ' * 20}".strip()
    last = "Zero means that the lamp burns as much as is filled into it, and may run dry by dawn."
    cuts = cut("Lamps of the tower burn oil that is red.", name, about, last)
    first, *_, end = grown(cuts, cuts[-1])
    assert first == name
    assert end.endswith(last)
    assert about not in end


def test_a_sentence_that_goes_on_behind_code_opens_no_passage() -> None:
    assert leans("if you expect more than one device.")
    assert not leans("failure_ttl says how long a job is kept.")


def test_no_passage_opens_with_a_sentence_that_leans_on_the_one_before() -> None:
    told = " ".join(f"Sentence {n} is about a tram. It says a few words on it." for n in range(40))
    passages = cut(told)
    assert len(passages) > 1
    assert all(passage.text.startswith("Sentence") for passage in passages)


def test_a_single_long_sentence_is_kept_whole() -> None:
    text = "The tram " + "and the ferry " * 40 + "run."
    assert parts(text) == [(text,)]


def test_a_list_comes_with_the_line_that_leads_to_it() -> None:
    (passage,) = cut(LEAD, "- from a file", "- from the environment")
    assert passage.parts == (LEAD, "from a file", "from the environment")
    assert passage.text == f"{LEAD} from a file; from the environment"


@pytest.mark.parametrize("is_open", [False, True])
def test_long_items_stay_with_the_line_that_leads_to_them(is_open: bool) -> None:
    items = [f"- {change}" for change in CHANGES]
    assert parts(LEAD, *items, is_open=is_open) == [(LEAD, *CHANGES)]


def test_a_paragraph_that_leans_on_the_one_before_opens_no_passage() -> None:
    told = " ".join(f"Sentence number {n} says a few words about the tram." for n in range(10))
    passages = cut(told, "However, " + told, "The ferry is another matter.")
    assert not any(passage.text.startswith("However") for passage in passages)


@pytest.mark.parametrize(
    "sentence",
    ["By doing this, it opens.", "To do so, turn it.", "With that, it opens.", "Due to this it is.",
     "After doing so, wait.", "Because of these, wait.", "Like so it opens.", "In this case wait."],
)  # fmt: skip
def test_a_sentence_leans_that_opens_with_a_pointer_to_the_one_before(sentence: str) -> None:
    assert leans(sentence)


@pytest.mark.parametrize(
    "sentence", ["By default it is shut.", "To open the gate, turn it.", "After rain the gate is."]
)
def test_a_sentence_that_opens_otherwise_stands_alone(sentence: str) -> None:
    assert not leans(sentence)


def test_a_full_passage_never_ends_with_the_line_that_leads_to_a_list() -> None:
    told = " ".join(f"Sentence number {n} says a few words about the tram." for n in range(10))
    passages = cut(told, LEAD, f"- {CHANGES[0]}")
    assert not any(passage.text.endswith(":") for passage in passages)


def test_long_items_that_no_line_leads_to_stand_alone_for_a_narrow_question() -> None:
    items = [f"- {change}" for change in CHANGES]
    assert parts(*items) == [(change,) for change in CHANGES]
    assert parts(*items, is_open=True) == [CHANGES]


def test_short_items_stay_together() -> None:
    assert parts("- red", "- green", "- blue") == [("red", "green", "blue")]


def test_a_row_is_one_sentence_with_its_headers() -> None:
    rows = ("Region: North; Sales: 1.25 million. Year: 2024", "Region: South; Sales: 3; Year: 2024")
    (passage,) = cut(*rows)
    assert passage.parts == passage.sentences == rows


def test_rows_carry_what_their_table_says_of_its_columns() -> None:
    about = "About the columns: Fee: what a visit of the tower costs; Year: when it was paid."
    first, *_, last = cut(about, *(f"Fee: {n} euros; Year: 19{n}" for n in range(10, 60)))
    assert first.columns == last.columns == about


def test_rows_are_cut_only_between_rows() -> None:
    rows = [f"Region: {n}; Sales: {n} million; Year: 2024; Note: none" for n in range(40)]
    passages = cut(*rows)
    assert len(passages) > 1
    assert [row for passage in passages for row in passage.parts] == rows


def test_a_code_block_comes_with_the_text_before_it() -> None:
    (passage,) = cut(f"Retries are off. {LEAD}", CODE)
    assert passage.parts == (f"Retries are off. {LEAD}", f"{CODE}\n")
    assert passage.text == f"Retries are off. {LEAD}\n{CODE}"


def test_code_between_items_keeps_lines_of_its_own() -> None:
    (passage,) = cut(LEAD, "- from a file", "Run it like this:", CODE, "- red")
    assert passage.text == f"{LEAD} from a file; Run it like this:\n{CODE}\nred"


def test_a_code_block_joins_even_a_full_passage() -> None:
    told = "The tram " + "and the ferry " * 20 + "run."
    assert parts(told, CODE) == [(told, f"{CODE}\n")]


def test_long_code_is_cut_after_forty_lines() -> None:
    code = "\n".join(f"step({n})" for n in range(50))
    (passage,) = cut(code)
    assert passage.parts[-1].splitlines() == code.splitlines()[:40]


def test_headings_part_passages_and_name_their_place() -> None:
    passages = cut("The tower is tall.", "## Keepers", "Ada Holt left.", section="Orla › Tower")
    assert [(p.text, p.section, p.heading) for p in passages] == [
        ("The tower is tall.", "Orla › Tower", ""),
        ("Ada Holt left.", "Orla › Keepers", "Keepers"),
    ]


def test_only_the_passage_that_opens_a_section_has_its_heading() -> None:
    first, second = cut("## Changes", *(f"- {change}" for change in CHANGES))
    assert (first.heading, second.heading) == ("Changes", "")
    assert first.section == second.section == "Changes"


def test_passages_of_one_document_share_its_first_rank() -> None:
    other = Hit("d2", "Fees", "", None, ("A visit is free.",))
    passages = cut_passages([hit("The tower is tall."), other, hit("It is red.")])
    assert [passage.rank for passage in passages] == [0, 1, 0]


_LINE = st.lists(
    st.sampled_from(
        ["Tower", "is", "it", "3.", "1871", "- ", "a:", "b;", "| ", "x.", "?", "é", "#"]
    ),
    min_size=1,
    max_size=30,
).map(" ".join)
_BLOCK = _LINE | st.lists(_LINE, min_size=2, max_size=25).map("\n".join)


@given(st.lists(_BLOCK, max_size=8), st.booleans())
def test_every_part_stands_word_for_word_in_the_hit(blocks: list[str], is_open: bool) -> None:
    whole = fold("\n".join(blocks))
    cuts = cut(*blocks, is_open=is_open)
    for passage in (*cuts, *(whole for _, whole in grow(cuts, cuts))):
        assert all(fold(part) in whole for part in passage.parts)
        said = fold(" ".join(passage.parts))
        assert all(fold(sentence) in said for sentence in passage.sentences)


@given(st.lists(_BLOCK, max_size=8))
def test_every_sentence_stands_in_one_passage_for_any_question(blocks: list[str]) -> None:
    narrow, wide = cut(*blocks), cut(*blocks, is_open=True)
    told = [" ".join(" ".join((p.heading, *p.sentences)) for p in cuts) for cuts in (narrow, wide)]
    assert told[0].split() == told[1].split()
    said = [sentence for passage in narrow for sentence in passage.sentences]
    whole = fold("\n".join(blocks))
    assert all(whole.count(fold(s)) >= said.count(s) for s in set(said))


@given(st.lists(_BLOCK, max_size=8))
def test_any_passage_can_be_ranked(blocks: list[str]) -> None:
    passages = cut(*blocks)
    ranked = Scorer(Question("When was it built: tower 1871?"), {"tower": 1}, 1).rank(passages)
    assert all(own.core in own.passage.sentences for own in ranked)
    assert all(0 < own.coverage <= 1 + 1e-9 for own in ranked)


FILES = {
    "guide.md": f"""# Client guide

Retries are off by default. They can be switched on for each client.

## Setting up

{LEAD}

- from a **file**, which is read when the client starts;
- from the environment

Run it like this:

```python
{CODE}
```

| Option | Default | Unit |
|---|---|---|
| timeout | 60 | seconds |
""",
    "guide.txt": "The timeout is\n60 seconds. It can be\nchanged.\n\n * one way\n * other",
    "guide.rst": "Limits\n======\n\nIt holds::\n\n    client.go()\n    client.stop()\n",
    "sales.csv": "Region,Sales,Year\nNorth,1.25,2024\nSouth,3.5,2024\n",
}


@pytest.fixture
def documents(tmp_path: Path) -> Iterator[Library]:
    with library(tmp_path, FILES) as opened:
        yield opened


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("How are retries switched on for a client?", "They can be switched on for each client."),
        ("Is a client set up from a file?", "file"),
        ("How do I run the client?", "client.run()"),
        ("What is the default timeout?", "60"),
        ("What are the sales of region North?", "1.25"),
        ("How can the timeout be changed?", "60 seconds. It can be"),
    ],
)
async def test_every_quote_stands_word_for_word_in_the_stored_text(
    documents: Library, question: str, expected: str
) -> None:
    claims = (await documents.research(question)).answer["claims"]
    assert expected in claims[0]["text"]
    quotes = [Quote.model_validate(quote) for claim in claims for quote in claim["quotes"]]
    assert all(StoredText(documents.text(quote.source_id)).find(quote) for quote in quotes)


async def test_a_row_from_a_table_carries_its_headers(documents: Library) -> None:
    (first, *_) = (await documents.research("What are the sales of region North?")).answer["claims"]
    assert all(header in first["text"] for header in ("Region", "Sales", "Year"))


async def test_code_from_a_document_keeps_its_lines_and_its_lead(documents: Library) -> None:
    (first, *_) = (await documents.research("How do I run it with max_retries?")).answer["claims"]
    quotes = [quote["text"] for quote in first["quotes"]]
    assert quotes[quotes.index(f"{CODE}\n") - 1] == "Run it like this:"
    assert f"Run it like this:\n{CODE}\n" in first["text"]
