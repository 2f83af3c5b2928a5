"""The page is safe with any text, needs nothing else, and leads from a citation to its quote."""

from __future__ import annotations

import base64
import hashlib
import re
from html.parser import HTMLParser
from itertools import pairwise
from typing import get_args

import pytest

from console.formatting import duration, usd
from console.report.chapters import MarkdownRenderer
from console.report.contents import Axis
from console.report.page import render_page
from console.report.quote_links import QuoteLinks
from tests.console.charted_result import charted
from tests.console.results import ferry, finished
from workflows.contracts.result import (
    Calculation,
    CoverageStatus,
    ResearchResult,
)
from workflows.contracts.state import StepTiming

HOSTILE = (
    '<script>alert(1)</script><img src=x onerror=alert(2)> " \' onmouseover="x" '
    "</title></style><style>@import url(//evil.example)</style> ![i](http://evil.example/p.png) "
    "[go](javascript:alert(3)) [d](data:text/html;base64,x) <javascript:alert(4)> "
    "<http://ok.example> &lt;b&gt; <!-- --> ]]> {{7*7}} </script> [1]: javascript:alert(5)"
)
FORBIDDEN = {"img", "iframe", "object", "embed", "link", "form", "base", "video"}


class Reader(HTMLParser):
    """Collects what a browser would act on."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.attributes: set[str] = set()
        self.links: list[str] = []
        self.ids: list[str] = []
        self.raw: dict[str, list[str]] = {"style": [], "script": []}
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        for name, value in attrs:
            self.attributes.add(name)
            if name in ("href", "src"):
                self.links.append(value or "")
            if name == "id":
                self.ids.append(value or "")

    def handle_data(self, data: str) -> None:
        if self.cdata_elem in self.raw:
            self.raw[self.cdata_elem].append(data)


def html(markdown: str, result: ResearchResult | None = None) -> str:
    return MarkdownRenderer(QuoteLinks(result or ferry())).to_html(markdown, "Cost")


def section(text: str, name: str) -> str:
    (found,) = re.findall(rf'<section id="{name}".*?</section>', text, re.DOTALL)
    return str(found)


# --- safe ---------------------------------------------------------------------------------------


def test_hostile_text_stays_text_wherever_it_stands() -> None:
    read = Reader(render_page(finished(HOSTILE)))

    assert not set(read.tags) & FORBIDDEN
    assert read.tags.count("script") == read.tags.count("style") == 1
    assert not {name for name in read.attributes if name.startswith("on")}
    assert not read.attributes & {"src", "style", "srcdoc", "action"}
    assert all(link.startswith(("#", "https://", "http://")) for link in read.links), read.links


@pytest.mark.parametrize("kind", ["style", "script"])
def test_the_policy_allows_the_pages_own_style_and_nothing_else(kind: str) -> None:
    """And its own script, which is named by its hash as the style is."""
    text = render_page(finished(HOSTILE))
    (policy,) = re.findall(r'Content-Security-Policy" content="([^"]*)"', text)
    digest = hashlib.sha256("".join(Reader(text).raw[kind]).encode()).digest()
    assert f"{kind}-src 'sha256-{base64.b64encode(digest).decode()}';" in policy
    assert policy.startswith("default-src 'none'")
    assert policy.endswith("base-uri 'none'; form-action 'none'")
    assert "unsafe" not in policy


def test_nothing_is_fetched_from_anywhere() -> None:
    text = render_page(ferry())
    assert not re.findall(r"@import|url\(|fetch\(|XMLHttpRequest|\bimport\(", text)


@pytest.mark.parametrize("result", [ferry(), finished("word"), finished(HOSTILE)])
def test_every_link_within_the_page_leads_somewhere(result: ResearchResult) -> None:
    read = Reader(render_page(result))
    inside = {link[1:] for link in read.links if link.startswith("#")}
    assert inside - set(read.ids) == set()
    assert len(read.ids) == len(set(read.ids))


# --- citations ----------------------------------------------------------------------------------


def test_every_citation_leads_to_a_source_with_its_quotes() -> None:
    text = render_page(finished("word"))
    read = Reader(text)
    cites = [link[1:] for link in read.links if link.startswith("#source-")]
    assert {"source-1", "source-2"} == set(cites)
    assert "[9]" in text, "a number without a source stays as it was written"
    assert text.index('id="source-1"') < text.index("word quoted 1") < text.index('id="source-2"')
    assert "1 more read and not cited" in text


def test_a_citation_names_the_quotes_its_sentence_rests_on() -> None:
    text = html("Six new vessels are to be built [1]. The oldest vessel is kept as a reserve [1].")
    assert re.findall(r'data-quotes="([^"]*)"', text) == ["q-1-2", "q-1-3"]


def test_other_figures_are_not_what_a_sentence_rests_on() -> None:
    told = "The programme will cost EUR {} million [1]."
    assert 'data-quotes="q-1-1"' in html(told.format("214.6"))
    assert "data-quotes" not in html(told.format("999.9"))


def test_a_sentence_that_tells_no_quote_pretends_nothing() -> None:
    assert html("Of insurance nothing is known at all [1].").count("data-quotes") == 0


def test_a_quote_stands_once_whatever_rests_on_it() -> None:
    result = ferry()
    twin = result.claims[0].model_copy(update={"id": "c9", "text": "It is dear.", "uncertain": "?"})
    text = render_page(result.model_copy(update={"claims": (*result.claims, twin)}))
    assert text.count("What stands before c1") == 1
    assert "It is dear." in text


def test_a_text_cannot_make_a_citation_lead_elsewhere() -> None:
    text = html("Fact [1].\n\n[1]: https://evil.example\n")
    assert 'href="#source-1"' in text
    assert 'href="https://evil.example' not in text


# --- contradictions -----------------------------------------------------------------------------


def test_both_sides_of_a_contradiction_stand_beside_each_other() -> None:
    shown = section(render_page(ferry()), "disputes")
    (sides,) = re.findall(r'<div class="sides">(.*?)</article>', shown, re.DOTALL)
    assert sides.count('class="side"') == 2
    for piece in ("EUR 214.6 million", "EUR 151.2 million", "vessels only", "2025-06-17",
                  'href="#source-1" data-quotes="q-1-1"', 'href="#source-2"',
                  "They may not count the same thing."):  # fmt: skip
        assert piece in sides


def test_a_contested_sentence_and_its_contradiction_lead_to_each_other() -> None:
    text = render_page(ferry())
    cost, disputes = section(text, "facet-1"), section(text, "disputes")
    assert cost.count('href="#dispute-1"') == 1, "a paragraph says it once"
    assert 'id="met-1-1"' in cost
    assert '<a href="#met-1-1">Cost</a>' in disputes
    assert "dispute" not in section(text, "facet-2"), "what is not contested is not called so"


def test_a_mark_stands_behind_the_sentence_and_not_within_it() -> None:
    sides = [side.text.rstrip(".") for side in ferry().contradictions[0].sides]
    text = html(f"{sides[0]} [1], and the yard is named [1]. {sides[0]}, again [1]. The end.")
    before, after = text.split('<a class="dispute"')
    assert before.endswith("</a>.\N{NO-BREAK SPACE}")
    assert ">contested<" in after
    assert "The end." in after


# --- the rest of the page -----------------------------------------------------------------------


def test_who_has_only_the_page_can_answer() -> None:
    text = render_page(ferry())
    assert "complete, with gaps" in text[text.index("<header>") : text.index("</header>")]
    head = section(text, "coverage")
    for piece in ("2 of 3", "$0.73", "13 turns", "1 min 2 s", "2026-03-01", "of 12 documents",
                  "model offline"):  # fmt: skip
        assert piece in head, piece
    missing = section(text, "missing")
    for piece in ("Nothing is known of insurance.", "Who insures the ferries?", "absent",
                  "ferry insurance", "closed in pass 1"):  # fmt: skip
        assert piece in missing, piece
    made = section(text, "made")
    for piece in ("1 turn was repeated", "researcher", "$0.61", "$0.31", "120,000"):
        assert piece in made, piece


def test_title_and_heading_are_the_drafts() -> None:
    text = render_page(ferry())
    assert "<title>What the ferries cost</title>" in text
    assert '<h1 dir="auto">What the ferries cost</h1>' in text
    assert "What will the ferries cost, and who insures them?" in text


def test_the_map_leads_from_each_facet_to_its_section() -> None:
    tiles = section(render_page(ferry()), "coverage")
    for n, status in ((1, "answered, contested"), (2, "answered"), (3, "searched, absent")):
        assert f'href="#facet-{n}"' in tiles
        assert f">{status}</span>" in tiles


def test_headings_skip_no_level() -> None:
    markdown = "# T\n\n## Cost\n\n# one\n\n##### two\n\n###### three\n\n## Sources\n\n#### four\n"
    levels = [int(tag[1]) for tag in Reader(render_page(finished("word", markdown))).tags
              if re.fullmatch(r"h\d", tag)]  # fmt: skip
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(after <= before + 1 for before, after in pairwise(levels)), levels


def test_the_reports_own_list_of_sources_is_not_shown_twice() -> None:
    markdown = "# R\n\nFact. [1]\n\n## Sources\n\n1. the old list\n\n## After\n\nStays.\n"
    text = render_page(finished("word", markdown))
    assert "the old list" not in text
    assert "Stays." in text


def test_the_markdown_of_a_report_is_rendered() -> None:
    text = html("### H\n\n- **b** _i_ [1]\n\n| a | b |\n|---|---|\n| 1 | `[1]` |\n")
    for piece in ("<h3>H</h3>", "<li>", "<strong>b</strong>", "<em>i</em>", "<td>1</td>"):
        assert piece in text
    assert text.count("#source-1") == 1, "what is code is not a citation"


def test_two_chapters_of_one_name_are_two() -> None:
    markdown = "# T\n\n## Cost\n\nOne.\n\n## Cost\n\nTwo.\n"
    text = render_page(ferry().model_copy(update={"report_markdown": markdown}))
    assert "One." in section(text, "facet-1")
    assert "Two." in section(text, "part-2")


def test_a_report_without_anything_still_makes_a_page() -> None:
    empty = finished("q").model_copy(
        update={"coverage": (), "sources": (), "claims": (), "contradictions": (), "gaps": (),
                "passes": (), "unreadable": (), "timeline": (), "report_markdown": ""}
    )  # fmt: skip
    text = render_page(empty)
    read = Reader(text)
    assert "No language model was used" in text
    assert {link[1:] for link in read.links} - set(read.ids) == set()


def test_context_is_kept_of_a_text_that_sets_no_blanks() -> None:
    long = "\N{CJK UNIFIED IDEOGRAPH-6D77}" * 900
    claims = tuple(
        claim.model_copy(
            update={"quotes": tuple(quote.model_copy(update={"before": long, "after": long})
                                    for quote in claim.quotes)}
        )
        for claim in ferry().claims
    )  # fmt: skip
    text = render_page(ferry().model_copy(update={"claims": claims}))
    assert f'data-before="… {long[:200]}' in text
    assert f'data-after="{long[:200]}' in text


def test_a_question_for_a_title_is_asked_once_and_set_smaller() -> None:
    question = "What is known about it, " * 9
    asked = ferry().model_copy(
        update={"question": question.strip(), "report_markdown": f"# Nothing: {question}\n"}
    )
    head = render_page(asked).partition("<header>")[2].partition("</header>")[0]
    assert '<h1 dir="auto" class="long">Nothing:' in head
    assert head.count(question.strip()) == 1


def test_a_map_of_many_facets_is_dense() -> None:
    (one, *_), many = ferry().coverage, 60
    rows = tuple(one.model_copy(update={"facet_id": f"f{n}"}) for n in range(many))
    assert 'class="tiles broad dense"' in render_page(ferry().model_copy(update={"coverage": rows}))
    assert 'class="tiles broad"' in render_page(ferry())


def test_a_night_of_waiting_does_not_squeeze_the_timeline() -> None:
    axis = Axis(
        [
            StepTiming(step="plan", began=0, ended=10),
            StepTiming(step="write", began=40_000, ended=40_010),
        ]
    )
    assert axis.pauses == [(10, 40_000)]
    assert axis.at(10) == pytest.approx(0.485, abs=0.02)
    assert axis.at(40_010) == pytest.approx(1.0)
    assert axis.second_at(axis.at(5)) == pytest.approx(5, abs=0.01)


@pytest.mark.parametrize(
    ("seconds", "said"),
    [(0, "0 s"), (18.26, "18.3 s"), (62, "1 min 2 s"), (3600, "1 h"), (93_600, "1 d 2 h")],
)
def test_times_are_said_in_the_units_people_use(seconds: float, said: str) -> None:
    assert duration(seconds) == said


def test_small_sums_are_not_rounded_to_nothing() -> None:
    assert [usd(0), usd(0.0042), usd(1234.5)] == ["$0.00", "$0.0042", "$1,234.50"]


# --- what comes first, and what is drawn ---------------------------------------------------------


def test_the_answer_comes_first_and_what_it_took_last() -> None:
    page = Reader(render_page(charted()))
    wanted = ["summary", "facet-1", "facet-2", "facet-3", "figures", "disputes", "missing",
              "coverage", "made", "sources"]  # fmt: skip
    assert [name for name in page.ids if name in wanted] == wanted
    head = render_page(charted()).partition("<header>")[2].partition("</header>")[0]
    assert "figures" not in head, "no metric stands above the answer"


def test_only_the_report_in_the_console_leads_back_to_its_job() -> None:
    assert '<a class="back" href="/jobs/ferry">' in render_page(ferry(), "/jobs/ferry")
    assert 'class="back"' not in render_page(ferry())


def test_a_title_that_is_the_beginning_of_the_question_gives_way_to_it() -> None:
    question = "What will the ferries cost, " * 8 + "and when?"
    cut = f"# {question[:100]}…\n\n## Summary\n\nNothing.\n"
    page = render_page(ferry().model_copy(update={"question": question, "report_markdown": cut}))
    assert f'<h1 dir="auto" class="long">{question}</h1>' in page
    assert 'class="asked"' not in page


def test_an_address_is_a_link_and_a_file_leads_to_its_quote() -> None:
    text = render_page(ferry())
    assert '<a href="https://example.org/annual" rel="noopener noreferrer nofollow">' in text
    assert '<a href="#q-1-1"><code>council/case.pdf</code></a>' in text
    disputes = section(text, "disputes")
    assert '<a href="#source-1" dir="auto">The business case</a>' in disputes
    assert '<a href="https://example.org/annual" rel="noopener noreferrer nofollow" dir' in disputes


@pytest.mark.parametrize("status", get_args(CoverageStatus))
def test_a_facet_of_every_status_has_its_tile(status: CoverageStatus) -> None:
    result = ferry()
    coverage = tuple(item.model_copy(update={"status": status}) for item in result.coverage)
    page = render_page(result.model_copy(update={"coverage": coverage}))
    assert f'<li class="tile {status}">' in page


def test_a_calculation_is_shown_with_its_sources_and_a_program_with_what_it_printed() -> None:
    result = ferry().model_copy(
        update={
            "calculations": (
                Calculation(result="44,500", expression="412000 - 367500", about="gap", cite=(1,)),
                Calculation(result="0.8", expression="print(4 / 5)", by="program"),
            )
        }
    )
    page = render_page(result)
    assert 'gap: 412000 - 367500 = 44,500 <a class="cite" href="#source-1">[1]</a>' in page
    assert "<pre>print(4 / 5)</pre>printed<pre>0.8</pre>" in page
