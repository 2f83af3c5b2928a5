"""The phrases that name what a question is about, and what it wants decided.

Only the English of the question is used: its words in their roles, cut where a phrase ends.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from activities.offline.grammar import VERDICTS, Token, tokens_of
from activities.offline.language import capitalised, content_terms, stem
from activities.offline.lexicon import GENERIC, HOMOGRAPHS, QUESTION_WORDS, listed

GENERIC_STEMS = frozenset(stem(word) for word in GENERIC)

BROAD = (
    r"impacts?|effects?|influences?|roles?|state|status|future|history|evolution|outlook|landscape|"
    r"significance|importance|relationships?|differences?|situation|challenges?|trends?|"
    r"strateg(?:y|ies)|implications?|consequences?|options|prospects|potential|overview|causes|"
    r"risks?|benefits?|development|experience|evidence|advantages?|disadvantages?|lessons"
)
_ARTICLES = listed("the our its their your my his her")
_SPAN_WORDS = 8
_TIMES = listed(
    "end start beginning q1 q2 q3 q4 year years month months date time order response "
    "state status role future importance influence"
)
_YEAR = re.compile(r"\b(1[5-9]\d\d|20\d\d)\b")
_SHOULD = re.compile(r"\bshould (?P<rest>[^?.:;,]+)", re.I)
_DOUBLED = re.compile(r"(?:[^aeiou]|^|qu)[aeiou][bdglmnprt]")


def matter_of(text: str) -> str:
    """ "Should the club buy a boat?" is about buying a boat."""
    found = _SHOULD.search(text)
    tokens = tokens_of(found["rest"]) if found else []
    at = next((i for i, t in enumerate(tokens) if t.role == "verb" and i), 0)
    rest = " ".join(t.text for t in tokens[at + 1 :])
    verb = tokens[at].low if at else ""
    if not rest or not verb.isalpha() or verb == "be":
        return ""
    base = verb.removesuffix("e") if not verb.endswith(("ee", "oe", "ye")) else verb
    doubled = len(verb) < 5 and _DOUBLED.fullmatch(verb[-3:])
    return f"{base}{verb[-1] if doubled else ''}ing {rest}"


def shortened(span: str) -> str:
    """A very long phrase by its last part that holds a name."""
    if len(span.split()) <= _SPAN_WORDS:
        return span
    parts = re.split(r"\s(?:of|in|on|for|to|from|by|with|at)\s(?:the |a |an |its |their )?", span)
    return next((p for p in reversed(parts) if capitalised(f"a {p}")), parts[0])


def spans_of(tokens: list[Token], taken: set[str]) -> list[str]:
    """Phrases that name what a text is about, with "the" where it has an article or "our"."""
    spans: list[list[Token]] = []
    run: list[Token] = []
    for i, token in enumerate(tokens):
        number = token.role == "noun" or token.text.isdigit()
        if number and not run and i and tokens[i - 1].low in _ARTICLES:
            run.append(tokens[i - 1])
        elif number and not run and token.low in HOMOGRAPHS:
            run.append(Token("the", "determiner"))  # without it "a well" would be no thing
        if number or (run and token.role in {"preposition", "determiner"} and _goes_on(tokens, i)):
            run.append(token)
        else:
            spans.append(run)
            run = []
    spans.append(run)
    return [text for span in spans if (text := _named_part(span, taken))]


def _goes_on(tokens: list[Token], at: int) -> bool:
    """Whether "… in the …" leads on to another noun."""
    while at < len(tokens) and tokens[at].role in {"preposition", "determiner"}:
        if tokens[at].low in {"by", "given", "including", "considering", "than", "as", "since"}:
            return False
        at += 1
    return at < len(tokens) and tokens[at].role == "noun"


def _named_part(span: list[Token], taken: set[str]) -> str:
    def empty(token: Token) -> bool:
        terms = content_terms(f"the {token.text}")
        return (
            not terms
            or set(terms) <= taken
            or token.low in VERDICTS | _TIMES | QUESTION_WORDS
            or bool(_YEAR.fullmatch(token.text))
        )

    chunks: list[list[Token]] = [[]]
    for token in span:
        if token.role in {"preposition", "determiner"}:
            if chunks[-1] and chunks[-1][-1].role == "noun":
                chunks.append([])
            chunks[-1].append(token)
        else:
            chunks[-1].append(token)
    kept = [c for c in chunks if not all(empty(t) for t in c)]
    while (
        kept
        and len(kept) > 1
        and all(
            stem(t.low) in GENERIC_STEMS or re.fullmatch(BROAD, t.low) or t.role != "noun"
            for t in kept[0]
        )
    ):
        kept = kept[1:]
    text = [t for chunk in kept for t in chunk if t.low not in VERDICTS]
    while text and text[0].role in {"preposition", "determiner"}:
        if text[0].low in _ARTICLES and text[1:] and text[1].role == "noun":
            break
        text = text[1:]
    return _said(text, empty)


def _said(text: list[Token], empty: Callable[[Token], bool]) -> str:
    if not text or all(stem(t.low) in GENERIC_STEMS or empty(t) for t in text):
        return ""
    parts = ["the" if t.low in _ARTICLES else t.text for t in text]
    return " ".join(parts).strip(' ,;:."“”').rstrip("'’")
