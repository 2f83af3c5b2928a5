"""Sentence spans are the sentences, whatever the text."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from activities.sources.chunks import chunk_starts, section_paths, sentences
from activities.sources.formats.extracted_text import normalise
from activities.sources.formats.lines import unwrap

LINES = st.lists(
    st.one_of(
        st.text(max_size=60),
        st.sampled_from(
            [
                "",
                "# Heading",
                "- item one. And more",
                "Dr. Smith of Acme Inc. paid $4.2M. He left.",
                "Year: 2023; Cost: 5 %; Note: high.",
                "| a | b |",
                "From: Ann <a@x.org>",
                "```",
                "=====",
                "x" * 300,
                "word " * 400,
            ]
        ),
    ),
    max_size=30,
).map("\n".join)


def texts(text: str) -> list[str]:
    return [text[s.start : s.end] for s in sentences(text)]


@given(LINES)
def test_spans_are_ordered_apart_inside_and_trimmed(text: str) -> None:
    end = 0
    for span in sentences(text):
        assert end <= span.start < span.end <= len(text)
        quote = text[span.start : span.end]
        assert quote == quote.strip()
        assert "\n\n" not in quote or span.kind == "code"
        assert any(map(str.isalnum, quote))
        end = span.end


@given(LINES, st.integers(0, 1000))
def test_an_offset_moves_every_span(text: str, offset: int) -> None:
    moved = [(s.start - offset, s.end - offset) for s in sentences(text, offset)]
    assert moved == [(s.start, s.end) for s in sentences(text)]


@given(LINES)
def test_normalising_twice_changes_nothing_and_unwrapping_only_whitespace(text: str) -> None:
    clean = normalise(text)
    assert normalise(clean) == clean
    assert "".join(unwrap(clean).split()) == "".join(clean.split())
    assert (
        unwrap(clean).replace("-", "").split() == clean.replace("-", "").split() or "-\n" in clean
    )


@given(LINES)
def test_chunks_cover_the_text(text: str) -> None:
    starts = chunk_starts(text)
    assert starts[0] == 0
    assert starts == sorted(set(starts))
    assert starts[-1] <= len(text)
    parts = [text[a:b] for a, b in zip(starts, [*starts[1:], len(text)], strict=True)]
    assert "".join(parts) == text


def test_abbreviations_and_figures_do_not_end_a_sentence() -> None:
    first = "Dr. Smith of Acme Inc. said 3.5 % of U.S. firms (e.g. Ford) agree."
    assert texts(f"{first} Costs fell to $4.2M in Q2.") == [first, "Costs fell to $4.2M in Q2."]


def test_headings_items_and_rows_stand_alone() -> None:
    text = (
        "# Costs\nThey rose\n\n- ferry one\n- ferry two\n\n"
        "Year: 2023; Cost: 5.\nYear: 2024; Cost: 6.\n\nExecutive Summary\n\nIt is so."
    )
    kinds = [(text[s.start : s.end], s.kind) for s in sentences(text)]
    assert kinds == [
        ("Costs", "heading"),
        ("They rose", "prose"),
        ("ferry one", "item"),
        ("ferry two", "item"),
        ("Year: 2023; Cost: 5.", "row"),
        ("Year: 2024; Cost: 6.", "row"),
        ("Executive Summary", "heading"),
        ("It is so.", "prose"),
    ]


def test_a_long_chunk_ends_between_sentences_and_not_after_a_heading() -> None:
    sentence = "The quick harbour master counted forty ships before breakfast today. "
    text = f"{sentence * 30}\n\n## Next part\n\n{sentence * 30}"
    starts = chunk_starts(text)
    assert len(starts) > 3
    assert all(text[start:].startswith(("The quick", "## Next")) for start in starts)
    before = [text[:start].rstrip() for start in starts[1:]]
    assert all(part.endswith("today.") for part in before)


def test_a_code_block_stays_whole_with_its_lead_and_holds_no_headings() -> None:
    code = "```python\n" + "# not a heading\nx = 1\n\n" * 40 + "```"
    words = "Some words of an introduction. " * 40
    text = f"# Top\n\n{words}\n\nRun this:\n\n{code}\n\n{'More. ' * 200}"
    starts = chunk_starts(text)
    parts = [text[a:b] for a, b in zip(starts, [*starts[1:], len(text)], strict=True)]
    assert any(part.startswith("Run this:\n\n```python") and "\n```\n" in part for part in parts)
    assert section_paths(text, starts)[-1] == "Top"


def test_a_list_that_would_be_cut_begins_a_chunk_with_the_line_that_leads_to_it() -> None:
    steps = "\n".join(f"{n}. {'Press the button. ' * 10}" for n in range(1, 5))
    text = f"{'Some words of an introduction. ' * 25}\n\nDo the following:\n\n{steps}\n\nDone."
    starts = chunk_starts(text)
    assert any(text[start:].startswith("Do the following:") for start in starts)
    assert not any(text[start:].startswith(("2.", "3.", "4.")) for start in starts)


def test_code_blocks_that_never_close_are_read_in_one_pass() -> None:
    text = "```python\nx = 1\n" * 20_000
    assert len(chunk_starts(text)) > 100
    assert section_paths(text, [0]) == [""]
