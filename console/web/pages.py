"""Templates, and the words and numbers in them. Everything that is put into one is escaped."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from starlette.requests import Request
from starlette.responses import HTMLResponse

from console.live_words import cut
from console.report.markup import capital, lasted
from console.web.guard import Keys
from console.web.rooms import Notice, Rooms

HERE = Path(__file__).parent

TONES = {
    "running": "busy",
    "blocked": "bad",
    "paused": "warn",
    "awaiting_approval": "warn",
    "completed": "good",
    "failed": "bad",
    "cancelled": "warn",
    "terminated": "bad",
    "timed_out": "bad",
    "found": "good",
    "answered": "good",
    "closed": "good",
    "partial": "warn",
    "contested": "warn",
    "open": "warn",
    "absent": "warn",
    "partly": "warn",
    "no_results": "warn",
    "left_out": "warn",
    "refused": "bad",
    "rate_limited": "bad",
}
_WORDS = {
    "awaiting_approval": "waits for approval",
    "completed": "finished",
    "timed_out": "timed out",
    "cancelled": "cancelled",
}


class Pages:
    def __init__(self, rooms: Rooms, keys: Keys) -> None:
        self._rooms = rooms
        self._jinja = Environment(
            loader=FileSystemLoader(HERE / "templates"),
            autoescape=True,
            undefined=StrictUndefined,
            trim_blocks=True,
            lstrip_blocks=True,
        )
        self._jinja.filters |= {
            "usd": usd,
            "ago": ago,
            "lasting": lasting,
            "moment": moment,
            "word": word,
            "tone": tone,
            "count": count,
            "cut": cut,
            "sentence": sentence,
            "capital": capital,
            "lasted": lasted,
        }
        self._jinja.globals |= {"form_word": keys.form_word, "rooms": rooms}

    def answer(
        self,
        request: Request,
        name: str,
        status: int = 200,
        notice: Notice | None = None,
        **shown: Any,
    ) -> HTMLResponse:
        notice = notice or self._rooms.left(request.query_params.get("said"))
        shown |= {"notice": notice, "now": datetime.now(UTC)}
        return HTMLResponse(self._jinja.get_template(name).render(**shown), status_code=status)

    def part(self, name: str, **shown: Any) -> str:
        shown |= {"now": datetime.now(UTC)}
        return self._jinja.get_template(f"parts/{name}.html").render(**shown)


def usd(amount: float) -> str:
    return f"${amount:,.2f}" if amount >= 0.005 or amount == 0 else f"${amount:.4f}"


def word(name: str) -> str:
    return _WORDS.get(name, name.replace("_", " "))


def tone(name: str) -> str:
    return TONES.get(name, "bad" if name in ("timed_out", "failed") else "")


def count(number: int, one: str, many: str = "") -> str:
    return f"{number:,} {one if number == 1 else many or one + 's'}"


def sentence(text: str) -> str:
    """What workers and failures say, as a sentence."""
    text = text.strip().rstrip(".")
    return f"{text[:1].upper()}{text[1:]}{'' if text[-1] in '…?!' else '.'}" if text else ""


def when(stamp: str | datetime | None) -> datetime | None:
    """A time as the server, a state or a row writes it."""
    if stamp is None or isinstance(stamp, datetime):
        return stamp
    try:
        found = datetime.fromisoformat(stamp)
    except ValueError:
        return None
    return found if found.tzinfo else found.replace(tzinfo=UTC)


def ago(stamp: str | datetime | None) -> str:
    at = when(stamp)
    if at is None:
        return ""
    seconds = (datetime.now(UTC) - at).total_seconds()
    for size, name in ((86400, "day"), (3600, "hour"), (60, "minute")):
        if seconds >= size:
            return f"{count(int(seconds // size), name)} ago"
    return "just now"


def lasting(seconds: float) -> str:
    whole = max(0, int(seconds))
    hours, minutes = whole // 3600, whole % 3600 // 60
    if hours:
        return f"{hours} h {minutes:02} min"
    return f"{minutes}:{whole % 60:02}" if minutes else f"{whole} s"


def moment(stamp: str | datetime | None) -> str:
    at = when(stamp)
    return at.astimezone(UTC).strftime("%Y-%m-%d %H:%M UTC") if at else ""
