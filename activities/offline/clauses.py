"""A sentence of a question in its parts: what it opens with, its lead, and the clauses it asks.

In "Before we vote, what is known of the line: what it costs, and how safe it is?" the opening is
about those who ask, the lead names the subject, and only the rest are things asked for.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from activities.offline.grammar import WH
from activities.offline.lexicon import PREPOSITIONS

_ASKING = (
    r"(?:what|which|who|whose|how|why|when|where|should|is|are|was|were|does|do|did|can|could|will|"
    r"would|has|have|please|give|describe|explain|compare|summari[sz]e|outline|assess|tell)\b"
)
_OPENING = re.compile(
    r"(?!\w+ (?:what|which|whose|how)\b)"
    r"((?:before|after|once|when|while|as|for|ahead of|now that|given|based on|according to|by|in|"
    r"on|at|following|considering|if|since|because|with|under|during|to|from)\b[^?;:]*?)"
    rf"[,:]\s+(?={_ASKING})",
    re.I,
)
_BEARS = re.compile(
    r"(?:in response|in light|in view|given|based on|according to|following|considering|under|"
    r"with|after)\b",
    re.I,
)
_ANNOUNCED = re.compile(r"([^:]{8,}?)\s*(?::|\s[–—-]\s)\s*(.+)", re.S)
_QUESTION_WORD = (
    r"(?:(?:in|for|to|at|by|from|with|on) )?(?:what|which|who|whom|whose|when|where|why|how|"
    r"whether)\b"
)
_NEXT = re.compile(
    # After "and" any question word opens a new question; after a bare comma "who", "which" and
    # "where" mostly begin a relative clause, which does not.
    rf"(?:\s*[,;:–—]\s*(?:and|or|but|then) |\s*;\s*)(?:also )?(?={_QUESTION_WORD})"
    r"|\s*[,:–—]\s*(?=(?:in |for |to |at |by |from )?(?:what|why|how)\b"
    r"|(?:when|where) (?:is|are|was|were|did|do|does|has|have|will|can|should)\b)",
    re.I,
)
_AND = re.compile(rf"\s+and\s+(?:also )?(?={_QUESTION_WORD})", re.I)
_LAST = re.compile(rf"[,;]\s*(?:and|or) (?:also )?(?={_QUESTION_WORD})", re.I)


@dataclass(frozen=True)
class Sentence:
    opening: str
    """Who asks, when or why: "Before we vote on the budget"."""
    bears: bool
    """The opening is part of the matter ("Given the new act, …"), not of those who ask."""
    lead: str
    """What stands before a colon that announces a list; empty where there is none."""
    asked: str
    """The rest, or all of it."""


def parted(sentence: str) -> Sentence:
    opening = ""
    if match := _OPENING.match(sentence):
        opening, sentence = match[1], sentence[match.end() :]
    lead = ""
    announced = _ANNOUNCED.fullmatch(sentence)
    if announced and _lists_something(announced[2]):
        lead, sentence = announced[1], announced[2]
    return Sentence(opening, bool(_BEARS.match(opening)), lead, sentence)


def _lists_something(text: str) -> bool:
    return bool(re.search(r"[,;]|\b(?:and|or)\b", text)) or opens_with_wh(text)


def clauses(text: str, announced: bool = False) -> list[str]:
    """A text cut where a further question begins: ", and how …", "; who …", " and what …".

    In a list whose last item has its own ", and", an "and" inside an item joins what belongs
    together: "what it costs and how it is paid for". `announced` says that a colon stands before
    it, so that every item counts.
    """
    parts = [part for part in _NEXT.split(text) if part.strip()]
    inner = len(parts) > 2 and bool(_LAST.search(text))
    if not inner:
        whole = parts[:-1] if len(parts) > 2 else []
        parts = whole + [p for part in parts[len(whole) :] for p in _AND.split(part)]
    # What asks nothing ("By 2026", "Our board meets") stays with what follows it.
    if len(parts) > 1 and not announced and not opens_with_wh(parts[0]):
        first = parts[0].split()[0].lower()
        if first in PREPOSITIONS | {"based", "according"} or len(parts[0].split()) < 4:
            parts = [f"{parts[0]}, {parts[1]}", *parts[2:]]
    return [part for part in parts if part.strip()]


def opens_with_wh(text: str) -> bool:
    tokens = text.lower().split()[:2]
    return bool(tokens) and (tokens[0] in WH or (tokens[0] in PREPOSITIONS and tokens[-1] in WH))
