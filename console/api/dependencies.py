"""What every endpoint takes from its request: the console, the person, the job's id."""

from __future__ import annotations

from collections.abc import Callable
from http import HTTPStatus
from typing import Annotated, Any

from fastapi import Depends, Path, Request

from console.client.validation import JOB_ID
from console.web.auth import check_csrf
from console.web.people import Person, Role, require
from console.web.problems import Problem
from console.web.state import AppState

_SAFE_METHODS = ("GET", "HEAD", "OPTIONS")

Responses = dict[int | str, dict[str, Any]]


def describe_problems(*statuses: int) -> Responses:
    """Problems that endpoints answer with, for the schema."""
    return {
        status: {"model": Problem, "description": HTTPStatus(status).phrase} for status in statuses
    }


def _get_console(request: Request) -> AppState:
    state: AppState = request.app.state.console
    return state


def _needs(role: Role) -> Callable[[Request], Person]:
    def check(request: Request) -> Person:
        # A browser's cookie alone is not enough for a change; a bearer token is.
        if request.method not in _SAFE_METHODS:
            check_csrf(request, request.headers.get("x-csrf-token", ""))
        return require(request, role)

    return check


Console = Annotated[AppState, Depends(_get_console)]
Reader = Annotated[Person, Depends(_needs(Role.READER))]
Researcher = Annotated[Person, Depends(_needs(Role.RESEARCHER))]
Operator = Annotated[Person, Depends(_needs(Role.OPERATOR))]
JobId = Annotated[str, Path(pattern=f"^{JOB_ID}$", description="The job's id.")]
