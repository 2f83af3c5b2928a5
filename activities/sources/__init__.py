"""Local documents: parsed, indexed, searched and read.

`Corpus` is the way in; `parse` reads one file; `sentences` splits any text into quotable spans.
"""

from activities.sources.corpus import Corpus
from activities.sources.database import IndexBusyError, IndexDamagedError
from activities.sources.documents import (
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
from activities.sources.formats.parsing import parse
from activities.sources.refresh import IndexReport
from activities.sources.sentences import sentences

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
