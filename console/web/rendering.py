"""The Jinja templates and their filters. All values are escaped."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from starlette.requests import Request
from starlette.responses import HTMLResponse

from console.text import age, capitalize, clock, count, cut, duration, sentence, tone, usd
from console.web.auth import Credentials
from console.web.state import AppState, Notice

HERE = Path(__file__).parent

_LABELS = {"awaiting_approval": "waits for approval", "completed": "finished"}


class Templates:
    def __init__(self, state: AppState, credentials: Credentials) -> None:
        self._state = state
        self._jinja = Environment(
            loader=FileSystemLoader(HERE / "templates"),
            autoescape=True,
            undefined=StrictUndefined,
            trim_blocks=True,
            lstrip_blocks=True,
        )
        self._jinja.filters |= {
            "usd": usd,
            "ago": format_age,
            "clock": clock,
            "time": format_time,
            "label": format_label,
            "tone": tone,
            "count": count,
            "cut": cut,
            "sentence": sentence,
            "capitalize": capitalize,
            "duration": duration,
        }
        self._jinja.globals |= {"csrf_token": credentials.csrf_token, "state": state}

    def render(
        self,
        request: Request,
        name: str,
        status: int = 200,
        notice: Notice | None = None,
        **values: Any,
    ) -> HTMLResponse:
        notice = notice or self._state.pop_notice(request.query_params.get("notice"))
        values |= {"notice": notice, "now": datetime.now(UTC)}
        return HTMLResponse(self._jinja.get_template(name).render(**values), status_code=status)

    def render_part(self, name: str, **values: Any) -> str:
        values |= {"now": datetime.now(UTC)}
        return self._jinja.get_template(f"parts/{name}.html").render(**values)


def format_label(status: str) -> str:
    return _LABELS.get(status, status.replace("_", " "))


def parse_time(stamp: str | datetime | None) -> datetime | None:
    if stamp is None or isinstance(stamp, datetime):
        return stamp
    try:
        found = datetime.fromisoformat(stamp)
    except ValueError:
        return None
    return found if found.tzinfo else found.replace(tzinfo=UTC)


def format_age(stamp: str | datetime | None) -> str:
    at = parse_time(stamp)
    return f"{age((datetime.now(UTC) - at).total_seconds())} ago" if at else ""


def format_time(stamp: str | datetime | None) -> str:
    at = parse_time(stamp)
    return at.astimezone(UTC).strftime("%Y-%m-%d %H:%M UTC") if at else ""
