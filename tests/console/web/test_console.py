"""The console as one process: asked, steered and read over HTTP, by a browser's means alone.

The worker is the stand-in, so each job does what its question says.
"""

from __future__ import annotations

import json
import re
import signal
import socket
from collections.abc import Callable, Iterator
from html import unescape
from pathlib import Path
from typing import Any

import httpx2
import pytest

from console.report.formats import FORMATS
from tests.console.cli.test_commands import wait_for
from tests.console.conftest import Place, call, eventually, processes

TOKEN = "the-token-of-this-console"

pytestmark = pytest.mark.timeout(300)


class Console:
    """A console that runs, and somebody who was let in."""

    def __init__(self, place: Place) -> None:
        self.place = place
        file = place.folder / "token"
        file.write_text(f"{TOKEN}\n")
        self.process = place.popen("serve", "--port", "0", "--token-file", str(file))
        self.said: list[str] = []
        assert self.process.stdout is not None
        while not self.said or "Ctrl-C" not in self.said[-1]:
            line = self.process.stdout.readline()
            assert line, self.process.communicate()[1]
            self.said.append(line)
        address = re.search(r"http://[^/]+", self.said[-2])
        assert address is not None
        self.address = address.group()
        self.web = httpx2.Client(base_url=self.address, follow_redirects=True, timeout=60)
        assert self.web.get("/", params={"token": TOKEN}).status_code == 200
        token = re.search(r'name="csrf_token" value="(\w+)"', self.web.get("/").text)
        assert token is not None
        self.csrf_token = token.group(1)

    def page(self, path: str) -> str:
        return unescape(self.web.get(path).text)

    def send(self, path: str, **fields: str) -> tuple[int, str]:
        answer = self.web.post(path, data={"csrf_token": self.csrf_token, **fields})
        return answer.status_code, unescape(answer.text)

    def ask(self, question: str, name: str, **fields: str) -> str:
        given = {"question": question, "corpus": str(self.place.folder / "docs"), "id": name}
        code, page = self.send("/", effort="standard", **given, **fields)
        assert code == 200, page
        return page

    def sees(self, path: str, *words: str) -> bool:
        return eventually(lambda: all(word in self.page(path) for word in words))

    def close(self, number: int = signal.SIGTERM) -> tuple[int, str, str]:
        self.web.close()
        self.process.send_signal(number)
        said, complained = self.process.communicate(timeout=60)
        return self.process.returncode, said, complained


@pytest.fixture(scope="module")
def consoles(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[[], Console]]:
    """The one console of all tests here; another one where a test has closed it."""
    folder = tmp_path_factory.mktemp("console")
    opened: list[Console] = []

    def console() -> Console:
        if not opened or opened[-1].process.poll() is not None:
            opened.append(Console(Place(folder / f"place-{len(opened)}")))
        return opened[-1]

    try:
        yield console
    finally:
        if opened and opened[-1].process.poll() is None:
            opened[-1].close()
    assert eventually(lambda: not processes(folder)), processes(folder)


@pytest.fixture
def console(consoles: Callable[[], Console]) -> Console:
    return consoles()


def test_it_prints_where_it_is_and_asks_for_the_token(console: Console) -> None:
    assert f"{console.address}/?token={TOKEN}" in console.said[-2]
    with httpx2.Client(base_url=console.address) as stranger:
        first = stranger.get("/")
        assert first.status_code == 401
        assert "Token" in first.text
        assert "Jobs" not in first.text
        assert stranger.get("/jobs/x/events").status_code == 401
        assert stranger.post("/sign-in", data={"token": "wrong"}).status_code == 401
        assert stranger.post("/sign-in", data={"token": TOKEN}).status_code == 303
        assert stranger.get("/").status_code == 200


def test_a_form_without_its_word_is_not_taken(console: Console) -> None:
    answer = console.web.post("/", data={"question": "What?"})
    assert answer.status_code == 403
    assert "word" not in answer.text


def test_bad_input_is_said_beside_its_field_and_nothing_is_lost(console: Console) -> None:
    code, page = console.send(
        "/", question="Is it <so>?", corpus="/no/such/folder", budget_usd="none", effort="deep"
    )
    assert code == 422
    assert "There is no folder /no/such/folder" in page
    assert "is not an amount" in page
    assert "Is it <so>?</textarea>" in page
    assert 'value="deep" checked' in page
    assert "research-" not in page, "no job was started"


def test_a_job_is_asked_for_and_its_report_read(console: Console) -> None:
    console.ask("look at this", "read-1")
    assert console.sees("/jobs/read-1", "Read the report")
    report = console.web.get("/jobs/read-1/report")
    assert report.status_code == 200
    policies = report.headers.get_list("content-security-policy")
    assert any("frame-ancestors 'none'" in policy for policy in policies)
    assert any("default-src 'none'" in policy for policy in policies), "the report's own, as well"
    taken = console.web.get("/jobs/read-1/report.json")
    assert "attachment" in taken.headers["content-disposition"]
    assert json.loads(taken.text)["id"] == "read-1"
    assert console.web.get("/jobs/read-1/report.md").text.startswith("# Report")
    assert '<a class="back" href="/jobs/read-1">' in report.text, "a way back to the job"
    page = console.web.get("/jobs/read-1").text
    for suffix, one in FORMATS.items():
        assert f'href="/jobs/read-1/report.{suffix}"' in page
        file = console.web.get(f"/jobs/read-1/report.{suffix}")
        assert file.headers["content-type"] == one.media_type
        assert f'filename="read-1.{suffix}"' in file.headers["content-disposition"]
        assert 'class="back"' not in file.text, "the file stands alone"
    again = console.ask("look at this", "read-1")
    assert "is already finished" in again
    code, page = console.send(
        "/", question="another", corpus=str(console.place.folder / "docs"), id="read-1"
    )
    assert code == 422
    assert "belongs to a job with another question" in page


def test_a_plan_is_edited_and_approved(console: Console) -> None:
    console.ask("hold on", "plan-1", approve="yes")
    assert console.sees("/jobs/plan-1", "Approve the plan", "The one facet")
    assert "Its plan waits for your approval." in console.page("/?status=awaiting_approval")
    wrong = {"decision": "approve", "id-0": "f", "title-0": "Mine", "question-0": " "}
    code, page = console.send("/jobs/plan-1/approve", **wrong, **{"boundary-0": "all else"})
    assert code == 422
    assert 'value="Mine"' in page, "what was typed stays"
    assert "question-0-error" in page
    good = wrong | {"question-0": "What is it, then?", "boundary-0": "all else"}
    code, page = console.send("/jobs/plan-1/approve", **good)
    assert (code, "as you edited it" in page) == (200, True)
    assert console.sees("/jobs/plan-1", "Mine", "What is it, then?")
    code, page = console.send("/jobs/plan-1/approve", decision="reject")
    assert code == 409
    assert "The job rejects that: the plan is approved already." in page, notice(page)
    assert console.send("/jobs/plan-1/finish")[0] == 200


def test_a_running_job_is_steered_paused_and_finished(console: Console) -> None:
    console.ask("hold on", "steer-1")
    assert console.sees("/jobs/steer-1", "Pause", "Finish now", "The one facet")
    code, page = console.send("/jobs/steer-1/steer", change="note", note="Mind the <tides>.")
    assert code == 200
    assert "Mind the <tides>." in page
    add = {"change": "add", "title": "Winds", "question": "From where do they blow?"}
    code, page = console.send("/jobs/steer-1/steer", **add)
    assert "Winds" in page
    code, page = console.send("/jobs/steer-1/steer", change="budget", budget_usd="7.25")
    assert "$7.25" in page
    code, page = console.send("/jobs/steer-1/steer", change="budget", budget_usd="-2")
    assert code == 422
    assert "is not possible" in page
    code, page = console.send("/jobs/steer-1/resume")
    assert code == 409
    assert "neither blocked nor paused" in page
    assert "Paused" in console.send("/jobs/steer-1/pause")[1]
    assert console.sees("/jobs/steer-1", "Paused: nothing is spent", ">Resume<")
    assert console.send("/jobs/steer-1/resume")[0] == 200
    assert console.send("/jobs/steer-1/finish")[0] == 200
    assert console.sees("/jobs/steer-1", "Read the report")
    code, page = console.send("/jobs/steer-1/pause")
    assert code == 409
    assert "is complete" in page


def test_a_blocked_job_stands_out_with_its_reason_and_remedy(console: Console) -> None:
    console.ask("block it", "block-1")
    assert console.sees("/?status=blocked", "block it", "No key.", "Set a key.")
    assert "block it" not in console.page("/?status=completed")
    assert console.sees("/jobs/block-1", "no key.", "Set a key, then resume it.", ">Resume<")
    assert ">Pause<" not in console.page("/jobs/block-1"), "it buys nothing as it is"
    assert console.send("/jobs/block-1/resume")[0] == 200
    assert console.sees("/jobs/block-1", "Read the report")


def test_who_waits_for_a_person_stands_above_newer_jobs(console: Console) -> None:
    console.ask("please block", "waits-long")
    assert console.sees("/", "waits-long", "blocked")
    console.ask("What is newer?", "is-newer")

    def in_order() -> bool:
        page = console.page("/")
        places = [page.find(f'href="/jobs/{name}"') for name in ("waits-long", "is-newer")]
        return 0 < places[0] < places[1]

    assert eventually(in_order)


def test_a_job_that_found_nothing_does_not_look_like_a_success(console: Console) -> None:
    console.ask("nothing of it", "none-1")
    said = (
        "Nothing was found",
        "Ask a broader question",
        'class="tile now warn"',
        "No claim was found.",
    )
    assert console.sees("/jobs/none-1", *said)
    assert console.sees("/", "<span>nothing found</span>")


def test_a_failed_job_says_why_and_is_restarted_then_forked(console: Console) -> None:
    console.ask("please fail", "fail-1")
    assert console.sees("/?status=failed", "The moon is in the way.")
    page = console.page("/jobs/fail-1")
    assert "the moon is in the way" in page
    assert "Restart from the last checkpoint" in page
    assert "planned" in page
    assert "Restart it" in console.page("/jobs/fail-1/restart?from=planned")
    code, page = console.send("/jobs/fail-1/restart", **{"from": "planned"})
    assert (code, "Restarted from planned" in page) == (200, True)
    assert console.sees("/jobs/fail-1", "Read the report", "restarted from planned")
    form = {"from": "researched", "max_passes": "99", "id": "fork-1"}
    code, page = console.send("/jobs/fail-1/fork", **form)
    assert code == 422
    assert 'value="99"' in page
    code, page = console.send("/jobs/fail-1/fork", **form | {"max_passes": "1"})
    assert (code, "Forked from fail-1 at researched" in page) == (200, True)
    assert console.sees("/jobs/fork-1", "Read the report", "forked from")
    code, page = console.send("/jobs/fork-1/restart")
    assert code == 409
    assert "nothing to restart" in page


def test_a_job_is_cancelled_after_being_asked_once_more(console: Console) -> None:
    console.ask("hold on", "cancel-1")
    assert console.sees("/jobs/cancel-1", "Yes, cancel it")
    assert "Cancelled." in console.send("/jobs/cancel-1/cancel")[1]
    assert console.sees("/jobs/cancel-1", "It was cancelled.")


def test_pages_that_are_not_there_say_so(console: Console) -> None:
    for path in ("/jobs/nobody", "/jobs/nobody/events", "/jobs/nobody/report", "/nothing"):
        answer = console.web.get(path)
        assert answer.status_code == 404, path
        assert "`" not in answer.text
    assert console.web.get("/jobs/..%2fx").status_code == 404
    assert console.web.get("/static/../serving.py").status_code == 404


def notice(page: str) -> str:
    """The word at the top of a page."""
    found = re.search(r'<p class="notice[^>]*>(.*?)</p>', page, re.DOTALL)
    return found.group(1) if found else ""


def news(lines: Iterator[str]) -> dict[str, Any]:
    for line in lines:
        if line.startswith("data: ") and "parts" in line:
            parts: dict[str, Any] = json.loads(line.removeprefix("data: "))["parts"]
            return parts
    raise AssertionError("the stream ended")


def test_a_page_is_told_what_changed_and_when_it_is_over(console: Console) -> None:
    console.ask("hold on", "live-1")
    with console.web.stream("GET", "/jobs/live-1/events") as stream:
        lines = stream.iter_lines()
        assert "glance" in news(lines)
        console.send("/jobs/live-1/steer", change="note", note="Look <b>up</b>.")
        while "remarks" not in (parts := news(lines)):
            pass
        assert "Look &lt;b&gt;up&lt;/b&gt;." in parts["remarks"]["html"]
        console.send("/jobs/live-1/finish")
        assert any(line == "event: end" for line in lines)


def test_a_taken_port_is_told_before_anything_is_started(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RESEARCH_HOME", str(tmp_path / "state"))
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        code, _, complained = call("serve", "--port", str(taken.getsockname()[1]))
    assert code == 2
    assert "choose another port with --port" in complained
    assert not (tmp_path / "state" / "server.json").exists()


def test_a_job_that_was_stopped_elsewhere_is_stopped_here_until_it_is_resumed(
    console: Console,
) -> None:
    place = console.place
    process = place.popen("run", "hold on", "--corpus", "docs", "--id", "halted-1")
    wait_for(process, "The one facet: running")
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=60)
    assert console.sees("/jobs/halted-1", "Stopped: no worker runs it", "“Resume” continues it")
    code, page = console.send("/jobs/halted-1/resume")
    assert (code, "It continues." in page) == (200, True)
    assert console.sees("/jobs/halted-1", 'action="/jobs/halted-1/pause"')
    assert console.send("/jobs/halted-1/cancel")[0] == 200


def test_it_ends_soon_with_pages_still_open_and_says_what_becomes_of_jobs(
    console: Console,
) -> None:
    """The last one here: it closes the console of the others."""
    console.ask("hold on", "left-1")
    try:
        with console.web.stream("GET", "/jobs/left-1/events") as stream:
            news(stream.iter_lines())
            console.process.send_signal(signal.SIGINT)
            said, complained = console.process.communicate(timeout=60)
    finally:
        console.process.kill()
        console.web.close()
    assert console.process.returncode == 0, complained
    assert "resume ID` continues an unfinished job" in said
    assert complained == ""
    assert TOKEN not in said + complained + _logs(console.place), "the token is in no log"
    folder = console.place.folder
    assert eventually(lambda: not processes(folder)), processes(folder)


def _logs(place: Place) -> str:
    return "".join(log.read_text(errors="replace") for log in place.state.glob("*.log"))
