"""A file becomes documents, or a reason why it cannot be read. Nothing here raises.

`parse` is what most callers want. `parse_file` also tells which records of a file were unreadable
while others were fine.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from activities.sources.documents import Document, Unreadable, document_id, text_hash
from activities.sources.formats.document_dates import head_date, name_date
from activities.sources.formats.encoding import BinaryContentError, decode, fold, normalise
from activities.sources.formats.extracted_text import (
    MOST_CHARACTERS,
    Extract,
    NoTextError,
    readable_name,
)
from activities.sources.formats.kinds import guess_kind
from activities.sources.formats.lines import HEADING
from activities.sources.formats.office.archives import UnsafeArchiveError, check_archive
from activities.sources.formats.plaintext import (
    extract_text,
    is_markdown,
    is_markup_too_dense,
    is_restructured,
)
from activities.sources.formats.text_exports import extract_chat, extract_mails
from activities.storage.document_sources import MAX_FILE_BYTES, SUFFIXES

# Raised whenever the same file may give another text, so that indexes are built anew.
VERSION = 5

_OFFICE = frozenset({".docx", ".docm", ".pptx", ".pptm", ".xlsx", ".xlsm"})

_LONGEST_TITLE = 200
_EMPTY = "holds no text; a scan? run OCR first"
_EXPORT = re.compile(r"\b(?:export|dump|archive|log)$", re.IGNORECASE)
_NO_TITLE = re.compile(
    r"(?:\d+[.)]? ?)?(?:(?:executive )?summary|abstract|introduction|overview|contents|"
    r"table of contents|background|motivation|preface|foreword|untitled|readme|home|index)\W*",
    re.IGNORECASE,
)
_MARKUP = re.compile(r"[*_`]{1,3}(?=\S)|(?<=\S)[*_`]{1,3}")

Found = tuple[list[Extract], list[Unreadable]]


@dataclass(frozen=True, slots=True)
class Parsed:
    """What one file gave."""

    documents: tuple[Document, ...] = ()
    unreadable: tuple[Unreadable, ...] = ()


def parse(
    path: Path, relative: str, *, most_bytes: int = MAX_FILE_BYTES
) -> list[Document] | Unreadable:
    """The documents of a file, or why there are none."""
    parsed = parse_file(path, relative, most_bytes=most_bytes)
    return list(parsed.documents) or parsed.unreadable[0]


def parse_file(path: Path, relative: str, *, most_bytes: int = MAX_FILE_BYTES) -> Parsed:
    """The documents of a file and whatever in it could not be read."""
    suffix = PurePosixPath(relative).suffix.lower()
    if suffix not in SUFFIXES:
        known = " ".join(sorted(SUFFIXES))
        return _refused(relative, f"has no format known here; save it as one of {known}")
    try:
        size = path.stat().st_size
        if size > most_bytes:
            return _refused(
                relative, f"is larger than {most_bytes:,} bytes ({size:,}); split it into parts"
            )
        extracts, unreadable = _read(path, relative, suffix)
    except (BinaryContentError, NoTextError, UnsafeArchiveError) as error:
        return _refused(relative, str(error))
    except OSError as error:
        return _refused(relative, f"cannot be opened: {error.strerror or error}; check its rights")
    except Exception as error:  # whatever a parser trips over is a fact about the file
        return _refused(relative, f"cannot be parsed ({_brief(error)}); open it and save it again")
    documents = [document for each in extracts if (document := _document(each, relative))]
    if not documents and not unreadable:
        return _refused(relative, _EMPTY)
    return Parsed(tuple(documents), tuple(unreadable))


def _refused(relative: str, reason: str) -> Parsed:
    return Parsed(unreadable=(Unreadable(relative, reason),))


def _brief(error: Exception) -> str:
    return f"{type(error).__name__}: {fold(str(error))[:120]}".rstrip(": ")


def _document(extract: Extract, relative: str) -> Document | None:
    text = normalise(extract.text)
    if len(text) > MOST_CHARACTERS + 200:
        cut = f"\n\n[Cut here: only the first {MOST_CHARACTERS:,} characters were kept.]"
        text = text[:MOST_CHARACTERS].rsplit("\n", 1)[0].rstrip() + cut
    if not any(map(str.isalnum, text)):
        return None
    uri = relative + extract.fragment
    title = _title(extract, text, relative)
    kind = guess_kind(title, uri, text, extract.usual)
    # Dates in the rows of a table are data.
    date = extract.date or (None if extract.usual == "dataset" else head_date(text))
    date = date or name_date(PurePosixPath(relative).stem) or extract.saved
    sha256 = text_hash(text)
    return Document(document_id(uri, sha256), uri, title, date, kind, sha256, text)


def _title(extract: Extract, text: str, relative: str) -> str:
    title = fold(_MARKUP.sub("", extract.title or ""))
    if not any(map(str.isalnum, title)):
        first = text.split("\n", 1)[0]
        mark = HEADING.match(first)
        title = fold(first[mark.end() :]) if mark else ""
    # Programs head every export alike, and many a text opens with "Summary"; the file's name tells
    # one from the other.
    if not title or _EXPORT.search(title) or _NO_TITLE.fullmatch(title):
        title = readable_name(relative)
    return title if len(title) <= _LONGEST_TITLE else title[: _LONGEST_TITLE - 1].rstrip() + "…"


# Parsers are imported when their format is met: a folder of text needs none of the libraries.


def _read(path: Path, relative: str, suffix: str) -> Found:
    """What the parser of a format finds in a file."""
    match suffix:
        case ".pdf":
            from activities.sources.formats.pdf.paragraphs import extract_pdf

            return [extract_pdf(path)], []
        case ".html" | ".htm" | ".xhtml":
            from activities.sources.formats.markup.html_pages import declared_encoding, extract_page

            content = path.read_bytes()
            return [extract_page(decode(content, declared_encoding(content)))], []
        case ".eml":
            from activities.sources.formats.mail_files import extract_mail

            return [extract_mail(path.read_bytes())], []
        case ".mbox":
            from activities.sources.formats.mail_files import extract_mailbox

            return extract_mailbox(path), []
        case _ if suffix in _OFFICE:
            check_archive(path)
            return [_read_office(path, relative, suffix)], []
        case ".jsonl" | ".ndjson":
            from activities.sources.formats.json_records import extract_lines

            return extract_lines(decode(path.read_bytes()), relative)
        case _:
            return _read_text(decode(path.read_bytes()), relative, suffix), []


def _read_office(path: Path, relative: str, suffix: str) -> Extract:
    match suffix:
        case ".docx" | ".docm":
            from activities.sources.formats.office.word import extract_word

            return extract_word(path)
        case ".pptx" | ".pptm":
            from activities.sources.formats.office.slides import extract_slides

            return extract_slides(path)
        case _:
            from activities.sources.formats.office.spreadsheets import extract_workbook

            return extract_workbook(path, relative)


def _read_text(text: str, relative: str, suffix: str) -> list[Extract]:
    match suffix:
        case ".md" | ".markdown" | ".mdown" | ".mkd":
            return [_read_markdown(text)]
        case ".rst" | ".rest":
            return [_read_restructured(text)]
        case ".csv" | ".tsv" | ".tab":
            from activities.sources.formats.office.spreadsheets import extract_csv

            return [extract_csv(text, relative)]
        case ".json":
            from activities.sources.formats.json_records import extract_json

            return extract_json(text, relative)
        case _:
            return _read_plain_text(text, relative)


def _read_plain_text(text: str, relative: str) -> list[Extract]:
    """A text file: mails, a chat, markup that it is written in, or just text."""
    if mails := extract_mails(text):
        return mails
    if chat := extract_chat(text):
        return [chat]
    # Sphinx publishes its sources as `name.rst.txt`.
    if relative.lower().endswith(".rst.txt") or is_restructured(text):
        return [_read_restructured(text)]
    return [_read_markdown(text) if is_markdown(text) else extract_text(text)]


def _read_markdown(text: str) -> Extract:
    from activities.sources.formats.markup.markdown_text import extract_markdown

    return _read_markup(extract_markdown, text)


def _read_restructured(text: str) -> Extract:
    from activities.sources.formats.markup.restructured_text import extract_restructured

    return _read_markup(extract_restructured, text)


def _read_markup(extract: Callable[[str], Extract], text: str) -> Extract:
    """The text without its markup; with it where the library cannot parse it."""
    if is_markup_too_dense(text):
        return extract_text(text)
    try:
        return extract(text)
    except Exception:  # people can still read what docutils gives up
        return extract_text(text)
