"""The API as an ASGI application, with its OpenAPI schema at `/api/v1/openapi.json`.

There is no page of documentation: the usual ones load scripts from elsewhere.
"""

from __future__ import annotations

import re
from typing import Any

from fastapi import Depends, FastAPI
from fastapi.security import HTTPBearer
from starlette.routing import Mount

from console.api import corpus_endpoints, job_control, job_endpoints, schedule_endpoints
from console.api.problems import MEDIA_TYPE, add_error_handlers
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
    )
    api.state.console = state
    for module in (job_endpoints, job_control, corpus_endpoints, schedule_endpoints):
        api.include_router(module.router)
    add_error_handlers(api)
    mount = Mount(PATH, api)
    # Otherwise a path with a line break would be answered by a page of the console.
    mount.path_regex = re.compile(mount.path_regex.pattern, re.DOTALL)
    return mount
