"""What a worker read or wrote a moment ago: things that never change need not be fetched again."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Hashable
from typing import Any

LIMIT = 32_000_000
"""Bytes as they are stored; in memory they are some times larger."""


class Recent:
    """Values by key; when there are too many, those that were not asked for longest go first."""

    def __init__(self, limit: int = LIMIT) -> None:
        self._limit = limit
        self._size = 0
        self._values: OrderedDict[Hashable, tuple[Any, int]] = OrderedDict()

    def recall(self, key: Hashable) -> Any | None:
        if key not in self._values:
            return None
        self._values.move_to_end(key)
        return self._values[key][0]

    def remember(self, key: Hashable, value: Any, size: int) -> None:
        _, before = self._values.pop(key, (None, 0))
        self._values[key] = value, size
        self._size += size - before
        while self._size > self._limit:
            _, (_, oldest) = self._values.popitem(last=False)
            self._size -= oldest
