"""A file becomes documents, or a reason why it cannot be read. Nothing here raises.

`parse` is what most callers want. `parse_file` also tells which records of a file were unreadable
while others were fine.
"""

from __future__ import annotations

import zipfile
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from activities.sources.documents import Document, Unreadable, document_id, text_hash
from activities.sources.formats.descriptions import choose_title, guess_kind, head_date, name_date
from activities.sources.formats.extracted_text import (
    MOST_CHARACTERS,
    Extract,
    UnreadableError,
    decode,
    fold,
    normalise,
)
from activities.sources.formats.recognition import ADVICE, Recognise
from activities.sources.formats.text_files import (
    extract_chat,
    extract_mails,
    extract_text,
    is_markdown,
    is_markup_too_dense,
    is_restructured,
)
from activities.storage.document_sources import IMAGES, MAX_FILE_BYTES, SUFFIXES

# Raised whenever the same file may give another text, so that indexes are built anew.
VERSION = 9

OFFICE = frozenset({".docx", ".docm", ".pptx", ".pptm", ".xlsx", ".xlsm"})

_MOST_UNPACKED_BYTES = 500 * 1024 * 1024
_MOST_MEMBERS = 20_000
# XML compresses about 20 to 1; a bomb 1000 to 1. Small members may be all zeros and harmless.
_MOST_RATIO = 200
_RATIO_FROM = 10 * 1024 * 1024
_EMPTY = "holds no text; remove it, or save it again with its text"

Found = tuple[list[Extract], list[Unreadable]]


@dataclass(frozen=True, slots=True)
class Parsed:
    """What one file gave."""

    documents: tuple[Document, ...] = ()
    unreadable: tuple[Unreadable, ...] = ()


def parse(path: Path, relative: str) -> list[Document] | Unreadable:
    """The documents of a file, or why there are none."""
    parsed = parse_file(path, relative)
    return list(parsed.documents) or parsed.unreadable[0]


def parse_file(path: Path, relative: str, recognise: Recognise | None = None) -> Parsed:
    """The documents of a file and whatever in it could not be read.

    `recognise` finds text in images and on scanned pages; without it these are unreadable.
    """
    suffix = PurePosixPath(relative).suffix.lower()
    if suffix in IMAGES and recognise is None:
        return _refused(relative, f"is an image; {ADVICE}")
    if suffix not in SUFFIXES | IMAGES:
        known = " ".join(sorted(SUFFIXES))
        return _refused(relative, f"has no format known here; save it as one of {known}")
    try:
        size = path.stat().st_size
        if size > MAX_FILE_BYTES:
            reason = f"is larger than {MAX_FILE_BYTES:,} bytes ({size:,}); split it into parts"
            return _refused(relative, reason)
        extracts, unreadable = _read(path, relative, suffix, recognise)
    except UnreadableError as error:
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
    title = choose_title(extract.title, text, relative)
    kind = guess_kind(title, uri, text, extract.usual)
    # Dates in the rows of a table are data.
    date = extract.date or (None if extract.usual == "dataset" else head_date(text))
    date = date or name_date(PurePosixPath(relative).stem) or extract.saved
    sha256 = text_hash(text)
    return Document(
        document_id(uri, sha256), uri, title, date, kind, sha256,
        recognised=extract.recognised, text=text,
    )  # fmt: skip


# Parsers are imported when their format is met: a folder of text needs none of the libraries.


def _read(path: Path, relative: str, suffix: str, recognise: Recognise | None) -> Found:
    """What the parser of a format finds in a file."""
    match suffix:
        case ".pdf":
            from activities.sources.formats.pdf.paragraphs import extract_pdf

            return [extract_pdf(path, recognise)], []
        case _ if suffix in IMAGES and recognise:
            from activities.sources.formats.pdf.paragraphs import extract_image

            return [extract_image(path, recognise)], []
        case ".html" | ".htm" | ".xhtml":
            from activities.sources.formats.markup.html_pages import declared_encoding, extract_page

            content = path.read_bytes()
            return [extract_page(decode(content, declared_encoding(content)))], []
        case ".eml":
            from activities.sources.formats.text_files import extract_mail

            return [extract_mail(path.read_bytes())], []
        case ".mbox":
            from activities.sources.formats.text_files import extract_mailbox

            return extract_mailbox(path), []
        case _ if suffix in OFFICE:
            _check_archive(path)
            return [_read_office(path, relative, suffix)], []
        case ".jsonl" | ".ndjson":
            from activities.sources.formats.json_records import extract_lines

            return extract_lines(decode(path.read_bytes()), relative)
        case _:
            return _read_text(decode(path.read_bytes()), relative, suffix), []


def _check_archive(path: Path) -> None:
    """Raise unless `path` is a zip file of sane size: not encrypted, broken or built to explode."""
    if not zipfile.is_zipfile(path):
        with path.open("rb") as file:
            start = file.read(8)
        if start == b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1":
            raise UnreadableError(
                "is encrypted or in an old Office format; remove the password "
                "or save it as .docx, .pptx or .xlsx"
            )
        raise UnreadableError("is damaged: not a zip archive; save the file again")
    with zipfile.ZipFile(path) as archive:
        members = archive.infolist()
    size = sum(member.file_size for member in members)
    packed = sum(member.compress_size for member in members)
    if len(members) > _MOST_MEMBERS or size > _MOST_UNPACKED_BYTES:
        raise UnreadableError(
            f"would unpack to {size:,} bytes in {len(members):,} parts, "
            "which looks like a zip bomb; split the file if it is genuine"
        )
    if size > _RATIO_FROM and size > _MOST_RATIO * max(packed, 1):
        raise UnreadableError(
            f"unpacks to {size // max(packed, 1)} times its size, which looks like a zip bomb; "
            "save the file again if it is genuine"
        )


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
            return [_read_markup(text)]
        case ".rst" | ".rest":
            return [_read_markup(text, restructured=True)]
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
        return [_read_markup(text, restructured=True)]
    return [_read_markup(text) if is_markdown(text) else extract_text(text)]


def _read_markup(text: str, *, restructured: bool = False) -> Extract:
    """Markdown or reStructuredText without its markup; with it where it cannot be parsed."""
    if restructured:
        from activities.sources.formats.markup.restructured_text import extract_restructured as read
    else:
        from activities.sources.formats.markup.markdown_text import extract_markdown as read
    if is_markup_too_dense(text):
        return extract_text(text)
    try:
        return read(text)
    except Exception:  # people can still read what docutils gives up
        return extract_text(text)
