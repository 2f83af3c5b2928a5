"""What a job holds on a question: claims of its ledger, and passages of its sources' stored texts.

Both are found by the ranking of the corpus, in two small indexes that are made when somebody asks.
A passage becomes a claim in its own words, so that the gate of the report holds for it too.
"""

from __future__ import annotations

import asyncio
import shutil
import weakref
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from tempfile import mkdtemp
from typing import Self, cast

from activities.evidence.ledger import Ledger
from activities.evidence.reconcile import read_sources
from activities.evidence.text.terms import detect_language, terms, words
from activities.sources.chunks import sentences
from activities.sources.corpus_search import Corpus
from activities.sources.database import open_for_building
from activities.sources.documents import Document, Kind, UnknownDocument
from activities.sources.index import FileContent, store
from activities.storage.store import Store
from workflows.contracts.evidence import Claim, Contradiction, Quote, Source, Verdict

CLAIMS, PASSAGES = 24, 10
"""How many of each are looked at for one question."""
_FEWEST_CLAIMS = 12
_PER_DOCUMENT = 3
_SHARED = 0.5


@dataclass(frozen=True)
class Held:
    """What was found for a question, the best first."""

    claims: tuple[Claim, ...]
    """Claims of the ledger, then passages as claims."""
    contradictions: tuple[Contradiction, ...]
    """Those that one of the claims takes part in."""
    frequency: dict[str, int]
    """In how many sources each word of the question stands."""
    sources: int

    def number(self, sources: Mapping[str, Source]) -> Ledger:
        """A ledger in which every claim has a number of its own: a citation names one claim."""
        known = {claim.id: sources[claim.quotes[0].source_id] for claim in self.claims}
        return Ledger(
            sources={key: own.model_copy(update={"id": key}) for key, own in known.items()},
            claims=tuple(
                claim.model_copy(
                    update={
                        "quotes": tuple(
                            quote.model_copy(update={"source_id": claim.id})
                            for quote in claim.quotes
                        )
                    }
                )
                for claim in self.claims
            ),
            numbers={claim.id: n for n, claim in enumerate(self.claims, 1)},
        )


class LedgerSearch:
    """One ledger with the texts of its sources, ready to be searched."""

    def __init__(self, ledger: Ledger, titles: Mapping[str, str], texts: Mapping[str, str]) -> None:
        """`titles` are those of the facets; `texts` are stored copies, by source id."""
        self.ledger = ledger
        self._claims = {claim.id: claim for claim in ledger.citable()}
        self._folder = Path(mkdtemp(prefix="ask-"))
        weakref.finalize(self, shutil.rmtree, self._folder, ignore_errors=True)
        self._by_claim = self._index(
            "claims",
            (
                Document(claim.id, claim.id, titles.get(claim.facet_id, ""), None, "note", "",
                         text=claim.text)
                for claim in self._claims.values()
            ),
        )  # fmt: skip
        self._by_text = self._index(
            "texts",
            (
                Document(source.id, source.uri, source.title, source.date,
                         cast(Kind, source.kind), source.sha256, text=texts[source.id])
                for source in ledger.sources.values()
                if texts.get(source.id)
            ),
        )  # fmt: skip

    @classmethod
    async def open(cls, objects: Store, ledger: Ledger, titles: Mapping[str, str]) -> Self:
        texts = await read_sources(objects, list(ledger.sources.values()))
        return await asyncio.to_thread(cls, ledger, titles, texts)

    def _index(self, name: str, documents: Iterable[Document]) -> Corpus:
        path = self._folder / name
        connection = open_for_building(path)
        store(connection, [FileContent(each.id, documents=(each,)) for each in documents])
        connection.close()
        return Corpus(path)

    def search(self, question: str) -> Held:
        found = [hit.document.id for hit in self._by_claim.search(question, limit=CLAIMS)]
        if len(found) < _FEWEST_CLAIMS:
            # A question in few words, such as "what follows from this?", is about what matters.
            ranked = sorted(self._claims.values(), key=lambda claim: -claim.relevance)
            found += [claim.id for claim in ranked[:_FEWEST_CLAIMS]]
        contradictions = tuple(
            one for one in self.ledger.contradictions if not set(found).isdisjoint(one.claim_ids)
        )
        found += [claim_id for one in contradictions for claim_id in one.claim_ids]
        hits = self._by_text.search(question, limit=PASSAGES, per_document=_PER_DOCUMENT)
        asked = list(dict.fromkeys(words(question)))
        return Held(
            claims=(
                *(self._claims[one] for one in dict.fromkeys(found) if one in self._claims),
                *(
                    Claim(
                        id=f"passage-{n}",
                        facet_id="",
                        text=hit.passage.text,
                        quotes=(
                            Quote(
                                source_id=hit.document.id,
                                text=hit.passage.text,
                                start=hit.passage.start,
                                end=hit.passage.end,
                                section=hit.section,
                            ),
                        ),
                        verdict=Verdict.SUPPORTED,
                    )
                    for n, hit in enumerate(hits, 1)
                    if hit.passage.text.strip()
                ),
            ),
            contradictions=contradictions,
            frequency=self._by_text.frequency(asked, detect_language(question)),
            sources=len(self._by_text),
        )

    def narrow(self, quote: Quote, said: str) -> Quote:
        """The part of a quote that bears on what is said: from its first sentence to its last, as
        the stored copy has it."""
        try:
            text = self._by_text.document(quote.source_id).text[quote.start : quote.end]
        except UnknownDocument:
            # The index has a copy of it under another id.
            return quote
        spans = [(one.start, one.end) for one in sentences(text) if one.kind != "heading"]
        wanted = set(terms(said))
        shares = [len(wanted & set(terms(text[start:end]))) for start, end in spans]
        if not any(shares) or quote.start is None:
            return quote
        least = _SHARED * max(shares)
        near = [span for span, share in zip(spans, shares, strict=True) if share > least]
        start, end = near[0][0], near[-1][1]
        place = {"start": quote.start + start, "end": quote.start + end}
        return quote.model_copy(update={"text": text[start:end]} | place)
