"""Passages that can stand as an answer: cut from the hits of a search, word for word.

A paragraph gives its sentences with those that hang together with them, a list its items with the
line that leads to them, a table its rows, a code block the line before it. What is cut keeps the
document and the headings it stands under.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from activities.evidence.text.sentences import sentences
from activities.offline.conversation import Hit

HEADING = re.compile(r"#{1,6} +")
ITEM = re.compile(r" *(?:[-*+•·▪◦‣●○■□➢✓]|\(?\d{1,2}[.)]|[a-z]\)|\([a-z]{1,3}\)) +")
ROW = re.compile(r"[^:;|]{1,80}: .*?; [^:;]{1,80}: |.* \| ")
# A sentence that cannot be understood without the one before it.
_LEANS = re.compile(
    r"(?:this|that|these|those|it|its|they|their|them|he|she|his|her|such|here|there|both|either"
    r"|however|therefore|thus|hence|also|but|and|or|so|then|instead|otherwise|nevertheless|moreover"
    r"|furthermore|additionally|similarly|likewise|conversely|meanwhile|consequently"
    r"|in (?:this|that|these|those|both|either|addition|contrast)"
    r"|for (?:this|that|these|example|instance)"
    r"|as a result|on the other hand|er|sie|es|dies\w*|daher|deshalb|jedoch|außerdem)\b",
    re.IGNORECASE,
)
_WORDS = 60
"""A passage is about this long; a single long sentence may be longer."""
_OPENING_WORDS = 90
_CODE_LINES = 16
_SHORT = 4


@dataclass(frozen=True)
class Passage:
    """A quotable stretch of one document. `parts` are its verbatim pieces, in order."""

    source_id: str
    title: str
    section: str
    parts: tuple[str, ...]
    core: str
    """The one sentence, item or row it was cut for."""
    form: str
    """prose, a sentence out of it, list, row, code, or the opening of a section."""
    rank: int
    """The place of its document among all hits."""
    place: int = 0
    """The place of its block within the hit."""
    around: str = ""
    """The text of the hit it was cut from."""
    heading: str = ""
    """The heading it opens the section of, which then is part of what it says."""

    @property
    def text(self) -> str:
        """The parts as one text: code on lines of its own, items set apart by semicolons."""
        if "\n" in self.parts[-1]:
            return "\n".join(self.parts)
        first, *items = self.parts
        if not items:
            return first
        listed = "; ".join(item.rstrip(" ;,.") for item in items)
        return f"{first} {listed}" if first.endswith(":") else f"{first.rstrip(' ;,.')}; {listed}"


def cut_passages(hits: Iterable[Hit]) -> Iterator[Passage]:
    """Every passage that could be cut from the hits; those of one block overlap."""
    ranks: dict[str, int] = {}
    for rank, hit in enumerate(hits):
        yield from _Cutter(hit, ranks.setdefault(hit.source_id, rank)).passages()


@dataclass(frozen=True)
class _Block:
    kind: str
    text: str


def _read(text: str) -> _Block:
    if mark := HEADING.match(text):
        return _Block("heading", text[mark.end() :])
    if "\n" in text or text.startswith(("```", "    ")):
        return _Block("code", text)
    if ROW.match(text):
        return _Block("row", text)
    if mark := ITEM.match(text):
        return _Block("item", text[mark.end() :])
    return _Block("prose", text)


class _Cutter:
    """Cuts the passages of one hit."""

    def __init__(self, hit: Hit, rank: int) -> None:
        self._hit = hit
        self._rank = rank
        self._blocks = [_read(block) for block in hit.blocks]
        self._around = " ".join(block.text for block in self._blocks)

    def passages(self) -> Iterator[Passage]:
        section = self._hit.section
        for place, block in enumerate(self._blocks):
            if block.kind == "heading":
                section = block.text if not section else _under(section, block.text)
                if opening := self._opening(place + 1):
                    yield self._passage(section, opening, opening[0], "section", place, block.text)
                continue
            for parts, core, form in self._cut(place, block):
                yield self._passage(section, parts, core, form, place)

    def _passage(
        self,
        section: str,
        parts: Sequence[str],
        core: str,
        form: str,
        place: int,
        heading: str = "",
    ) -> Passage:
        return Passage(
            self._hit.source_id,
            self._hit.title,
            section,
            tuple(parts),
            core,
            form,
            self._rank,
            place,
            self._around,
            heading,
        )

    def _opening(self, start: int) -> list[str]:
        """How the section that starts here begins: paragraphs, a list or code, up to a length."""
        parts: list[str] = []
        for block in self._blocks[start:]:
            if block.kind == "heading" or _length(parts) >= _WORDS:
                break
            if block.kind == "code":
                parts.append(_shortened(block.text))
                break
            room = _OPENING_WORDS - _length(parts)
            said = _begin(sentences(block.text), room) if block.kind == "prose" else block.text
            if not said or len(said.split()) > room:
                break
            if block.kind == "prose" and len(parts) == 1:
                parts[0] = f"{parts[0]} {said}"  # paragraphs that follow each other are one quote
            else:
                parts.append(said)
        return parts

    def _cut(self, place: int, block: _Block) -> Iterator[tuple[list[str], str, str]]:
        """Each passage of a block: its parts, its core and its form. The longer come first."""
        if block.kind == "prose":
            given = sentences(block.text)
            for window, core in _windows(given):
                led = self._led(place) if window.endswith(":") else []
                yield [window, *led], core, "prose"
                if window != core:
                    yield [core], core, "sentence"
        elif block.kind == "item":
            lead = self._lead(place)
            rest = _following(self._blocks, place + 1, _WORDS - _length([*lead, block.text]))
            if rest:
                yield [*lead, block.text, *rest], block.text, "list"
            yield [*lead, block.text], block.text, "list"
        elif block.kind == "row":
            yield [block.text], block.text, "row"
        else:
            yield [*self._lead(place), _shortened(block.text)], block.text, "code"

    def _led(self, place: int) -> list[str]:
        """What a line that ends in a colon leads to: a code block, or the items of a list."""
        following = self._blocks[place + 1 : place + 2]
        if following and following[0].kind == "code":
            return [_shortened(following[0].text)]
        return _following(self._blocks, place + 1, _WORDS)

    def _lead(self, place: int) -> list[str]:
        """The line before a list that ends in a colon, or the sentence before a code block."""
        is_code = self._blocks[place].kind == "code"
        for block in reversed(self._blocks[:place]):
            if block.kind == "prose":
                return sentences(block.text)[-1:] if is_code or block.text.endswith(":") else []
            if block.kind != "item" or is_code:
                return []
        return []


def _begin(given: Sequence[str], room: int) -> str:
    """As many whole sentences as there is room for; at least one."""
    last = 1
    while last < len(given) and _length(given[: last + 1]) <= room:
        last += 1
    return " ".join(given[:last])


def _windows(given: Sequence[str]) -> Iterator[tuple[str, str]]:
    """For each sentence the stretch around it that can be read alone."""
    for at, core in enumerate(given):
        if len(core.split()) < _SHORT and len(given) > 1:
            continue
        if _length(given) <= _WORDS:
            yield " ".join(given), core
            continue
        first = last = at
        while (
            first > 0
            and _LEANS.match(given[first])
            and _length(given[first - 1 : last + 1]) <= _WORDS
        ):
            first -= 1
        while last + 1 < len(given) and _length(given[first : last + 2]) <= _WORDS:
            last += 1
        yield " ".join(given[first : last + 1]), core


def _following(blocks: Sequence[_Block], start: int, room: int) -> list[str]:
    """The next items of a list, as many as there is room for."""
    found: list[str] = []
    for block in blocks[start:]:
        room -= len(block.text.split())
        if block.kind != "item" or room < 0:
            break
        found.append(block.text)
    return found


def _shortened(code: str) -> str:
    return "\n".join(code.splitlines()[:_CODE_LINES])


def _length(parts: Sequence[str]) -> int:
    return sum(len(part.split()) for part in parts)


def _under(section: str, heading: str) -> str:
    """The path with its last part replaced: headings within a hit are taken as siblings."""
    above, mark, _ = section.rpartition(" › ")
    return f"{above}{mark}{heading}"
