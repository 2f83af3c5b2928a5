"""The provider's web tools, played from a small web of pages.

Where a request offers `web_search` or `web_fetch`, a plan says what is searched and fetched; the
results stand in the assistant's message before what the brain inside then says, which sees them
there. Limits, domains and unknown addresses give the error blocks the provider gives.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from tests.simulator.blocks import CHARACTERS_PER_TOKEN, as_blocks, exact
from tests.simulator.brains import Brain, Turn, think

JsonObject = dict[str, Any]

_LONGEST_URL = 250
_LONGEST_QUERY = 400
_RESULTS = 5


@dataclass(frozen=True)
class Page:
    title: str
    text: str
    age: str | None = None
    fetch_error: str | None = None
    """The error code a fetch gives, such as `url_not_accessible` or `unsupported_content_type`."""


@dataclass(frozen=True)
class Search:
    query: str
    error: str | None = None


@dataclass(frozen=True)
class Fetch:
    url: str | None = None
    """None is the first result of the last search."""


Plan = Callable[[JsonObject], list[Search | Fetch]]


def search_then_fetch(body: JsonObject) -> list[Search | Fetch]:
    """Once in a conversation: search for the last words of the user, read the best page."""
    if any(
        block["type"] == "server_tool_use"
        for message in body["messages"]
        for block in as_blocks(message["content"])
    ):
        return []
    asked = [b["text"] for b in as_blocks(body["messages"][-1]["content"]) if b["type"] == "text"]
    return [Search(" ".join(asked)[:_LONGEST_QUERY]), Fetch()] if asked else []


class Web:
    """A brain with the provider's web tools in front of another brain."""

    def __init__(
        self,
        inner: Brain,
        pages: Mapping[str, Page],
        plan: Plan = search_then_fetch,
        pause: bool = False,
    ) -> None:
        self._inner = inner
        self._pages = pages
        self._plan = plan
        self._pause = pause

    async def __call__(self, body: JsonObject) -> Turn:
        tools = {t["name"]: t for t in body.get("tools") or () if t["name"].startswith("web_")}
        found = _Session(self._pages, tools, body)
        for step in self._plan(body) if tools else ():
            if isinstance(step, Search) and "web_search" in tools:
                found.search(step)
            elif isinstance(step, Fetch) and "web_fetch" in tools:
                found.fetch(step.url or found.best)
        if not found.blocks:
            return await think(self._inner, body)
        if self._pause:
            return Turn(found.blocks, "pause_turn")
        read = [*body["messages"], {"role": "assistant", "content": found.blocks}]
        turn = await think(self._inner, {**body, "messages": read})
        return Turn([*found.blocks, *turn.content], turn.stopped_for, turn.stop_details)


class _Session:
    """The server tool calls of one answer."""

    def __init__(
        self, pages: Mapping[str, Page], tools: dict[str, JsonObject], body: JsonObject
    ) -> None:
        self._pages = pages
        self._tools = tools
        self._known = exact(body["messages"])
        self._uses = {"web_search": 0, "web_fetch": 0}
        self.blocks: list[JsonObject] = []
        self.best: str | None = None

    def search(self, wanted: Search) -> None:
        tool = self._tools["web_search"]
        error = wanted.error or self._exhausted(tool)
        if len(wanted.query) > _LONGEST_QUERY:
            error = error or "query_too_long"
        if error:
            failed = {"type": "web_search_tool_result_error", "error_code": error}
            self._add("web_search", {"query": wanted.query}, failed)
            return
        words = set(re.findall(r"\w{3,}", wanted.query.lower()))
        ranked = sorted(
            (-_shared(words, page), url)
            for url, page in self._pages.items()
            if _allowed(url, tool) and _shared(words, page)
        )
        results = [
            {"type": "web_search_result", "url": url, "title": self._pages[url].title,
             "encrypted_content": _sealed(self._pages[url].text),
             "page_age": self._pages[url].age}
            for _, url in ranked[:_RESULTS]
        ]  # fmt: skip
        self.best = results[0]["url"] if results else None
        self._add("web_search", {"query": wanted.query}, results)

    def fetch(self, url: str | None) -> None:
        if url is None:
            return
        tool = self._tools["web_fetch"]
        error = self._exhausted(tool) or self._fetch_error(url, tool)
        if error:
            failed = {"type": "web_fetch_tool_result_error", "error_code": error}
            self._add("web_fetch", {"url": url}, failed)
            return
        page = self._pages[url]
        longest = (tool.get("max_content_tokens") or 10**9) * CHARACTERS_PER_TOKEN
        document = {
            "type": "document",
            "title": page.title,
            "source": {"type": "text", "media_type": "text/plain", "data": page.text[:longest]},
            "citations": {"enabled": bool((tool.get("citations") or {}).get("enabled"))},
        }
        result = {"type": "web_fetch_result", "url": url, "content": document,
                  "retrieved_at": "2026-11-01T00:00:00Z"}  # fmt: skip
        self._add("web_fetch", {"url": url}, result)

    def _fetch_error(self, url: str, tool: JsonObject) -> str | None:
        if len(url) > _LONGEST_URL:
            return "url_too_long"
        if not urlsplit(url).scheme.startswith("http"):
            return "invalid_tool_input"
        if url not in self._known and url not in exact(self.blocks):
            return "url_not_in_prior_context"
        if not _allowed(url, tool):
            return "url_not_allowed"
        page = self._pages.get(url)
        return "url_not_accessible" if page is None else page.fetch_error

    def _exhausted(self, tool: JsonObject) -> str | None:
        self._uses[tool["name"]] += 1
        most = tool.get("max_uses")
        return "max_uses_exceeded" if most and self._uses[tool["name"]] > most else None

    def _add(self, name: str, given: JsonObject, content: JsonObject | list[JsonObject]) -> None:
        use_id = f"srvtoolu_{len(self.blocks):04d}"
        self.blocks += [
            {"type": "server_tool_use", "id": use_id, "name": name, "input": given},
            {"type": f"{name}_tool_result", "tool_use_id": use_id, "content": content},
        ]


def server_tool_usage(content: list[JsonObject]) -> JsonObject | None:
    """How often each web tool was used with success; errors are not billed."""
    counted = {
        f"{name}_requests": sum(
            block["type"] == f"{name}_tool_result"
            and "error_code" not in block["content"]
            for block in content
        )
        for name in ("web_search", "web_fetch")
    }  # fmt: skip
    used = any(block["type"] == "server_tool_use" for block in content)
    return counted if used else None


def _allowed(url: str, tool: JsonObject) -> bool:
    host = urlsplit(url).hostname or ""
    allowed, blocked = tool.get("allowed_domains"), tool.get("blocked_domains")
    within = [d for d in allowed or blocked or () if host == d or host.endswith(f".{d}")]
    return bool(within) if allowed else not within


def _shared(words: set[str], page: Page) -> int:
    return len(words & set(re.findall(r"\w{3,}", f"{page.title} {page.text}".lower())))


def _sealed(words: str) -> str:
    return base64.b64encode(words[:200].encode()).decode()
