"""Passages cut from the hits of a search."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from activities.evidence.quotes import StoredText, fold
from activities.offline.conversation import Hit
from activities.offline.passages import Passage, cut_passages
from activities.offline.question import Question
from activities.offline.scoring import Scorer
from tests.activities.offline.library import Library, library
from workflows.contracts.evidence import Quote

LEAD = "The client can be set up in two ways:"
CODE = "client = Client(max_retries=5)\nclient.run()"


def hit(*blocks: str, section: str = "") -> Hit:
    return Hit("d1", "Client guide", section, None, "page", blocks)


def cut(*blocks: str, section: str = "") -> list[Passage]:
    return list(cut_passages([hit(*blocks, section=section)]))


def cut_for(core: str, *blocks: str) -> list[tuple[str, ...]]:
    return [passage.parts for passage in cut(*blocks) if passage.core == core]


def test_a_sentence_comes_with_the_paragraph_after_it_and_alone() -> None:
    text = "The tower stands in Orla. The harbour board owns it."
    assert cut_for("The tower stands in Orla.", text) == [(text,), ("The tower stands in Orla.",)]


def test_a_sentence_that_leans_on_another_is_never_cut_without_it() -> None:
    text = "The tower stands in Orla. It was built in 1871."
    assert cut_for("It was built in 1871.", text) == [(text,)]


def test_leaning_sentences_reach_back_to_one_that_stands_alone() -> None:
    told = "The tower stands in Orla. It is very tall. This pleases many visitors."
    passages = cut_for("This pleases many visitors.", f"Trams are quiet here. {told}")
    assert passages == [(told,)]


def test_a_passage_of_prose_is_about_sixty_words_at_most() -> None:
    text = " ".join(f"Sentence number {n} says a few words about the tram." for n in range(40))
    assert max(len(passage.text.split()) for passage in cut(text)) <= 60


def test_a_single_long_sentence_is_kept_whole() -> None:
    text = "The tram " + "and the ferry " * 40 + "run."
    assert cut_for(text, text) == [(text,)]


def test_a_list_item_comes_with_the_line_that_leads_to_it() -> None:
    passages = cut_for("from a file", LEAD, "- from a file", "- from the environment")
    assert (LEAD, "from a file") in passages
    assert (LEAD, "from a file", "from the environment") in passages


def test_a_leading_line_brings_its_list() -> None:
    passages = cut_for(LEAD, LEAD, "- from a file", "- from the environment")
    assert (LEAD, "from a file", "from the environment") in passages


def test_an_item_after_a_table_has_no_lead() -> None:
    assert cut_for("one more", "Year: 2024; Cost: 3", "- one more") == [("one more",)]


def test_a_row_stands_alone_with_its_headers() -> None:
    row = "Region: North; Sales: 1.25 million; Year: 2024"
    (passage,) = cut(row)
    assert (passage.parts, passage.form) == ((row,), "row")


def test_a_code_block_comes_with_the_sentence_before_it() -> None:
    passages = cut_for(CODE, f"Retries are off. {LEAD}", CODE)
    assert passages == [(LEAD, CODE)]


def test_long_code_is_cut_after_twenty_lines() -> None:
    code = "\n".join(f"step({n})" for n in range(50))
    (passage,) = cut(code)
    assert passage.parts[-1].splitlines() == code.splitlines()[:20]


def test_headings_are_places_and_no_passages() -> None:
    passages = cut("The tower is tall.", "## Keepers", "Ada Holt left.", section="Orla › Tower")
    assert [(p.text, p.section) for p in passages] == [
        ("The tower is tall.", "Orla › Tower"),
        ("Ada Holt left.", "Orla › Keepers"),
    ]


def test_scraps_of_a_paragraph_are_no_passages() -> None:
    assert "Yes indeed." not in {p.core for p in cut("The tower stands in Orla. Yes indeed.")}


_LINE = st.lists(
    st.sampled_from(
        ["Tower", "is", "it", "3.", "1871", "- ", "a:", "b;", "| ", "x.", "?", "é", "#"]
    ),
    min_size=1,
    max_size=30,
).map(" ".join)
_BLOCK = _LINE | st.lists(_LINE, min_size=2, max_size=25).map("\n".join)


@given(st.lists(_BLOCK, max_size=8))
def test_whatever_is_cut_stands_in_the_hit_and_can_be_ranked(blocks: list[str]) -> None:
    passages = cut(*blocks)
    whole = fold("\n".join(blocks))
    assert all(fold(part) in whole for passage in passages for part in passage.parts)
    ranked = Scorer(Question("When was it built: tower 1871?"), {"tower": 1}, 1).rank(passages)
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
    assert [quote["text"] for quote in first["quotes"]] == ["Run it like this:", CODE]
