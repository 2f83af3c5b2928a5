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
    sync_playwright,
)

from .serving import PHONE, chromium

DESKTOP: ViewportSize = {"width": 1280, "height": 900}


@pytest.fixture(scope="module")
def playwright() -> Iterator[Playwright]:
    with sync_playwright() as running:
        yield running


@pytest.fixture(scope="module")
def browser(playwright: Playwright) -> Iterator[Browser]:
    started = chromium(playwright)
    if started is None:
        pytest.skip("no Chromium here: `make browser` installs it")
    yield started
    started.close()


@pytest.fixture(scope="module")
def windows(browser: Browser) -> Callable[[ViewportSize], BrowserContext]:
    """A window of each width, opened once: a test takes a page in it."""

    @cache
    def window(width: int, height: int) -> BrowserContext:
        return browser.new_context(viewport={"width": width, "height": height})

    return lambda size: window(size["width"], size["height"])


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


# What does not depend on the width is seen at one: the one where it is harder.
at_a_desk = pytest.mark.parametrize("visit", [DESKTOP], indirect=True, ids=["desktop"])
on_a_phone = pytest.mark.parametrize("visit", [PHONE], indirect=True, ids=["phone"])
slow_on_a_phone = pytest.mark.parametrize(
    "visit",
    [DESKTOP, pytest.param(PHONE, marks=pytest.mark.slow)],
    indirect=True,
    ids=["desktop", "phone"],
)
