"""Errors as a status and a sentence, and for programs as problem details (RFC 9457)."""

from __future__ import annotations

import logging
import re
from collections.abc import Mapping
from http import HTTPStatus

from pydantic import BaseModel
from starlette.exceptions import HTTPException
from starlette.responses import JSONResponse, Response
from temporalio.service import RPCError

from console.errors import ConsoleError

MEDIA_TYPE = "application/problem+json"
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


def describe_error(error: Exception) -> tuple[int, str]:
    """The HTTP status and the message, which may name options of the command line."""
    if isinstance(error, HTTPException):
        return error.status_code, error.detail
    if isinstance(error, ConsoleError):
        return error.http_status, str(error)
    if isinstance(error, RPCError):
        return 503, f"The Temporal server does not answer ({error.message}): try again."
    _log.exception("a request could not be answered", exc_info=error)
    return 500, "An internal error occurred: the log of the console shows it."


def name_parameters(message: str) -> str:
    """A message of a command, with the names of parameters instead of options."""
    return _OPTION.sub(lambda match: f"`{match[1].replace('-', '_')}`", message)


def render_problem(
    status: int,
    detail: str,
    errors: list[FieldProblem] | None = None,
    headers: Mapping[str, str] | None = None,
) -> Response:
    problem = Problem(
        title=HTTPStatus(status).phrase, status=status, detail=detail, errors=errors or []
    )
    return JSONResponse(problem.model_dump(), status, headers, media_type=MEDIA_TYPE)
