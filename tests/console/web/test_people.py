"""People with names: what each role may do, whose jobs they see, and what is recorded of it."""

from __future__ import annotations

import json
import re
import stat
from collections.abc import Callable, Iterator
from html import unescape
from pathlib import Path

import httpx2
import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route
from starlette.testclient import TestClient

from console.client import asking
from console.client.audit import Actor, AuditLog, act_as
from console.client.jobs import JobNotFoundError
from console.client.session import Session
from console.errors import BadInputError
from console.runtime.connection import connect
from console.web.auth import Authenticator, AuthMiddleware, Lockout
from console.web.people import People, Person, Role
from tests.console.conftest import Place, call, eventually, processes
from tests.console.web.test_console import TOKEN, Console
from workflows.config.settings import Settings
from workflows.contracts.request import ResearchRequest

pytestmark = pytest.mark.timeout(300)


def command(console: Console, *arguments: str) -> str:
    """The output of a command beside the running console."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("RESEARCH_HOME", str(console.place.state))
        code, said, complained = call(*arguments)
    assert code == 0, complained
    return said


class Visitor:
    """A person at the console, with a token of their own."""

    def __init__(self, console: Console, name: str, role: str, *options: str) -> None:
        self.token = command(console, "people", "add", name, "--role", role, *options).strip()
        self.web = httpx2.Client(base_url=console.address, follow_redirects=True, timeout=60)
        assert self.web.post("/sign-in", data={"token": self.token}).status_code == 200

    def page(self, path: str) -> str:
        return unescape(self.web.get(path).text)

    def send(self, path: str, **fields: str) -> httpx2.Response:
        word = re.search(r'name="csrf_token" value="(\w+)"', self.web.get("/").text)
        assert word is not None
        return self.web.post(path, data={"csrf_token": word.group(1), **fields})


Visit = Callable[..., Visitor]


@pytest.fixture
def visit(console: Console) -> Iterator[Visit]:
    visitors: list[Visitor] = []

    def add(name: str, role: str, *options: str) -> Visitor:
        visitors.append(Visitor(console, name, role, *options))
        return visitors[-1]

    yield add
    for visitor in visitors:
        visitor.web.close()


@pytest.fixture(scope="module")
def console(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Console]:
    folder = tmp_path_factory.mktemp("people")
    console = Console(Place(folder / "place"))
    yield console
    console.close()
    assert eventually(lambda: not processes(folder)), processes(folder)


def test_a_person_is_added_rotated_and_removed_while_the_console_runs(
    console: Console, visit: Visit
) -> None:
    anna = visit("anna", "researcher")
    assert "anna" in anna.page("/")
    file = console.place.state / "people.json"
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert anna.token not in file.read_text()
    new = command(console, "people", "rotate", "anna", "--overlap", "1")
    assert anna.web.get("/").status_code == 200, "the old token still works for an hour"
    command(console, "people", "rotate", "anna")
    assert anna.web.get("/").status_code == 401, "the session ended with its token"
    bearer = {"Authorization": f"Bearer {new.strip()}"}
    assert httpx2.get(console.address, headers=bearer).status_code == 401
    newest = command(console, "people", "rotate", "anna")
    bearer = {"Authorization": f"Bearer {newest.strip()}"}
    assert httpx2.get(console.address, headers=bearer).status_code == 200
    assert "anna" in command(console, "people", "list")
    command(console, "people", "remove", "anna")
    assert httpx2.get(console.address, headers=bearer).status_code == 401
    assert "anna" not in command(console, "people", "list")


def test_signing_out_ends_the_session_and_not_only_the_cookie(
    console: Console, visit: Visit
) -> None:
    carl = visit("carl", "reader")
    kept = dict(carl.web.cookies)
    assert carl.web.post("/sign-out").status_code == 403, "another site cannot sign anybody out"
    assert carl.send("/sign-out").status_code == 401, "the sign-in page"
    assert not dict(carl.web.cookies)
    thief = httpx2.get(console.address, cookies=kept)
    assert thief.status_code == 401, "the old cookie is worth nothing"


def test_an_event_stream_ends_with_its_session(console: Console, visit: Visit) -> None:
    emil = visit("emil", "reader")
    with emil.web.stream("GET", "/events") as events:
        lines = events.iter_lines()
        assert next(lines).startswith("retry:")
        command(console, "people", "remove", "emil")
        assert "event: end" not in list(lines), "it was cut off; it did not come to its end"
    assert emil.web.get("/events").status_code == 401


def test_a_reader_reads_and_is_shown_nothing_else(console: Console, visit: Visit) -> None:
    console.ask("look at this", "for-readers")
    assert console.sees("/jobs/for-readers", "Read the report")
    console.ask("hold on", "not-for-readers", approve="yes")
    assert console.sees("/jobs/not-for-readers", "Approve the plan")
    rita = visit("rita", "reader")
    assert "Start research" not in rita.page("/")
    assert rita.web.get("/jobs/for-readers/report").status_code == 200
    page = rita.page("/jobs/not-for-readers")
    assert "The one facet" in page
    forms = set(re.findall(r'action="([^"]*)"', page))
    assert forms == {"/sign-out"}
    assert "/fork" not in page
    for path in ("/", "/jobs/not-for-readers/approve", "/jobs/not-for-readers/fork"):
        refusal = rita.send(path, decision="approve", question="What?")
        assert (refusal.status_code, "needs the role researcher" in refusal.text) == (403, True)
    assert rita.web.get("/jobs/for-readers/fork").status_code == 403
    assert console.send("/jobs/not-for-readers/cancel")[0] == 200


@pytest.mark.slow
def test_a_researcher_does_not_restart_jobs_and_an_operator_does(
    console: Console, visit: Visit
) -> None:
    console.ask("please fail", "broken")
    assert console.sees("/jobs/broken", "the moon is in the way")
    rosa = visit("rosa", "researcher")
    assert "/restart" not in rosa.page("/jobs/broken")
    assert rosa.send("/jobs/broken/restart").status_code == 403
    otto = visit("otto", "operator")
    assert "/restart" in otto.page("/jobs/broken")
    assert otto.send("/jobs/broken/restart").status_code == 200
    assert console.sees("/jobs/broken", "Read the report", "restart: otto")


def test_a_person_of_a_tenant_sees_and_starts_jobs_of_that_tenant_only(
    console: Console, visit: Visit
) -> None:
    red = visit("red", "operator", "--tenant", "red-team")
    blue = visit("blue", "operator", "--tenant", "blue-team")
    docs = str(console.place.folder / "docs")
    ask = {"question": "hold on", "corpus": docs, "effort": "standard", "id": "red-1"}
    assert red.send("/", **ask).status_code == 200
    assert eventually(lambda: "red-1" in red.page("/"))
    assert eventually(lambda: "red-1" in console.page("/"))
    assert "red-1" not in blue.page("/")
    for path in ("", "/report", "/report.json", "/restart", "/fork", "/events"):
        assert blue.web.get(f"/jobs/red-1{path}").status_code == 404, path
    for path in ("pause", "finish", "cancel", "steer", "approve", "resume", "restart", "fork"):
        answer = blue.send(f"/jobs/red-1/{path}", decision="approve", change="note", note="x")
        assert answer.status_code in (400, 404), path
        assert "no job red-1" in unescape(answer.text), path
    assert "The id red-1 is taken" in unescape(blue.send("/", **ask).text)
    assert eventually(lambda: ">Pause<" in red.page("/jobs/red-1")), "nothing was done to it"
    assert red.send("/jobs/red-1/finish").status_code == 200


async def test_what_the_store_has_of_a_job_is_not_shown_to_another_tenant(
    console: Console,
) -> None:
    console.ask("look at this", "stored-1")
    assert console.sees("/jobs/stored-1", "Read the report")
    settings = Settings.read({"RESEARCH_HOME": str(console.place.state)})
    port = json.loads((console.place.state / "server.json").read_text())["port"]
    session = Session(settings, await connect(settings, f"127.0.0.1:{port}"))
    act_as(Actor("blue", "reader", tenant="blue-team"))
    try:
        for reading in (
            asking.ask(session, "stored-1", "What is it?"),
            asking.load_report(session, "stored-1"),
            asking.compare(session, "stored-1", "stored-1"),
        ):
            with pytest.raises(JobNotFoundError):
                await reading
    finally:
        act_as(Actor())


def test_who_did_what_is_in_the_job_and_in_the_audit_log(console: Console, visit: Visit) -> None:
    paul = visit("paul", "researcher")
    docs = str(console.place.folder / "docs")
    ask = {"question": "hold on", "corpus": docs, "effort": "standard", "id": "seen-1"}
    paul.send("/", **ask, approve="yes")
    assert console.sees("/jobs/seen-1", "Approve the plan")
    paul.send("/jobs/seen-1/approve", decision="approve", **{"id-0": "f"}, **_PLAN)
    assert console.sees("/jobs/seen-1", "Finish now")
    assert console.send("/jobs/seen-1/pause")[0] == 200
    paul.send("/jobs/seen-1/resume")
    assert paul.send("/jobs/seen-1/resume").status_code == 409
    paul.send("/jobs/seen-1/finish")
    assert console.sees("/jobs/seen-1", "start: paul", "approve: paul", "pause: console")
    wrong = httpx2.post(f"{console.address}/sign-in", data={"token": "a-wrong-token"})
    assert wrong.status_code == 401
    said = command(console, "audit", "--job", "seen-1", "--json")
    lines = [json.loads(line) for line in said.splitlines()]
    assert [(line["who"], line["act"]) for line in lines] == [
        ("paul", "start"), ("paul", "approve"), ("console", "pause"), ("paul", "resume"),
        ("paul", "resume"), ("paul", "finish"),
    ]  # fmt: skip
    assert {(line["role"], line["address"]) for line in lines if line["who"] == "paul"} == {
        ("researcher", "127.0.0.1")
    }
    assert [line["outcome"].partition(":")[0] for line in lines] == [
        *["done"] * 4,
        "refused",
        "done",
    ]
    log = console.place.state / "audit.jsonl"
    assert stat.S_IMODE(log.stat().st_mode) == 0o600
    text = log.read_text()
    assert '"act": "sign in", "job": "", "outcome": "refused: wrong token"' in text
    for secret in (paul.token, TOKEN, "a-wrong-token"):
        assert secret not in text
    assert "paul" in command(console, "audit")


_PLAN = {"title-0": "The one facet", "question-0": "What is it?", "boundary-0": "all else"}


def test_the_command_line_records_the_user_of_the_operating_system(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RESEARCH_HOME", str(tmp_path))
    monkeypatch.setenv("LOGNAME", "wilma")
    code, token, _ = call("people", "add", "zoe", "--role", "admin")
    assert (code, len(token.strip()) > 40) == (0, True)
    (line,) = AuditLog(Settings.read({"RESEARCH_HOME": str(tmp_path)})).read()
    assert (line["who"], line["role"], line["act"]) == ("wilma", "command line", "add person zoe")


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("zoe", "--role", "boss"), "There is no role 'boss'"),
        (("z/e", "--role", "admin"), "is not a name"),
        (("zoe", "--role", "reader", "--tenant", 'x" OR "1"="1'), "is not a label"),
        (("console", "--role", "reader"), "There is already somebody named console"),
    ],
)
def test_a_person_who_cannot_be_added_is_refused_with_a_reason(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, options: tuple[str, ...], said: str
) -> None:
    monkeypatch.setenv("RESEARCH_HOME", str(tmp_path))
    code, _, complained = call("people", "add", *options)
    assert (code, said in complained) == (2, True), complained
    assert not (tmp_path / "people.json").exists()


def test_a_people_file_that_others_can_read_lets_nobody_in(tmp_path: Path) -> None:
    people = People(tmp_path / "people.json", TOKEN)
    token = people.add(Person("anna", Role.ADMIN))
    assert people.authenticate(token)
    people.file.chmod(0o644)
    again = People(people.file, TOKEN)
    assert again.authenticate(token) is None
    assert again.authenticate(TOKEN), "the console's own token still works"
    with pytest.raises(BadInputError, match="chmod 600"):
        again.check()


def test_labels_and_tenant_follow_from_who_asks() -> None:
    ask = ResearchRequest(question="What?")
    actor = Actor("anna", "researcher", tenant="law", labels=("hr", "board"))
    assert actor.restrict(ask).labels == ("hr", "board")
    assert (actor.restrict(ask).tenant, actor.restrict(ask).by) == ("law", "anna")
    fewer = ask.model_copy(update={"labels": ("hr",)})
    assert actor.restrict(fewer).labels == ("hr",)
    with pytest.raises(BadInputError, match="no right to the label secret"):
        actor.restrict(ask.model_copy(update={"labels": ("hr", "secret")}))
    with pytest.raises(BadInputError, match="in the tenant law only"):
        actor.restrict(ask.model_copy(update={"tenant": "sales"}))
    assert not actor.sees("law", ("secret",)), "a report quotes what its labels allow"
    assert actor.sees("law", ("hr",))
    admin = Person("zoe", Role.ADMIN).as_actor("", AuditLog(Settings(store="")))
    assert admin.restrict(ask.model_copy(update={"labels": ("secret",)})).labels == ("secret",)
    nobody = Person("ben", Role.OPERATOR).as_actor("", AuditLog(Settings(store="")))
    with pytest.raises(BadInputError, match="no right to the label"):
        nobody.restrict(fewer)


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


def test_the_wait_after_wrong_tokens_grows_and_ends() -> None:
    clock = Clock()
    lockout = Lockout(clock)
    lockout.record("1.1.1.1", "mine", is_right=True)

    def guess() -> float:
        lockout.record("1.1.1.1", "wrong", is_right=False)
        return lockout.seconds_left("1.1.1.1", "other")

    assert [guess() for _ in range(Lockout.FREE + 3)] == [*[0.0] * Lockout.FREE, 2.0, 4.0, 8.0]
    assert lockout.seconds_left("2.2.2.2", "other") == 0, "other addresses do not wait"
    assert lockout.seconds_left("1.1.1.1", "mine") == 0, "who works here already does not wait"
    assert [guess() for _ in range(100)][-1] == Lockout.MAX_SECONDS
    clock.now += Lockout.MAX_SECONDS
    assert lockout.seconds_left("1.1.1.1", "other") == 0
    clock.now += Lockout.FORGET_SECONDS
    assert guess() == 0, "forgotten"
    for n in range(Lockout.MAX_ADDRESSES + 10):
        lockout.record(f"10.{n}", "wrong", is_right=False)
    assert len(lockout._wrong) == Lockout.MAX_ADDRESSES


async def _inside(_request: Request) -> Response:
    return PlainTextResponse("inside")


@pytest.mark.parametrize("address", ["203.0.113.7", "2001:db8::7"])
def test_an_address_that_guesses_is_locked_out_and_others_are_not(
    tmp_path: Path, address: str
) -> None:
    people = People(tmp_path / "people.json", TOKEN)
    authenticator = Authenticator(people, AuditLog(Settings(state_dir=str(tmp_path), store="")), 1)
    app = Starlette(routes=[Route("/api/x", _inside)])
    gate = AuthMiddleware(app, authenticator, _inside, loopback=False)

    def ask(token: str, source: str = address) -> httpx2.Response:
        client = TestClient(gate, client=(source, 1))
        return client.get("/api/x", headers={"Authorization": f"Bearer {token}"})

    anna = people.add(Person("anna", Role.READER))
    assert ask(anna).status_code == 200
    codes = [ask(f"guess {n}").status_code for n in range(Lockout.FREE + 3)]
    assert codes == [*[401] * (Lockout.FREE + 1), 429, 429]
    locked = ask(TOKEN)
    assert (locked.status_code, locked.json()["status"]) == (429, 429), "right, but not looked at"
    assert int(locked.headers["retry-after"]) <= 2
    assert ask(anna).status_code == 200, "who was here before is not locked out"
    assert ask(TOKEN, "198.51.100.9").status_code == 200
    if ":" in address:
        assert ask("guess", "2001:db8::8").status_code == 429, "the neighbour in one /64"
    wrong = [line for line in authenticator.log.read() if "wrong token" in line["outcome"]]
    assert (len(wrong), {line["address"] for line in wrong}) == (Lockout.FREE + 1, {address})
