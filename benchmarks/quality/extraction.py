"""Documents as claims, for sets that give documents and no job: a plain extractive step.

It knows the question and never the answers: the `SENTENCES` sentences nearest to the question,
verbatim, each a quote, joined in the order of the document as the claim's text. A document of
RAMDocs has about a hundred words, so four sentences are most of it: compare figures only between
runs with the same `SENTENCES`.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from math import log

from activities.evidence.conflicts.questions import ask
from activities.evidence.words import sentences, stems
from workflows.contracts.evidence import Claim, Quote

SENTENCES = 4
LONGEST = 60  # words; a longer "sentence" is a table or a menu and is cut into windows
FIGURE = re.compile(r"\d")
CAPITAL = re.compile(r"(?<=\s)[A-Z]\w+")


def claims_of(question: str, documents: Sequence[str]) -> list[Claim]:
    """Each document as one claim: its sentences that bear on the question, verbatim."""
    asked = ask(question)
    wanted = set(stems(question)) | (asked.relation if asked else set())
    parts = [
        [cut for span in sentences(text) for cut in _windows(text, *span)] or [(0, len(text))]
        for text in documents
    ]
    counts: Counter[str] = Counter()
    for text, spans in zip(documents, parts, strict=True):
        for a, b in spans:
            counts.update(set(stems(text[a:b])) & wanted)
    size = sum(map(len, parts))
    figures = asked is not None and asked.kind in ("date", "number")

    def score(text: str, span: tuple[int, int]) -> tuple[float, int]:
        part = text[span[0] : span[1]]
        # A word that stands in every sentence tells none apart, as in any ranking by rarity.
        met = sum(log(1 + size / counts[w]) for w in sorted(set(stems(part)) & wanted))
        holds = FIGURE.search(part) if figures else CAPITAL.search(part)
        return met + (1.0 if holds else 0.0), -span[0]

    claims = []
    for n, (text, spans) in enumerate(zip(documents, parts, strict=True)):
        best = sorted(spans, key=lambda span: score(text, span), reverse=True)[:SENTENCES]
        quotes = [text[a:b].strip() for a, b in sorted(best)]
        claims.append(
            Claim(
                id=f"d{n:02d}",
                facet_id="facet",
                text="\n\n".join(quotes),
                quotes=tuple(Quote(source_id=f"d{n:02d}", text=quote) for quote in quotes),
            )
        )
    return claims


def _windows(document: str, start: int, end: int) -> list[tuple[int, int]]:
    words = [m.span() for m in re.finditer(r"\S+", document[start:end])]
    if len(words) <= LONGEST:
        return [(start, end)]
    return [
        (start + words[n][0], start + words[min(n + LONGEST, len(words)) - 1][1])
        for n in range(0, len(words), LONGEST)
    ]
