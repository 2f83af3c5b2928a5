"""Whether a gold answer stands in a text, after case, punctuation, accents and articles are folded.

An answer stands in a text when its words follow each other there, from word boundary to word
boundary.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable

_ARTICLES = frozenset({"a", "an", "the"})
_YES_NO = frozenset({"yes", "no"})


def normalize(text: str) -> str:
    """The words of a text in lower case, without accents, punctuation and articles."""
    letters = unicodedata.normalize("NFKD", text.casefold())
    plain = "".join(letter for letter in letters if not unicodedata.combining(letter))
    return " ".join(word for word in re.findall(r"[^\W_]+", plain) if word not in _ARTICLES)


def contains(text: str, answers: Iterable[str]) -> bool:
    """Whether one of the answers stands in the text."""
    words = f" {normalize(text)} "
    return any(f" {wanted} " in words for wanted in map(normalize, answers) if wanted)


def is_measurable(question: str, answers: Iterable[str]) -> bool:
    """Whether finding the answer in a text says anything: not for yes, no, or an answer that the
    question holds already."""
    known = [normalize(answer) for answer in answers]
    return not (_YES_NO & set(known)) and not contains(question, known) and any(known)
