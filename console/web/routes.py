"""The Starlette application: routes and error pages."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import FileResponse, RedirectResponse, Response
from starlette.routing import BaseRoute, Route
from starlette.types import ASGIApp
from temporalio.service import RPCError

from console.client.audit import AuditLog
from console.client.validation import check_job_id
from console.errors import ConsoleError
from console.report.formats import FORMATS
from console.web.auth import SHARED_PATH, Authenticator, AuthMiddleware, scope_path
from console.web.forms import name_fields, read_form
from console.web.home import HomePage
from console.web.job_page import CONTROLS, FORMS, JobPage
from console.web.oidc import (
    CALLBACK_PATH,
    SIGN_IN_SECONDS,
    START_PATH,
    OidcProvider,
    OidcSettings,
    SignInError,
)
from console.web.people import ACTIONS, People, SignIn, require
from console.web.problems import describe_error
from console.web.rendering import HERE, Templates
from console.web.report_pages import ReportPages
from console.web.state import AppState

# Listed, because they are served without a token: no path of a request reaches the disk.
STATIC_FILES = {
    file.name: file for file in (HERE.parent / "palette.css", *(HERE / "static").iterdir())
}
_OIDC_COOKIE = "research_sign_in"

Page = Callable[[Request], Awaitable[Response]]


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
    home, jobs = HomePage(state, templates), JobPage(state, templates)
    reports = ReportPages(state, templates, authenticator)

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

    async def send_static(request: Request) -> Response:
        if file := STATIC_FILES.get(request.path_params["name"]):
            return FileResponse(file)
        raise HTTPException(404)

    async def error_page(request: Request, error: Exception) -> Response:
        status, message = describe_error(error)
        if isinstance(error, HTTPException) and status == 404:
            message = "There is no such page."
        title = "Not found" if status == 404 else "Error"
        text = name_fields(message)
        return templates.render(request, "error.html", status, title=title, message=text)

    job = "/jobs/{job_id}"
    pages = [
        ("GET", "/", "read", home.show),
        ("POST", "/", "start", home.start_job),
        ("GET", "/events", "read", home.stream),
        ("GET", job, "read", jobs.show),
        ("GET", f"{job}/events", "read", jobs.stream),
        *(("POST", f"{job}/{name}", name, jobs.control) for name in (*FORMS, *CONTROLS)),
        ("GET", f"{job}/restart", "restart", jobs.confirm_restart),
        ("POST", f"{job}/delete", "delete", jobs.delete),
        ("GET", f"{job}/fork", "fork", jobs.show_fork_form),
        ("POST", f"{job}/fork", "fork", jobs.fork),
        ("GET", f"{job}/report", "read", reports.show),
        *(("GET", f"{job}/report.{suffix}", "read", reports.download) for suffix in FORMATS),
        ("POST", f"{job}/feedback", "read", reports.call_citation_wrong),
        ("GET", f"{job}/compare", "read", reports.compare),
        ("GET", f"{job}/share", "share", reports.show_links),
        ("POST", f"{job}/share", "share", reports.change_links),
        ("GET", f"{job}/ask", "ask", reports.show_ask_form),
        ("POST", f"{job}/ask", "ask", reports.ask),
        ("POST", f"{job}/commission", "commission", reports.commission),
    ]
    app = Starlette(
        routes=[
            *(
                Route(path, _allow(action, page), methods=[method])
                for method, path, action, page in pages
            ),
            *(
                Route(path, redirect_home, methods=["GET", "POST"])
                for path in ("/sign-in", START_PATH, CALLBACK_PATH)
            ),
            Route("/sign-out", sign_out, methods=["POST"]),
            Route(f"{SHARED_PATH}{{job_id}}/{{secret}}", reports.show_shared),
            *more,
            Route("/static/{name}", send_static),
        ],
        exception_handlers=dict.fromkeys(
            (ConsoleError, RPCError, HTTPException, Exception), error_page
        ),
    )
    return AuthMiddleware(app, authenticator, sign_in, loopback=loopback)


def _allow(action: str, page: Page) -> Page:
    """The page, for those who may do this, and with a job's id that can be one."""

    async def check(request: Request) -> Response:
        require(request, ACTIONS[action])
        if "job_id" in request.path_params:
            check_job_id(request.path_params["job_id"])
        return await page(request)

    return check
