"""How the API says no: a status, a kind and a sentence, in the body every client knows."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

JsonObject = dict[str, Any]

KINDS = {
    400: "invalid_request_error",
    401: "authentication_error",
    403: "permission_error",
    404: "not_found_error",
    408: "timeout_error",
    409: "conflict_error",
    413: "request_too_large",
    429: "rate_limit_error",
    504: "timeout_error",
    529: "overloaded_error",
}


class ApiError(Exception):
    """An answer that is an error. Its kind follows from the status unless one is given."""

    def __init__(
        self,
        status: int,
        message: str,
        kind: str | None = None,
        headers: Mapping[str, str] | None = None,
        details: JsonObject | None = None,
    ) -> None:
        super().__init__(message)
        self.status = status
        self.message = message
        self.kind = kind or KINDS.get(status, "api_error")
        self.headers = dict(headers or {})
        self.details = details

    def body(self, request_id: str) -> JsonObject:
        error: JsonObject = {"type": self.kind, "message": self.message}
        if self.details is not None:
            error["details"] = self.details
        return {"type": "error", "error": error, "request_id": request_id}


def invalid(message: str) -> ApiError:
    return ApiError(400, message)


class ConnectionDropped(Exception):
    """The connection ends here, without another byte."""
