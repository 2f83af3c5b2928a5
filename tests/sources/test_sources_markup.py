"""Markdown and reStructuredText give the text that a reader of the rendered page sees."""

from __future__ import annotations

from pathlib import Path

import pytest

from activities.sources.chunks import sentences
from activities.sources.documents import Document
from activities.sources.formats.lines import units
from activities.sources.formats.parsing import parse


def read_text(folder: Path, name: str, content: str) -> Document:
    path = folder / name
    path.write_text(content)
    found = parse(path, name)
    assert isinstance(found, list), found
    assert len(found) == 1
    return found[0]


def restructured(folder: Path, content: str) -> str:
    return read_text(folder, "page.rst", content).text


def markdown(folder: Path, content: str) -> str:
    return read_text(folder, "page.md", content).text


def test_markdown_with_front_matter_list_table_and_quotation(folder: Path) -> None:
    document = read_text(
        folder,
        "plan.md",
        "---\ntitle: The plan\ndate: 2024-03-12\ntags: [a]\n---\n# Plan **A**\n"
        "Costs fell by 3.5% in\nthe U.S. last year. They will rise.\n\n"
        "- first item\n- second item\n  goes on\n\n"
        "| Year | Cost |\n|---|---:|\n| 2023 | 5 |\n| 2024 | **6** |\n\n<!-- hidden -->\n"
        "Setext\n------\n> Quoted words.\n",
    )
    assert (document.title, document.date) == ("The plan", "2024-03-12")
    assert document.text == (
        "# Plan A\n\nCosts fell by 3.5% in the U.S. last year. They will rise.\n\n"
        "- first item\n- second item goes on\n\nYear: 2023; Cost: 5.\nYear: 2024; Cost: 6.\n\n"
        "## Setext\n\nQuoted words."
    )
    assert [document.text[s.start : s.end] for s in sentences(document.text)] == [
        "Plan A",
        "Costs fell by 3.5% in the U.S. last year.",
        "They will rise.",
        "first item",
        "second item goes on",
        "Year: 2023; Cost: 5.",
        "Year: 2024; Cost: 6.",
        "Setext",
        "Quoted words.",
    ]


@pytest.mark.parametrize(
    ("source", "text"),
    [
        ('!!! note "Mind this"\n    It is **slow**.\n\n    And big.',
         "Mind this: It is slow.\n\nAnd big."),
        ("!!! warning\n    It burns.", "It burns."),
        ('=== "Linux"\n\n    Use apt.\n', "Linux: Use apt."),
        (":::tip\nUse a cache.\n:::", "Use a cache."),
        ("[![build](b.svg)](ci) ![](x.png)\n\nText.", "Text."),
        ("See [the guide][g] and <https://x.org>.\n\n[g]: https://y.org", "See the guide and https://x.org."),
        ("Run `make <target>` with <file>.", "Run make <target> with <file>."),
        ("<details><summary>More</summary>\n\nHidden text.\n\n</details>", "More\n\nHidden text."),
        ("Apple\n:   A fruit.\n:   A firm.", "Apple: A fruit.\n\nA firm."),
        ("It holds.[^1]\n\n[^1]: Mostly.", "It holds.\n\n1. Mostly."),
        ("## Setup {#setup .big}\n\nDo it.", "## Setup\n\nDo it."),
        ("Read {doc}`the guide <guide>` and {py:func}`~a.b.run`.", "Read the guide and run."),
        ("```{note}\nBe *quick*.\n```", "Be quick."),
        ("> [!NOTE]\n> Slow.", "Slow."),
        ("(label)=\n\n```{eval-rst}\n.. tip:: See :ref:`x`.\n```", "See x."),
        ("{% hint style=\"info\" %}\n\nGood.\n\n{{< /note >}}", "Good."),
        ("**Author:** Ann\n**Team:** Sales", "Author: Ann\n\nTeam: Sales"),
    ],
)  # fmt: skip
def test_markdown_of_documentation_generators(folder: Path, source: str, text: str) -> None:
    assert markdown(folder, f"Top.\n\n{source}\n") == f"Top.\n\n{text}"


@pytest.mark.parametrize(
    ("source", "text"),
    [
        ("See :doc:`the guide <guide>` and :ref:`setup`.", "See the guide and setup."),
        ("Use the `load <acme.Schema.load>` method.", "Use the load method."),
        ("Call :py:func:`~a.b.run` or ``x`` now.", "Call run or x now."),
        ("The |name| of `a page`_ and other_.\n\n.. |name| replace:: big size",
         "The big size of a page and other."),
        (".. note:: Mind the\n   gap.\n\n   And the step.", "Mind the gap.\n\nAnd the step."),
        (".. admonition:: Take *care*\n   :class: x\n\n   It bites.", "Take *care*: It bites."),
        (".. versionadded:: 3.2\n   The ``x`` option.", "Added in version 3.2: The x option."),
        (".. option:: -v, --verbose\n\n   Say more.", "-v, --verbose: Say more."),
        (".. py:function:: run(*args, **kw)\n   :noindex:\n\n   Runs it.",
         "run(*args, **kw): Runs it."),
        ("term\n  What it is.\n\n  And more.", "term: What it is.\n\nAnd more."),
        (":Date: 2025-02-11\n:Status: final", "Date: 2025-02-11\n\nStatus: final"),
        (".. _target:\n\n.. a comment\n\n.. toctree::\n\n   other\n\nWords.", "Words."),
        ("It is so [1]_.\n\n.. [1] By law.", "It is so.\n\nBy law."),
        ("====  ====\nItem  Size\n====  ====\nBox   4 m\n====  ====", "Item: Box; Size: 4 m."),
        ("+------+------+\n| Item | Size |\n+======+======+\n| Box  | 4 m  |\n+------+------+",
         "Item: Box; Size: 4 m."),
        (".. list-table::\n   :header-rows: 1\n\n   * - Item\n     - Size\n   * - Box\n     - 4 m",
         "Item: Box; Size: 4 m."),
        ('.. csv-table::\n   :header: Item, Size\n\n   Box, "4 m"', "Item: Box; Size: 4 m."),
        ("- one\n\n  more\n\n  - inner\n\n- two", "- one\n  more\n  - inner\n- two"),
        ("3. third\n4. fourth", "3. third\n4. fourth"),
        (".. parsed-literal::\n\n   pip install x==\\ |release|\\ -1",
         "```text\npip install x==release-1\n```"),
        (".. unknown:thing::\n   :opt: 1\n\n   Text stays.", "Text stays."),
        ("Call `.Loop.run`.", "Call Loop.run."),
        (".. acme:example::\n\n   @acme.command()\n   def run(a):\n       b = a\n       go(b)",
         "```text\n@acme.command()\ndef run(a):\n    b = a\n    go(b)\n```"),
    ],
)  # fmt: skip
def test_restructured_text(folder: Path, source: str, text: str) -> None:
    assert restructured(folder, f"Top.\n\n{source}\n") == f"Top.\n\n{text}"


def test_code_at_the_start_of_a_broken_line_is_no_heading(folder: Path) -> None:
    source = "# Skip\n\nLines are skipped between `# off` and\n`# on`, and read after it.\n"
    assert markdown(folder, source) == (
        "# Skip\n\nLines are skipped between # off and # on, and read after it."
    )


def test_headings_of_unexpected_level_stay(folder: Path) -> None:
    source = "A\n=\n\nB\n-\n\nC\n~\n\nD\n=\n\nE\n~\n\nText.\n"
    assert "E\n\nText." in restructured(folder, source)


def test_text_files_written_in_restructured_text_are_read_as_such(folder: Path) -> None:
    source = "Title\n=====\n\nSee :doc:`the guide </guide>`.\n"
    assert read_text(folder, "a.txt", source).text == "# Title\n\nSee the guide."


CODE = "first = 1\n\n# not a heading\nif first:\n    second = 2. Yes"
INDENTED = "".join(f"   {line}\n" for line in CODE.split("\n"))


@pytest.mark.parametrize(
    ("name", "source"),
    [
        ("a.md", f"Do this:\n\n```python\n{CODE}\n```\n\nDone. Well.\n"),
        ("a.rst", "Do this:\n\n.. code-block:: python\n   :x:\n\n" + INDENTED + "\nDone. Well.\n"),
        ("a.rst", "Do this::\n\n" + INDENTED + "\nDone. Well.\n"),
        ("a.html", f"<p>Do this:</p><pre><code>{CODE}</code></pre><p>Done. Well.</p>"),
    ],
)  # fmt: skip
def test_a_code_block_is_one_unit_with_its_lines(folder: Path, name: str, source: str) -> None:
    text = read_text(folder, name, source).text
    found = [(text[unit.start : unit.end], unit.kind) for unit in units(text)]
    assert found == [("Do this:", "prose"), (CODE, "code"), ("Done. Well.", "prose")]


def test_a_passage_cut_inside_code_still_tells_code_from_prose(folder: Path) -> None:
    text = read_text(folder, "a.md", f"Before.\n\n```\n{CODE}\n```\n\nAfter.\n").text
    cut = text[text.index("# not") :]
    assert [unit.kind for unit in units(cut)] == ["code", "prose"]
    assert [unit.kind for unit in units(text[: text.index("# not")])] == ["prose", "code"]


@pytest.mark.parametrize(
    "source", [":a:`b " * 20_000, "\n".join(" " * n + "- a" for n in range(300))]
)
def test_markup_that_docutils_cannot_parse_is_read_as_plain_text(folder: Path, source: str) -> None:
    assert restructured(folder, f"Top words.\n\n{source}\n").startswith("Top words.")
