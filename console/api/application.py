"""The API as an ASGI application, with its OpenAPI schema at `/api/v1/openapi.json`.

There is no page of documentation: the usual ones load scripts from elsewhere.
"""

from __future__ import annotations

import re
from typing import Any

from fastapi import Depends, FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.security import HTTPBearer
from starlette.exceptions import HTTPException
from starlette.responses import Response
from starlette.routing import Match, Mount
from temporalio.service import RPCError

from console.api import corpus_endpoints, job_control, job_endpoints, schedule_endpoints
from console.api.dependencies import describe_problems
from console.errors import ConsoleError
from console.web.problems import (
    MEDIA_TYPE,
    FieldProblem,
    describe_error,
    name_parameters,
    render_problem,
)
from console.web.state import AppState

PATH = "/api/v1"


class Api(FastAPI):
    def openapi(self) -> dict[str, Any]:
        """The schema, in which errors are of the type that they are sent with."""
        if self.openapi_schema is None:
            schema = super().openapi()
            for path in schema["paths"].values():
                for operation in path.values():
                    for status, response in operation["responses"].items():
                        if int(status) >= 400:
                            [content] = response["content"].values()
                            response["content"] = {MEDIA_TYPE: content}
        return super().openapi()


def build_api(state: AppState) -> Mount:
    api = Api(
        title="Durable research",
        version="1",
        docs_url=None,
        redoc_url=None,
        generate_unique_id_function=lambda route: route.name,
        # Only for the schema: `AuthMiddleware` has checked the token.
        dependencies=[Depends(HTTPBearer(auto_error=False))],
        responses=describe_problems(400, 401, 403, 404, 422, 429, 503),
        # Starlette passes the exception to the handler of its nearest class.
        exception_handlers={
            RequestValidationError: _handle_invalid,
            **dict.fromkeys((HTTPException, ConsoleError, RPCError, Exception), _handle),
        },
    )
    api.state.console = state
    for module in (job_endpoints, job_control, corpus_endpoints, schedule_endpoints):
        api.include_router(module.router)
    mount = Mount(PATH, api)
    # Otherwise a path with a line break would be answered by a page of the console.
    mount.path_regex = re.compile(mount.path_regex.pattern, re.DOTALL)
    return mount


async def _handle_invalid(_request: Request, error: RequestValidationError) -> Response:
    errors = [
        FieldProblem(field=".".join(map(str, item["loc"])), detail=str(item["msg"]))
        for item in error.errors()
    ]
    return render_problem(422, "The request is invalid: see `errors`.", errors)


async def _handle(request: Request, error: Exception) -> Response:
    status, detail = describe_error(error)
    headers = dict(error.headers or {}) if isinstance(error, HTTPException) else {}
    if status == 405:
        # The methods of all endpoints of the path; Starlette knows those of the first one.
        scope = {**request.scope, "root_path": request.scope["app_root_path"]}
        found = [r for r in request.app.routes if r.matches(scope)[0] is not Match.NONE]
        headers["Allow"] = ", ".join(sorted({name for r in found for name in r.methods or ()}))
    return render_problem(status, name_parameters(detail), headers=headers)
