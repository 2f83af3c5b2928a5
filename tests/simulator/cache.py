"""The prompt cache: what of a request was read before, what it writes, what it pays in full.

A marker writes the prefix that ends with its block. A later request reads the longest prefix that
is still kept and ends at one of its own markers or up to twenty blocks before one. A prefix can be
read only once the answer that wrote it has begun, so cold requests side by side all miss.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from tests.simulator.blocks import (
    characters,
    exact,
    nested,
    prompt_blocks,
    tokens,
)

JsonObject = dict[str, Any]

MINIMUM = 512
LOOKBACK = 20
LIFETIMES = {"5m": 300.0, "1h": 3600.0}


@dataclass(frozen=True)
class Boundary:
    """The end of a block: everything up to it, as a digest and as tokens."""

    digest: str
    tokens: int


@dataclass(frozen=True)
class Account:
    """How one request's input is paid. Its entries are not readable before `begin`."""

    input_tokens: int
    read: int
    written: dict[str, int]
    entries: dict[str, float] = field(repr=False)
    """Digest to lifetime in seconds."""

    def usage(self, content: list[JsonObject]) -> JsonObject:
        """What is billed for an answer with this content.

        Server tools make an answer of several passes. Each pass after the first reads again all
        that came before it, and writes what is new: the usage has their sums.
        """
        written = dict(self.written)
        plain, read = self.input_tokens, self.read
        total = plain + read + sum(written.values())
        is_cached = bool(self.entries)
        for new in passes(content):
            # Without a mark in the request nothing is cached, and every pass pays for all of it.
            if is_cached:
                read += total
                written["5m"] += new
            else:
                plain += total + new
            total += new
        return {
            "input_tokens": plain,
            "cache_creation_input_tokens": sum(written.values()),
            "cache_read_input_tokens": read,
            "cache_creation": {
                "ephemeral_5m_input_tokens": written["5m"],
                "ephemeral_1h_input_tokens": written["1h"],
            },
        }


class PromptCache:
    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._until: dict[str, float] = {}

    def look(self, body: JsonObject) -> Account:
        """What this request reads now and will write when its answer begins."""
        boundaries, markers = _prompt(body)
        total = boundaries[-1].tokens
        long_enough = {n: ttl for n, ttl in markers.items() if boundaries[n].tokens >= MINIMUM}
        read_at = max((self._hit(boundaries, n) for n in long_enough), default=-1)
        read = boundaries[read_at].tokens if read_at >= 0 else 0
        written = {"5m": 0, "1h": 0}
        paid = read
        for n in sorted(long_enough):
            if n > read_at:
                written[long_enough[n]] += boundaries[n].tokens - paid
                paid = boundaries[n].tokens
        entries = {boundaries[n].digest: LIFETIMES[ttl] for n, ttl in long_enough.items()}
        if read_at >= 0:
            # A read keeps an entry for another five minutes at least.
            entries.setdefault(boundaries[read_at].digest, LIFETIMES["5m"])
        return Account(total - paid, read, written, entries)

    def begin(self, account: Account) -> None:
        """The answer has begun: from now on others can read what it wrote."""
        now = self._clock()
        for digest, lifetime in account.entries.items():
            self._until[digest] = max(now + lifetime, self._until.get(digest, 0.0))

    def forget(self) -> None:
        self._until.clear()

    def _hit(self, boundaries: list[Boundary], marker: int) -> int:
        now = self._clock()
        for n in range(marker, max(-1, marker - LOOKBACK), -1):
            if self._until.get(boundaries[n].digest, 0.0) > now:
                return n
        return -1


def passes(content: list[JsonObject]) -> list[int]:
    """The tokens that each pass after the first reads anew: calls and results before it."""
    found: list[int] = []
    new, after_result = 0, False
    for block in content:
        is_result = block["type"].endswith("_tool_result")
        if after_result and not is_result:
            found.append(new)
            new = 0
        new += tokens(characters(block))
        after_result = is_result
    # An answer that ends with results was paused before the pass that would have read them.
    return found


def count_tokens(body: JsonObject) -> int:
    return _prompt(body)[0][-1].tokens


def _prompt(body: JsonObject) -> tuple[list[Boundary], dict[int, str]]:
    config = body.get("output_config") or {}
    fixed = [body["model"], config.get("effort"), body.get("thinking"), body.get("speed")]
    digest = hashlib.sha256(exact(fixed).encode()).digest()
    boundaries: list[Boundary] = []
    markers: dict[int, str] = {}
    length = 0
    for n, (where, block) in enumerate(prompt_blocks(body)):
        digest = hashlib.sha256(digest + where.encode() + b"\0" + exact(block).encode()).digest()
        length += characters(block)
        boundaries.append(Boundary(digest.hex(), tokens(length)))
        for inner in nested(block) if where not in ("tools", "system") else (block,):
            if inner.get("cache_control"):
                markers[n] = inner["cache_control"].get("ttl", "5m")
    if body.get("cache_control"):
        markers.setdefault(len(boundaries) - 1, body["cache_control"].get("ttl", "5m"))
    return boundaries, markers
