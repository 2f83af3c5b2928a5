"""Documents as claims, for sets that give documents and no job: a plain extractive step.

It knows the question and never the answers: the sentences that share most terms with the question,
verbatim. A document of RAMDocs has about a hundred words, so four sentences are most of it: compare
figures only between runs with the same number of sentences.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from activities.evidence.text.sentences import sentences
from activities.evidence.text.terms import terms
from workflows.evidence import Claim, Quote

SENTENCES = 4
LONGEST = 60
"""Words; a longer "sentence" is a table or a menu and is cut into windows."""
_FIGURE = re.compile(r"\d")


def claims_of(question: str, documents: Sequence[str]) -> list[Claim]:
    """Each document as one claim: its sentences nearest to the question, verbatim."""
    claims = []
    for n, text in enumerate(documents):
        quotes = best_sentences(question, text, SENTENCES) or [text]
        claims.append(
            Claim(
                id=f"d{n:02d}",
                facet_id="facet",
                text="\n\n".join(quotes),
                quotes=tuple(Quote(source_id=f"d{n:02d}", text=quote) for quote in quotes),
            )
        )
    return claims


def best_sentences(question: str, text: str, most: int) -> list[str]:
    """The sentences that share most terms with the question, in the order of the text."""
    wanted = set(terms(question))
    parts = [window for sentence in sentences(text) for window in _windows(sentence)]

    def score(place: int) -> tuple[float, int]:
        figure = 0.3 if _FIGURE.search(parts[place]) else 0.0
        return len(wanted & set(terms(parts[place]))) + figure, -place

    best = sorted(range(len(parts)), key=score, reverse=True)[:most]
    return [parts[place] for place in sorted(best)]


def _windows(sentence: str) -> list[str]:
    words = sentence.split()
    return [" ".join(words[n : n + LONGEST]) for n in range(0, len(words), LONGEST)]
