"""The console as people use it: real Chromium, a real `starter.py serve`, the offline model.

The documents are hostile: titles, sentences and file names hold scripts. None may run on any page,
and no page may complain, overflow, or bar anybody who uses a keyboard or a screen reader.
"""

from __future__ import annotations

import time

import pytest
from playwright.sync_api import Page, expect

from .conftest import Visit, at_a_desk, slow_on_a_phone, sound
from .hostile_documents import ATTACK, QUESTION, documents
from .serving import SLOWLY, Console

pytestmark = pytest.mark.timeout(400)


def ask(page: Page, console: Console, question: str = QUESTION) -> str:
    page.get_by_label("Question").fill(question)
    page.get_by_label("Folder of documents").fill(str(documents(console.folder)))
    page.get_by_label("quick").check()
    page.get_by_role("button", name="Start research").click()
    page.wait_for_url("**/jobs/**")
    return page.url.partition("?")[0]


@slow_on_a_phone
def test_from_a_question_to_the_report(console: Console, visit: Visit, page: Page) -> None:
    sound(visit)
    job = ask(page, console)

    # The plan comes by itself, is read, edited, and taken.
    word = page.get_by_role("region", name="Approve the plan")
    expect(word).to_be_visible(timeout=SLOWLY)
    sound(visit)
    page.locator("summary", has_text="Add a note").click()
    page.get_by_label("For every subagent").fill(f"Mind the year. {ATTACK}")
    page.get_by_role("button", name="Send the note").click()
    expect(page.locator("#part-remarks")).to_contain_text(f"Mind the year. {ATTACK}")
    word.locator("summary").first.click()
    word.get_by_label("Title").first.fill(f"Money {ATTACK}")
    word.get_by_role("button", name="Approve the plan").click()
    expect(page.get_by_role("status").first).to_contain_text("as you edited it")
    expect(page.locator("#part-facets")).to_contain_text(f"Money {ATTACK}")

    # It is watched to its end without the page being loaded again.
    page.evaluate("window.same = true")
    page.get_by_role("link", name="Read the report").wait_for()
    assert page.evaluate("window.same"), "news came by themselves"
    expect(page.locator("#part-checkpoints")).to_contain_text("researched")
    expect(page.locator(".facets")).to_contain_text("claims")
    sound(visit)

    # A citation opens what it rests on.
    page.get_by_role("link", name="Read the report").click()
    page.locator("main a.cite").first.click()
    expect(page.locator("[role=dialog], aside, dialog").locator("visible=true")).to_contain_text(
        "Saltmere lighthouse"
    )
    assert page.evaluate("window.hacked") is None
    assert visit.complaints == []

    page.goto(f"{job}/fork")
    sound(visit)
    page.get_by_role("link", name="Research console").click()
    expect(page.locator(".jobs .job").first).to_contain_text(ATTACK)
    sound(visit)


@pytest.mark.slow
@at_a_desk
def test_a_finished_job_goes_another_way_from_a_checkpoint(
    console: Console, visit: Visit, page: Page
) -> None:
    job = ask(page, console)
    page.get_by_role("button", name="Approve the plan").click()
    page.get_by_role("link", name="Read the report").wait_for()
    page.goto(f"{job}/fork")
    page.get_by_label("Budget in dollars").fill("3.50")
    page.get_by_label("From its checkpoint").select_option("evaluated")
    page.get_by_role("button", name="Start the fork").click()
    expect(page.get_by_role("status").first).to_contain_text("Forked from")
    page.get_by_role("link", name="Read the report").wait_for()
    expect(page.locator("main > .title")).to_contain_text("forked from")
    expect(page.get_by_role("region", name="Cost")).to_contain_text("of $3.50")
    assert visit.complaints == []


@pytest.mark.slow
@at_a_desk
def test_a_run_that_was_terminated_is_taken_up_again(
    console: Console, visit: Visit, page: Page
) -> None:
    job = ask(page, console, "What did the Saltmere lighthouse cost?")
    expect(page.get_by_role("region", name="Approve the plan")).to_be_visible(timeout=SLOWLY)
    name = job.rpartition("/")[2]
    console.temporal("terminate", "--workflow-id", name, "--reason", f"by mistake {ATTACK}")
    expect(page.locator("#headline")).to_contain_text(f"It was terminated: by mistake {ATTACK}")
    sound(visit)
    page.goto(f"{console.address}/?status=failed")
    expect(page.locator(".job.bad").first).to_contain_text(f"By mistake {ATTACK}")
    sound(visit)

    page.goto(job)
    page.get_by_role("link", name="Restart from the last checkpoint").click()
    sound(visit)
    page.get_by_role("button", name="Restart it").click()
    expect(page.get_by_role("region", name="Approve the plan")).to_be_visible(timeout=SLOWLY)
    page.locator("summary", has_text="Cancel the job").click()
    page.get_by_role("button", name="Yes, cancel it").click()
    expect(page.locator("#headline")).to_contain_text("It was cancelled.")
    assert visit.complaints == []


@pytest.mark.slow
@at_a_desk
def test_a_blocked_job_says_what_would_help(console: Console, visit: Visit, page: Page) -> None:
    name = f"blocked-{time.monotonic_ns()}"
    asked = {"question": "Who keeps the lamp?", "corpus": f"/nowhere/{ATTACK}"}
    console.start_behind_its_back(name, **asked)
    page.goto(f"{console.address}/jobs/{name}")
    expect(page.locator("#headline")).to_contain_text("Stopped: no worker runs it.")
    page.get_by_role("button", name="Resume").click()
    blocked = "Blocked while reading the documents:"
    expect(page.locator("#headline")).to_contain_text(blocked, timeout=SLOWLY)
    expect(page.locator("#headline")).to_contain_text(ATTACK)
    expect(page.get_by_role("button", name="Resume")).to_be_visible()
    expect(page.get_by_role("button", name="Pause")).to_have_count(0)
    sound(visit)


@at_a_desk
def test_what_is_being_typed_is_not_taken_from_under_the_hand(
    console: Console, visit: Visit, page: Page
) -> None:
    ask(page, console, "How many visitors has the Saltmere lighthouse?")
    word = page.get_by_role("region", name="Approve the plan")
    expect(word).to_be_visible(timeout=SLOWLY)
    page.locator("summary", has_text="Reject it").click()
    note = page.get_by_label("What to change")
    note.fill("Half a thou")
    # The same job is paused by somebody else, so what can be done changes.
    page.evaluate(
        """() => { const form = document.querySelector('form[action$="/pause"]');
           return fetch(form.action, {method: 'POST', body: new URLSearchParams(
             new FormData(form))}); }"""
    )
    expect(page.locator("#headline")).to_contain_text("Paused")
    expect(page.locator(".changed")).to_be_visible()
    expect(note).to_have_value("Half a thou")
    expect(note).to_be_focused()
    page.reload()
    page.get_by_role("button", name="Resume").click()
    expect(page.get_by_role("button", name="Pause")).to_be_visible()
    page.locator("summary", has_text="Reject it").click()
    page.get_by_role("button", name="Reject the plan").click()
    expect(page.locator("#headline")).to_contain_text("the plan was rejected")
    assert visit.complaints == []
