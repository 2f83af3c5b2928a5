"""Documents and their chunks in the index: stored by file, loaded by id.

Files with the same words are one document: the first one read gives it, the others are its copies.
"""

from __future__ import annotations

import hashlib
import json
import re
import sqlite3
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import cast

from activities.evidence.text.terms import extra_forms
from activities.sources.chunks import chunk_starts, section_paths
from activities.sources.documents import (
    Document,
    DocumentMeta,
    Kind,
    UnknownDocument,
    Unreadable,
    document_id,
)
from workflows.contracts.state import UnreadableFile

# A chunk's number holds its document's, so finding one from the other needs no join.
CHUNK_BITS = 20
_SHORTEST_PART = 2
# Documents that are cut into chunks before they are written: a cancellation is heard between.
_INSERTED = 500
_LAST_CHUNK = (1 << CHUNK_BITS) - 1
_WORD = re.compile(r"\w+")

Row = tuple[int, str, str, str, str | None, str, str, str, int, str | None]
META = (
    "d.number, d.id, d.uri, d.title, d.date, d.kind, d.sha256, d.labels, d.recognised,"
    " (SELECT group_concat(c.uri, char(10)) FROM copies c WHERE c.number = d.number)"
)
"""The columns of documents as `d` that `meta` reads."""


@dataclass(frozen=True, slots=True)
class FileContent:
    """What a file gave; nothing if it is gone."""

    path: str
    labels: tuple[str, ...] = ()
    documents: tuple[Document, ...] = ()
    unreadable: tuple[Unreadable, ...] = ()


@dataclass(frozen=True, slots=True)
class Change:
    """How many documents a write added, and files of copies whose original it removed."""

    added: int = 0
    orphans: frozenset[str] = frozenset()

    def __add__(self, other: Change) -> Change:
        return Change(self.added + other.added, self.orphans | other.orphans)


@dataclass(frozen=True, slots=True)
class Totals:
    """The size of the corpus; `generation` is the same for as long as an index is."""

    generation: int
    documents: int
    chunks: int
    words: int


def totals(connection: sqlite3.Connection) -> Totals:
    return Totals(*connection.execute("SELECT * FROM totals").fetchone())


def unreadable(connection: sqlite3.Connection) -> tuple[UnreadableFile, ...]:
    rows = connection.execute("SELECT uri, reason FROM unreadable ORDER BY uri")
    return tuple(UnreadableFile(uri=uri, reason=reason) for uri, reason in rows)


def metas(connection: sqlite3.Connection, after: str = "", limit: int = 1000) -> list[DocumentMeta]:
    """The next documents in the order of their ids."""
    rows = connection.execute(
        f"SELECT {META} FROM documents d WHERE d.id > ? ORDER BY d.id LIMIT ?",  # noqa: S608
        (after, limit),
    )
    return [meta(row) for row in rows]


def meta(row: Row) -> DocumentMeta:
    _, identifier, uri, title, date, kind, sha256, labels, recognised, copies = row
    also_at = tuple(copies.split("\n")) if copies else ()
    return DocumentMeta(
        identifier, uri, title, date, cast(Kind, kind), sha256, also_at, tuple(labels.split()),
        bool(recognised),
    )  # fmt: skip


def find(connection: sqlite3.Connection, identifier: str) -> tuple[int, DocumentMeta]:
    """Number and description of a document; `UnknownDocument` if there is none."""
    row = connection.execute(
        f"SELECT {META} FROM documents d WHERE d.id = ?",  # noqa: S608
        (identifier,),
    ).fetchone()
    if row is None:
        raise UnknownDocument(identifier)
    return row[0], meta(row)


def numbers(connection: sqlite3.Connection, identifiers: Collection[str]) -> list[int]:
    """Numbers of those documents that exist."""
    rows = connection.execute(
        "SELECT number FROM documents WHERE id IN (SELECT value FROM json_each(?))",
        (json.dumps(sorted(identifiers)),),
    )
    return [row[0] for row in rows]


def documents_matching(connection: sqlite3.Connection, match: str) -> int:
    """The number of documents with a chunk that matches an FTS5 expression."""
    row = connection.execute(
        "SELECT count(DISTINCT rowid >> ?) FROM passages WHERE passages MATCH ?",
        (CHUNK_BITS, match),
    ).fetchone()
    return int(row[0])


def find_split(connection: sqlite3.Connection, word: str) -> str:
    """A word that stands nowhere, as two words that stand together somewhere; else "".

    `autocd` finds `AUTO_CD`.
    """
    if not word.isalpha():
        return ""
    for cut in range(_SHORTEST_PART, len(word) - _SHORTEST_PART + 1):
        parts = f"{word[:cut]} {word[cut:]}"
        if documents_matching(connection, f'"{parts}"'):
            return parts
    return ""


def text_between(connection: sqlite3.Connection, number: int, start: int, end: int) -> str:
    """Characters of a document's text, from the chunks that hold them."""
    first = number << CHUNK_BITS
    rows = connection.execute(
        "SELECT start, body FROM chunks WHERE number BETWEEN ? AND ? AND start < ?"
        " AND start + length(body) > ? ORDER BY number",
        (first, first | _LAST_CHUNK, end, start),
    ).fetchall()
    if not rows:
        return ""
    text = "".join(body for _, body in rows)
    return text[max(0, start - rows[0][0]) : max(0, end - rows[0][0])]


def store(connection: sqlite3.Connection, contents: Sequence[FileContent]) -> Change:
    """Put what these files gave in the place of what they gave before, in one transaction."""
    orphans: set[str] = set()
    added: list[tuple[FileContent, Document]] = []
    with connection:
        connection.execute("BEGIN")
        for content in contents:
            path, labels = content.path, " ".join(content.labels)
            now = {document.id: document for document in content.documents}
            kept: set[str] = set()
            for number, identifier, labelled in connection.execute(
                "SELECT number, id, labels FROM documents WHERE path = ?", (path,)
            ).fetchall():
                if identifier in now and labelled == labels:
                    kept.add(identifier)
                else:
                    orphans |= _delete(connection, number)
            added.extend((content, document) for each, document in now.items() if each not in kept)
            connection.execute("DELETE FROM copies WHERE path = ?", (path,))
            connection.execute("DELETE FROM unreadable WHERE path = ?", (path,))
            connection.executemany(
                "INSERT INTO unreadable VALUES (?, ?, ?)",
                [(path, each.uri, each.reason) for each in content.unreadable],
            )
        count = sum(
            _insert(connection, added[start : start + _INSERTED])
            for start in range(0, len(added), _INSERTED)
        )
    return Change(count, frozenset(orphans))


def optimise(connection: sqlite3.Connection) -> None:
    """Merge the full-text index into one piece, which halves the time of a search."""
    connection.execute("INSERT INTO passages(passages) VALUES ('optimize')")


def _insert(connection: sqlite3.Connection, documents: list[tuple[FileContent, Document]]) -> int:
    """Store documents, or note them as copies; the number of documents that are new."""
    number = connection.execute("SELECT coalesce(max(number), 0) FROM documents").fetchone()[0]
    rows: list[tuple[object, ...]] = []
    chunks: list[tuple[int, int, int, str, str]] = []
    texts: list[tuple[int, str, str, str]] = []
    taken: set[str] = set()
    originals: dict[bytes, tuple[int, str]] = {}
    copies: list[tuple[str, str, int]] = []
    for content, document in documents:
        path, labels = content.path, " ".join(content.labels)
        fingerprint = _fingerprint(document.text, labels)
        original = originals.get(fingerprint) or _original(connection, fingerprint)
        # Records of one file are told apart by their places, whatever their words.
        if original is not None and original[1] != path:
            copies.append((path, document.uri, original[0]))
            continue
        number += 1
        originals.setdefault(fingerprint, (number, path))
        identifier = _free_id(connection, document, taken)
        taken.add(identifier)
        rows.append(
            (number, identifier, path, document.uri, document.title, document.date, document.kind,
             document.sha256, fingerprint, labels, document.recognised)
        )  # fmt: skip
        for position, (start, section, body) in enumerate(_bodies(document.text)):
            chunk = number << CHUNK_BITS | position
            chunks.append((chunk, start, body.count(" ") + body.count("\n") + 1, section, body))
            texts.append((chunk, *_indexed(document.title, section, body)))
    connection.executemany("INSERT INTO documents VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", rows)
    connection.executemany("INSERT INTO copies VALUES (?, ?, ?)", copies)
    connection.executemany("INSERT INTO chunks VALUES (?, ?, ?, ?, ?)", chunks)
    connection.executemany(
        "INSERT INTO passages(rowid, title, body, forms) VALUES (?, ?, ?, ?)", texts
    )
    _count(connection, len(rows), len(chunks), sum(chunk[2] for chunk in chunks))
    return len(rows)


def _fingerprint(text: str, labels: str) -> bytes:
    """The same for texts of the same labels that differ only in case, spaces and punctuation."""
    words = " ".join(_WORD.findall(text.casefold()))
    return hashlib.sha256(f"{labels}\0{words}".encode()).digest()


def _original(connection: sqlite3.Connection, fingerprint: bytes) -> tuple[int, str] | None:
    """Number and path of the document with these words."""
    row: tuple[int, str] | None = connection.execute(
        "SELECT number, path FROM documents WHERE fingerprint = ?", (fingerprint,)
    ).fetchone()
    return row


def _bodies(text: str) -> Iterator[tuple[int, str, str]]:
    """Start, section path and text of each chunk."""
    starts = chunk_starts(text)
    ends = [*starts[1:], len(text)]
    for start, section, end in zip(starts, section_paths(text, starts), ends, strict=True):
        yield start, section, text[start:end]


def _indexed(title: str, section: str, body: str) -> tuple[str, str, str]:
    """The columns of the full-text index for one chunk."""
    return f"{title} {section}", body, extra_forms(f"{title} {section} {body}")


def _free_id(connection: sqlite3.Connection, document: Document, taken: set[str]) -> str:
    """The document's id; a longer one where another document already has it.

    Among 100,000 documents this happens once in 200 corpora.
    """
    query = "SELECT 1 FROM documents WHERE id = ?"
    if document.id in taken or connection.execute(query, (document.id,)).fetchone():
        return document_id(document.uri, document.sha256, 20)
    return document.id


def _delete(connection: sqlite3.Connection, number: int) -> set[str]:
    """Remove a document. FTS5 without its own copy must be told the text it is to forget.

    The files of its copies are returned, so that they are stored again.
    """
    copies = connection.execute("DELETE FROM copies WHERE number = ? RETURNING path", (number,))
    orphans = {row[0] for row in copies}
    chunks = (number << CHUNK_BITS, number << CHUNK_BITS | _LAST_CHUNK)
    rows = connection.execute(
        "SELECT c.number, d.title, c.section, c.body, c.words FROM chunks c, documents d"
        " WHERE c.number BETWEEN ? AND ? AND d.number = ?",
        (*chunks, number),
    ).fetchall()
    connection.executemany(
        "INSERT INTO passages(passages, rowid, title, body, forms) VALUES ('delete', ?, ?, ?, ?)",
        [(chunk, *_indexed(title, section, body)) for chunk, title, section, body, _ in rows],
    )
    connection.execute("DELETE FROM chunks WHERE number BETWEEN ? AND ?", chunks)
    connection.execute("DELETE FROM documents WHERE number = ?", (number,))
    _count(connection, -1, -len(rows), -sum(row[4] for row in rows))
    return orphans


def _count(connection: sqlite3.Connection, documents: int, chunks: int, words: int) -> None:
    connection.execute(
        "UPDATE totals SET documents = documents + ?, chunks = chunks + ?, words = words + ?",
        (documents, chunks, words),
    )
