"""The Starlette application: routes and error pages."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import FileResponse, RedirectResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp
from temporalio.service import RPCError

from console.client.jobs import JobNotFoundError
from console.errors import BadInputError, ConsoleError
from console.web.actions import UPDATES, Actions
from console.web.ask_page import AskPages
from console.web.auth import AuthMiddleware, Credentials, scope_path
from console.web.forms import name_fields
from console.web.home import HomePage
from console.web.job_page import MEDIA_TYPES, JobPage, ReportDownloads
from console.web.rendering import HERE, Templates
from console.web.state import AppState

# Listed, because they are served without a token: no path of a request reaches the disk.
STATIC_FILES = {
    file.name: file for file in (HERE.parent / "palette.css", *(HERE / "static").iterdir())
}
# Slows down guessing the token.
_WRONG_TOKEN_SECONDS = 0.5

_log = logging.getLogger(__name__)


def build_app(state: AppState, token: str, port: int, *, loopback: bool) -> ASGIApp:
    credentials = Credentials(token, port)
    templates = Templates(state, credentials)
    home, job = HomePage(state, templates, credentials), JobPage(state, templates)
    downloads = ReportDownloads(state, templates)
    asks = AskPages(state, templates, credentials)
    actions = Actions(state, templates, credentials, job)

    async def sign_in_page(request: Request) -> Response:
        """Asks for the token; 401 until it is right."""
        wrong = request.query_params.get("token") is not None
        if request.method == "POST" and scope_path(request) == "/sign-in":
            form = await request.form(max_files=0, max_fields=4)
            if credentials.is_token(str(form.get("token", ""))):
                return credentials.sign_in(RedirectResponse("/", status_code=303))
            wrong = True
        if wrong:
            await asyncio.sleep(_WRONG_TOKEN_SECONDS)
        return templates.render(request, "sign_in.html", 401, wrong=wrong)

    async def redirect_home(_request: Request) -> Response:
        return RedirectResponse("/", status_code=303)

    def static(name: str) -> Callable[[Request], Awaitable[Response]]:
        async def send(_request: Request) -> Response:
            return FileResponse(STATIC_FILES[name])

        return send

    async def error_page(request: Request, error: Exception) -> Response:
        status, message = _describe_error(error)
        title = "Not found" if status == 404 else "Error"
        return templates.render(request, "error.html", status, title=title, message=message)

    path = "/jobs/{job_id}"
    app = Starlette(
        routes=[
            Route("/", home.show),
            Route("/", home.start_job, methods=["POST"]),
            Route("/sign-in", redirect_home, methods=["POST"]),
            Route("/events", home.stream),
            Route(path, job.show),
            Route(f"{path}/events", job.stream),
            Route(f"{path}/report", downloads.show),
            *(Route(f"{path}/report.{suffix}", downloads.download) for suffix in MEDIA_TYPES),
            Route(f"{path}/ask", asks.show),
            Route(f"{path}/ask", asks.ask, methods=["POST"]),
            Route(f"{path}/commission", asks.commission, methods=["POST"]),
            Route(f"{path}/compare", asks.compare),
            Route(f"{path}/restart", actions.confirm_restart),
            Route(f"{path}/restart", actions.restart, methods=["POST"]),
            Route(f"{path}/fork", actions.show_fork_form),
            Route(f"{path}/fork", actions.fork, methods=["POST"]),
            Route(f"{path}/approve", actions.approve, methods=["POST"]),
            Route(f"{path}/steer", actions.steer, methods=["POST"]),
            Route(f"{path}/resume", actions.resume, methods=["POST"]),
            Route(f"{path}/cancel", actions.cancel, methods=["POST"]),
            *(Route(f"{path}/{name}", actions.send_update, methods=["POST"]) for name in UPDATES),
            *(Route(f"/static/{name}", static(name)) for name in STATIC_FILES),
        ],
        exception_handlers=dict.fromkeys(
            (ConsoleError, RPCError, HTTPException, Exception), error_page
        ),
    )
    return AuthMiddleware(app, credentials, sign_in_page, loopback=loopback)


def _describe_error(error: Exception) -> tuple[int, str]:
    """The HTTP status and the message of an error page."""
    if isinstance(error, HTTPException):
        missing = error.status_code == 404
        return error.status_code, "There is no such page." if missing else error.detail
    if isinstance(error, BadInputError):
        return 404 if isinstance(error, JobNotFoundError) else 400, name_fields(str(error))
    if isinstance(error, ConsoleError):
        return 503, name_fields(str(error))
    if isinstance(error, RPCError):
        return 503, f"The Temporal server does not answer ({error.message}): try again."
    _log.exception("a page could not be rendered", exc_info=error)
    return 500, "An internal error occurred: the terminal of the console shows it."
