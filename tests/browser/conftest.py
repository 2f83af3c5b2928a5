"""Chromium as people have it: pages are opened, clicked and read, and nothing may go wrong quietly.

`make browser` installs Debian's package; `CHROMIUM` names another one.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, BrowserContext, Page, Playwright, sync_playwright

DESKTOP = {"width": 1280, "height": 900}
PHONE = {"width": 390, "height": 844}
# Nothing leaves this machine, and a container's root may start it.
_QUIET = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--disable-dev-shm-usage",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)


@pytest.fixture(scope="module")
def playwright() -> Iterator[Playwright]:
    with sync_playwright() as running:
        yield running


@pytest.fixture(scope="module")
def browser(playwright: Playwright) -> Iterator[Browser]:
    found = os.environ.get("CHROMIUM") or shutil.which("chromium")
    if found is None:
        pytest.skip("no Chromium here: `make browser` installs it")
    started = playwright.chromium.launch(executable_path=found, args=list(_QUIET))
    yield started
    started.close()


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
def visit(request: pytest.FixtureRequest, browser: Browser) -> Iterator[Visit]:
    """At both widths; a test that needs only one takes `browser` itself."""
    context: BrowserContext = browser.new_context(viewport=request.param)
    try:
        yield Visit(context.new_page())
    finally:
        context.close()
