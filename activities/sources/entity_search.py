"""The second step of a search: from the names in the first hits to the documents about them.

A question often needs two documents of which only one shares its words: "where did her father
die" finds her, and her page names him. The first ten hits stay. From the first three come the
capitalised names, those near words of the query before others. Documents that have such a name as
title follow; after them, in turn, the other hits and the documents that hold a name together with
words of the query that are still missing.
"""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, zip_longest

from activities.evidence.text.names import names
from activities.evidence.text.terms import detect_language, stem, terms, words
from activities.sources.chunks import SECTION_MARK, passage
from activities.sources.documents import Hit
from activities.sources.index import numbers, totals
from activities.sources.ranking import Chunk, QueryTerm, Ranking, phrase

_KEPT = 10
_READ = 3
_MOST_NAMES = 16
_CONSIDERED = 8  # chunks looked at for each name
# A name stands in no more chunks than this, or than this share of them, up to the most that can
# be ranked in time: there are up to sixteen names.
_OFTEN, _SHARE, _MOST_CHUNKS = 100, 0.02, 500
_NEAR = 60  # characters on either side
_PARENTHESIS = re.compile(r"\s*\([^)]*\)")

_Stems = frozenset[str]


@dataclass(frozen=True, slots=True)
class _Name:
    """A name in the first hits: the better its weight, the nearer it stood to the query's words."""

    text: str
    stems: _Stems
    weight: float


def as_hit(chunk: Chunk) -> Hit:
    """A chunk as a hit, with its sentences."""
    text = chunk.body.rstrip()
    return Hit(
        chunk.document,
        passage(chunk.document.id, text, chunk.start),
        chunk.score,
        _section(chunk),
    )


def _section(chunk: Chunk) -> str:
    """The headings above a chunk, without one that only repeats the document's title."""
    path = chunk.section.split(SECTION_MARK) if chunk.section else []
    return SECTION_MARK.join(path[1:] if path and path[0] == chunk.document.title else path)


def follow(
    connection: sqlite3.Connection,
    ranking: Ranking,
    query: str,
    hits: Sequence[Hit],
    limit: int,
    exclude: Collection[str] = (),
) -> list[Hit]:
    """The first hits, what they lead to and the other hits: `limit` in all, each document once."""
    kept = list(hits[: max(0, min(_KEPT, limit))])
    if not kept:
        return []
    hop = _Hop(connection, ranking, query, kept, exclude)
    titled, together = hop.reached({hit.document.id for hit in hits}, limit - len(kept))
    # Hits that share names with the first ones are a guess; they take turns with those that
    # share the words of the question, so that simple questions lose nothing.
    others = (
        hit
        for pair in zip_longest(hits[len(kept) :], map(as_hit, together))
        for hit in pair
        if hit is not None
    )
    return _distinct(kept, chain(map(as_hit, titled), others), limit)


class _Hop:
    """One step from `kept`."""

    def __init__(
        self,
        connection: sqlite3.Connection,
        ranking: Ranking,
        query: str,
        kept: Sequence[Hit],
        exclude: Collection[str],
    ) -> None:
        self._connection = connection
        self._ranking = ranking
        self._kept = kept
        self._language = detect_language(query)
        self._terms = [t for t in ranking.terms(connection, query) if not t.is_stop_word]
        self._asked = frozenset(t.term for t in self._terms)
        self._seen = numbers(connection, {*exclude, *(hit.document.id for hit in kept)})

    def reached(self, known: Collection[str], places: int) -> tuple[list[Chunk], list[Chunk]]:
        """Chunks of documents titled with a name, and chunks that hold one in some other way.

        Of the latter, no more are looked for once they fill all `places` with documents that are
        not `known`.
        """
        titled: list[Chunk] = []
        together: list[Chunk] = []
        wanted = self._missing()
        for name in self._names():
            match = phrase(name.text)
            if match is None:
                continue
            chunks = self._matching(f"title : {match}")
            exact = [c for c in chunks if self._stems(_bare(c.document.title)) == name.stems]
            titled.extend(exact[:2])
            together.extend([c for c in chunks if c not in exact][:1])
            if wanted and len({c.document.id for c in together}.difference(known)) < places:
                together.extend(self._matching(f"{match} AND ({wanted})")[:1])
        return titled, together

    def _matching(self, match: str) -> list[Chunk]:
        found = self._ranking.matching(
            self._connection, match, excluded=self._seen, limit=_CONSIDERED
        )
        return self._ranking.scored(self._connection, self._terms, found)

    def _missing(self) -> str:
        """The words of the query that the first two hits do not hold; all if they hold them all."""
        covered: set[str] = set()
        for hit in self._kept[:2]:
            covered |= self._stems(f"{hit.document.title} {hit.passage.text}")
        missing: Sequence[QueryTerm] = [t for t in self._terms if t.term not in covered]
        return " OR ".join(f'"{form}"' for t in missing or self._terms for form in t.forms)

    def _names(self) -> list[_Name]:
        titles = {self._stems(_bare(hit.document.title)) for hit in self._kept[:_READ]}
        best: dict[_Stems, _Name] = {}
        for rank, hit in enumerate(self._kept[:_READ]):
            own = self._stems(_bare(hit.document.title))
            for name in self._names_of(hit, own, (_READ - rank) / 2):
                known = name.stems <= self._asked or name.stems <= own or name.stems in titles
                if not known and name.weight > best.get(name.stems, _NOTHING).weight:
                    best[name.stems] = name
        ranked = sorted(best.values(), key=lambda name: (-name.weight, name.text))
        return [name for name in ranked if self._is_rare(name)][:_MOST_NAMES]

    def _is_rare(self, name: _Name) -> bool:
        """Words that stand everywhere name nothing; the capital only began a sentence."""
        frequencies = self._ranking.frequencies(
            self._connection, [stem(word) for word in words(name.text)]
        )
        share = min(_MOST_CHUNKS, _SHARE * totals(self._connection).chunks)
        return min(frequencies.values()) <= max(_OFTEN, share)

    def _names_of(self, hit: Hit, own: _Stems, weight: float) -> Iterator[_Name]:
        for position, sentence in enumerate(hit.passage.sentences):
            text = hit.passage.quote(sentence)
            in_sentence = len((self._stems(text) & self._asked) - own)
            for found in names(text):
                start, name = found.start, found.text
                stems = self._stems(name)
                if not stems:
                    continue
                around = self._stems(text[max(0, start - _NEAR) : start + len(name) + _NEAR])
                near = len((around & self._asked) - own - stems)
                first = 0.3 if position == 0 else 0.0
                yield _Name(name, stems, weight + near + 0.3 * in_sentence + first)

    def _stems(self, text: str) -> _Stems:
        return frozenset(terms(text, self._language))


_NOTHING = _Name("", frozenset(), -1.0)


def _bare(title: str) -> str:
    """A title without what tells it from its namesakes: `Mercury (planet)` is `Mercury`."""
    return _PARENTHESIS.sub("", title)


def _distinct(kept: list[Hit], more: Iterator[Hit], limit: int) -> list[Hit]:
    found = list(kept)
    seen = {hit.document.id for hit in kept}
    for hit in more:
        if len(found) >= limit:
            break
        if hit.document.id not in seen:
            seen.add(hit.document.id)
            found.append(hit)
    return found
