"""Local documents: parsed, indexed, searched and read.

`Corpus` is the way in; `parse` reads one file; `sentences` splits any text into quotable spans.
"""

from .corpus import Corpus
from .database import IndexBusyError, IndexDamagedError
from .documents import (
    Document,
    DocumentMeta,
    Hit,
    Kind,
    Passage,
    Sentence,
    SentenceKind,
    UnknownDocument,
    Unreadable,
)
from .parsing import parse
from .refresh import IndexReport
from .sentences import sentences

__all__ = [
    "Corpus",
    "Document",
    "DocumentMeta",
    "Hit",
    "IndexBusyError",
    "IndexDamagedError",
    "IndexReport",
    "Kind",
    "Passage",
    "Sentence",
    "SentenceKind",
    "UnknownDocument",
    "Unreadable",
    "parse",
    "sentences",
]
