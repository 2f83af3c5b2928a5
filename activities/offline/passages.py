"""Passages that can stand as an answer: stretches of the hits of a search, word for word.

A stretch stays within one section of a document and holds whole paragraphs, list items, table rows
and code blocks, in their order; only a paragraph longer than a stretch is cut, between sentences.
Short stretches tell where an answer stands; `grow` makes of them what can be read.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise

from activities.evidence.text.headings import SECTION_MARK
from activities.evidence.text.sentences import split_sentences
from activities.evidence.text.terms import STOP_WORDS
from activities.offline.request import Hit

HEADING = re.compile(r"#{1,6} +")
ITEM = re.compile(r" *(?:[-*+•·▪◦‣●○■□➢✓]|\(?\d{1,2}[.)]|[a-z]\)|\([a-z]{1,3}\)) +")
_FENCE = re.compile(r"\s*(?:```|~~~)")
ROW = re.compile(r"[^:;|]{1,80}: .*?; [^:;]{1,80}: |.* \| ")
# "max_size (default: 10): The most …", "Persistent=": a name from a program, with what it means.
_ENTRY = re.compile(
    r"(?=-|`|[A-Z][A-Z\d_]+\b|[a-z]+: |\S*(?:[_=<>$(\[/]|[a-z][A-Z]|\w[-.]\w))"
    r"(?:(?:\S+ ){0,6}?\S+: \S|(?:\S+ ){0,3}\S*[^\s.:;,!?…”\"']$)"
)
_LEANS = re.compile(
    r"(?:this|that|these|those|it|its|they|their|them|he|she|his|her|such|here|there|both|either"
    r"|however|therefore|thus|hence|also|but|and|or|so|then|instead|otherwise|nevertheless|moreover"
    r"|furthermore|additionally|similarly|likewise|conversely|meanwhile|consequently"
    r"|in (?:both|either|addition|contrast)|for (?:example|instance)|as a result|on the other hand"
    # "By doing this, …", "With that in mind …", "To do so …", "Because of these …".
    r"|(?:by|after|before|besides|despite|following|from|for|in|on|at|to|with|without|using|once"
    r"|like|because of|due to|apart from|based on|instead of)(?: \w+ing| do| done)?"
    r" (?:this|that|these|those|such|so|which)|er|sie|es|dies\w*|daher|deshalb|jedoch|außerdem)\b",
    re.IGNORECASE,
)
# "Here is …", "The following example shows …", "See the guide for …": the content is elsewhere.
_ANNOUNCES = re.compile(
    r"(?:here|below) (?:it is|is|are)\b|see (?:also )?[^.]{1,160}\.?$|(?:please )?refer to\b"
    r"|for (?:more|further|additional)? ?(?:details?|information|examples)\b"
    r"|(?:in )?(?:this|the (?:following|next)) (?:\w+ )?"
    r"(?:section|chapter|page|document|guide|tutorial|example|table|list|note|paper)s? "
    r"(?:describe|explain|show|cover|list|discuss|present|illustrate|outline|introduce)s?\b",
    re.IGNORECASE,
)
_WORDS, _WORDS_OPEN = 40, 105
"""How long a stretch is: for a narrow question, and for an open one, where none grows."""
_GROWN = 120
"""How long a stretch grows."""
_CODE_LINES = 40
_COLUMNS = "About the columns: "
_LINE_WORDS, PARAGRAPH = 8, 25


@dataclass(frozen=True)
class Piece:
    """A sentence of a paragraph, or a whole heading, item, row or code block."""

    kind: str
    text: str
    opens: bool = False
    """Whether a stretch may begin with it."""
    before: str | None = " "
    """What stands between it and the sentence before; None where they are no one quote."""
    begins: bool = True
    """Whether a paragraph begins with it."""
    paragraph: int = 0
    """The words of the whole paragraph it is a sentence of."""


@dataclass(frozen=True)
class Passage:
    """A quotable stretch of one document."""

    source_id: str
    title: str
    section: str
    """The headings it stands under, outermost first."""
    pieces: tuple[Piece, ...]
    rank: int
    """The place of its document among all hits."""
    place: tuple[int, int]
    """The number of its hit, and its place within that."""
    heading: str = ""
    """The heading it opens the section of, which then is part of what it says."""
    columns: str = ""
    """What a table says of its columns, for a passage of its rows."""

    @cached_property
    def parts(self) -> tuple[str, ...]:
        """Its verbatim parts in order: sentences that follow each other are one, but for those of a
        long paragraph that follows another."""
        parts: list[str] = []
        before = ""
        for piece in self.pieces:
            is_apart = piece.begins and piece.paragraph > PARAGRAPH
            if piece.kind == before == "prose" and piece.before is not None and not is_apart:
                parts[-1] = f"{parts[-1]}{piece.before}{piece.text}"
            else:
                parts.append(piece.text)
            before = piece.kind
        return tuple(parts)

    @property
    def sentences(self) -> tuple[str, ...]:
        """What it says, sentence by sentence: an item, a row or a code block is one."""
        return tuple(piece.text for piece in self.pieces)

    @property
    def is_entry(self) -> bool:
        """Whether it opens with the name of what it is about."""
        return self.pieces[0].kind == "entry"

    @property
    def leans(self) -> bool:
        """Whether it needs what stands before it."""
        return not self.pieces[0].begins or leans(self.pieces[0].text)

    @cached_property
    def text(self) -> str:
        """The parts as one text: code on lines of its own, items set apart by semicolons."""
        text = self.parts[0].rstrip("\n")
        for before, part in pairwise(self.parts):
            if "\n" in before or "\n" in part:
                text = f"{text}\n{part}".rstrip("\n")
            elif before.endswith(":") or len(part.split()) > PARAGRAPH:
                text = f"{text} {part}"
            else:
                text = f"{text.rstrip(' ;,.')}; {part}"
        return text


def cut_passages(hits: Iterable[Hit], *, is_open: bool = False) -> Iterator[Passage]:
    """The hits in stretches; no sentence stands in two of one hit. For a narrow question each item
    of a list that can stand alone is a passage of its own."""
    ranks: dict[str, int] = {}
    for number, hit in enumerate(hits):
        yield from _cut(hit, number, ranks.setdefault(hit.source_id, number), is_open)


def grow(
    seeds: Iterable[Passage], passages: Iterable[Passage]
) -> Iterator[tuple[Passage, Passage]]:
    """Each of the seeds, best first, and the same with what it leans on and what follows it in its
    section, as long as there is room, and with the name it speaks of. What stands in one no longer
    grows itself."""
    every = {(own.source_id, own.place): own for own in passages}
    free = dict(every)
    for seed in seeds:
        if not free.pop((seed.source_id, seed.place), None):
            continue
        run = [seed]
        while run[0].leans and (own := free.get(_beside(run[0], -1))) and _fit([own, *run]):
            run.insert(0, free.pop(_beside(run[0], -1)))
        while (own := free.get(_beside(run[-1], 1))) and not own.is_entry and _fit([*run, own]):
            run.append(free.pop(_beside(run[-1], 1)))
        pieces = (*_find_name(run[0], every), *(piece for own in run for piece in own.pieces))
        heading = " ".join(own.heading for own in run).strip()
        yield seed, replace(run[0], pieces=pieces, heading=heading)


_Place = tuple[str, tuple[int, int]]


def _beside(passage: Passage, step: int) -> _Place:
    return passage.source_id, (passage.place[0], passage.place[1] + step)


def _fit(run: Sequence[Passage]) -> bool:
    """Whether neighbours are of one section, and together not too long."""
    is_one = len({own.section for own in run}) == 1
    return is_one and sum(len(own.text.split()) for own in run) <= _GROWN


def _find_name(passage: Passage, every: Mapping[_Place, Passage]) -> tuple[Piece, ...]:
    """The name of the entry that a passage stands in and does not begin."""
    own: Passage | None = passage
    while own and own.section == passage.section:
        if own.is_entry:
            name = own.pieces[0]
            is_short = len(name.text.split()) <= PARAGRAPH
            return (name,) if is_short and own is not passage else ()
        own = every.get(_beside(own, -1))
    return ()


def leans(sentence: str) -> bool:
    """Whether a sentence cannot be understood without the one before it; "if you …" goes on."""
    return sentence.split(" ", 1)[0] in STOP_WORDS["en"] or _LEANS.match(sentence) is not None


def announces(sentence: str) -> bool:
    """Whether a sentence asks, leads to or points at what is said elsewhere, and says nothing."""
    return sentence.endswith(("?", ":")) or _ANNOUNCES.match(sentence) is not None


def _read(text: str, is_open: bool) -> list[Piece]:
    """The pieces of a block."""
    if mark := HEADING.match(text):
        return [Piece("heading", text[mark.end() :])]
    if "\n" in text:
        lines = text.splitlines()
        lines = lines[1:] if _FENCE.match(lines[0]) else lines
        lines = lines[:-1] if lines and _FENCE.match(lines[-1]) else lines
        # The line break at the end tells one line of code from prose.
        return [Piece("code", "\n".join(lines[:_CODE_LINES]) + "\n")]
    if ROW.match(text):
        return [Piece("row", text, opens=True)]
    if mark := ITEM.match(text):
        return [Piece("item", text[mark.end() :], opens=True)]
    if not is_open and _ENTRY.match(text):
        return [Piece("entry", text, opens=True)]
    if 0 < len(text.split()) <= _LINE_WORDS and text[0] != "[" and text[-1] not in ".!?:…”\"')":
        return [Piece("line", text, opens=True)]
    return list(_sentences(text))


def _cut(hit: Hit, number: int, rank: int, is_open: bool) -> Iterator[Passage]:
    section, heading = hit.section, ""
    pieces: list[Piece] = []
    place, skipped = 0, False
    columns = next((text for text in hit.blocks if text.startswith(_COLUMNS)), "")
    blocks = (_read(text, is_open) for text in hit.blocks)
    for found in (*blocks, [Piece("heading", "")]):
        if not found or found[0].kind != "heading":
            if found and skipped:
                found[0] = replace(found[0], before=None)
            skipped = not found
            pieces += found
            continue
        for stretch in _stretches(pieces, is_open):
            opens_text = place == 0 and SECTION_MARK not in section
            head, stretch = _split_head(stretch, opens_text)
            yield Passage(
                hit.source_id, hit.title, section, tuple(stretch), rank, (number, place),
                f"{heading} {head}".strip(), columns,
            )  # fmt: skip
            place, heading = place + 1, ""
        section = _under(section, found[0].text) if section else found[0].text
        pieces, heading = [], found[0].text


def _split_head(stretch: list[Piece], opens_text: bool) -> tuple[str, list[Piece]]:
    """The lines a stretch opens with that are no sentences, such as an address or a date, and what
    it says. They count as a heading does; where there is nothing else they are what it says. Where
    no text begins, the last is what is spoken of, as the name of a setting is."""
    first = next((n for n, piece in enumerate(stretch) if piece.kind != "line"), 0)
    if not opens_text:
        settings = (n for n, piece in enumerate(stretch[:first]) if ": " in piece.text)
        first = next(settings, max(0, first - 1))
    return " ".join(piece.text for piece in stretch[:first]), stretch[first:]


def _sentences(text: str) -> Iterator[Piece]:
    end, size = 0, len(text.split())
    for start, stop in split_sentences(text):
        sentence = text[start:stop]
        gap = text[end:start] if end else f" {text[:start]}"
        yield Piece("prose", sentence, not leans(sentence), gap, end == 0, size)
        end = stop


def _stretches(pieces: Sequence[Piece], is_open: bool) -> Iterator[list[Piece]]:
    """The pieces of a section in turn, in stretches; one ends where the next would be too long."""
    most = _WORDS_OPEN if is_open else _WORDS
    stretch: list[Piece] = []
    for piece in pieces:
        if stretch and _begins_another(stretch, piece, most, is_open):
            yield stretch
            stretch = []
        stretch.append(piece)
    if stretch:
        yield stretch


def _begins_another(stretch: Sequence[Piece], piece: Piece, most: int, is_open: bool) -> bool:
    if stretch[-1].text.endswith(":"):
        return False
    if piece.kind in ("line", "entry") and piece.kind != stretch[-1].kind:
        return True
    length = sum(len(own.text.split()) for own in stretch)
    if length < 2 * most and _hangs_on(stretch, piece):
        return False
    if not piece.begins:
        return piece.opens and piece.paragraph > most and length + len(piece.text.split()) > most
    has_room = length + max(piece.paragraph, len(piece.text.split())) <= most
    if has_room and (is_open or not _stands_alone(stretch, piece)):
        return False
    # A paragraph that leans on the one before opens a stretch only where that one is full.
    return piece.opens or length > most


def _hangs_on(stretch: Sequence[Piece], piece: Piece) -> bool:
    """Code, the steps that a line leads to, and a few words behind a paragraph: "Default: 15"."""
    if piece.kind in ("item", "entry"):
        return any(before.text.endswith(":") for before in stretch)
    is_tail = piece.kind == "prose" and piece.begins and piece.paragraph <= _LINE_WORDS
    return is_tail or piece.kind == "code"


def _stands_alone(stretch: Sequence[Piece], piece: Piece) -> bool:
    """A long item of a list that no line leads to, as in a list of changes."""
    led = any(before.text.endswith(":") for before in stretch)
    return piece.kind in ("item", "entry") and not led and len(piece.text.split()) > _LINE_WORDS


def _under(section: str, heading: str) -> str:
    """The path with its last part replaced: headings within a hit are taken as siblings."""
    above, mark, _ = section.rpartition(" › ")
    return f"{above}{mark}{heading}"
