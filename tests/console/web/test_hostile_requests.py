"""Requests without a token, as raw bytes on a socket: none costs more than an answer."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

import pytest
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.testclient import TestClient

from console.client.session import Session
from console.web import serve as serving
from console.web.auth import MAX_BODY_BYTES
from console.web.rendering import MAX_STREAMS, stream_parts
from console.web.routes import build_app
from console.web.state import AppState
from tests.console.conftest import eventually
from workflows.config.settings import Settings

TOKEN = "the-token-of-this-console"
HOST = "Host: 127.0.0.1\r\n"


def build_state(tmp_path: Path) -> AppState:
    settings = Settings(state_dir=str(tmp_path), store=str(tmp_path / "store"))
    return AppState(Session(settings, cast(Any, None)))


@pytest.fixture(params=[True, False], ids=["loopback", "open"])
def port(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> Iterator[int]:
    """The port of a console that listens in a thread, with short time-outs."""
    monkeypatch.setattr(serving, "_HEADER_SECONDS", 0.5)
    monkeypatch.setattr("console.web.auth.BODY_SECONDS", 0.5)
    server = serving._build_server(
        build_app(build_state(tmp_path), TOKEN, 1, loopback=request.param)
    )
    # Signals reach the main thread only.
    monkeypatch.setattr(server, "capture_signals", contextlib.nullcontext)
    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=lambda: asyncio.run(server.serve(sockets=[listener])))
        thread.start()
        assert eventually(lambda: server.started)
        yield listener.getsockname()[1]
        server.should_exit = True
        thread.join(20)
        assert not thread.is_alive()


def answer(port: int, request: bytes) -> bytes:
    """What comes back until the connection is closed."""
    with socket.create_connection(("127.0.0.1", port), timeout=10) as connection:
        connection.sendall(request)
        received = b""
        try:
            while more := connection.recv(65536):
                received += more
                if b"\r\n\r\n" in received:
                    break
        except ConnectionResetError:
            pass
    return received


def post(path: str, kind: str, body: bytes, more: str = "") -> bytes:
    head = f"POST {path} HTTP/1.1\r\n{HOST}Content-Type: {kind}\r\n{more}"
    return f"{head}Content-Length: {len(body)}\r\n\r\n".encode("latin-1") + body


FORM = "application/x-www-form-urlencoded"
HOSTILE = {
    "host without an end": b"GET / HTTP/1.1\r\nHost: [\r\n\r\n",
    "host with a wrong port": b"GET / HTTP/1.1\r\nHost: 127.0.0.1:x\r\n\r\n",
    "host in bytes": b"GET / HTTP/1.1\r\nHost: \xff\xfe\r\n\r\n",
    "no host": b"GET / HTTP/1.0\r\n\r\n",
    "origin without an end": post("/sign-in", FORM, b"token=x", "Origin: http://[\r\n"),
    "length of other digits": f"POST / HTTP/1.1\r\n{HOST}Content-Length: \u00b2\r\n\r\n".encode(
        "latin-1"
    ),
    "length of many digits": f"POST / HTTP/1.1\r\n{HOST}Content-Length: {'9' * 5000}".encode()
    + b"\r\n\r\n",
    "broken multipart": post("/sign-in", "multipart/form-data; boundary=x", b"--x\r\nnonsense"),
    "multipart without a boundary": post("/sign-in", "multipart/form-data", b"x"),
    "many fields": post("/sign-in", FORM, b"&".join(b"a=%d" % n for n in range(5000))),
    "body in bytes": post("/sign-in", f"{FORM}; charset=nonsense", b"token=\xff\xfe%ff%"),
    "cookie in bytes": f"GET / HTTP/1.1\r\n{HOST}Cookie: \xff=\xfe; ;;=\r\n\r\n".encode("latin-1"),
    "percent signs": f"GET /%ff%fe%00%zz?token=%ff%fe HTTP/1.1\r\n{HOST}\r\n".encode(),
    "static file with a null": f"GET /static/%00 HTTP/1.1\r\n{HOST}\r\n".encode(),
    "static file above": f"GET /static/%2e%2e/serve.py HTTP/1.1\r\n{HOST}\r\n".encode(),
    "static file of a long name": f"GET /static/{'a' * 9000} HTTP/1.1\r\n{HOST}\r\n".encode(),
    "odd method": f"BREW / HTTP/1.1\r\n{HOST}\r\n".encode(),
    "options for all": f"OPTIONS * HTTP/1.1\r\n{HOST}\r\n".encode(),
    "connect": f"CONNECT x:1 HTTP/1.1\r\n{HOST}\r\n".encode(),
    "huge headers": f"GET / HTTP/1.1\r\n{HOST}X: {'x' * 100_000}\r\n\r\n".encode(),
    "not HTTP": b"\x16\x03\x01\x02\x00" * 20 + b"\r\n\r\n",
    "events": f"GET /events HTTP/1.1\r\n{HOST}\r\n".encode(),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_request_gets_a_plain_refusal(port: int, name: str) -> None:
    status = answer(port, HOSTILE[name]).partition(b"\r\n")[0]
    assert status.split(b" ")[1][:1] == b"4", status


def test_a_redirect_stays_within_the_console(port: int) -> None:
    for path in ("//example.org/x", "/\\example.org", "///example.org"):
        received = answer(port, f"GET {path}?token={TOKEN} HTTP/1.1\r\n{HOST}\r\n".encode())
        assert b" 303 " in received.partition(b"\r\n")[0]
        place = received.lower().partition(b"location: ")[2].partition(b"\r\n")[0]
        assert place.startswith(b"/")
        assert not place.startswith((b"//", b"/\\", b"/%5c"))


def test_a_connection_that_says_nothing_or_too_little_is_closed(port: int) -> None:
    assert answer(port, b"") == b""
    assert answer(port, b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Slow: ") == b""


def test_a_body_that_does_not_arrive_is_not_waited_for(port: int) -> None:
    head = f"POST /sign-in HTTP/1.1\r\n{HOST}Content-Type: {FORM}\r\nContent-Length: 100\r\n\r\n"
    assert b" 408 " in answer(port, f"{head}token=".encode())


def test_a_body_over_the_limit_is_refused_before_anybody_signed_in(port: int) -> None:
    head = f"POST /sign-in HTTP/1.1\r\n{HOST}Content-Type: {FORM}\r\n"
    too_long = f"{head}Content-Length: {MAX_BODY_BYTES + 1}\r\n\r\n".encode()
    assert b" 413 " in answer(port, too_long)
    chunk = b"%x\r\n" % (MAX_BODY_BYTES + 1) + b"a" * (MAX_BODY_BYTES + 1) + b"\r\n0\r\n\r\n"
    chunked = f"{head}Transfer-Encoding: chunked\r\n\r\n".encode() + chunk
    assert b" 413 " in answer(port, chunked)


async def test_only_so_many_pages_follow_their_jobs_at_once(tmp_path: Path) -> None:
    state = build_state(tmp_path)

    async def parts() -> Any:
        yield {}

    async def receive() -> dict[str, str]:
        await asyncio.sleep(60)
        return {"type": "http.disconnect"}

    async def send(_message: object) -> None:
        return

    request = Request({"type": "http", "state": {"is_signed_in": lambda: True}})
    opened = [stream_parts(request, state, parts()) for _ in range(MAX_STREAMS)]
    with pytest.raises(HTTPException, match="Too many"):
        stream_parts(request, state, parts())
    await opened[0]({"type": "http", "asgi": {"spec_version": "2.3"}}, receive, send)
    assert stream_parts(request, state, parts()).status_code == 200


@pytest.mark.parametrize(("is_local", "corpora"), [(False, ()), (True, ()), (False, ("docs",))])
def test_a_console_for_other_machines_reads_only_folders_it_was_told_of(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, is_local: bool, corpora: tuple[str, ...]
) -> None:
    async def no_rows(*_: object) -> tuple[list[object], int]:
        return [], 0

    async def no_past(*_: object) -> list[object]:
        return []

    monkeypatch.setattr("console.web.home.HomePage._load_rows", no_rows)
    monkeypatch.setattr("console.web.home.list_finished", no_past)
    folder = tmp_path / "docs"
    folder.mkdir()
    (folder / "a.md").write_text("Something is written here.")
    state = build_state(tmp_path)
    state.settings = state.settings.model_copy(
        update={"corpora": tuple(str(tmp_path / name) for name in corpora)}
    )
    state.is_local = is_local
    browser = TestClient(build_app(state, TOKEN, 1, loopback=False), base_url="http://console")
    bearer = {"Authorization": f"Bearer {TOKEN}"}
    page = browser.post("/", data={"corpus": str(folder), "question": ""}, headers=bearer)
    assert page.status_code == 422
    assert ("reads no folder it was not told of" in page.text) is (not is_local and not corpora)
