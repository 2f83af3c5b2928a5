"""The page is safe with any text, needs nothing else, and leads from a citation to its quote."""

from __future__ import annotations

import base64
import hashlib
import re
from html.parser import HTMLParser
from pathlib import Path

import pytest

from console.faults import ConsoleError
from console.outputs import write
from console.page import page
from console.prose import to_html

from .results import finished

HOSTILE = (
    '<script>alert(1)</script><img src=x onerror=alert(2)> " \' onmouseover="x" '
    "</title></style><style>@import url(//evil.example)</style> ![i](http://evil.example/p.png) "
    "[go](javascript:alert(3)) [d](data:text/html;base64,x) <javascript:alert(4)> "
    "<http://ok.example> &lt;b&gt; <!-- --> ]]> {{7*7}}"
)
FORBIDDEN = {"script", "img", "iframe", "object", "embed", "link", "form", "base", "svg", "video"}


class Reader(HTMLParser):
    """Collects what a browser would act on."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.attributes: set[str] = set()
        self.links: list[str] = []
        self.ids: list[str] = []
        self.styles: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        for name, value in attrs:
            self.attributes.add(name)
            if name in ("href", "src"):
                self.links.append(value or "")
            if name == "id":
                self.ids.append(value or "")

    def handle_data(self, data: str) -> None:
        if self.cdata_elem == "style":
            self.styles.append(data)


def test_hostile_text_stays_text_wherever_it_stands() -> None:
    read = Reader(page(finished(HOSTILE)))

    assert not read.tags & FORBIDDEN
    assert len(read.styles) == 1
    assert not {name for name in read.attributes if name.startswith("on")}
    assert not read.attributes & {"src", "style", "srcdoc", "action"}
    assert all(link.startswith(("#", "https://", "http://")) for link in read.links), read.links


def test_the_policy_allows_the_pages_own_style_and_nothing_else() -> None:
    text = page(finished("plain"))
    (policy,) = re.findall(r'Content-Security-Policy" content="([^"]*)"', text)
    (style,) = re.findall(r"<style>(.*?)</style>", text, re.DOTALL)
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    assert policy.startswith("default-src 'none'")
    assert f"style-src 'sha256-{digest}'" in policy
    assert "unsafe" not in policy


def test_every_citation_leads_to_a_source_with_its_quotes() -> None:
    text = page(finished("word"))
    read = Reader(text)
    cites = [link[1:] for link in read.links if link.startswith("#source-")]
    assert {"source-1", "source-2"} == set(cites)
    assert set(cites) <= set(read.ids)
    assert "[9]" in text, "a number without a source stays as it was written"
    assert text.index('id="source-1"') < text.index("word quoted 1") < text.index('id="source-2"')
    assert "1 more read and not cited" in text


def test_both_sides_of_a_contradiction_stand_beside_each_other() -> None:
    text = page(finished("word"))
    (sides,) = re.findall(r'<div class="sides">(.*?)</article>', text, re.DOTALL)
    assert sides.count('class="side"') == 2
    assert 'href="#source-1"' in sides
    assert 'href="#source-2"' in sides


def test_the_reports_own_list_of_sources_is_not_shown_twice() -> None:
    markdown = "# R\n\nFact. [1]\n\n## Sources\n\n1. the old list\n\n## After\n\nStays.\n"
    text = page(finished("word", markdown))
    assert "the old list" not in text
    assert "Stays." in text


def test_the_markdown_of_a_report_is_rendered() -> None:
    html = to_html("## H\n\n- **b** _i_ [1]\n\n| a | b |\n|---|---|\n| 1 | `[1]` |\n", {1})
    for piece in ("<h2>H</h2>", "<li>", "<strong>b</strong>", "<em>i</em>", "<td>1</td>"):
        assert piece in html
    assert html.count("#source-1") == 1, "what is code is not a citation"


def test_a_report_without_anything_still_makes_a_page() -> None:
    empty = finished("q").model_copy(
        update={"coverage": (), "sources": (), "claims": (), "contradictions": (), "gaps": (),
                "passes": (), "unreadable": (), "report_markdown": ""}
    )  # fmt: skip
    assert "No language model was used" in page(empty)


def test_the_files_appear_whole_and_nothing_else_with_them(tmp_path: Path) -> None:
    result = finished("word")
    files = write(result, tmp_path / "new")
    write(result, tmp_path / "new")
    assert sorted(path.name for path in (tmp_path / "new").iterdir()) == [
        "report.html",
        "report.json",
        "report.md",
    ]
    assert type(result).model_validate_json(files.json.read_text()) == result
    assert files.markdown.read_text() == result.report_markdown


def test_a_report_that_cannot_be_written_names_the_remedy(tmp_path: Path) -> None:
    (tmp_path / "report.md").mkdir()
    with pytest.raises(ConsoleError, match="`result job --out DIR` writes it elsewhere"):
        write(finished("word"), tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["report.md"]
