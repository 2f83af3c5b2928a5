"""Temporal's remote codec protocol: lets the Temporal UI and CLI show decrypted payloads.

`POST /encode`, `/decode` and `/download` take and return `{"payloads": […]}`; the path may start
with a namespace. References to the store are resolved; `/decode?preserveStorageRefs=true` keeps
them, and `/download` accepts nothing else. A caller can read everything, so the server listens on
loopback and answers pages of one origin only. If a token is set, callers must send it; beyond
loopback a token is required.

    RESEARCH_KEYS=keys.json python -m console.runtime.codec_server --origin http://127.0.0.1:8233

The token is the value of RESEARCH_CODEC_TOKEN, sent as `Authorization: Bearer …`.
"""

from __future__ import annotations

import hmac
import os
from collections.abc import Awaitable, Callable, Sequence
from typing import Annotated

import typer
from google.protobuf import json_format
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route
from temporalio.api.common.v1 import Payload, Payloads
from temporalio.converter import StorageDriverRetrieveContext

from console.errors import BadInputError, ConsoleError, exit_process
from console.runtime.connection import is_loopback
from console.runtime.data_converter import EncryptionCodec, StoreDriver, load_keyring, read_claim
from workflows.config.settings import Settings

TOKEN_VARIABLE = "RESEARCH_CODEC_TOKEN"  # noqa: S105
PORT = 8081
_MAX_BYTES = 64 * 1024 * 1024

app = typer.Typer()


def build_app(settings: Settings, host: str, origin: str | None, token: str | None) -> Starlette:
    """The application; `origin` is the Temporal UI's."""
    if not token and not is_loopback(host):
        raise BadInputError(
            f"Beyond loopback a token is required: set {TOKEN_VARIABLE}, or omit --host."
        )
    origin = origin.rstrip("/") if origin else None
    codec = EncryptionCodec(load_keyring(settings))
    store = StoreDriver(settings.store)

    async def resolve(payload: Payload, operation: str, keep_references: bool) -> Payload:
        claim = read_claim(payload)
        if claim is None and operation == "download":
            raise HTTPException(400, "only references can be downloaded")
        if claim is None or (keep_references and operation == "decode"):
            return payload
        [stored] = await store.retrieve(StorageDriverRetrieveContext(), [claim])
        return stored

    async def convert(request: Request) -> Response:
        operation = request.url.path.rstrip("/").rpartition("/")[2]
        if operation not in ("encode", "decode", "download"):
            raise HTTPException(404, "use /encode, /decode or /download")
        _check_token(request, token)
        payloads = (await _read_payloads(request)).payloads
        if operation == "encode":
            converted = await codec.encode(payloads)
        else:
            keep = request.query_params.get("preserveStorageRefs") == "true"
            converted = await codec.decode([await resolve(p, operation, keep) for p in payloads])
        body = json_format.MessageToJson(Payloads(payloads=converted), indent=None)
        return Response(body, media_type="application/json")

    async def answer(request: Request) -> Response:
        asked_from = request.headers.get("Origin")
        if asked_from is not None and asked_from != origin:
            # Any web page can send a request to this machine.
            return PlainTextResponse(f"not allowed: start with --origin {asked_from}", 403)
        preflight = request.method == "OPTIONS"
        response = Response(status_code=204) if preflight else await _catch(convert, request)
        if asked_from is not None:
            response.headers["Access-Control-Allow-Origin"] = asked_from
            response.headers["Access-Control-Allow-Methods"] = "POST, OPTIONS"
            allowed = "Authorization, Content-Type, X-Namespace"
            response.headers["Access-Control-Allow-Headers"] = allowed
        response.headers["Vary"] = "Origin"
        response.headers["Cache-Control"] = "no-store"
        return response

    return Starlette(routes=[Route("/{path:path}", answer, methods=["POST", "OPTIONS"])])


async def _catch(handler: Callable[[Request], Awaitable[Response]], request: Request) -> Response:
    try:
        return await handler(request)
    except HTTPException as error:
        return PlainTextResponse(error.detail, error.status_code)
    except (ConsoleError, RuntimeError) as error:
        # A key or a stored payload is missing; the message names it.
        return PlainTextResponse(str(error), 400)


async def _read_payloads(request: Request) -> Payloads:
    length = request.headers.get("Content-Length", "")
    if not length.isdigit() or int(length) > _MAX_BYTES:
        raise HTTPException(413, f"send at most {_MAX_BYTES} bytes, with a Content-Length")
    payloads = Payloads()
    try:
        json_format.Parse(await request.body(), payloads, ignore_unknown_fields=True)
    except (json_format.ParseError, UnicodeDecodeError) as error:
        raise HTTPException(400, 'send {"payloads": […]} as JSON') from error
    return payloads


def _check_token(request: Request, token: str | None) -> None:
    sent = request.headers.get("Authorization", "")
    if token and not hmac.compare_digest(sent.encode(), f"Bearer {token}".encode()):
        raise HTTPException(401, f"send the value of {TOKEN_VARIABLE} as a bearer token")


@app.command()
def serve(
    host: Annotated[str, typer.Option(help="The address to listen at.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(help="0 picks a free port.")] = PORT,
    origin: Annotated[str | None, typer.Option(help="The Temporal UI's address.")] = None,
) -> None:
    """Decode payloads for the Temporal UI and CLI."""
    import uvicorn

    settings = Settings.read(os.environ)
    if settings.keys is None:
        raise BadInputError("There is nothing to decode without keys: set RESEARCH_KEYS.")
    codec_app = build_app(settings, host, origin, os.environ.get(TOKEN_VARIABLE) or None)
    # No access log: neither callers nor requests are recorded.
    config = uvicorn.Config(
        codec_app, host, port, access_log=False, log_level="critical", lifespan="off", ws="none"
    )
    listener = config.bind_socket()
    print(f"The codec server listens at http://{host}:{listener.getsockname()[1]}", flush=True)
    uvicorn.Server(config).run(sockets=[listener])


def main(arguments: Sequence[str] | None = None) -> int:
    try:
        app(arguments)
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else 1
    except (ConsoleError, OSError) as error:
        typer.echo(str(error), err=True)
        return error.code if isinstance(error, ConsoleError) else 1
    return 0


if __name__ == "__main__":
    exit_process(main())
