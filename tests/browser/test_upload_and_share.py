"""Documents are uploaded with the question, and the report is read by who has a link to it."""

from __future__ import annotations

import pytest
from playwright.sync_api import Browser, Page, expect

from .conftest import Visit, on_a_phone
from .serving import Console
from .test_web_journey import DOCUMENTS, console, documents, page, sound

__all__ = ["console", "page"]
pytestmark = pytest.mark.timeout(400)


@on_a_phone
def test_from_an_upload_to_a_shared_report(
    console: Console, visit: Visit, page: Page, browser: Browser
) -> None:
    page.get_by_label("Question").fill("What did the Saltmere lighthouse cost in 2024?")
    files = [str(documents(console.folder) / name) for name in DOCUMENTS]
    page.get_by_label("Upload documents").set_input_files(files)
    page.get_by_label("quick").check()
    page.get_by_label("Let me approve").uncheck()
    page.get_by_role("button", name="Start research").click()
    page.wait_for_url("**/jobs/**")
    page.get_by_role("link", name="Read the report").wait_for()
    page.get_by_role("link", name="Share it").click()
    page.get_by_role("button", name="Make a link").click()
    link = page.locator("a[href*='/shared/']")
    expect(link).to_be_visible()
    sound(visit)
    address = link.get_attribute("href") or ""
    stranger = browser.new_context()
    try:
        shared = stranger.new_page()
        shared.goto(address)
        expect(shared.locator("#report")).to_contain_text("Saltmere lighthouse")
        assert shared.locator("form, a[href^='/']").count() == 0
        page.get_by_role("button", name="Revoke").click()
        expect(link).to_have_count(0)
        shared.reload()
        expect(shared.locator("body")).to_contain_text("has ended")
    finally:
        stranger.close()

    page.goto(console.address)
    page.get_by_role("searchbox").fill("saltmere 4.2")
    page.get_by_role("button", name="Search", exact=True).click()
    expect(page.locator(".excerpt mark").first).to_be_visible()
    sound(visit)
