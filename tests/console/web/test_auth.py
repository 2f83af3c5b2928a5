"""Who is let into the console, and what no page of another site can do."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route
from starlette.testclient import TestClient

from console.api.application import build_api
from console.client.audit import AuditLog
from console.errors import BadInputError
from console.mcp.mcp_server import open_http_app
from console.runtime.connection import is_loopback
from console.web.auth import MAX_BODY_BYTES, Authenticator, AuthMiddleware
from console.web.forms import read_form
from console.web.people import People, Role, require
from console.web.serve import serve
from workflows.config.settings import Settings

TOKEN = "a token that is long"
Open = Callable[..., TestClient]


async def inside(request: Request) -> Response:
    await request.body()
    return PlainTextResponse("inside")


async def api(request: Request) -> Response:
    await read_form(request)
    person = require(request, Role(int(request.query_params.get("role", 1))))
    return PlainTextResponse(f"{person.name} {person.role.label}")


async def sign_in_page(_request: Request) -> Response:
    return PlainTextResponse("the sign-in page", status_code=401)


@pytest.fixture
def people(tmp_path: Path) -> People:
    return People(tmp_path / "people.json", TOKEN)


@pytest.fixture
def log(tmp_path: Path) -> AuditLog:
    return AuditLog(Settings(state_dir=str(tmp_path), store=""))


@pytest.fixture
def client(people: People, log: AuditLog) -> Open:
    app = Starlette(
        routes=[
            Route("/", inside, methods=["GET", "POST"]),
            Route("/api/v1/jobs", api, methods=["GET", "POST"]),
        ]
    )
    authenticator = Authenticator(people, log, 8484)

    def open_client(*, loopback: bool = True, base: str = "http://127.0.0.1:8484") -> TestClient:
        middleware = AuthMiddleware(app, authenticator, sign_in_page, loopback=loopback)
        return TestClient(middleware, base_url=base, follow_redirects=False)

    return open_client


@pytest.fixture
def signed_in(client: Open) -> Open:
    def open_client(**options: Any) -> TestClient:
        browser = client(**options)
        assert browser.get(f"/?token={TOKEN}").status_code == 303
        return browser

    return open_client


def test_nobody_gets_in_without_the_token(client: Open) -> None:
    assert client().get("/").status_code == 401
    assert client().post("/").status_code == 401
    assert client().get("/?token=another").status_code == 401
    forged = client()
    forged.cookies.set("research_console_8484", TOKEN)
    assert forged.get("/").status_code == 401, "the cookie is not the token"


def test_the_first_visit_sets_a_cookie_and_takes_the_token_out_of_the_address(
    client: Open, signed_in: Open
) -> None:
    answer = client().get(f"/?token={TOKEN}")
    assert (answer.status_code, answer.headers["location"]) == (303, "/")
    cookie = answer.headers["set-cookie"]
    assert "HttpOnly" in cookie
    assert "SameSite=strict" in cookie
    assert TOKEN not in cookie
    assert signed_in().get("/").text == "inside"


def test_a_program_sends_a_bearer_token_and_needs_no_csrf_token(
    client: Open, signed_in: Open
) -> None:
    bearer = {"Authorization": f"Bearer {TOKEN}"}
    assert client().post("/api/v1/jobs?role=4", headers=bearer).text == "console admin"
    assert signed_in().post("/api/v1/jobs").status_code == 403, "a cookie needs the CSRF token"


@pytest.mark.parametrize("headers", [{}, {"Authorization": "Bearer wrong"}])
@pytest.mark.parametrize("path", ["/api/v1/jobs", "/mcp", "/api/none"])
def test_a_program_without_the_token_gets_a_problem_instead_of_a_page(
    client: Open, path: str, headers: dict[str, str]
) -> None:
    answer = client().get(path, headers=headers)
    assert (answer.status_code, answer.json()["status"]) == (401, 401)
    assert answer.headers["content-type"] == "application/problem+json"
    assert answer.headers["www-authenticate"] == "Bearer"


@pytest.mark.parametrize(
    "headers",
    [
        {"Origin": "https://evil.example"},
        {"Origin": "http://127.0.0.1:9999"},
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site", "Origin": "http://127.0.0.1:8484"},
        {"Sec-Fetch-Site": "cross-site", "Origin": "null"},
    ],
)
def test_what_another_site_sends_is_not_taken(signed_in: Open, headers: dict[str, str]) -> None:
    assert signed_in().post("/", headers=headers).status_code == 403


def test_a_form_of_its_own_is_taken(signed_in: Open) -> None:
    own = {"Sec-Fetch-Site": "same-origin", "Origin": "http://127.0.0.1:8484"}
    assert signed_in().post("/", headers=own).text == "inside"


@pytest.mark.parametrize(
    "host", ["evil.example", "127.0.0.1.evil.example", "", "a@127.0.0.1", "localhost.:8484"]
)
def test_a_name_that_was_rebound_to_this_machine_is_not_answered(
    signed_in: Open, host: str
) -> None:
    assert signed_in().get("/", headers={"Host": host}).status_code == 421


@pytest.mark.parametrize("host", ["127.0.0.1:8484", "localhost:1", "LOCALHOST", "[::1]:8484"])
def test_names_of_this_machine_are_answered(signed_in: Open, host: str) -> None:
    assert signed_in().get("/", headers={"Host": host}).status_code == 200


def test_bound_beyond_this_machine_any_name_will_do(signed_in: Open) -> None:
    browser = signed_in(loopback=False, base="http://console.example")
    assert browser.get("/").status_code == 200


def test_a_large_body_is_not_read_whether_it_says_so_or_not(signed_in: Open) -> None:
    assert signed_in().post("/", content=b"x" * (MAX_BODY_BYTES + 1)).status_code == 413

    def in_pieces() -> Any:
        for _ in range(MAX_BODY_BYTES // 50_000 + 2):
            yield b"x" * 50_000

    assert signed_in().post("/", content=in_pieces()).status_code == 413
    assert signed_in().post("/", content=b"x" * 1000).status_code == 200


@pytest.mark.parametrize("who", ["client", "signed_in"])
def test_every_answer_tells_the_browser_to_be_careful(
    who: str, request: pytest.FixtureRequest
) -> None:
    headers = request.getfixturevalue(who)().get("/").headers
    policy = headers["content-security-policy"]
    assert "default-src 'self'" in policy
    assert "frame-ancestors 'none'" in policy
    assert "unsafe" not in policy
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["referrer-policy"] == "no-referrer"
    assert headers["cache-control"] == "no-store"


def test_beyond_this_machine_a_long_token_is_asked_for(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.delenv("RESEARCH_CONSOLE_TOKEN", raising=False)
    short = tmp_path / "token"
    short.write_text("too short\n")
    for file in (None, short):
        with pytest.raises(BadInputError, match="at least 16 characters"):
            serve("0.0.0.0", 0, file, build_api, open_http_app)
    monkeypatch.setenv("RESEARCH_CONSOLE_TOKEN", "short")
    with pytest.raises(BadInputError, match="RESEARCH_CONSOLE_TOKEN"):
        serve("::", 0, None, build_api, open_http_app)


def test_loopback_is_known_by_its_address() -> None:
    assert is_loopback("127.0.0.2")
    assert is_loopback("::1")
    assert is_loopback("localhost")
    assert not is_loopback("0.0.0.0")
    assert not is_loopback("localhost.example")
