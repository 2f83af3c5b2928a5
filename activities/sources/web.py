"""The web by the provider's own tools: what they brought, and the pages kept for their quotes.

Searches, fetches and errors are read from a model's messages. A call and its result are two blocks,
and a turn that paused has them in two messages. An error code never means that there is nothing: it
means that nobody could look. Only a search that answers, were it without a hit, is a look.

Pages are kept as the model saw them, so that quotes are checked letter for letter. A page's id is
its address, as that is what a model quotes it by. A page that changed between two fetches is kept
with both its texts, one after the other: the model has read both. Of a PDF the text is kept that
the corpus's own parser reads in it; what only the provider read there is not quotable.
"""

from __future__ import annotations

import asyncio
import base64
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from tempfile import TemporaryDirectory
from typing import Any
from urllib.parse import unquote, urlsplit, urlunsplit

from activities.evidence.quotes import sketch
from activities.sources.documents import Document, Unreadable, text_hash
from activities.sources.formats.descriptions import find_date, guess_kind, head_date
from activities.sources.formats.extracted_text import fold
from activities.sources.formats.parsing import parse
from activities.storage.store import Store
from workflows.contracts.evidence import Source

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
_LONGEST_TITLE = 200
_PORTS = {"http": 80, "https": 443}


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


# --- pages that are kept --------------------------------------------------------------------------


class Unquotable(Exception):
    """A page was fetched, and no words of it can be checked."""


class Snapshots:
    """The pages of one conversation."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._found: dict[str, Hit] = {}
        self._ids: dict[str, str] = {}
        self._redirected: dict[str, str] = {}
        self._texts: dict[str, str] = {}

    def found(self, hit: Hit) -> None:
        """Remember what a search said of a page: it may be fetched later."""
        self._found[_key(hit.url)] = hit

    def candidates(self) -> tuple[Hit, ...]:
        """Pages that were found and never opened: nothing of them can be quoted."""
        opened = {*self._ids, *self._redirected}
        return tuple(hit for key, hit in self._found.items() if key not in opened)

    def resolve(self, address_or_id: str) -> str:
        """The id of the page at this address, however it is spelt; any other id as it is."""
        key = _key(address_or_id)
        return self._ids.get(key) or self._redirected.get(key) or address_or_id

    async def keep(self, page: Fetch) -> Source:
        """Store a page that was fetched. Raises `Unquotable` where it holds no text to keep."""
        document = await asyncio.to_thread(_read, page) if page.pdf else None
        # A lone surrogate can be neither stored nor sent.
        text = (document.text if document else page.text).encode("utf-8", "replace").decode()
        if not any(map(str.isalnum, text)):
            raise Unquotable(f"{page.url} cannot be quoted: it came without text")
        source_id = self._ids.setdefault(_key(page.url), address(page.url))
        self._redirected[_key(page.asked)] = source_id
        before = self._texts.get(source_id)
        if before is not None:
            text = before if text in before else f"{before}\n\n{text}"
        sha256 = text_hash(text)
        await self._store.keep_text(sha256, text)
        self._texts[source_id] = text
        return await asyncio.to_thread(self._source, source_id, page, text, sha256, document)

    def _source(
        self, source_id: str, page: Fetch, text: str, sha256: str, document: Document | None
    ) -> Source:
        hit = self._found.get(_key(page.asked)) or self._found.get(_key(page.url))
        read = document.title if document else ""
        title = fold(page.title or (hit.title if hit else "") or read)[:_LONGEST_TITLE] or page.url
        # When a page was fetched is not when it was written: one without a date has none.
        date = (find_date(hit.age) if hit else None) or (
            document.date if document else head_date(text)
        )
        return Source(
            id=source_id,
            uri=page.url,
            title=title,
            date=date,
            kind=guess_kind(title, source_id, text, "report" if document else "page"),
            sha256=sha256,
            sketch=sketch(text),
        )


def address(url: str) -> str:
    """The URL as a source's id: host in lower case, no usual port, no place within the page."""
    url = url.strip()
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        return url
    if parts.scheme not in _PORTS or not parts.hostname:
        return url
    is_usual = port in (None, _PORTS[parts.scheme])
    host = parts.hostname if is_usual else f"{parts.hostname}:{port}"
    return urlunsplit((parts.scheme, host, parts.path, parts.query, ""))


def _key(url: str) -> str:
    """The same for spellings of one address that a model may mix up."""
    place, mark, query = address(url).partition("?")
    place = place.removeprefix("http://").removeprefix("https://").rstrip("/")
    return unquote(f"{place}{mark}{query}")


def _read(page: Fetch) -> Document:
    """A PDF's text, by the parser that reads those of a corpus."""
    name = PurePosixPath(address(page.url).partition("?")[0]).stem
    with TemporaryDirectory() as folder:
        path = Path(folder, "page.pdf")
        try:
            path.write_bytes(base64.b64decode(page.pdf))
        except ValueError as broken:
            raise Unquotable(f"{page.url} cannot be quoted: {broken}") from broken
        parsed = parse(path, f"{name}.pdf")
    if isinstance(parsed, Unreadable):
        raise Unquotable(f"{page.url} cannot be quoted: the PDF {parsed.reason}")
    return parsed[0]
