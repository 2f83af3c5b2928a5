"""Passages as Markdown."""

from __future__ import annotations

import pytest
from markdown_it import MarkdownIt

from activities.offline.markdown import cited, passage, plain, remark


def rendered(markdown: str) -> str:
    return str(MarkdownIt().render(markdown)).strip()


def test_prose_behind_code_is_a_paragraph() -> None:
    shown = passage(("Run this:", "make\nmake install\n", "It takes a minute."), (1,), "")
    assert "- It takes" not in shown
    assert shown.endswith("It takes a minute [1].")


def test_the_name_a_passage_opens_with_is_no_lead_of_a_list() -> None:
    shown = passage(("retries", "It says how often a call is made again."), (1,), "Settings")
    assert shown == "**Settings:** retries [1]\n\nIt says how often a call is made again [1]."


@pytest.mark.parametrize(
    "text",
    ["1. First of all", "2) Second", "# No heading", "- no item", "* no item", "> no quote", "+ 5"],
)
def test_prose_at_the_start_of_a_line_stays_prose(text: str) -> None:
    shown = rendered(plain(text)).replace("&gt;", ">")
    assert shown == f"<p>{text}</p>"


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("See [the guide](https://a.example/b_(c)) now.", "See the guide now."),
        ("See [the guide][1] now.", "See the guide now."),
        ("Set $cfg['Servers'][$i]['users'] first.", "Set $cfg['Servers'][$i]['users'] first."),
        ("![A tower](tower.png) is tall.", "A tower is tall."),
        ("Built in 1871.[12]", r"Built in 1871.\[12\]"),
        ("Built in 1871.[1][2]", r"Built in 1871.\[1\]\[2\]"),
        ("It is [10, 20] of int[5].", r"It is \[10, 20\] of int\[5\]."),
        ("It is `[10, 20]`.", "It is `[10, 20]`."),
        ("Set max_fee and __init__() to `a_b`.", "Set `max_fee` and `__init__()` to `a_b`."),
        ("Run a.b.do_it, or x/y_z.py.", "Run `a.b.do_it`, or `x/y_z.py`."),
        ("Call super().__init__() if is_on=True.", "Call `super().__init__()` if `is_on=True`."),
        ("Two\n  lines", "Two lines"),
    ],
)
def test_broken_links_go_and_every_word_stays(text: str, shown: str) -> None:
    assert plain(text) == shown


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("It is tall.", "It is tall [1][2]."),
        ("Is it tall?", "Is it tall [1][2]?"),
        ("It is tall", "It is tall [1][2]"),
        ("And so on...", "And so on... [1][2]"),
    ],
)
def test_citations_stand_before_the_full_stop(text: str, shown: str) -> None:
    assert cited(text, (1, 2)) == shown


def test_a_remark_is_one_run_of_italics() -> None:
    assert (
        rendered(remark("No max_fee [1] is known.")) == "<p><em>No max fee [1] is known.</em></p>"
    )


def test_code_with_fences_of_its_own_is_one_block() -> None:
    markdown = passage(["Run this:", "```python\nfee = 3\n```"], [1], "")
    assert markdown.count("```") == 2
    assert "fee = 3" in markdown
