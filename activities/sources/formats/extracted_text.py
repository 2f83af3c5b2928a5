"""The text of a file: from its bytes to the one form in which it is stored and quoted.

`decode` guesses the encoding and refuses binary content. `normalise` gives NFC text with `\\n`
newlines, plain spaces, no control characters, no trailing spaces and at most one blank line. Every
format parser gives back an `Extract`, whose text is plain Markdown: `#` headings, `-` and `1.`
items, fenced code, paragraphs with a blank line between them. Structured formats (HTML, Word,
PowerPoint) write it from blocks. `formats.lines` reads it back.
"""

from __future__ import annotations

import codecs
import re
import unicodedata
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import groupby
from typing import Literal, NamedTuple

from activities.sources.documents import Kind

_BOMS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_LINE_BREAKS = re.compile("\r\n|[\r\x0b\x0c\x85\u2028\u2029]")
_SPACES = re.compile("[\t\xa0\u1680\u2000-\u200a\u202f\u205f\u3000]")
# Zero-width marks and soft hyphens would make two equal-looking quotes differ. Lone surrogates
# (JSON allows them) and NULs cannot be stored.
_INVISIBLE = re.compile(
    "[\x00-\x08\x0e-\x1f\x7f-\x84\x86-\x9f\xad\u200b\u200e\u200f\u202a-\u202e\u2060\ufeff"
    "\ufffe\uffff\ud800-\udfff]"
)
_BLANKS = re.compile(r"\n{3,}")
# Most texts need nothing done, and this runs for each; one search is faster than four rewrites.
_TO_CLEAN = re.compile(r"[\x00-\x09\x0b-\x1f\x7f]| \n|\n\n\n")
_CONTROLS = bytes((*range(7), *range(14, 27), *range(28, 32)))
_SAMPLE = 65_536
_BINARY_SHARE = 0.02


class UnreadableError(ValueError):
    """A file cannot be read; the message says why and what to do."""


def decode(content: bytes, declared: str | None = None) -> str:
    """Text of `content`: by its BOM, as UTF-8, as `declared`, else as Windows-1252."""
    for bom, name in _BOMS:
        if content.startswith(bom):
            return content[len(bom) :].decode(name, errors="replace")
    _refuse_binary(content)
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError:
        pass
    if declared is not None:
        try:
            return content.decode(declared)
        except (LookupError, UnicodeDecodeError):
            pass
    text = content.decode("cp1252", errors="replace")
    odd = sum(1 for c in text[:_SAMPLE] if c == "\ufffd" or (ord(c) > 0x7F and not c.isalpha()))
    letters = sum(1 for c in text[:_SAMPLE] if c.isascii() and (c.isalnum() or c.isspace()))
    if odd > 0.1 * len(text[:_SAMPLE]) or letters < 0.4 * len(text[:_SAMPLE]):
        raise UnreadableError("is neither UTF-8 nor Western European text; save it as UTF-8")
    return text


def _refuse_binary(content: bytes) -> None:
    sample = content[:_SAMPLE]
    controls = len(sample) - len(sample.translate(None, _CONTROLS))
    if sample and (0 in sample or controls > _BINARY_SHARE * len(sample)):
        raise UnreadableError(
            "holds binary data, not text; export it as text or PDF, "
            "or save UTF-16 text with a byte order mark"
        )


def normalise(text: str) -> str:
    """The stored form of a text. Doing it twice changes nothing."""
    if text.isascii() and not _TO_CLEAN.search(text):
        return text.strip("\n ")
    if not text.isascii():
        text = _SPACES.sub(" ", _LINE_BREAKS.sub("\n", text))
        text = unicodedata.normalize("NFC", _INVISIBLE.sub("", text))
    else:
        text = _INVISIBLE.sub("", _LINE_BREAKS.sub("\n", text).replace("\t", " "))
    # Not a regular expression: ` +$` is quadratic in a long run of spaces.
    text = _BLANKS.sub("\n\n", "\n".join([line.rstrip(" ") for line in text.split("\n")]))
    # Leading spaces of the first line go too: nothing is quoted by its indentation.
    return text.strip("\n ")


def fold(text: str) -> str:
    """One line of a text: whitespace folded, for titles, headings and cells."""
    return " ".join(normalise(text).split())


# --- what parsers give back ----------------------------------------------------------------------

MOST_CHARACTERS = 5_000_000
BULLET = "- "

_FENCES = re.compile(r"^ *(`{3,})", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Extract:
    """The text of one document before it is normalised, and what its file says about it.

    `date` is a date the document gives itself; `saved` one that its program wrote into the file,
    which often is that of a template or a conversion and only counts where there is no other.
    """

    text: str
    title: str | None = None
    date: str | None = None
    saved: str | None = None
    usual: Kind = "note"
    fragment: str = ""
    recognised: bool = False


def within_limit(lines: Iterable[str]) -> Iterator[str]:
    """Lines until the text is as long as a document may be, then a line that says so."""
    length = 0
    for line in lines:
        length += len(line) + 1
        if length > MOST_CHARACTERS:
            yield f"[Cut here: only the first {MOST_CHARACTERS:,} characters were kept.]"
            return
        yield line


class Block(NamedTuple):
    """A paragraph, heading, list item, table row or code block.

    `mark` is what stands before it: `## `, `- `, or the language of code.
    """

    kind: Literal["text", "heading", "item", "row", "code"]
    text: str
    mark: str = ""


def heading(level: int, text: str) -> Block:
    return Block("heading", text, "#" * max(1, min(level, 6)) + " ")


def fenced(code: str, language: str = "") -> str:
    """A code block between fences. The opening fence always names a language.

    So a closing fence differs from an opening one, and a passage cut out of the middle of a block
    still tells code from prose.
    """
    longest = max((len(found[1]) for found in _FENCES.finditer(code)), default=2)
    fence = "`" * (longest + 1)
    return f"{fence}{language or 'text'}\n{code}\n{fence}"


def write_blocks(blocks: Iterable[Block]) -> str:
    """The text of blocks, up to the limit, with a blank line wherever a sentence must end."""
    return "\n\n".join(within_limit(_paragraphs(blocks)))


def _paragraphs(blocks: Iterable[Block]) -> Iterator[str]:
    """Paragraphs of text: items of one list and rows of one table stay close together."""
    for kind, run in groupby(blocks, key=lambda block: block.kind):
        if kind in ("row", "item"):
            yield "\n".join(block.mark + block.text for block in run)
        elif kind == "code":
            yield from (fenced(block.text, block.mark) for block in run)
        else:
            yield from (block.mark + block.text for block in run)
