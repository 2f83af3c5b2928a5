"""What a question wants: which kind of value, about which entity, in which relation.

Only a question with one answer is read this way; anything broader ("what are", "why", "compare")
gives nothing, since its claims are not answers to one thing.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from activities.evidence.words import STOP, WORD, names, stem, word_list

_DATE = re.compile(r"^(?:when\b|(?:in|on) (?:what|which) (?:year|date|day|month)\b|"
                   r"(?:what|which) (?:is|was) the (?:\w+ )?(?:date|year)\b|"
                   r"(?:what|which) (?:year|date)\b)", re.I)  # fmt: skip
_NUMBER = re.compile(
    r"^(?:how (?:many|much|long|far|tall|high|deep|wide|old|large|big|fast|heavy)\b|"
    r"what (?:is|was) the (?:\w+ ){0,2}(?:population|number|length|height|width|depth|area|size|"
    r"cost|price|budget|speed|capacity|weight|distance|rate|share|percentage|income|age|elevation|"
    r"density|duration|revenue|turnover|amount|total|value)\b)",
    re.I,
)
_WHO = re.compile(r"^(?:who|whose|whom|by whom)\b", re.I)
_WHERE = re.compile(
    r"^(?:where\b|in (?:what|which) (?:\w+ )?(?:city|town|country|state|county|place|village|"
    r"region|municipality)\b|"
    r"(?:what|which) (?:city|town|country|state|county|village|municipality)\b|"
    r"what (?:is|was) the (?:location|birthplace|place|capital|headquarters)\b)",
    re.I,
)
_ATTRIBUTE = re.compile(
    r"^(?:what|which)(?: (?:is|was|are|were) the)? (?P<noun>[a-z]+(?: [a-z]+)?)\b", re.I
)
# Questions that have no one answer, whatever the words.
_OPEN = re.compile(
    r"\b(?:why|how (?:do|does|did|is|are|can|should|would)|what are|which are|compare|list|"
    r"describe|explain|effects?|impacts?|differences?|advantages|risks?)\b",
    re.I,
)
# Words of one row mean one relation; the first row that knows a word of the question is taken.
_RELATIONS = tuple(
    word_list(row)
    for row in (
        "born birth birthdate birthday",
        "died die death dead",
        "population people inhabitants residents",
        "built build constructed construction completed erected",
        "established founded formed created started began opened incorporated organized",
        "released release published premiered issued",
        "located location situated lies based headquartered",
        "length long",
        "height tall high elevation",
        "direct directed director directors directs",
        "artist singer band album song by",
        "written wrote writer author",
        "produced producer produces",
        "designed designer architect",
        "won win winner winners champion champions defeated",
        "married husband wife spouse",
        "operated operator operates",
        "owned owner owns",
        "income earnings",
    )
)
_EVERY_DAY = word_list("what which who when where how many much is was did name type kind")


@dataclass(frozen=True, slots=True)
class Ask:
    """What a question wants: a kind of value, about an entity, in a relation."""

    kind: str
    entity: tuple[str, ...]
    relation: frozenset[str]
    words: frozenset[str]


def ask(question: str) -> Ask | None:
    """What the question asks for; nothing where no single value would answer it."""
    text = question.strip()
    if _OPEN.search(text) or text.count("?") > 1:
        return None
    entity = _entity(text)
    if not entity:
        return None
    kind = (
        "date" if _DATE.search(text)
        else "number" if _NUMBER.search(text)
        else "name" if _WHO.search(text)
        else "place" if _WHERE.search(text)
        else "attribute" if _ATTRIBUTE.search(text)
        else ""
    )  # fmt: skip
    if not kind:
        return None
    plain = [
        w.lower()
        for w in WORD.findall(text)
        if w.lower() not in entity and w.lower() not in STOP and w.lower() not in _EVERY_DAY
    ]
    relation = {stem(w) for w in plain}
    for row in _RELATIONS:
        if not row.isdisjoint(plain):
            relation |= {stem(w) for w in row}
    if kind == "attribute":
        found = _ATTRIBUTE.search(text)
        noun = found["noun"].split() if found else []
        relation = {stem(w) for w in noun if w.lower() not in STOP}
    return Ask(kind, entity, frozenset(relation), frozenset(stem(w) for w in plain))


def _entity(question: str) -> tuple[str, ...]:
    """The words that name what is asked about: what is quoted, else what is capitalised."""
    quoted = re.findall(r"[\"\u201c\u201d]([^\"\u201c\u201d]+)[\"\u201c\u201d]", question)
    if quoted:
        words = WORD.findall(" ".join(quoted)) or re.findall(r"\w+", " ".join(quoted))
    else:
        first = re.match(r"\w+", question)
        opening = first.end() if first else 0
        words = [
            w
            for name in names(question)
            if name.start >= opening or len(name.key) > 1
            for w in WORD.findall(name.text)
        ]
        words = words or re.findall(r"\b[A-Z]*\d\w*", question)
    return tuple(dict.fromkeys(w.lower() for w in words if w.lower() not in STOP | _EVERY_DAY))
