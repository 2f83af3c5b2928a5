"""The Starlette application: routes and error pages."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Sequence

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import FileResponse, RedirectResponse, Response
from starlette.routing import BaseRoute, Route
from starlette.types import ASGIApp
from temporalio.service import RPCError

from console.client.audit import AuditLog
from console.errors import BadInputError, ConsoleError, NotFoundError, TooManyError
from console.report.formats import FORMATS
from console.web.actions import UPDATES, Actions
from console.web.ask_page import AskPages
from console.web.auth import SHARED_PATH, Authenticator, AuthMiddleware, scope_path
from console.web.forms import name_fields, read_form
from console.web.home import HomePage
from console.web.job_page import JobPage, ReportDownloads
from console.web.oidc import (
    CALLBACK_PATH,
    SIGN_IN_SECONDS,
    START_PATH,
    OidcProvider,
    OidcSettings,
    SignInError,
)
from console.web.people import People, SignIn
from console.web.rendering import HERE, Templates
from console.web.state import AppState

# Listed, because they are served without a token: no path of a request reaches the disk.
STATIC_FILES = {
    file.name: file for file in (HERE.parent / "palette.css", *(HERE / "static").iterdir())
}
_OIDC_COOKIE = "research_sign_in"

_log = logging.getLogger(__name__)


def build_app(
    state: AppState,
    token: str,
    port: int,
    *,
    loopback: bool,
    more: Sequence[BaseRoute] = (),
) -> ASGIApp:
    """The console, and `more` routes behind the same access control."""
    people = People.of(state.settings, token)
    people.check()
    authenticator = Authenticator(people, AuditLog(state.settings), port)
    oidc = OidcProvider(OidcSettings.read(state.settings.oidc)) if state.settings.oidc else None
    templates = Templates(state)
    home, job = HomePage(state, templates), JobPage(state, templates)
    downloads = ReportDownloads(state, templates, authenticator)
    asks = AskPages(state, templates)
    actions = Actions(state, templates, job)

    async def sign_in(request: Request) -> Response:
        """Asks for the token; 401 until it is right."""
        wrong = "This token is not valid." if "token" in request.query_params else ""
        try:
            if request.method == "POST" and scope_path(request) == "/sign-in":
                form = await request.form(max_files=0, max_fields=4)
                if found := authenticator.check_token(request, str(form.get("token", ""))):
                    home = RedirectResponse("/", status_code=303)
                    return authenticator.open_session(request, found, home)
                wrong = "This token is not valid."
            if oidc is not None and request.method == "GET":
                if scope_path(request) == START_PATH:
                    return await begin_oidc(oidc)
                if scope_path(request) == CALLBACK_PATH:
                    return await finish_oidc(oidc, request)
        except SignInError as error:
            authenticator.record(request, None, "sign in", f"refused: {error}")
            wrong = str(error)
        except HTTPException as error:
            if error.status_code != 429:
                raise
            return templates.render(
                request, "sign_in.html", 429, headers=error.headers, wrong=error.detail, oidc=oidc
            )
        return templates.render(request, "sign_in.html", 401, wrong=wrong, oidc=oidc)

    async def begin_oidc(oidc: OidcProvider) -> Response:
        url, sent = await oidc.begin()
        response = RedirectResponse(url, status_code=303)
        # Lax: the browser comes back from another site.
        response.set_cookie(_OIDC_COOKIE, sent, max_age=SIGN_IN_SECONDS, path=START_PATH,
                            httponly=True, samesite="lax")  # fmt: skip
        return response

    async def finish_oidc(oidc: OidcProvider, request: Request) -> Response:
        cookie = request.cookies.get(_OIDC_COOKIE, "")
        person = await oidc.finish(request.query_params, cookie)
        # A page, not a redirect: after one the browser, which comes from another site, would not
        # send the strict cookie.
        page = templates.render(request, "signed_in.html", person=person)
        page.delete_cookie(_OIDC_COOKIE, path=START_PATH)
        return authenticator.open_session(request, SignIn(person), page)

    async def redirect_home(_request: Request) -> Response:
        return RedirectResponse("/", status_code=303)

    async def sign_out(request: Request) -> Response:
        await read_form(request)
        return authenticator.close_session(request, RedirectResponse("/", status_code=303))

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
            *(
                Route(path, redirect_home, methods=["GET", "POST"])
                for path in ("/sign-in", START_PATH, CALLBACK_PATH)
            ),
            Route("/sign-out", sign_out, methods=["POST"]),
            Route("/events", home.stream),
            Route(path, job.show),
            Route(f"{path}/events", job.stream),
            Route(f"{path}/report", downloads.show),
            *(Route(f"{path}/report.{suffix}", downloads.download) for suffix in FORMATS),
            Route(f"{path}/feedback", downloads.call_citation_wrong, methods=["POST"]),
            Route(f"{path}/share", downloads.show_links),
            Route(f"{path}/share", downloads.change_links, methods=["POST"]),
            Route(f"{SHARED_PATH}{{job_id}}/{{secret}}", downloads.show_shared),
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
            Route(f"{path}/delete", actions.delete, methods=["POST"]),
            *(Route(f"{path}/{name}", actions.send_update, methods=["POST"]) for name in UPDATES),
            *more,
            *(Route(f"/static/{name}", static(name)) for name in STATIC_FILES),
        ],
        exception_handlers=dict.fromkeys(
            (ConsoleError, RPCError, HTTPException, Exception), error_page
        ),
    )
    return AuthMiddleware(app, authenticator, sign_in, loopback=loopback)


def _describe_error(error: Exception) -> tuple[int, str]:
    """The HTTP status and the message of an error page."""
    if isinstance(error, HTTPException):
        missing = error.status_code == 404
        return error.status_code, "There is no such page." if missing else error.detail
    if isinstance(error, BadInputError):
        return 404 if isinstance(error, NotFoundError) else 400, name_fields(str(error))
    if isinstance(error, ConsoleError):
        return 429 if isinstance(error, TooManyError) else 503, name_fields(str(error))
    if isinstance(error, RPCError):
        return 503, f"The Temporal server does not answer ({error.message}): try again."
    _log.exception("a page could not be rendered", exc_info=error)
    return 500, "An internal error occurred: the terminal of the console shows it."
