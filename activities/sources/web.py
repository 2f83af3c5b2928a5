"""What the provider's own tools brought, read from a model's messages: searches, fetches, errors.

A call and its result are two blocks, and a turn that paused has them in two messages. An error code
never means that there is nothing: it means that nobody could look. Only a search that answers, were
it without a hit, is a look.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

JsonObject = dict[str, Any]

TROUBLES: dict[str, str] = {
    # of every tool
    "unavailable": "the provider's tool was out of order; ask again later",
    "max_uses_exceeded": (
        "its uses for one request were used up; allow more searches or fetches for the job"
    ),
    "too_many_requests": "it was asked too often; ask again later, or run fewer subagents at once",
    "invalid_tool_input": "it was called wrongly; ask again, or use another model",
    # of searches
    "query_too_long": "the query was too long; ask in fewer words",
    "request_too_large": "the request was too large to be searched for; ask for less at once",
    # of fetches
    "url_too_long": "the address was too long to be fetched; look for the page under a shorter one",
    "url_not_allowed": "the job's domains do not allow this address; allow its domain",
    "url_not_in_prior_context": (
        "no search had found the address; only pages that were found or named can be fetched"
    ),
    "url_not_accessible": (
        "the page could not be opened: it is gone, closed or refuses to be fetched; "
        "look for a copy elsewhere"
    ),
    "unsupported_content_type": "it is neither a text nor a PDF; look for it in another form",
    "content_too_large": "the page was too large to be fetched; look for a part of it",
    # of the sandbox
    "execution_time_exceeded": "the code ran for too long; compute less at once",
    "output_file_too_large": "the code's output was too large; compute less at once",
    "file_not_found": "the code asked for a file that is not there; ask again",
}
"""By the provider's error code: what happened, and what would help."""


@dataclass(frozen=True, slots=True)
class Hit:
    """A page that a search found; its words are sealed until it is fetched."""

    url: str
    title: str
    age: str


@dataclass(frozen=True, slots=True)
class Search:
    query: str
    hits: tuple[Hit, ...] = ()
    trouble: str = ""
    """Why nobody could look; empty where the search gave an answer."""


@dataclass(frozen=True, slots=True)
class Fetch:
    """A page as the model was given it, or why it was not."""

    asked: str
    """The address the model gave."""
    url: str
    """The address the page came from."""
    title: str = ""
    text: str = ""
    pdf: str = ""
    """A PDF's bytes in base64, where it is one."""
    trouble: str = ""


@dataclass(frozen=True, slots=True)
class Breakdown:
    """Code in the provider's sandbox that did not come to run."""

    trouble: str


@dataclass(frozen=True, slots=True)
class Ran:
    """Code that ran in the provider's sandbox, and what it printed."""

    code: str
    output: str
    trouble: str = ""


Event = Search | Fetch | Breakdown | Ran


class ServerTools:
    """Reads the messages of one conversation in their order."""

    def __init__(self) -> None:
        self._calls: dict[str, JsonObject] = {}

    def read(self, message: JsonObject) -> Iterator[Event]:
        for block in message.get("content") or ():
            match block.get("type"):
                case "server_tool_use":
                    self._calls[block["id"]] = block.get("input") or {}
                case "web_search_tool_result":
                    yield _search(str(self._call(block).get("query", "")), block["content"])
                case "web_fetch_tool_result":
                    yield _fetch(str(self._call(block).get("url", "")), block["content"])
                case str(kind) if kind.endswith("code_execution_tool_result"):
                    if code := _error_code(block["content"]):
                        yield Breakdown(f"code in the sandbox failed: {_sentence(code)}")
                    elif printed := _printed(block["content"]):
                        call = self._call(block)
                        yield Ran(str(call.get("code") or call.get("command") or ""), printed)

    def _call(self, block: JsonObject) -> JsonObject:
        return self._calls.get(block.get("tool_use_id", ""), {})


def _search(query: str, content: JsonObject | list[JsonObject]) -> Search:
    # A result names no query of its own; one whose call is unknown is still a search.
    query = query or "(a query that was not recorded)"
    if isinstance(content, dict):
        code = _error_code(content) or "unknown"
        return Search(query, trouble=f"the web search “{query[:120]}” failed: {_sentence(code)}")
    hits = (hit for hit in content if hit.get("type") == "web_search_result")
    return Search(
        query,
        tuple(Hit(hit["url"], hit.get("title") or "", hit.get("page_age") or "") for hit in hits),
    )


def _fetch(asked: str, content: JsonObject) -> Fetch:
    if code := _error_code(content):
        what = asked[:200] or "a page"
        return Fetch(asked, asked, trouble=f"fetching {what} failed: {_sentence(code)}")
    url = content.get("url") or asked
    asked = asked or url
    document = content.get("content") or {}
    source = document.get("source") or {}
    title, data = document.get("title") or "", source.get("data") or ""
    if source.get("type") == "text":
        return Fetch(asked, url, title, text=data)
    if source.get("media_type") == "application/pdf":
        return Fetch(asked, url, title, pdf=data)
    form = source.get("media_type") or source.get("type") or "no content"
    return Fetch(asked, url, title, trouble=f"{url[:200]} cannot be quoted: it came as {form}")


def _printed(content: object) -> str:
    """What a program printed that ended well; an encrypted output cannot be read here."""
    if not isinstance(content, dict) or content.get("return_code"):
        return ""
    return str(content.get("stdout") or "").strip()


def _error_code(content: object) -> str:
    return str(content.get("error_code") or "") if isinstance(content, dict) else ""


def _sentence(code: str) -> str:
    return f"{TROUBLES.get(code, 'the provider gave no reason known here')} ({code})"
