"""The box under a report: asked, answered with quotes, researched further, versions compared."""

from __future__ import annotations

import pytest
from playwright.sync_api import Page, expect

from .conftest import Visit, at_a_desk, sound
from .serving import SLOWLY, Console
from .test_web_journey import ask

pytestmark = pytest.mark.timeout(400)


@at_a_desk
def test_a_report_is_asked_and_refined(console: Console, visit: Visit, page: Page) -> None:
    job = ask(page, console, "What did the Saltmere lighthouse cost in 2024?")
    word = page.get_by_role("region", name="Approve the plan")
    expect(word).to_be_visible(timeout=SLOWLY)
    word.get_by_role("button", name="Approve the plan").click()
    page.get_by_role("link", name="Read the report").click()
    page.locator("main section a.cite").first.click()
    page.get_by_role("button", name="Wrong citation").click()
    expect(page.get_by_label("Which one")).not_to_have_value("")
    expect(page.get_by_label("What is wrong")).to_be_focused()
    sound(visit)
    page.keyboard.type("It is about another lighthouse.")
    page.get_by_role("button", name="Send").click()
    expect(page.get_by_role("status")).to_contain_text("It is kept")
    box = page.locator(".ask-box")
    box.get_by_label("A question").fill("When did the repair of the Saltmere lighthouse begin?")
    box.get_by_role("button", name="Ask").click()
    answer = page.locator(".answer")
    expect(answer.locator(".told p").first).to_contain_text("began in May 2023", timeout=SLOWLY)
    answer.locator(".told a.cite").first.click()
    expect(page.locator("#source-1")).to_contain_text("The repair of the Saltmere lighthouse began")
    sound(visit)

    page.get_by_role("textbox", name="Question").fill("Who painted the tower red?")
    page.get_by_role("button", name="Ask", exact=True).click()
    expect(page.locator(".lacks")).to_contain_text("The report and its sources do not say.")
    sound(visit)
    page.get_by_role("button", name="Research this").click()
    expect(page.get_by_role("status").first).to_contain_text("version 2 of the report")
    page.get_by_role("link", name="Read the report").wait_for()

    page.goto(f"{job}/ask")
    page.get_by_role("link", name="Compare with version 1").click()
    expect(page.get_by_label("Changes")).to_contain_text("What changed from", timeout=SLOWLY)
    sound(visit)
