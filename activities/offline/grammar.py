"""A question's words in their roles, and the noun phrases they make.

Good enough to tell a list of things from a list of things to do; no parser. Words with two uses
("support", "leads") are read by their neighbours.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from activities.offline.lexicon import (
    DETERMINERS,
    HOMOGRAPHS,
    PAST,
    PREPOSITIONS,
    QUESTION_WORDS,
    STOP,
    VERBS,
    listed,
)
from activities.offline.nominals import PLAIN_VERBS, quality

_REWORDED = (
    (re.compile(r"\b(?:in terms of|with (?:respect|regards?) to|when it comes to)\b", re.I), "on"),
    (re.compile(r"\b(?:such as|for example|for instance|e\.g\.|namely)", re.I), "including"),
    (re.compile(r"\b(?:as well as|along with|together with|plus)\b|&", re.I), "and"),
    (re.compile(r"\b(?:based on|according to|in light of|in view of)\b", re.I), "given"),
    (re.compile(r"\(\s*\S+\s*\)"), " "),
    (re.compile(r"\s[–—-]\s"), " : "),
    (re.compile(r"[()]"), " | "),
)
_TOKEN = re.compile(r"[,;:|]|[^\s,;:|()\"“”]+")
WH = listed("what which who whom whose when where why how whether")
OPENERS = frozenset({"including", "covering", "considering", "regarding", "concerning"})
_NUMBERS = listed("two three four five six seven eight nine ten")
_POSSESSIVES = listed("its their our his her your my")
_HELPING = listed("do does did can could will would should may might must")
_DO = listed("do does did")
_BRINGS = listed("causes drives explains triggers")
_BE = listed("is are was were")
AUXILIARIES = _HELPING | _BE | listed("has have had")
_JOINED = frozenset({"and", "or"})
VERDICTS = listed("good bad better worse best worst right wrong yes no not positive negative")


@dataclass
class Token:
    text: str
    role: str
    """noun, verb, preposition, determiner, wh, join, comma, colon or other."""

    @property
    def low(self) -> str:
        return self.text.lower().replace("’", "'")


def tokens_of(clause: str) -> list[Token]:
    for pattern, instead in _REWORDED:
        clause = pattern.sub(instead, clause)
    tokens: list[Token] = []
    raw = _TOKEN.findall(clause)
    for i, text in enumerate(raw):
        before = tokens[-1] if tokens else None
        after = raw[i + 1].lower() if i + 1 < len(raw) else ""
        helped = any(token.low in _HELPING for token in tokens)
        role = _role(text, before, after, helped)
        # "Is the pilot working", "how do trams run": the last word is what the clause says.
        if (
            role == "noun"
            and after in {"", ","}
            and before
            and before.role == "noun"
            and text.islower()
        ):
            asks = tokens[0].low in _BE and text.endswith("ing")
            does = helped and tokens[0].low in {"how", *_DO} and text in PLAIN_VERBS
            if (asks or does) and not any(token.role == "verb" for token in tokens):
                role = "verb"
        tokens.append(Token(text, role))
    return tokens


def _role(text: str, before: Token | None, after: str, helped: bool) -> str:
    low = text.lower().replace("’", "'")
    previous = before.role if before else "start"
    if text in ",;":
        return "comma"
    if text == ":":
        return "colon"
    if text == "|":
        return "other"
    if low in _JOINED:
        return "join"
    if low in WH:
        return "wh"
    if low in PREPOSITIONS or low in OPENERS:
        return "preposition"
    if before and text[0].isupper():
        return "noun"
    if low in DETERMINERS:
        return "determiner"
    if low in HOMOGRAPHS and previous == "determiner":
        return "noun"
    if low in STOP:
        return "other"
    if before is not None and before.low == "how" and quality(low):
        return "other"
    # "hiring, leave and travel": alone in a list it is a thing.
    if previous == "comma" and after in {"and", "or", ","} and low in VERBS - QUESTION_WORDS:
        return "noun"
    # "the county orders two": what stands between a noun and a determiner is a verb.
    if previous == "noun" and (after in DETERMINERS or after in _NUMBERS):
        return "verb"
    # "which suits the …", "what causes …": asked who or what does it.
    if previous == "wh" and low.endswith("s") and (after in DETERMINERS or low in _BRINGS):
        return "verb"
    if low.endswith("ing"):
        return "verb" if previous == "noun" and not after and low in VERBS else "noun"
    # "energy use, …" is a thing; "what does it offer?" asks what is done.
    closes = previous == "noun" and (after in {",", ";", "and", "or"} or not (after or helped))
    closes = closes and low not in PAST
    if closes and low in VERBS - QUESTION_WORDS:
        return "noun"
    if low.endswith("ed") and len(low) > 4:
        return "verb" if previous in {"noun", "other", "wh"} else "noun"
    if low.endswith("ly") and len(low) > 5:
        return "other"
    relative = before is not None and before.low == "that"
    if (
        low in VERBS
        and (previous != "determiner" or relative)
        and (after in DETERMINERS or after != "of")
    ):
        return "verb"
    ordered = previous in {"start", "join", "comma"} or (before is not None and before.low == "to")
    if ordered and low in QUESTION_WORDS:
        return "verb"
    return "noun"


def phrase_at(tokens: list[Token], at: int) -> tuple[list[Token], int]:
    """The noun phrase that starts here, with what "of" adds to it, and where it ends."""
    start = at = past_determiners(tokens, at)
    while at < len(tokens) and tokens[at].role == "noun":
        at += 1
    if at == start:
        return [], start
    if at + 1 < len(tokens) and tokens[at].low == "of":
        more, end = phrase_at(tokens, at + 1)
        if more:
            return tokens[start:end], end
    return tokens[start:at], at


def past_determiners(tokens: list[Token], at: int) -> int:
    while at < len(tokens) and tokens[at].role == "determiner":
        at += 1
    return at


def past_separator(tokens: list[Token], at: int) -> tuple[int, bool]:
    """Past a comma, an "and", or both; and whether there was an "and"."""
    joined = False
    while at < len(tokens) and tokens[at].role in {"comma", "join"}:
        joined |= tokens[at].role == "join"
        at += 1
    return at, joined


def trimmed(text: str) -> str:
    """Without marks around it, leading determiners and words like "its" that point elsewhere."""
    tokens = [t for t in text.strip(' \t\n,;:.?!"“”').split() if t.lower() not in _POSSESSIVES]
    while tokens and tokens[0].lower() in DETERMINERS | {"and", "or", "also", "then", "finally"}:
        tokens = tokens[1:]
    return " ".join(tokens)
