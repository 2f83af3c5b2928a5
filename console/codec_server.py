"""Lets the Temporal UI and CLI show what only holders of the keys can read.

It speaks their protocol for remote codecs: `POST /encode`, `/decode` and `/download` take and give
`{"payloads": […]}`; before one of these a path may name the namespace. Payloads that live in the
store are fetched; `/decode?preserveStorageRefs=true` leaves the references, `/download` takes
nothing else. Whoever can ask it can read everything, so it serves this machine only, and pages of
one origin only; where a token is set, and beyond this machine one must be, it is asked for.

    RESEARCH_KEYS=keys.json python -m console.codec_server --port 8081 --origin http://127.0.0.1:8233

The token is RESEARCH_CODEC_TOKEN's value, sent as `Authorization: Bearer …`.
"""

from __future__ import annotations

import argparse
import asyncio
import hmac
import ipaddress
import os
import sys
from collections.abc import Sequence
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, urlsplit

from google.protobuf import json_format
from temporalio.api.common.v1 import Payload, Payloads
from temporalio.converter import StorageDriverRetrieveContext

from console.confidential import Codec, keyring
from console.faults import BadInputError, ConsoleError, leave
from console.payloads import StoreDriver, claim_of
from workflows.config.settings import Settings

TOKEN_VARIABLE = "RESEARCH_CODEC_TOKEN"  # noqa: S105
PORT = 8081
_LARGEST = 64 * 1024 * 1024


class RefusedError(Exception):
    def __init__(self, status: HTTPStatus, reason: str) -> None:
        super().__init__(reason)
        self.status = status


class Desk:
    """What is done with the payloads somebody sends."""

    def __init__(self, settings: Settings) -> None:
        self._codec = Codec(keyring(settings))
        self._store = StoreDriver(settings.store)

    async def answer(self, verb: str, payloads: Sequence[Payload], keep: bool) -> list[Payload]:
        if verb == "encode":
            return await self._codec.encode(payloads)
        found = [await self._fetched(payload, verb, keep) for payload in payloads]
        return await self._codec.decode(found)

    async def _fetched(self, payload: Payload, verb: str, keep: bool) -> Payload:
        claim = claim_of(payload)
        if claim is None and verb == "download":
            raise RefusedError(HTTPStatus.BAD_REQUEST, "only references can be downloaded")
        if claim is None or (keep and verb == "decode"):
            return payload
        [stored] = await self._store.retrieve(StorageDriverRetrieveContext(), [claim])
        return stored


class CodecServer(ThreadingHTTPServer):
    """Serves until it is shut down. `origin` is the UI's, `token` what callers must show."""

    daemon_threads = True

    def __init__(
        self, settings: Settings, host: str, port: int, origin: str | None, token: str | None
    ) -> None:
        if not token and not _is_loopback(host):
            raise BadInputError(
                f"Beyond this machine a token is asked for: set {TOKEN_VARIABLE}, or leave --host"
                " away."
            )
        self.desk = Desk(settings)
        self.origin = origin.rstrip("/") if origin else None
        self.token = token
        super().__init__((host, port), _Handler)


class _Handler(BaseHTTPRequestHandler):
    server: CodecServer
    protocol_version = "HTTP/1.1"
    timeout = 60

    def do_OPTIONS(self) -> None:
        """A browser asks before it sends: only pages of the UI may."""
        try:
            self._check_origin()
        except RefusedError as refused:
            return self._reply(refused.status, str(refused).encode(), "text/plain")
        return self._reply(HTTPStatus.NO_CONTENT, b"", "text/plain")

    def do_POST(self) -> None:
        try:
            body = self._read()
            self._check_origin()
            self._check_token()
            said = self._answer(body)
        except RefusedError as refused:
            return self._reply(refused.status, str(refused).encode(), "text/plain")
        except (ConsoleError, RuntimeError) as error:
            # A key or a stored payload is missing: the message says which.
            return self._reply(HTTPStatus.BAD_REQUEST, str(error).encode(), "text/plain")
        return self._reply(HTTPStatus.OK, said, "application/json")

    def _answer(self, body: bytes) -> bytes:
        url = urlsplit(self.path)
        verb = url.path.rstrip("/").rpartition("/")[2]
        if verb not in ("encode", "decode", "download"):
            raise RefusedError(HTTPStatus.NOT_FOUND, "use /encode, /decode or /download")
        keep = parse_qs(url.query).get("preserveStorageRefs") == ["true"]
        given = Payloads()
        try:
            json_format.Parse(body, given, ignore_unknown_fields=True)
        except (json_format.ParseError, UnicodeDecodeError) as error:
            raise RefusedError(HTTPStatus.BAD_REQUEST, 'send {"payloads": […]} as JSON') from error
        answer = asyncio.run(self.server.desk.answer(verb, given.payloads, keep))
        return json_format.MessageToJson(Payloads(payloads=answer), indent=None).encode()

    def _read(self) -> bytes:
        length = self.headers.get("Content-Length") or ""
        if not length.isdigit() or int(length) > _LARGEST:
            # What is not read cannot be skipped either.
            self.close_connection = True
            raise RefusedError(
                HTTPStatus.REQUEST_ENTITY_TOO_LARGE, f"send at most {_LARGEST} bytes, and say so"
            )
        return self.rfile.read(int(length))

    def _check_origin(self) -> None:
        """A page of any site can send to this machine; only the UI's pages are answered."""
        origin = self.headers.get("Origin")
        if origin is not None and origin != self.server.origin:
            raise RefusedError(
                HTTPStatus.FORBIDDEN, f"start the codec server with --origin {origin}, if it is so"
            )

    def _check_token(self) -> None:
        token = self.server.token
        shown = self.headers.get("Authorization") or ""
        if token and not hmac.compare_digest(shown.encode(), f"Bearer {token}".encode()):
            raise RefusedError(HTTPStatus.UNAUTHORIZED, f"send the token {TOKEN_VARIABLE} holds")

    def _reply(self, status: HTTPStatus, body: bytes, kind: str) -> None:
        self.send_response(status)
        origin = self.headers.get("Origin")
        if origin is not None and origin == self.server.origin:
            self.send_header("Access-Control-Allow-Origin", origin)
            self.send_header("Access-Control-Allow-Methods", "POST, OPTIONS")
            self.send_header(
                "Access-Control-Allow-Headers", "Authorization, Content-Type, X-Namespace"
            )
        self.send_header("Vary", "Origin")
        self.send_header("Cache-Control", "no-store")
        self.send_header("Content-Type", f"{kind}; charset=utf-8")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        """Nothing: neither who asked nor what for is written down."""


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m console.codec_server", description="Decode payloads for the Temporal UI."
    )
    parser.add_argument("--host", default="127.0.0.1", help="where to listen")
    parser.add_argument("--port", type=int, default=PORT, help="0 has one chosen")
    parser.add_argument("--origin", help="the UI's address, as a browser shows it")
    asked = parser.parse_args(arguments)
    try:
        token = os.environ.get(TOKEN_VARIABLE) or None
        settings = Settings.read(os.environ)
        if settings.keys is None:
            raise BadInputError("There is nothing to decode without keys: set RESEARCH_KEYS.")
        with CodecServer(settings, asked.host, asked.port, asked.origin, token) as server:
            print(
                f"The codec server listens at http://{asked.host}:{server.server_port}", flush=True
            )
            server.serve_forever()
    except KeyboardInterrupt:
        return 0
    except (ConsoleError, OSError) as error:
        print(error, file=sys.stderr)
        return error.code if isinstance(error, ConsoleError) else 1
    return 0


if __name__ == "__main__":
    leave(main())
