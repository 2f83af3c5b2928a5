"""The engine's English: words, roots, phrases, names, and the aspects a question lists.

Pure functions of text, the same on any machine. Nothing here knows a topic: `lexicon` holds
grammar, and the rest is read off the text. The reading of plain text is in `phrases`; this
module adds `question_aspects`, the reading of a question, and is the one place to import from.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from activities.offline.clauses import clauses, opens_with_wh, parted
from activities.offline.grammar import (
    AUXILIARIES,
    OPENERS,
    VERDICTS,
    WH,
    Token,
    past_determiners,
    past_separator,
    phrase_at,
    tokens_of,
    trimmed,
)
from activities.offline.headings import subject_of
from activities.offline.lexicon import ADJECTIVE_ENDINGS, STOP, listed
from activities.offline.phrases import (
    WORD,
    Name,
    capitalised,
    content_terms,
    noun_phrases,
    sentences,
    similarity,
    words,
)
from activities.offline.stemming import stem

__all__ = [
    "STOP",
    "WORD",
    "Name",
    "capitalised",
    "content_terms",
    "in_a_sentence",
    "noun_phrases",
    "plainly",
    "question_aspects",
    "sentences",
    "similarity",
    "stem",
    "words",
]

_BULLET = re.compile(r"^\s*(?:[-*•–]|\(?(?:\d{1,2}|[a-z])[.)])\s+(.+?)[\s;,.]*$", re.M)
_ENUMERATED = re.compile(r"\(?\b(?:\d|[a-z]|i{1,3}|iv|vi{0,3})\)\s+")


_FRAMES = listed("state status role history future impact effect influence importance development")


@dataclass
class _List:
    """Noun phrases that a question puts side by side."""

    items: list[list[Token]] = field(default_factory=list)
    joined: bool = False
    """Held together by "and" or "or", not by commas alone."""

    def counts(self, announced: bool) -> bool:
        if any(len(item) == 1 and item[0].low in VERDICTS for item in self.items):
            return False
        return len(self.items) > 1 and (self.joined or announced or len(self.items) > 2)


def question_aspects(question: str) -> list[str]:
    """What a question lists as its parts, in order, each once; empty where it lists nothing.

    Bullets and enumerations, lists after a colon or "including", lists held together by "and" or
    "or", lists of things to do ("reduce cost and improve safety"), and further questions joined to
    the first ("…, and what does that mean for …").
    """
    found: list[str] = []
    bullets = [m.group(1) for m in _BULLET.finditer(question)]
    if len(bullets) > 1:
        found += [trimmed(bullet) for bullet in bullets]
        question = _BULLET.sub("", question)
    asked = [s.rstrip(" ?.!") for s in sentences(question)]
    questions = sum(s.split()[0].lower() in WH for s in asked if s)
    for sentence in asked:
        marked = [part.strip(" ,;") for part in _ENUMERATED.split(sentence)]
        if len(marked) > 2:
            found += [trimmed(re.sub(r"[\s,;]+(?:and|or)$", "", part)) for part in marked[1:]]
            continue
        whole = parted(sentence)
        parts = clauses(whole.asked, announced=bool(whole.lead))
        beside = len(parts) > 1 or (bool(whole.lead) and opens_with_wh(whole.asked))
        for part in parts:
            about = subject_of(part)
            if beside and (about or len(clauses(part)) > 1):
                found.append(part)  # "how A and B perform" is one thing beside others
                continue
            # A colon before it announces a list; it is kept for the reading of the words.
            text = f": {part}" if whole.lead else about or part
            listed = [_text(item) for group in _lists(tokens_of(text)) for item in group]
            asks = opens_with_wh(part)
            # "Should we go on, and what does it cost?": what is weighed is no part of itself.
            weighed = not asks and part.split()[0].lower() in AUXILIARIES
            if not listed and not weighed and (beside or (questions > 1 and asks)):
                listed = [part]
            found += listed
    return _distinct(item for item in found if content_terms(item))


def _lists(tokens: list[Token]) -> Iterator[list[list[Token]]]:
    """The lists in a clause, each as its items."""
    group = _List()
    announced = verbal = False
    at = 0
    while at < len(tokens):
        phrase, after = phrase_at(tokens, at)
        if not phrase:
            if tokens[at].role == "colon" or tokens[at].low in OPENERS:
                announced = True
            at += 1
            continue
        if at and tokens[at - 1].role == "verb":
            verbal = True
        group.items.append(phrase)
        step, joined = past_separator(tokens, after)
        goes_on = step > after and step < len(tokens)
        if goes_on and tokens[step].role == "verb" and verbal:
            step += 1
        if goes_on and phrase_at(tokens, step)[0]:
            group.joined |= joined
            at = past_determiners(tokens, step)
            continue
        if group.counts(announced):
            yield _settled(group.items)
        group, announced, verbal = _List(), False, False
        at = max(after, at + 1)
    if group.counts(announced):
        yield _settled(group.items)


def _settled(items: list[list[Token]]) -> list[list[Token]]:
    """The items with what the list shares given to each, or taken off the last.

    "environmental and social effects" gives each adjective its noun; in "costs and risks of the
    programme" the programme belongs to both, so it is taken off.
    """
    *rest, last = items
    if len(rest[0]) > 2 and rest[0][1].low == "of" and rest[0][0].low in _FRAMES:
        rest[0] = rest[0][2:]
    of = next((i for i, token in enumerate(last) if token.low == "of"), None)
    if of is not None and not any(token.low == "of" for item in rest for token in item):
        waiting = any(len(item) == 1 and item[0].low.endswith(ADJECTIVE_ENDINGS) for item in rest)
        whole = waiting or len(last) - of > 2 or last[-1].text[0].isupper()
        last = last[:of] if whole else last
    noun = last[1:]
    return [
        item + noun
        if noun and len(item) == 1 and item[0].low.endswith((*ADJECTIVE_ENDINGS, "ed"))
        else item
        for item in rest
    ] + [last]


def _text(item: list[Token]) -> str:
    return trimmed(" ".join(token.text for token in item))


def _distinct(items: Iterable[str]) -> list[str]:
    kept: dict[frozenset[str], str] = {}
    for item in items:
        kept.setdefault(frozenset(content_terms(item)), item)
    return list(kept.values())


def in_a_sentence(point: str, wording: str) -> str:
    """A point as it reads within a sentence: a capital only where its words have one there."""
    small = {match.group() for match in WORD.finditer(wording) if match.group().islower()}
    return WORD.sub(
        lambda m: m.group().lower() if m.group().lower() in small else m.group(), plainly(point)
    )


def plainly(text: str) -> str:
    """Without its stop, and with a small letter where a sentence would have one."""
    text = text.strip().rstrip(" .?!")
    return text if any(c.isupper() for c in text[1:2]) else text[:1].lower() + text[1:]
