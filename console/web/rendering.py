"""The Jinja templates and their filters. All values are escaped."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from starlette.requests import Request
from starlette.responses import HTMLResponse

from console.text import capitalize, count, cut, duration, sentence, usd
from console.web.auth import Credentials
from console.web.state import AppState, Notice

HERE = Path(__file__).parent

TONES = {
    "good": ("completed", "found", "answered", "closed"),
    "busy": ("running",),
    "warn": (
        *("paused", "awaiting_approval", "cancelled", "partial", "contested", "open", "absent"),
        *("no_results", "left_out"),
    ),
    "bad": ("blocked", "failed", "terminated", "timed_out", "refused", "rate_limited"),
}
_TONE = {status: tone for tone, statuses in TONES.items() for status in statuses}
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
            "running_time": format_running_time,
            "time": format_time,
            "label": format_label,
            "tone": lambda status: _TONE.get(status, ""),
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
    if at is None:
        return ""
    seconds = (datetime.now(UTC) - at).total_seconds()
    for size, name in ((86400, "day"), (3600, "hour"), (60, "minute")):
        if seconds >= size:
            return f"{count(int(seconds // size), name)} ago"
    return "just now"


def format_running_time(seconds: float) -> str:
    """As `clock` in console.js writes it."""
    whole = max(0, int(seconds))
    hours, minutes = whole // 3600, whole % 3600 // 60
    if hours:
        return f"{hours} h {minutes:02} min"
    return f"{minutes}:{whole % 60:02}" if minutes else f"{whole} s"


def format_time(stamp: str | datetime | None) -> str:
    at = parse_time(stamp)
    return at.astimezone(UTC).strftime("%Y-%m-%d %H:%M UTC") if at else ""
