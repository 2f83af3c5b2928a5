"""The application: which address leads to which page, and what is shown when something is wrong."""

from __future__ import annotations

import asyncio
import logging
from pathlib import Path

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import FileResponse, RedirectResponse, Response
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles
from starlette.types import ASGIApp
from temporalio.service import RPCError

from console.client.jobs import NoJobError
from console.errors import BadInputError, ConsoleError
from console.web.actions import TOLD, Actions
from console.web.auth import Guard, Keys
from console.web.downloads import Papers
from console.web.forms import in_words
from console.web.home import Front
from console.web.job_page import JobPage
from console.web.rendering import HERE, Pages
from console.web.state import Rooms

_PALETTE = Path(__file__).parent.parent / "palette.css"
# Guessing the token one by one is made slow; nobody who mistypes it notices.
_WRONG_TOKEN_SECONDS = 0.5

_log = logging.getLogger(__name__)


def application(rooms: Rooms, token: str, port: int, *, loopback: bool) -> ASGIApp:
    keys = Keys(token, port)
    pages = Pages(rooms, keys)
    front, job, papers = Front(rooms, pages, keys), JobPage(rooms, pages), Papers(rooms)
    actions = Actions(rooms, pages, keys, job)

    async def door(request: Request) -> Response:
        """The token is asked for; 401 until it is right."""
        wrong = request.query_params.get("token") is not None
        if request.method == "POST" and request.url.path == "/enter":
            form = await request.form(max_files=0, max_fields=4)
            if keys.opens(str(form.get("token", ""))):
                return keys.let_in(RedirectResponse("/", status_code=303))
            wrong = True
        if wrong:
            await asyncio.sleep(_WRONG_TOKEN_SECONDS)
        return pages.answer(request, "door.html", 401, wrong=wrong)

    async def entered(_request: Request) -> Response:
        return RedirectResponse("/", status_code=303)

    async def palette(_request: Request) -> Response:
        return FileResponse(_PALETTE, media_type="text/css")

    async def failed(request: Request, error: Exception) -> Response:
        status, said = _said(error)
        return pages.answer(request, "trouble.html", status, said=said, missing=status == 404)

    at = "/jobs/{job_id}"
    app = Starlette(
        routes=[
            Route("/", front.home),
            Route("/", front.ask, methods=["POST"]),
            Route("/enter", entered, methods=["POST"]),
            Route("/events", front.events),
            Route(at, job.show),
            Route(f"{at}/events", job.events),
            Route(f"{at}/report", papers.read),
            *(Route(f"{at}/report.{kind}", papers.take) for kind in papers.KINDS),
            Route(f"{at}/restart", actions.ask_restart),
            Route(f"{at}/restart", actions.restart, methods=["POST"]),
            Route(f"{at}/fork", actions.ask_fork),
            Route(f"{at}/fork", actions.fork, methods=["POST"]),
            Route(f"{at}/approve", actions.approve, methods=["POST"]),
            Route(f"{at}/steer", actions.steer, methods=["POST"]),
            Route(f"{at}/cancel", actions.cancel, methods=["POST"]),
            *(Route(f"{at}/{what}", actions.tell, methods=["POST"]) for what in TOLD),
            Route("/static/palette.css", palette),
            Mount("/static", StaticFiles(directory=HERE / "static")),
        ],
        exception_handlers={
            ConsoleError: failed,
            RPCError: failed,
            HTTPException: failed,
            Exception: failed,
        },
    )
    return Guard(app, keys, door, loopback=loopback)


def _said(error: Exception) -> tuple[int, str]:
    """The status and the sentence for something that went wrong."""
    if isinstance(error, HTTPException):
        return (
            error.status_code,
            "There is no such page." if error.status_code == 404 else error.detail,
        )
    if isinstance(error, BadInputError):
        return 404 if isinstance(error, NoJobError) else 400, in_words(str(error))
    if isinstance(error, ConsoleError):
        return 503, in_words(str(error))
    if isinstance(error, RPCError):
        return 503, f"The Temporal server does not answer ({error.message}): try again."
    _log.exception("a page could not be made", exc_info=error)
    return 500, "Something went wrong here that should not: the terminal of the console says what."
