"""Errors as problem details (RFC 9457), and what every endpoint takes from its request."""

from __future__ import annotations

import logging
import re
from collections.abc import Callable
from http import HTTPStatus
from typing import Annotated, Any

from fastapi import Depends, FastAPI, Path, Request
from fastapi.exceptions import RequestValidationError
from pydantic import BaseModel
from starlette.exceptions import HTTPException
from starlette.responses import JSONResponse, Response
from starlette.routing import Match
from temporalio.service import RPCError

from console.client.validation import JOB_ID
from console.errors import BadInputError, ConflictError, ConsoleError, NotFoundError, TooManyError
from console.web.auth import check_csrf
from console.web.people import Person, Role, require
from console.web.state import AppState

MEDIA_TYPE = "application/problem+json"
_SAFE_METHODS = ("GET", "HEAD", "OPTIONS")
_OPTION = re.compile(r"--([a-z][a-z-]*)")
_log = logging.getLogger(__name__)


class FieldProblem(BaseModel):
    field: str
    """The path of the field in the request, with dots: `body.budget.usd`."""
    detail: str


class Problem(BaseModel):
    """What went wrong, and what to do about it."""

    type: str = "about:blank"
    title: str
    status: int
    detail: str
    errors: list[FieldProblem] = []


Responses = dict[int | str, dict[str, Any]]


def describe_problems(*statuses: int) -> Responses:
    """The problems of an endpoint, for the schema."""
    return {
        status: {"model": Problem, "description": HTTPStatus(status).phrase}
        for status in (400, 401, 403, 422, 429, 503, *statuses)
    }


def get_console(request: Request) -> AppState:
    state: AppState = request.app.state.console
    return state


def _check_csrf(request: Request) -> None:
    """A browser's cookie alone is not enough for a change; a bearer token is."""
    if request.method not in _SAFE_METHODS:
        check_csrf(request, request.headers.get("x-csrf-token", ""))


def _needs(role: Role) -> Callable[[Request], Person]:
    def check(request: Request) -> Person:
        _check_csrf(request)
        return require(request, role)

    return check


Console = Annotated[AppState, Depends(get_console)]
Reader = Annotated[Person, Depends(_needs(Role.READER))]
Researcher = Annotated[Person, Depends(_needs(Role.RESEARCHER))]
JobId = Annotated[str, Path(pattern=f"^{JOB_ID}$", description="The job's id.")]
Operator = Annotated[Person, Depends(_needs(Role.OPERATOR))]


def name_fields(message: str) -> str:
    """A message of a command, with the names of fields instead of options."""
    return _OPTION.sub(lambda match: f"`{match[1].replace('-', '_')}`", message)


def render_problem(
    status: int,
    detail: str,
    errors: list[FieldProblem] | None = None,
    headers: dict[str, str] | None = None,
) -> Response:
    problem = Problem(
        title=HTTPStatus(status).phrase, status=status, detail=detail, errors=errors or []
    )
    return JSONResponse(problem.model_dump(), status, headers, media_type=MEDIA_TYPE)


def add_error_handlers(api: FastAPI) -> None:
    # Starlette passes the exception to the handler of its nearest class.
    api.add_exception_handler(RequestValidationError, _handle_invalid)
    for kind in (HTTPException, ConsoleError, RPCError, Exception):
        api.add_exception_handler(kind, _handle)


async def _handle_invalid(_request: Request, error: Exception) -> Response:
    found = error.errors() if isinstance(error, RequestValidationError) else ()
    errors = [
        FieldProblem(field=".".join(map(str, item["loc"])), detail=str(item["msg"]))
        for item in found
    ]
    return render_problem(422, "The request is invalid: see `errors`.", errors)


async def _handle(request: Request, error: Exception) -> Response:
    if isinstance(error, HTTPException):
        headers = dict(error.headers) if error.headers else {}
        if error.status_code == 405:
            headers["Allow"] = ", ".join(sorted(_find_methods(request)))
        return render_problem(error.status_code, str(error.detail), headers=headers)
    if isinstance(error, RPCError):
        detail = f"The Temporal server does not answer ({error.message}): try again."
        return render_problem(503, detail)
    if isinstance(error, ConsoleError):
        return render_problem(_find_status(error), name_fields(str(error)))
    _log.exception("a request could not be answered", exc_info=error)
    return render_problem(500, "An internal error occurred: the console's log shows it.")


def _find_methods(request: Request) -> set[str]:
    """The methods of all endpoints of a path; Starlette knows those of the first one."""
    scope = {**request.scope, "root_path": request.scope["app_root_path"]}
    return {
        method
        for route in request.app.routes
        if route.matches(scope)[0] is not Match.NONE
        for method in route.methods or ()
    }


def _find_status(error: ConsoleError) -> int:
    if isinstance(error, NotFoundError):
        return 404
    if isinstance(error, ConflictError):
        return 409
    if isinstance(error, TooManyError):
        return 429
    return 422 if isinstance(error, BadInputError) else 503
