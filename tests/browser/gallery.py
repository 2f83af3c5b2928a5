"""The pictures in `docs/gallery`: a real console, real jobs on the sample documents, no stage set.

    python -m tests.browser.gallery "the question" docs/gallery

One job is asked for, approved, watched and read as a person would do it, others stand beside it,
and a picture is taken wherever there is something to see.
"""

from __future__ import annotations

import io
import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from PIL import Image
from playwright.sync_api import Browser, Page, ViewportSize, expect, sync_playwright

from .onlooker import Onlooker
from .serving import PHONE, ROOT, SLOWLY, Console, chromium

DESK: ViewportSize = {"width": 1280, "height": 800}
TALL: ViewportSize = {"width": 1280, "height": 1080}
LARGEST = 200_000
JOB = "ferries"
VAGUE = "What about charging?"
BESIDE = "What do passengers of the county ferries say about noise and punctuality?"
WAITING = "How safe are battery rooms on ferries, and what did the investigation find?"
BLOCKED = "What did the older minutes say about the ferry contract?"
# A page of text has few colours.
_COLOURS = 128

expect.set_options(timeout=SLOWLY)


class Gallery:
    """Takes pictures of a console into a folder."""

    def __init__(self, browser: Browser, console: Console, folder: Path) -> None:
        self._browser = browser
        self._folder = folder
        self.console = console

    @contextmanager
    def page(self, size: ViewportSize = DESK, *, dark: bool = False) -> Iterator[Page]:
        """A page of somebody who was let in."""
        context = self._browser.new_context(
            viewport=size, color_scheme="dark" if dark else "light", reduced_motion="reduce"
        )
        page = context.new_page()
        page.set_default_timeout(SLOWLY)
        page.goto(self.console.entrance)
        try:
            yield page
        finally:
            context.close()

    def take(self, page: Page, name: str) -> None:
        self.keep(page.screenshot(), name)

    def take_all(
        self, page: Page, name: str, place: str = "#main, header", size: ViewportSize = DESK
    ) -> None:
        """The page from this place on, at a desk and on a phone, in light and in dark colours."""
        for suffix, shown in (("", size), ("-phone", PHONE)):
            page.set_viewport_size(shown)
            for colours in ("", "-dark"):
                page.emulate_media(color_scheme="dark" if colours else "light")
                page.locator(place).first.evaluate("it => it.scrollIntoView()")
                self.take(page, f"{name}{suffix}{colours}")
        page.set_viewport_size(size)
        page.emulate_media(color_scheme="light")

    def keep(self, png: bytes, name: str) -> None:
        path = self._folder / f"{name}.png"
        with Image.open(io.BytesIO(png)) as taken:
            few = taken.convert("RGB").quantize(_COLOURS, dither=Image.Dither.NONE)
        few.save(path, optimize=True)
        size = path.stat().st_size
        assert size < LARGEST, f"{path} has {size:,} bytes"
        print(f"{path}  {size:,} bytes", flush=True)

    def job(self, name: str) -> str:
        return f"{self.console.address}/jobs/{name}"

    def ask(self, page: Page, question: str, name: str, effort: str = "quick") -> None:
        page.goto(self.console.address)
        page.get_by_label("Question").fill(question)
        page.get_by_label("Folder of documents").fill(str(self.console.folder / "documents"))
        page.get_by_label(effort).check()
        page.locator("summary", has_text="More settings").click()
        page.get_by_label("Name of the job").fill(name)
        page.get_by_role("button", name="Start research").click()
        page.wait_for_url("**/jobs/**")
        expect(page.get_by_role("button", name="Approve the plan")).to_be_visible()


def a_job(gallery: Gallery, question: str) -> None:
    """From the question to the finished job: plan, research on three screens, its end."""
    with gallery.page(TALL) as page, gallery.page(PHONE, dark=True) as phone:
        gallery.ask(page, question, JOB, "standard")
        page.locator("details.facet summary").first.click()
        gallery.take(page, "plan")
        page.set_viewport_size(DESK)
        phone.goto(gallery.job(JOB))
        page.get_by_role("button", name="Approve the plan").click()
        with Onlooker(gallery.console, JOB) as terminal:
            for screen in (page, phone):
                screen.locator(".facets .tag.good").first.wait_for()
            gallery.take(page, "running")
            gallery.take(phone, "running-phone")
            page.get_by_role("link", name="Read the report").wait_for()
        page.goto(gallery.job(JOB))
        gallery.take(page, "finished")
        page.goto(f"{gallery.job(JOB)}/share")
        page.get_by_role("button", name="Make a link").click()
        page.get_by_role("button", name="Revoke").wait_for()
        gallery.take_all(page, "share")
        page.goto(f"{gallery.job(JOB)}/fork")
        gallery.take(page, "fork")
        page.goto("about:blank")
        page.set_content(terminal.drawn)
        gallery.keep(page.locator("svg.rich-terminal").screenshot(), "terminal")


def a_vague_question(gallery: Gallery) -> None:
    """Asked back, and with the answers in it; the page of a job that can be deleted."""
    with gallery.page(TALL) as page:
        page.goto(gallery.console.address)
        page.get_by_label("Question").fill(VAGUE)
        page.get_by_label("Folder of documents").fill(str(gallery.console.folder / "documents"))
        page.get_by_role("button", name="Start research").click()
        page.get_by_role("button", name="Use these answers").wait_for()
        page.locator(".clarify input[type=radio]").first.check()
        gallery.take_all(page, "clarify", size=TALL)
        page.get_by_role("button", name="Use these answers").click()
        page.get_by_role("button", name="Start research").wait_for()
        gallery.take_all(page, "clarified")
        page.goto(gallery.job(JOB))
        page.locator("summary", has_text="Delete the job").click()
        gallery.take_all(page, "delete", "#delete")


def the_list(gallery: Gallery, question: str) -> None:
    """One job of each kind beside the finished one, and one that runs."""
    gallery.console.start_behind_its_back(
        "minutes-2019", question=BLOCKED, corpus="/mnt/archive", model="offline"
    )
    with gallery.page(TALL) as page:
        page.goto(gallery.job("minutes-2019"))
        page.get_by_role("button", name="Resume").click()
        gallery.ask(page, WAITING, "battery-rooms")
        gallery.ask(page, BESIDE, "passengers")
        page.get_by_role("button", name="Approve the plan").click()
        page.get_by_role("link", name="Read the report").wait_for()
        gallery.ask(page, question, "ferries-in-depth", "deep")
        page.get_by_role("button", name="Approve the plan").click()
        page.goto(gallery.console.address)
        page.locator(".job.busy").first.wait_for()
        gallery.take_all(page, "home", size=TALL)
        page.get_by_role("searchbox").fill("ferries battery")
        page.get_by_role("button", name="Search", exact=True).click()
        page.locator(".excerpt").first.wait_for()
        gallery.take_all(page, "search", "#jobs-title")


def the_report(gallery: Gallery) -> None:
    address = f"{gallery.job(JOB)}/report"
    with gallery.page() as page:
        page.goto(address)
        gallery.take(page, "report")
        cite(page)
        gallery.take(page, "citation")
        page.keyboard.press("Escape")
        page.locator("main section a.cite").nth(1).hover()
        page.get_by_role("tooltip").wait_for()
        gallery.take(page, "citation-card")
        page.keyboard.press("Escape")
        places = {
            "charts": "#chart-2",
            "contradictions": "#disputes",
            "coverage": "#coverage",
            "timeline": "#made",
        }
        for name, place in places.items():
            page.set_viewport_size(TALL if name == "timeline" else DESK)  # the cost stands below it
            page.locator(place).evaluate("it => it.scrollIntoView()")
            gallery.take(page, name)
    with gallery.page(PHONE) as phone:
        phone.goto(address)
        cite(phone)
        gallery.take(phone, "citation-phone")
    with gallery.page(dark=True) as page:
        page.goto(address)
        gallery.take(page, "report-dark")
    with gallery.page(PHONE, dark=True) as phone:
        phone.goto(address)
        gallery.take(phone, "report-phone")
        phone.locator("#chart-2").evaluate("it => it.scrollIntoView()")
        gallery.take(phone, "charts-phone")


def on_from_the_report(gallery: Gallery) -> None:
    """What a reader does next: ask, call a citation wrong, compare; and who did what before."""
    address = f"{gallery.job(JOB)}/report"
    with gallery.page() as page:
        page.goto(address)
        cite(page)
        page.get_by_role("button", name="Wrong citation").click()
        page.keyboard.type("The source speaks of the whole fleet, not of this vessel.")
        gallery.take_all(page, "feedback", ".ask-box")
        page.get_by_label("A question").fill(
            "How many passengers felt as safe as on the old vessels?"
        )
        page.get_by_role("button", name="Ask", exact=True).click()
        page.locator(".answer").wait_for()
        gallery.take_all(page, "answer")
        page.goto(f"{gallery.job(JOB)}/compare?before=passengers&after={JOB}")
        page.get_by_label("Changes").wait_for()
        gallery.take_all(page, "compare")
        page.goto(gallery.job(JOB))
        gallery.take_all(page, "who-did-what", "#acts-title")
        page.get_by_role("button", name="Sign out").click()
        page.get_by_label("Token").wait_for()
        gallery.take_all(page, "sign-in")


def cite(page: Page) -> None:
    page.locator("main section a.cite").first.click()
    page.get_by_role("dialog").locator("mark").first.wait_for()


def main(question: str, folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="gallery-") as place, sync_playwright() as playwright:
        shutil.copytree(ROOT / "sample_corpus", Path(place) / "documents")
        browser = chromium(playwright)
        if browser is None:
            sys.exit("There is no Chromium here: `make browser` installs it.")
        # Two subagents at a time: there is something to see while they work.
        console = Console(Path(place), RESEARCH_WORKER_SUBAGENTS="2")
        try:
            gallery = Gallery(browser, console, folder)
            a_job(gallery, question)
            a_vague_question(gallery)
            the_list(gallery, question)
            the_report(gallery)
            on_from_the_report(gallery)
        finally:
            console.close()
            browser.close()


if __name__ == "__main__":
    main(" ".join(sys.argv[1].split()), Path(sys.argv[2]))
