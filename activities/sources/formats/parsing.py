"""A file becomes documents, or a reason why it cannot be read. Nothing here raises.

`parse` is what most callers want. `parse_file` also tells which records of a file were unreadable
while others were fine. `SUFFIXES` are the formats that are read; the corpus skips all others.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from activities.sources.documents import Document, Unreadable, document_id, text_hash
from activities.sources.formats.archives import UnsafeArchiveError, check_archive
from activities.sources.formats.dates import head_date, name_date
from activities.sources.formats.encoding import BinaryContentError, decode, fold, normalise
from activities.sources.formats.extracts import (
    MOST_BYTES,
    MOST_CHARACTERS,
    Extract,
    NoTextError,
    readable_name,
)
from activities.sources.formats.kinds import guess_kind
from activities.sources.formats.lines import HEADING

# Raised whenever the same file may give another text, so that indexes are built anew.
VERSION = 3

_LONGEST_TITLE = 200
_EMPTY = "holds no text; a scan? run OCR first"
_EXPORT = re.compile(r"\b(?:export|dump|archive|log)$", re.IGNORECASE)
_NO_TITLE = re.compile(
    r"(?:\d+[.)]? ?)?(?:(?:executive )?summary|abstract|introduction|overview|contents|"
    r"table of contents|background|motivation|preface|foreword|untitled|readme|home|index)\W*",
    re.IGNORECASE,
)
_MARKUP = re.compile(r"[*_`]{1,3}(?=\S)|(?<=\S)[*_`]{1,3}")


@dataclass(frozen=True, slots=True)
class Parsed:
    """What one file gave."""

    documents: tuple[Document, ...] = ()
    unreadable: tuple[Unreadable, ...] = ()


def parse(
    path: Path, relative: str, *, most_bytes: int = MOST_BYTES
) -> list[Document] | Unreadable:
    """The documents of a file, or why there are none."""
    parsed = parse_file(path, relative, most_bytes=most_bytes)
    return list(parsed.documents) or parsed.unreadable[0]


def parse_file(path: Path, relative: str, *, most_bytes: int = MOST_BYTES) -> Parsed:
    """The documents of a file and whatever in it could not be read."""
    read = _FORMATS.get(_suffix(relative))
    if read is None:
        return _refused(relative, f"has no format known here; save it as one of {_known()}")
    try:
        size = path.stat().st_size
        if size > most_bytes:
            return _refused(
                relative, f"is larger than {most_bytes:,} bytes ({size:,}); split it into parts"
            )
        extracts, unreadable = read(path, relative)
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


def _suffix(relative: str) -> str:
    return PurePosixPath(relative).suffix.lower()


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


Found = tuple[list[Extract], list[Unreadable]]
Format = Callable[[Path, str], Found]


def _of_text(extract: Callable[[str, str], Extract | list[Extract] | Found]) -> Format:
    def read(path: Path, relative: str) -> Found:
        found = extract(decode(path.read_bytes()), relative)
        if isinstance(found, Extract):
            return [found], []
        return (found, []) if isinstance(found, list) else found

    return read


def _of_archive(extract: Callable[[Path, str], Extract]) -> Format:
    def read(path: Path, relative: str) -> Found:
        check_archive(path)
        return [extract(path, relative)], []

    return read


# Parsers are imported when their format is met: a folder of text needs none of the libraries.


def _markdown(text: str, _: str) -> Extract:
    from activities.sources.formats.markdown import extract_markdown

    return _of_markup(extract_markdown, text)


def _restructured(text: str, _: str) -> Extract:
    from activities.sources.formats.restructured import extract_restructured

    return _of_markup(extract_restructured, text)


def _of_markup(extract: Callable[[str], Extract], text: str) -> Extract:
    """The text without its markup; with it where the library cannot parse it."""
    from activities.sources.formats.plaintext import extract_text, is_markup_too_dense

    if is_markup_too_dense(text):
        return extract_text(text)
    try:
        return extract(text)
    except Exception:  # people can still read what docutils gives up
        return extract_text(text)


def _text(text: str, relative: str) -> Extract | list[Extract]:
    from activities.sources.formats.messages import extract_chat, extract_mails
    from activities.sources.formats.plaintext import extract_text, is_markdown, is_restructured

    if mails := extract_mails(text):
        return mails
    if chat := extract_chat(text):
        return chat
    # Sphinx publishes its sources as `name.rst.txt`.
    if relative.lower().endswith(".rst.txt") or is_restructured(text):
        return _restructured(text, relative)
    return _markdown(text, relative) if is_markdown(text) else extract_text(text)


def _csv(text: str, relative: str) -> Extract:
    from activities.sources.formats.spreadsheets import extract_csv

    return extract_csv(text, relative)


def _json(text: str, relative: str) -> list[Extract]:
    from activities.sources.formats.records import extract_json

    return extract_json(text, relative)


def _json_lines(text: str, relative: str) -> Found:
    from activities.sources.formats.records import extract_lines

    return extract_lines(text, relative)


def _page(path: Path, _: str) -> Found:
    from activities.sources.formats.webpage import declared_encoding, extract_page

    content = path.read_bytes()
    return [extract_page(decode(content, declared_encoding(content)))], []


def _mail(path: Path, _: str) -> Found:
    from activities.sources.formats.mail import extract_mail

    return [extract_mail(path.read_bytes())], []


def _mailbox(path: Path, _: str) -> Found:
    from activities.sources.formats.mail import extract_mailbox

    return extract_mailbox(path), []


def _pdf(path: Path, _: str) -> Found:
    from activities.sources.formats.pdf import extract_pdf

    return [extract_pdf(path)], []


def _word(path: Path, _: str) -> Extract:
    from activities.sources.formats.word import extract_word

    return extract_word(path)


def _slides(path: Path, _: str) -> Extract:
    from activities.sources.formats.slides import extract_slides

    return extract_slides(path)


def _workbook(path: Path, relative: str) -> Extract:
    from activities.sources.formats.spreadsheets import extract_workbook

    return extract_workbook(path, relative)


_FORMATS: dict[str, Format] = {
    **dict.fromkeys((".md", ".markdown", ".mdown", ".mkd"), _of_text(_markdown)),
    **dict.fromkeys((".txt", ".text", ".log"), _of_text(_text)),
    **dict.fromkeys((".rst", ".rest"), _of_text(_restructured)),
    **dict.fromkeys((".csv", ".tsv", ".tab"), _of_text(_csv)),
    **dict.fromkeys((".jsonl", ".ndjson"), _of_text(_json_lines)),
    ".json": _of_text(_json),
    **dict.fromkeys((".html", ".htm", ".xhtml"), _page),
    ".eml": _mail,
    ".mbox": _mailbox,
    ".pdf": _pdf,
    **dict.fromkeys((".docx", ".docm"), _of_archive(_word)),
    **dict.fromkeys((".pptx", ".pptm"), _of_archive(_slides)),
    **dict.fromkeys((".xlsx", ".xlsm"), _of_archive(_workbook)),
}
SUFFIXES = frozenset(_FORMATS)


def _known() -> str:
    return " ".join(sorted(SUFFIXES))
