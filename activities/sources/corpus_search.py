"""Documents that can be searched and read: one version of a corpus, for the labels of one job.

    hits = corpus.search("cost of home charging")
    more = corpus.follow("cost of home charging", hits)
    text = corpus.read(hits[0].document.id)

Documents are read by id and from the index, so nothing else can be reached. Every method may be
called from any thread. `activities.sources.corpus_indexes` makes and opens them.
"""

from __future__ import annotations

import sqlite3
import weakref
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from dataclasses import asdict
from pathlib import Path

from activities.evidence.text.terms import lemma, words
from activities.sources import index
from activities.sources.chunks import passage
from activities.sources.database import Database
from activities.sources.documents import Document, DocumentMeta, Hit, Passage
from activities.sources.entity_search import as_hit, follow
from activities.sources.ranking import CANDIDATES, Chunk, Ranking, phrase

_MOST_ROUNDS = 3
_FIRST_DOCUMENTS = 10
"""So many documents come into sight before a second passage of one of them does."""


class Corpus:
    """The documents of one index."""

    def __init__(self, index_file: Path) -> None:
        self._database = Database(index_file)
        # Also when nobody has closed it: a worker opens indexes for as long as it lives.
        weakref.finalize(self, self._database.close)
        self._ranking = Ranking()

    def close(self) -> None:
        self._database.close()

    def __len__(self) -> int:
        with self._database.reading() as connection:
            return index.totals(connection).documents

    def search(
        self,
        query: str,
        *,
        limit: int = 10,
        exclude: Collection[str] = (),
        per_document: int = 1,
    ) -> list[Hit]:
        """The best passages for any text, at most `per_document` of each document.

        `exclude` holds ids of documents.
        """
        if limit < 1 or per_document < 1:
            return []
        with self._database.reading() as connection:
            terms = self._ranking.terms(connection, query)
            excluded = set(index.numbers(connection, exclude))
            found: list[Chunk] = []
            # A long document can fill the candidates alone; then look again without it.
            for _ in range(_MOST_ROUNDS):
                chunks = self._ranking.search(connection, terms, excluded=excluded)
                found.extend(chunks)
                seen = {chunk.document.id for chunk in found}
                if len(chunks) < CANDIDATES or len(seen) >= limit:
                    break
                excluded |= {chunk.number >> index.CHUNK_BITS for chunk in chunks}
        return _hits(found, limit, per_document)

    def follow(
        self,
        query: str,
        hits: Sequence[Hit],
        limit: int = 10,
        *,
        exclude: Collection[str] = (),
    ) -> list[Hit]:
        """The first ten hits, then documents they lead to, taking turns with the other hits."""
        with self._database.reading() as connection:
            return follow(connection, self._ranking, query, hits, limit, exclude)

    def read(self, document_id: str, start: int = 0, limit: int = 6000) -> Passage:
        """Text of a document from `start`; the next part begins at the passage's `end`."""
        with self._database.reading() as connection:
            number, _ = index.find(connection, document_id)
            start = max(0, start)
            text = index.text_between(connection, number, start, start + max(1, limit) + 1)
        return passage(document_id, _trimmed(text, max(1, limit)), start)

    def document(self, document_id: str) -> Document:
        with self._database.reading() as connection:
            number, meta = index.find(connection, document_id)
            text = index.text_between(connection, number, 0, 1 << 62)
        return Document(**asdict(meta), text=text)

    def documents(self) -> Iterator[DocumentMeta]:
        """All documents in the order of their ids."""
        after = ""
        while True:
            with self._database.reading() as connection:
                page = index.metas(connection, after)
            if not page:
                return
            yield from page
            after = page[-1].id

    def frequency(self, terms: Collection[str], language: str = "en") -> dict[str, int]:
        """In how many documents each term occurs, in any inflection; phrases count as phrases.

        `language` is that of the terms.
        """
        with self._database.reading() as connection:
            return {term: _count(connection, term, language) for term in terms}


def _count(connection: sqlite3.Connection, term: str, language: str) -> int:
    forms = _forms(term, language)
    count = index.documents_matching(connection, " OR ".join(forms)) if forms else 0
    if not count and (split := index.find_split(connection, term)):
        count = index.documents_matching(connection, f'"{split}"')
    return count


def _forms(term: str, language: str) -> list[str]:
    """FTS5 phrases for a term and, where it is one word, for its lemma."""
    found = words(term)
    forms = [term, lemma(found[0], language)] if len(found) == 1 else [term]
    return [match for form in dict.fromkeys(forms) if (match := phrase(form))]


def _hits(ranked: Sequence[Chunk], limit: int, per_document: int) -> list[Hit]:
    """The best chunk of each of the first documents, then whatever ranks best beside them."""
    best = {chunk.document.id: chunk for chunk in reversed(ranked)}
    firsts = [chunk for chunk in ranked if best[chunk.document.id] is chunk]
    chosen = firsts[: min(limit, _FIRST_DOCUMENTS)]
    taken = Counter(chunk.document.id for chunk in chosen)
    for chunk in ranked:
        if len(chosen) >= limit:
            break
        if chunk not in chosen and taken[chunk.document.id] < per_document:
            taken[chunk.document.id] += 1
            chosen.append(chunk)
    return [as_hit(chunk) for chunk in chosen]


def _trimmed(text: str, limit: int) -> str:
    """At most `limit` characters, cut after a paragraph, a line or a sentence if one is near."""
    if len(text) <= limit:
        return text
    for mark in ("\n\n", "\n", ". ", " "):
        cut = text.rfind(mark, limit // 2, limit)
        if cut >= 0:
            return text[: cut + len(mark)]
    return text[:limit]
