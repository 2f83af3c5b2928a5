"""Web pages kept as the model saw them, so that quotes are checked letter for letter.

A page's id is its address, as that is what a model quotes it by. A page that changed between two
fetches is kept with both its texts, one after the other: the model has read both. Of a PDF the text
is kept that the corpus's own parser reads in it; what only the provider read there is not quotable.
"""

from __future__ import annotations

import asyncio
import base64
from pathlib import Path, PurePosixPath
from tempfile import TemporaryDirectory
from urllib.parse import SplitResult, unquote, urlsplit

from activities.evidence.quotes import sketch
from activities.sources.documents import Document, Unreadable, text_hash
from activities.sources.formats.descriptions import find_date, guess_kind, head_date
from activities.sources.formats.encoding import fold
from activities.sources.formats.parsing import parse
from activities.sources.web import Fetch, Hit
from activities.storage.store import Store
from workflows.contracts.evidence import Source

_LONGEST_TITLE = 200
_PORTS = {"http": 80, "https": 443}


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
    parts = _parts(url)
    if parts is None:
        return url.strip()
    query = f"?{parts.query}" if parts.query else ""
    return f"{parts.scheme.lower()}://{_host(parts)}{parts.path}{query}"


def _key(url: str) -> str:
    """The same for spellings of one address that a model may mix up."""
    parts = _parts(url)
    if parts is None:
        return url.strip()
    query = f"?{parts.query}" if parts.query else ""
    return unquote(f"{_host(parts)}{parts.path.rstrip('/')}{query}")


def _parts(url: str) -> SplitResult | None:
    """None where it is not a web address."""
    try:
        parts = urlsplit(url.strip())
        return parts if parts.scheme in _PORTS and parts.hostname else None
    except ValueError:
        return None


def _host(parts: SplitResult) -> str:
    try:
        port = parts.port
    except ValueError:
        port = None
    usual = port is None or port == _PORTS[parts.scheme]
    return f"{parts.hostname}" if usual else f"{parts.hostname}:{port}"


def _read(page: Fetch) -> Document:
    """A PDF's text, by the parser that reads those of a corpus."""
    parts = _parts(page.url)
    name = PurePosixPath(parts.path).stem if parts else ""
    with TemporaryDirectory() as folder:
        path = Path(folder, "page.pdf")
        try:
            path.write_bytes(base64.b64decode(page.pdf))
        except ValueError as broken:
            raise Unquotable(f"{page.url} cannot be quoted: {broken}") from broken
        parsed = parse(path, f"{name or 'page'}.pdf")
    if isinstance(parsed, Unreadable):
        raise Unquotable(f"{page.url} cannot be quoted: the PDF {parsed.reason}")
    return parsed[0]
