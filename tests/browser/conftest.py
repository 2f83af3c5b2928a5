"""Chromium as people have it: pages are opened, clicked and read, and nothing may go wrong quietly.

`make browser` installs Debian's package; `CHROMIUM` names another one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache
from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import (
    Browser,
    BrowserContext,
    Page,
    Playwright,
    ViewportSize,
    expect,
    sync_playwright,
)

from .hostile_documents import write_documents
from .serving import PHONE, SLOWLY, Console, chromium

expect.set_options(timeout=SLOWLY)
DESKTOP: ViewportSize = {"width": 1280, "height": 900}


@pytest.fixture(scope="package")
def playwright() -> Iterator[Playwright]:
    with sync_playwright() as running:
        yield running


@pytest.fixture(scope="package")
def browser(playwright: Playwright) -> Iterator[Browser]:
    started = chromium(playwright)
    if started is None:
        pytest.skip("no Chromium here: `make browser` installs it")
    yield started
    started.close()


@pytest.fixture(scope="module")
def windows(browser: Browser) -> Iterator[Callable[[ViewportSize], BrowserContext]]:
    """A window of each width, opened once for a module: a test takes a page in it."""
    opened: list[BrowserContext] = []

    @cache
    def window(width: int, height: int) -> BrowserContext:
        opened.append(browser.new_context(viewport={"width": width, "height": height}))
        return opened[-1]

    yield lambda size: window(size["width"], size["height"])
    for context in opened:
        context.close()


class Visit:
    """A page somebody looks at, and what the browser complained of meanwhile."""

    def __init__(self, page: Page) -> None:
        self.page = page
        self.complaints: list[str] = []
        page.on("console", self._heard)
        page.on("pageerror", lambda error: self.complaints.append(str(error)))
        page.on("dialog", lambda dialog: self._opened(dialog))

    def _heard(self, message: Any) -> None:
        if message.type in ("error", "warning"):
            self.complaints.append(f"{message.type}: {message.text}")

    def _opened(self, dialog: Any) -> None:
        self.complaints.append(f"a dialog: {dialog.message}")
        dialog.dismiss()

    def serious(self) -> list[str]:
        """What axe calls serious or critical, with where it stands."""
        found = Axe().run(self.page).response["violations"]
        return [
            f"{fault['id']}: {node['html'][:120]}"
            for fault in found
            if fault["impact"] in ("serious", "critical")
            for node in fault["nodes"]
        ]

    def overflows(self) -> bool:
        """Whether one has to scroll sideways to read the page."""
        wider = "document.documentElement.scrollWidth > document.documentElement.clientWidth"
        return bool(self.page.evaluate(wider))


@pytest.fixture(params=[DESKTOP, PHONE], ids=["desktop", "phone"])
def visit(
    request: pytest.FixtureRequest, windows: Callable[[ViewportSize], BrowserContext]
) -> Iterator[Visit]:
    """At both widths; `at_a_desk` and `on_a_phone` choose one."""
    page = windows(request.param).new_page()
    try:
        yield Visit(page)
    finally:
        page.close()


@pytest.fixture(scope="package")
def console(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Console]:
    """One console for all journeys, with the hostile documents."""
    folder = tmp_path_factory.mktemp("console")
    write_documents(folder)
    opened = Console(folder)
    try:
        yield opened
    finally:
        complained = opened.close()
    assert complained == ""


@pytest.fixture
def page(console: Console, visit: Visit) -> Page:
    """Somebody who followed the address that the terminal showed."""
    visit.page.set_default_timeout(SLOWLY)
    visit.page.goto(console.entrance)
    assert "token" not in visit.page.url
    return visit.page


def sound(visit: Visit) -> None:
    """The page as it stands can be read by everybody, and nothing foreign ran on it."""
    assert visit.serious() == []
    assert not visit.overflows()
    assert visit.page.evaluate("window.hacked") is None
    assert visit.complaints == []


# What does not depend on the width is seen at one: the one where it is harder.
at_a_desk = pytest.mark.parametrize("visit", [DESKTOP], indirect=True, ids=["desktop"])
on_a_phone = pytest.mark.parametrize("visit", [PHONE], indirect=True, ids=["phone"])
slow_on_a_phone = pytest.mark.parametrize(
    "visit",
    [DESKTOP, pytest.param(PHONE, marks=pytest.mark.slow)],
    indirect=True,
    ids=["desktop", "phone"],
)
