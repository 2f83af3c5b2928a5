"""JSON and JSON Lines: every record is a document of its own.

A record with a text field is that text; its title and date are found by common names. Any other
record is written as `Key: value`, on one line if it is small enough to be quoted whole.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from activities.sources.documents import Unreadable
from activities.sources.formats.descriptions import find_date, first_heading, readable_name
from activities.sources.formats.extracted_text import Extract, fold
from activities.sources.formats.lines import unwrap
from activities.sources.formats.tables import column_name, row_line

_TEXT_KEYS = (
    "text", "body", "content", "contents", "article", "document", "passage", "paragraph_text",
    "full_text", "fulltext", "page_content", "message", "abstract", "summary", "description",
)  # fmt: skip
_TITLE_KEYS = ("title", "headline", "subject", "heading", "name", "label")
_DATE_KEYS = (
    "date", "published", "published_at", "publishedat", "publication_date", "publish_date",
    "pubdate", "date_published", "datepublished", "created", "created_at", "createdat", "timestamp",
    "time", "issued", "updated", "updated_at", "year",
)  # fmt: skip
_MOST_FIELDS = 16
_LONGEST_FIELD = 200
_MOST_REPORTED = 20


def extract_lines(text: str, relative: str) -> tuple[list[Extract], list[Unreadable]]:
    """The records of a JSON Lines file, and the lines that are none."""
    extracts: list[Extract] = []
    unreadable: list[Unreadable] = []
    for number, line in enumerate(text.split("\n"), 1):
        if not line.strip():
            continue
        try:
            record = json.loads(line)
        except (ValueError, RecursionError) as error:
            if len(unreadable) < _MOST_REPORTED:
                reason = f"is not JSON ({str(error)[:80]}); correct or remove this line"
                unreadable.append(Unreadable(f"{relative}#line-{number}", reason))
            continue
        extracts.append(_extract(record, relative, f"#line-{number}"))
    return extracts, unreadable


def extract_json(text: str, relative: str) -> list[Extract]:
    """The records of a JSON array, alone or as the one list in an object; else the whole object."""
    value = json.loads(text)
    if isinstance(value, dict):
        lists = [item for item in value.values() if _is_records(item)]
        if len(lists) != 1 or any(key.lower() in _TEXT_KEYS for key in value):
            return [_extract(value, relative, "")]
        value = lists[0]
    if not _is_records(value):
        return [_extract(value, relative, "")]
    return [_extract(item, relative, f"#item-{number}") for number, item in enumerate(value, 1)]


def _is_records(value: Any) -> bool:
    return isinstance(value, list) and bool(value) and all(isinstance(x, dict) for x in value)


def _extract(record: Any, relative: str, fragment: str) -> Extract:
    fields = _fields(record)
    text = _first(fields, _TEXT_KEYS)
    title = fold(_first(fields, _TITLE_KEYS))[:300]
    date = next((d for key in _DATE_KEYS if (d := _date(fields.get(key)))), None)
    if text:
        body = unwrap(text)
        return Extract(body, title or first_heading(body), date, usual="note", fragment=fragment)
    place = fragment.removeprefix("#").replace("-", " ")
    name = title or f"{readable_name(relative)} {place}".strip()
    return Extract(_written(record), name, date, usual="dataset", fragment=fragment)


def _fields(record: Any) -> dict[str, Any]:
    if not isinstance(record, dict):
        return {"text": record} if isinstance(record, str) else {}
    return {str(key).lower(): value for key, value in record.items()}


def _first(fields: dict[str, Any], keys: tuple[str, ...]) -> str:
    for key in keys:
        value = fields.get(key)
        if isinstance(value, str) and value.strip():
            return value
        if isinstance(value, list) and value and all(isinstance(item, str) for item in value):
            return "\n\n".join(value)
    return ""


def _date(value: Any) -> str | None:
    """A date in a field; seconds since 1970 are left alone, as ids look the same."""
    if isinstance(value, str):
        return find_date(value[:60])
    return find_date(str(value)) if isinstance(value, int) and 1500 < value < 2100 else None


def _written(record: Any) -> str:
    pairs = list(_flat(record, ""))
    small = len(pairs) <= _MOST_FIELDS and all(len(v) <= _LONGEST_FIELD for _, v in pairs)
    if small and pairs:
        return row_line([name for name, _ in pairs], [value for _, value in pairs])
    return "\n".join(f"{name}: {value}" if name else value for name, value in pairs)


def _flat(value: Any, name: str) -> Iterator[tuple[str, str]]:
    """Names and values of a nested record, in its own order."""
    if isinstance(value, dict):
        for key, item in value.items():
            yield from _flat(item, f"{name} {column_name(str(key))}".strip())
    elif isinstance(value, list) and all(isinstance(item, str | int | float) for item in value):
        if value:
            yield name, ", ".join(_scalar(item) for item in value)
    elif isinstance(value, list):
        for number, item in enumerate(value, 1):
            yield from _flat(item, f"{name} {number}".strip())
    elif value is not None and (text := _scalar(value)):
        yield name, text


def _scalar(value: Any) -> str:
    return ("yes" if value else "no") if isinstance(value, bool) else fold(str(value))
