"""The report in a browser: a citation opens its quote, by mouse and by keyboard, whoever wrote it.

The pages are made once and opened from files, as people open them.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page

from console.report.page import render_page
from tests.console.charted_result import charted
from tests.console.results import ferry, finished, large

from .conftest import DESKTOP, Visit, at_a_desk, on_a_phone
from .serving import PHONE

HOSTILE = (
    "</script><script>window.ran = 1</script><!--<script> <img src=x onerror='window.ran = 1'>"
    ' " onfocus="window.ran = 1" autofocus \' <svg onload=window.ran=1> javascript:window.ran=1'
    " [x](javascript:window.ran=1) ]]> </title></style></dialog></blockquote>"
)
LONG = f"{'Donaudampfschifffahrtsgesellschaft' * 5} https://example.org/{'a' * 150}"
MOST_BYTES = 5_000_000
MOST_SECONDS = 2.0


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """The addresses of the pages, by name."""
    folder = tmp_path_factory.mktemp("pages")
    made = {
        "ferry": ferry(),
        "charted": charted(),
        "hostile": finished(HOSTILE),
        "large": large(),
        "long": finished(LONG),
    }
    for name, result in made.items():
        (folder / f"{name}.html").write_text(render_page(result), "utf-8")
    return {name: (folder / f"{name}.html").as_uri() for name in made}


def focused(shown: Page) -> str:
    return str(shown.evaluate("document.activeElement.outerHTML"))


def test_a_citation_opens_the_quote_of_its_sentence_in_its_context(
    visit: Visit, pages: dict[str, str]
) -> None:
    shown = visit.page
    shown.goto(pages["ferry"])
    shown.locator("#facet-2 a.cite").click()

    panel = shown.get_by_role("dialog", name="The business case")
    assert panel.locator(".sentence").inner_text() == "Six new vessels are to be built"
    backing = panel.locator(".quote")
    assert backing.count() == 1, "the other quotes of the source are folded away"
    assert backing.locator("blockquote").inner_text() == (
        "What stands before c3. Six new vessels are to be built. What stands after c3."
    )
    assert backing.locator("mark").inner_text() == "Six new vessels are to be built."
    told = panel.inner_text()
    for piece in ("council/case.pdf", "2023-11-20", "report", "supported", "confidence 60%",
                  "depends on the yard", "1111111111111111"):  # fmt: skip
        assert piece in told, piece

    panel.get_by_text("2 other quotes from this source").click()
    backing.nth(2).wait_for()
    assert backing.count() == 3
    assert visit.complaints == []


@on_a_phone
def test_where_words_do_not_tell_all_quotes_of_the_source_are_shown(
    visit: Visit, pages: dict[str, str]
) -> None:
    shown = visit.page
    shown.goto(pages["ferry"])
    shown.locator("#summary a.cite").nth(1).click()
    panel = shown.get_by_role("dialog")
    assert panel.locator(".sentence").inner_text() == "Of insurance nothing is known at all"
    assert "matches no single quote" in panel.inner_text()
    assert panel.locator(".quote").count() == 3


def test_all_of_it_can_be_done_by_keyboard(visit: Visit, pages: dict[str, str]) -> None:
    shown = visit.page
    shown.goto(pages["ferry"])
    shown.keyboard.press("Tab")
    assert "Skip to the report" in focused(shown)
    shown.keyboard.press("Enter")
    shown.keyboard.press("Tab")
    cite = focused(shown)
    assert 'class="cite"' in cite

    shown.keyboard.press("Enter")
    panel = shown.get_by_role("dialog")
    panel.wait_for()
    assert 'id="panel-h"' in focused(shown)
    shown.keyboard.press("Tab")
    assert shown.evaluate("panel.contains(document.activeElement)")
    shown.keyboard.press("Escape")
    panel.wait_for(state="hidden")
    undescribed = cite.replace(' aria-describedby="card"', "")
    assert focused(shown) == undescribed, "focus goes back to where it came from"
    assert visit.complaints == []


@at_a_desk
def test_a_citation_shows_its_quote_while_it_is_pointed_at(
    visit: Visit, pages: dict[str, str]
) -> None:
    shown, card = visit.page, visit.page.get_by_role("tooltip")
    shown.goto(pages["charted"])
    cite = shown.locator("#facet-2 p a.cite").first
    cite.hover()
    card.wait_for()
    assert "The business case" in card.inner_text()
    assert card.locator("blockquote").inner_text() == "Six new vessels are to be built."
    assert cite.get_attribute("aria-describedby") == "card"
    assert visit.serious() == []
    card.hover()
    shown.wait_for_timeout(400)
    assert card.is_visible(), "one can go to the card"
    shown.keyboard.press("Escape")
    card.wait_for(state="hidden")
    assert cite.get_attribute("aria-describedby") is None
    shown.locator("h1").hover()
    cite.hover()
    card.wait_for()
    shown.locator("h1").hover()
    card.wait_for(state="hidden")
    assert visit.complaints == []


def test_a_citation_shows_its_quote_while_it_has_the_focus(
    visit: Visit, pages: dict[str, str]
) -> None:
    shown, card = visit.page, visit.page.get_by_role("tooltip")
    shown.goto(pages["charted"])
    shown.keyboard.press("Tab")
    shown.keyboard.press("Enter")
    shown.keyboard.press("Tab")
    card.wait_for()
    assert "Six new vessels are to be built." in card.inner_text()
    box = card.bounding_box()
    assert box is not None
    assert box["x"] >= 0
    assert box["x"] + box["width"] <= (shown.viewport_size or DESKTOP)["width"]
    shown.keyboard.press("Enter")
    shown.get_by_role("dialog").wait_for()
    assert not card.is_visible(), "the panel takes its place"
    shown.keyboard.press("Escape")
    shown.get_by_role("dialog").wait_for(state="hidden")
    assert not card.is_visible(), "what has just been read is not shown again"
    assert visit.complaints == []


@at_a_desk
def test_the_sides_of_a_contradiction_are_found_from_its_sentence_and_back(
    visit: Visit, pages: dict[str, str]
) -> None:
    shown = visit.page
    shown.goto(pages["ferry"])
    shown.locator("#facet-1 a.dispute").first.click()
    card = shown.locator("#dispute-1:target")
    values = card.locator(".side .value").all_inner_texts()
    assert values == ["EUR 214.6 million", "EUR 151.2 million"]
    assert "They may not count the same thing." in card.inner_text()

    card.locator(".side").nth(1).locator("a.cite").click()
    panel = shown.get_by_role("dialog")
    assert "EUR 151.2 million" in panel.locator("mark").inner_text()
    shown.keyboard.press("Escape")
    card.get_by_role("link", name="Cost").click()
    shown.locator("#facet-1 a.dispute:target").wait_for()


@pytest.mark.parametrize(
    ("visit", "scheme"),
    [(DESKTOP, "light"), (PHONE, "dark")],
    indirect=["visit"],
    ids=["desktop-light", "phone-dark"],
)
def test_nothing_serious_stands_in_the_way_of_anybody(
    visit: Visit, pages: dict[str, str], scheme: str
) -> None:
    shown = visit.page
    shown.emulate_media(color_scheme="dark" if scheme == "dark" else "light")
    shown.goto(pages["charted"])
    assert visit.serious() == []
    assert not visit.overflows()
    shown.locator("#facet-1 a.cite").first.click()
    assert visit.serious() == []
    assert not visit.overflows()
    assert visit.complaints == []


@pytest.mark.parametrize("width", [390, 768, 1280])
def test_no_word_is_too_long_for_the_page(
    browser: Browser, pages: dict[str, str], width: int
) -> None:
    context = browser.new_context(viewport={"width": width, "height": 900})
    try:
        shown = context.new_page()
        shown.goto(pages["long"])
        assert shown.evaluate("document.documentElement.scrollWidth") == width
        tops = shown.locator(".figures > div").evaluate_all(
            "all => all.map((one) => one.getBoundingClientRect().top)"
        )
        rows = [tops.count(top) for top in sorted(set(tops))]
        assert len(set(rows)) == 1, "no figure is left alone in a row"
    finally:
        context.close()


def test_light_and_dark_can_be_changed_by_hand(browser: Browser, pages: dict[str, str]) -> None:
    context = browser.new_context(viewport=DESKTOP, color_scheme="light")
    try:
        visit = Visit(context.new_page())
        visit.page.goto(pages["ferry"])
        ground = "getComputedStyle(document.body).backgroundColor"
        light = visit.page.evaluate(ground)
        visit.page.get_by_role("button", name="Show in dark colours").click()
        assert visit.page.evaluate(ground) != light
        visit.page.get_by_role("button", name="Show in light colours").click()
        assert visit.page.evaluate(ground) == light
        assert visit.complaints == []
    finally:
        context.close()


@on_a_phone
def test_no_text_of_a_source_runs_as_script(visit: Visit, pages: dict[str, str]) -> None:
    shown = visit.page
    shown.goto(pages["hostile"])
    for cite in shown.locator("main a.cite").all():
        cite.click()
        shown.get_by_role("dialog").wait_for()
        shown.keyboard.press("Escape")
    assert shown.evaluate("window.ran") is None
    assert not visit.overflows()
    assert visit.complaints == []


def test_without_script_a_citation_leads_to_its_source(
    browser: Browser, pages: dict[str, str]
) -> None:
    context = browser.new_context(viewport=PHONE, java_script_enabled=False)
    try:
        shown = context.new_page()
        shown.goto(pages["ferry"])
        shown.locator("#facet-2 a.cite").click()
        assert shown.url.endswith("#source-1")
        assert shown.locator("#source-1").get_by_text("Six new vessels are to be built.").count()
    finally:
        context.close()


def test_three_thousand_claims_stay_small_and_open_at_once(
    browser: Browser, pages: dict[str, str]
) -> None:
    """Counted is the time the browser's own thread works until the page is loaded.

    That is what one waits for where nothing else runs (0.7 seconds); the clock on the wall would
    measure the other tests as well.
    """
    size = Path(pages["large"].removeprefix("file://")).stat().st_size
    assert 3_000_000 < size < MOST_BYTES
    context = browser.new_context(viewport=DESKTOP)
    try:
        shown = context.new_page()
        clock = context.new_cdp_session(shown)
        clock.send("Performance.enable", {"timeDomain": "threadTicks"})
        shown.goto(pages["large"], wait_until="load", timeout=60_000)
        metrics = clock.send("Performance.getMetrics")["metrics"]
        worked = {metric["name"]: metric["value"] for metric in metrics}
        assert 0 < worked["ThreadTime"] < MOST_SECONDS

        cites = shown.locator("main > section a.cite")
        assert cites.count() >= 3000
        cites.nth(1500).click()
        assert shown.get_by_role("dialog").locator("mark").first.is_visible()
    finally:
        context.close()


def test_the_paper_has_the_sources_and_no_buttons(browser: Browser, pages: dict[str, str]) -> None:
    context = browser.new_context(viewport=DESKTOP, color_scheme="dark")
    try:
        shown = context.new_page()
        shown.goto(pages["ferry"])
        assert shown.pdf(format="A4").startswith(b"%PDF")
        shown.emulate_media(media="print")
        assert shown.evaluate("getComputedStyle(document.body).backgroundColor") == (
            "rgb(255, 255, 255)"
        )
        assert not shown.locator("nav").is_visible()
        assert shown.locator("#source-1 h3").is_visible()
        repeated, other = shown.locator(".quote.told"), shown.locator(".quote:not(.told)")
        assert repeated.count() > 0
        assert not repeated.first.is_visible(), "the report's own words are printed once"
        assert other.count() > 0
        assert other.first.locator("blockquote").is_visible()
        kept = "getComputedStyle(document.querySelector('.dispute-card')).breakInside"
        assert shown.evaluate(kept) == "avoid", "the reason stays with its sides"
    finally:
        context.close()
