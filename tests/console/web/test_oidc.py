"""Sign-in with an identity provider: a real one on loopback, which signs with an RSA key.

Both the provider and the console are reached over HTTP, as a browser would reach them.
"""

from __future__ import annotations

import asyncio
import base64
import contextlib
import hashlib
import json
import socket
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, parse_qsl, unquote, urlencode, urlsplit

import httpx2
import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric import rsa

from console.client.audit import AuditLog
from console.errors import BadInputError
from console.web import serve as serving
from console.web.oidc import OidcSettings
from console.web.routes import build_app
from tests.console.conftest import eventually
from tests.console.web.test_hostile_requests import TOKEN, build_state

CLIENT, SECRET = "research-console", "s3cret+/ with a space"
KEY = rsa.generate_private_key(65537, 2048)


@dataclass
class Provider:
    """What the provider says; a test changes it to see it refused."""

    issuer: str = ""
    key: rsa.RSAPrivateKey = KEY
    claims: dict[str, Any] = field(default_factory=dict)
    """What differs from a right ID token; None leaves a claim out."""
    algorithm: str = "RS256"
    signing_key: Any = None
    """Another key than the one it publishes."""
    asked: dict[str, str] = field(default_factory=dict)
    """The last authorization request."""

    def discovery(self) -> dict[str, Any]:
        names = {
            "authorization_endpoint": "authorize",
            "token_endpoint": "token",
            "jwks_uri": "keys",
        }
        return {"issuer": self.issuer} | {k: f"{self.issuer}/{v}" for k, v in names.items()}

    def keys(self) -> dict[str, Any]:
        public = json.loads(jwt.algorithms.RSAAlgorithm.to_jwk(self.key.public_key()))
        return {"keys": [public | {"kid": "k1", "use": "sig"}]}

    def id_token(self) -> str:
        now = int(time.time())
        right = {
            "iss": self.issuer, "aud": CLIENT, "sub": "42", "iat": now, "exp": now + 300,
            "nonce": self.asked["nonce"], "email": "anna@example.com", "groups": ["researchers"],
        }  # fmt: skip
        claims = {name: v for name, v in (right | self.claims).items() if v is not None}
        key: Any = None if self.algorithm == "none" else self.signing_key or self.key
        return jwt.encode(claims, key, self.algorithm, headers={"kid": "k1"})

    def redeem(self, form: dict[str, str], authorization: str) -> dict[str, Any] | None:
        verifier = hashlib.sha256(form.get("code_verifier", "").encode()).digest()
        challenge = base64.urlsafe_b64encode(verifier).rstrip(b"=").decode()
        name, _, secret = base64.b64decode(authorization.partition(" ")[2]).decode().partition(":")
        right = (
            form["code"] == "the-code"
            and challenge == self.asked["code_challenge"]
            and form["redirect_uri"] == self.asked["redirect_uri"]
            and (unquote(name), unquote(secret)) == (CLIENT, SECRET)
        )
        return {"id_token": self.id_token(), "token_type": "Bearer"} if right else None


@pytest.fixture
def provider() -> Iterator[Provider]:
    provider = Provider()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            parts = urlsplit(self.path)
            if parts.path == "/authorize":
                provider.asked = dict(parse_qsl(parts.query))
                back = {"code": "the-code", "state": provider.asked["state"]}
                self.send_response(303)
                self.send_header("Location", f"{provider.asked['redirect_uri']}?{urlencode(back)}")
                self.end_headers()
            else:
                self.answer(provider.keys() if parts.path == "/keys" else provider.discovery())

        def do_POST(self) -> None:
            form = dict(parse_qsl(self.rfile.read(int(self.headers["Content-Length"])).decode()))
            self.answer(provider.redeem(form, self.headers.get("Authorization", "")))

        def answer(self, body: dict[str, Any] | None) -> None:
            self.send_response(200 if body else 400)
            self.send_header("Content-Type", "application/json")
            self.end_headers()
            self.wfile.write(json.dumps(body or {"error": "invalid_grant"}).encode())

        def log_message(self, *_: object) -> None:
            return

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        # Another site than the console's for a browser, whose strict cookies then stay behind.
        provider.issuer = f"http://localhost:{server.server_address[1]}"
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield provider
        server.shutdown()
        thread.join()


@dataclass
class Place:
    address: str
    log: AuditLog
    settings: dict[str, Any]
    file: Path


@pytest.fixture
def place(provider: Provider, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Place]:
    """A console that listens, with this provider."""

    async def no_rows(*_: object) -> tuple[list[object], int]:
        return [], 0

    async def no_past(*_: object) -> list[object]:
        return []

    monkeypatch.setattr("console.web.home.HomePage._load_rows", no_rows)
    monkeypatch.setattr("console.web.home.list_finished", no_past)
    (tmp_path / "secret").write_text(f"{SECRET}\n")
    with socket.create_server(("127.0.0.1", 0)) as listener:
        address = f"http://127.0.0.1:{listener.getsockname()[1]}"
        settings = {
            "issuer": provider.issuer, "client_id": CLIENT, "console_url": address,
            "client_secret_file": str(tmp_path / "secret"),
            "roles": {"researchers": "researcher", "operators": "operator"},
            "labels": {"operators": ["hr"], "researchers": ["lab"]},
        }  # fmt: skip
        file = tmp_path / "oidc.json"
        file.write_text(json.dumps(settings))
        state = build_state(tmp_path)
        state.settings = state.settings.model_copy(update={"oidc": str(file)})
        server = serving._build_server(build_app(state, TOKEN, 1, loopback=True))
        monkeypatch.setattr(server, "capture_signals", contextlib.nullcontext)
        thread = threading.Thread(target=lambda: asyncio.run(server.serve(sockets=[listener])))
        thread.start()
        assert eventually(lambda: server.started)
        yield Place(address, AuditLog(state.settings), settings, file)
        server.should_exit = True
        thread.join(20)


@pytest.fixture
def browser(place: Place) -> Iterator[httpx2.Client]:
    with httpx2.Client(base_url=place.address, follow_redirects=True, timeout=30) as client:
        yield client


def test_a_person_signs_in_at_the_provider_and_gets_the_role_of_their_group(
    browser: httpx2.Client, place: Place, provider: Provider
) -> None:
    assert "/sign-in/oidc" in browser.get("/").text
    provider.claims = {"groups": ["researchers", "operators", "others"]}
    page = browser.get("/sign-in/oidc")
    assert page.status_code == 200
    assert "Continue as anna@example.com" in page.text
    assert provider.asked["code_challenge_method"] == "S256"
    home = browser.get("/")
    assert home.status_code == 200
    assert "anna@example.com" in home.text
    assert 'title="operator"' in home.text, "the highest role of the groups"
    (line,) = place.log.read()
    assert (line["who"], line["role"], line["act"], line["outcome"]) == (
        "anna@example.com", "operator", "sign in", "done",
    )  # fmt: skip


@pytest.mark.parametrize(
    ("claims", "why"),
    [
        ({"nonce": "another"}, "belongs to another sign-in"),
        ({"nonce": None}, "is not valid"),
        ({"aud": "another-client"}, "is not valid"),
        ({"aud": [CLIENT, "other"], "azp": "other"}, "issued to another client"),
        ({"iss": "https://other.example"}, "is not valid"),
        ({"exp": 1_600_000_000}, "is not valid"),
        ({"exp": None}, "is not valid"),
        ({"groups": ["strangers"]}, "in no group"),
        ({"groups": None}, "in no group"),
        ({"email": "anna\nadmin"}, "no usable claim"),
        ({"email": None}, "no usable claim"),
        ({"email_verified": False}, "no usable claim"),
    ],
    ids=str,
)
def test_an_id_token_that_is_not_right_signs_nobody_in(
    browser: httpx2.Client, place: Place, provider: Provider, claims: dict[str, Any], why: str
) -> None:
    provider.claims = claims
    _is_refused(browser, place, why)


def test_an_unsigned_id_token_signs_nobody_in(
    browser: httpx2.Client, place: Place, provider: Provider
) -> None:
    provider.algorithm = "none"
    _is_refused(browser, place, "is not valid")


def test_an_id_token_signed_with_another_key_signs_nobody_in(
    browser: httpx2.Client, place: Place, provider: Provider
) -> None:
    provider.signing_key = rsa.generate_private_key(65537, 2048)
    _is_refused(browser, place, "is not valid")


def test_an_id_token_signed_with_a_shared_secret_signs_nobody_in(
    browser: httpx2.Client, place: Place, provider: Provider
) -> None:
    provider.algorithm, provider.signing_key = "HS256", "the client's secret or the public key" * 2
    _is_refused(browser, place, "is not valid")


def _is_refused(browser: httpx2.Client, place: Place, why: str) -> None:
    page = browser.get("/sign-in/oidc")
    assert page.status_code == 401
    assert 'role="alert"' in page.text
    assert browser.get("/").status_code == 401
    (line,) = place.log.read()
    assert line["outcome"].startswith("refused: ")
    assert why in line["outcome"]


def test_a_foreign_or_repeated_state_signs_nobody_in(
    browser: httpx2.Client, place: Place, provider: Provider
) -> None:
    browser.follow_redirects = False
    there = browser.get("/sign-in/oidc").headers["location"]
    back = browser.get(there).headers["location"]
    with httpx2.Client(base_url=place.address) as victim:
        assert victim.get(back).status_code == 401, "begun in another browser"
    assert browser.get(back).status_code == 401, "each state is good for one attempt"
    there = browser.get("/sign-in/oidc").headers["location"]
    back = browser.get(there).headers["location"]
    state = parse_qs(urlsplit(back).query)["state"][0]
    assert browser.get(back.replace(state, "invented")).status_code == 401
    assert browser.get(back).status_code == 200
    assert browser.get(back).headers["location"] == "/", "signed in already"


def test_the_code_is_worth_nothing_without_the_verifier_of_this_sign_in(
    browser: httpx2.Client, place: Place, provider: Provider
) -> None:
    browser.follow_redirects = False
    there = browser.get("/sign-in/oidc").headers["location"]
    back = browser.get(there).headers["location"]
    provider.asked["code_challenge"] = "of-another-sign-in"
    assert browser.get(back).status_code == 401


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"issuer": "http://idp.example"}, "must be an https"),
        ({"roles": {"x": "boss"}}, "roles"),
        ({"client_secret_file": "/no/such/file"}, "client_secret_file cannot be read"),
        ({"unknown": 1}, "unknown"),
    ],
)
def test_a_file_that_cannot_be_used_is_refused_with_a_reason(
    place: Place, change: dict[str, Any], said: str
) -> None:
    place.file.write_text(json.dumps(place.settings | change))
    with pytest.raises(BadInputError, match=said):
        OidcSettings.read(str(place.file))
