"""Makes a recorded history fit to be kept: nothing of the machine in it, nothing missing from it.

Only what replay does not look at is changed: identities, stack traces, the name of a queue that
belonged to one process.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Callable, Iterator
from typing import Any

from temporalio.client import WorkflowHistory

Json = Any

_SOMEONE = re.compile(r"\b\d+@[\w.-]+")
"""How a Temporal client calls itself: process@machine."""
_PLACE = re.compile(r"/(?:home|root|Users|tmp|work|private|var|mnt|opt|srv)/[\w./-]+")
_ELSEWHERE = re.compile(r"external.?storage.?reference", re.IGNORECASE)
"""How a payload says that it lies in the store; a history that is kept must hold its own."""


def clean(history: WorkflowHistory) -> dict[str, Json]:
    """The history as JSON without traces of where it was recorded."""
    cleaned: dict[str, Json] = _walked(history.to_json_dict(), _washed)
    left = sorted(set(traces(cleaned)))
    if left:
        raise ValueError(f"the history of {history.workflow_id} still names {left[:5]}")
    return cleaned


def traces(history: Json) -> Iterator[str]:
    """What in a history tells where it was recorded, or lies outside of it."""
    for words in _strings(history):
        text = _decoded(words) or words
        yield from _SOMEONE.findall(text)
        yield from _PLACE.findall(text)
        if _ELSEWHERE.search(text):
            yield f"a payload in the store ({text[:80]})"


def _washed(key: str, words: str) -> str:
    if key == "stackTrace":
        return ""
    if key == "data" and (text := _decoded(words)):
        return base64.b64encode(_plain(text).encode()).decode()
    return _plain(words)


def _plain(text: str) -> str:
    return _PLACE.sub("somewhere", _SOMEONE.sub("someone", text))


def _decoded(words: str) -> str | None:
    """The text inside a payload; None where there is none."""
    try:
        return base64.b64decode(words, validate=True).decode()
    except ValueError:
        return None


def _walked(value: Json, wash: Callable[[str, str], str], key: str = "") -> Json:
    if isinstance(value, dict):
        return {name: _walked(item, wash, name) for name, item in value.items()}
    if isinstance(value, list):
        return [_walked(item, wash, key) for item in value]
    return wash(key, value) if isinstance(value, str) else value


def _strings(value: Json) -> Iterator[str]:
    if isinstance(value, dict):
        for item in value.values():
            yield from _strings(item)
    elif isinstance(value, list):
        for item in value:
            yield from _strings(item)
    elif isinstance(value, str):
        yield value
