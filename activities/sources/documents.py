"""What the corpus holds: documents, the passages found in them and their sentences.

All offsets count characters of `Document.text`, the text that quotes are checked against.
`Document.sha256` is the hash of that text, so a quote can be checked against any copy of it.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import Literal

Kind = Literal[
    "report", "study", "minutes", "regulation", "dataset", "slides", "press", "blog", "marketing",
    "mail", "chat", "page", "note",
]  # fmt: skip
SentenceKind = Literal["prose", "heading", "item", "row", "code"]

_ID_DIGITS = 10


class UnknownDocument(LookupError):
    """No document of the corpus has this id."""

    def __init__(self, document_id: str) -> None:
        super().__init__(
            f"no document {document_id!r} in the corpus; "
            "use an id from a search result (ids look like 'd0123456789'), "
            "and search again if the folder has changed since"
        )
        self.document_id = document_id


@dataclass(frozen=True, slots=True)
class DocumentMeta:
    """A document without its text; `also_at` are other files with the same words.

    A job sees it only if it carries all of its `labels`.
    """

    id: str
    uri: str
    title: str
    date: str | None
    kind: Kind
    sha256: str
    also_at: tuple[str, ...] = ()
    labels: tuple[str, ...] = ()
    recognised: bool = False
    """Whether some of the text was recognised in images, and may be misread."""


@dataclass(frozen=True, slots=True)
class Document(DocumentMeta):
    """One readable source: a file, or one record of a JSON file."""

    text: str = ""


@dataclass(frozen=True, slots=True)
class Unreadable:
    """A file, or a record of one, that gave no document, and why."""

    uri: str
    reason: str


@dataclass(frozen=True, slots=True)
class Sentence:
    """A quotable span, without list markers or fences; a code block is one span."""

    start: int
    end: int
    kind: SentenceKind = "prose"


@dataclass(frozen=True, slots=True)
class Passage:
    """A stretch of one document with its sentences."""

    document_id: str
    start: int
    end: int
    text: str
    sentences: tuple[Sentence, ...]

    def quote(self, sentence: Sentence) -> str:
        """The sentence's own words."""
        return self.text[sentence.start - self.start : sentence.end - self.start]


@dataclass(frozen=True, slots=True)
class Hit:
    """A passage that a search found."""

    document: DocumentMeta
    passage: Passage
    score: float
    section: str = ""
    """The headings above the passage, outermost first."""


def text_hash(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def document_id(uri: str, sha256: str, digits: int = _ID_DIGITS) -> str:
    """Short and stable: it changes only with the place or the text of a document."""
    return "d" + hashlib.sha256(f"{uri}\0{sha256}".encode()).hexdigest()[:digits]
