"""Documents are uploaded with the question, a vague one is asked back, the report is read by who
has a link to it, and the job is deleted."""

from __future__ import annotations

import pytest
from playwright.sync_api import Browser, Page, expect

from .conftest import Visit, at_a_desk, on_a_phone, sound
from .hostile_documents import ATTACK, DOCUMENTS, documents
from .serving import SLOWLY, Console

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


def ask_vaguely(page: Page, console: Console) -> None:
    page.get_by_label("Question").fill("What about the lighthouse?")
    page.get_by_label("Folder of documents").fill(str(documents(console.folder)))
    page.get_by_label("quick").check()
    page.get_by_role("button", name="Start research").click()
    expect(page.get_by_role("heading", name="Before it starts")).to_be_visible()


@on_a_phone
def test_a_vague_question_is_asked_back_and_the_plan_follows_the_answers(
    console: Console, visit: Visit, page: Page
) -> None:
    """The suggestions are titles of hostile documents."""
    ask_vaguely(page, console)
    asked = page.get_by_role("group", name="Which of these do you mean?")
    expect(asked).to_contain_text(f"Gazette {ATTACK}")
    sound(visit)
    asked.get_by_label("Gazette").check()
    page.get_by_label("In your own words: Which").fill("its cost in 2024")
    page.get_by_role("button", name="Use these answers").click()
    better = f"What about the lighthouse (Gazette {ATTACK}; its cost in 2024)?"
    expect(page.get_by_label("Question")).to_have_value(better)
    expect(page.get_by_role("status").first).to_contain_text("Your answers are in the question")
    sound(visit)
    page.get_by_role("button", name="Start research").click()
    page.wait_for_url("**/jobs/**")
    expect(page.get_by_role("heading", level=1)).to_have_text(better)
    plan = page.get_by_role("region", name="Approve the plan")
    expect(plan).to_contain_text("its cost in 2024", timeout=SLOWLY)
    sound(visit)


@at_a_desk
def test_without_scripts_it_starts_as_it_is_and_is_deleted(
    console: Console, visit: Visit, browser: Browser
) -> None:
    context = browser.new_context(java_script_enabled=False)
    try:
        page = context.new_page()
        page.set_default_timeout(SLOWLY)
        page.goto(console.entrance)
        ask_vaguely(page, console)
        page.get_by_role("button", name="Start as it is").click()
        page.wait_for_url("**/jobs/**")
        job = page.url.partition("?")[0]
        expect(page.get_by_role("heading", level=1)).to_have_text("What about the lighthouse?")
        page.locator("summary", has_text="Cancel the job").click()
        page.get_by_role("button", name="Yes, cancel it").click()
        page.wait_for_url("**notice=*")
        page.locator("summary", has_text="Delete the job").click()
        expect(page.locator("#delete")).to_contain_text("This cannot be undone.")
        page.get_by_role("button", name="Yes, delete it").click()
        expect(page.get_by_role("status").first).to_contain_text("is deleted: ")
        answer = page.goto(job)
        assert answer is not None
        assert answer.status == 404
    finally:
        context.close()
