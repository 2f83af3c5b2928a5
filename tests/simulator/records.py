"""What was asked, how it ended and what it cost: a list, and a file of JSON lines."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, TextIO

JsonObject = dict[str, Any]


@dataclass
class Record:
    """One request. `begun` is what the provider bills, `answered` is what the client got whole."""

    number: int
    """From 1, among the requests to the same path."""
    path: str
    at: float
    fingerprint: str | None = None
    """As the journal knows the turn: the body without `stream`."""
    model: str | None = None
    title: str | None = None
    """Of the schema the answer must follow."""
    stream: bool = False
    custom_id: str | None = None
    """In a batch."""
    in_flight: int = 0
    """Requests being answered when this one came, itself included."""
    begun: bool = False
    answered: bool = False
    outcome: str = "open"
    """`answered`, `abandoned` by the client, the kind of the error, or of the fault."""
    status: int | None = None
    error: str | None = None
    usage: JsonObject | None = None
    seconds: float | None = None

    def line(self) -> str:
        return json.dumps(asdict(self), ensure_ascii=False)


class Records:
    """All requests since the start; each is written to the file once it has ended."""

    def __init__(self, file: Path | None = None) -> None:
        self._file: TextIO | None = file.open("a", encoding="utf-8") if file else None
        self._counts: dict[str, int] = {}
        self._open = 0
        self.all: list[Record] = []

    def open(self, path: str, at: float, **about: Any) -> Record:
        self._counts[path] = number = self._counts.get(path, 0) + 1
        record = Record(number, path, at, **about)
        self.all.append(record)
        self._open += 1
        record.in_flight = self._open
        return record

    def end(self, record: Record, outcome: str, now: float) -> None:
        """The first ending counts."""
        if record.seconds is not None:
            return
        self._open -= 1
        record.outcome = outcome
        record.answered = outcome == "answered"
        record.seconds = round(now - record.at, 6)
        if self._file:
            self._file.write(record.line() + "\n")
            self._file.flush()

    def clear(self) -> None:
        self.all.clear()
        self._counts.clear()

    def close(self) -> None:
        if self._file:
            self._file.close()
            self._file = None
