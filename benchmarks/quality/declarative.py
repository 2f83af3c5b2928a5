"""Declarative sentences and the question each answers, made by rules from text nobody here chose.

A rule is a pattern with the phrase that answers and the question without it. Where it is simple,
the question has another form of the verb than the sentence: "wrote … in 1872" is asked with "did …
write", "was written by" with "wrote".
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from itertools import zip_longest

import simplemma

_NAME = r"(?:[A-Z]\.|[A-Z][\w'’-]*)(?:,? (?:(?:of|the|de|von|van|and) )*(?:[A-Z]\.|[A-Z][\w'’-]*))*"
_OBJECT = r"[\w'’ -]{3,40}?"
_DATE = (
    r"(?:\d{1,2} )?(?:(?:January|February|March|April|May|June|July|August|September|October"
    r"|November|December) )?(?:\d{1,2}, )?\d{4}"
)
_NUMBER = r"(?:\d[\d,.]*|two|three|four|five|six|seven|eight|nine|ten|twelve)"
_PAST = r"(?:[a-z]+ed|built|made|held|wrote|won|led|became|began|took|gave)"
_PARTICIPLE = r"(?:[a-z]+ed|built|made|held|written|won|led|begun|taken|given|sung|drawn)"
_PAST_OF = {"written": "wrote", "begun": "began", "taken": "took", "given": "gave",
            "sung": "sang", "drawn": "drew"}  # fmt: skip
_NO_SUBJECTS = frozenset(
    """He She It They This These There Its His Her Their In On At As When While After Although
    Having""".split()  # noqa: SIM905
)
_LENGTH = range(5, 36)


@dataclass(frozen=True)
class Statement:
    """A sentence, the question it answers, and the words that answer it."""

    kind: str
    verb: str
    sentence: str
    question: str
    answer: str


@dataclass(frozen=True)
class Rule:
    kind: str
    pattern: str
    """The subject is its first group; `verb` is what tells statements of a kind apart."""
    ask: Callable[[dict[str, str]], str]


def _infinitive(verb: str) -> str:
    return str(simplemma.lemmatize(verb, lang="en"))


RULES = (
    Rule(
        "when",
        rf"({_NAME}) (?P<verb>{_PAST}) (?P<object>{_OBJECT}) (?:in|on) (?P<answer>{_DATE})\b",
        lambda m: f"When did {m['subject']} {_infinitive(m['verb'])} {m['object']}?",
    ),
    Rule(
        "when",
        rf"({_NAME}) was (?P<verb>born|{_PARTICIPLE}) (?P<more>{_OBJECT} )?(?:in|on)"
        rf" (?P<answer>{_DATE})\b",
        lambda m: f"When was {m['subject']} {m['verb']} {m['more'] or ''}".rstrip() + "?",
    ),
    Rule(
        "who",
        rf"({_NAME}) (?:is|was) (?:[\w-]+ ){{0,8}}?(?P<verb>{_PARTICIPLE}) by (?P<answer>{_NAME})",
        lambda m: f"Who {_PAST_OF.get(m['verb'], m['verb'])} {m['subject']}?",
    ),
    Rule(
        "where",
        rf"({_NAME}) (?P<be>is|was) (?P<verb>situated|born|based|held) in (?P<answer>{_NAME})",
        lambda m: f"Where {m['be']} {m['subject']} {m['verb']}?",
    ),
    Rule(
        "where",
        rf"({_NAME}) is (?:a|an) (?P<verb>[\w -]{{3,30}}?)(?: located)? in (?P<answer>{_NAME})",
        lambda m: f"Where is {m['subject']}?",
    ),
    Rule(
        "how many",
        rf"({_NAME}|The [a-z]+) (?P<verb>{_PAST}|has|had|contains)(?: over| about| nearly| all)?"
        rf" (?P<answer>{_NUMBER}) (?P<what>(?:[a-z]+ )?[a-z]+s)\b",
        lambda m: f"How many {m['what']} did {m['subject']} {_infinitive(m['verb'])}?",
    ),
    Rule(
        "how many",
        rf"(.*\b[Tt]he population)(?: of {_NAME})? (?P<verb>was|is) (?P<answer>{_NUMBER})\b",
        lambda m: "What is the population?",
    ),
    Rule(
        "how many",
        rf"(.*)\b(?P<verb>consist)(?:s|ed) of (?P<answer>{_NUMBER}) (?P<what>[a-z]+s)\b",
        lambda m: f"How many {m['what']} are there?",
    ),
)


def make_statement(sentence: str) -> Statement | None:
    """The sentence with the question of the first rule that fits; None where none does."""
    if len(sentence.split()) not in _LENGTH or sentence.split()[0] in _NO_SUBJECTS:
        return None
    for rule in RULES:
        match = re.match(rule.pattern, sentence)
        if match is None:
            continue
        parts = {"subject": match.group(1), **match.groupdict()}
        answer = parts["answer"].rstrip(",.")
        verb = parts["verb"]
        return Statement(rule.kind, verb, sentence, rule.ask(parts), answer)
    return None


def draw_statements(sentences: Iterable[str], count: int, seed: int) -> list[Statement]:
    """`count` statements drawn by the seed: of each kind in turn, and of each verb in turn."""
    kinds: dict[str, list[Statement]] = {}
    for statement in filter(None, map(make_statement, dict.fromkeys(sentences))):
        kinds.setdefault(statement.kind, []).append(statement)
    chance = random.Random(seed)
    for members in kinds.values():
        chance.shuffle(members)
        members[:] = reversed(_alternate(members))
    taken: list[Statement] = []
    while len(taken) < count and any(kinds.values()):
        for _, members in sorted(kinds.items()):
            if members and len(taken) < count:
                taken.append(members.pop())
    return taken


def _alternate(members: list[Statement]) -> list[Statement]:
    """The first of each verb, then the second of each, and so on."""
    by_verb: dict[str, list[Statement]] = {}
    for statement in members:
        by_verb.setdefault(statement.verb, []).append(statement)
    return [one for turn in zip_longest(*by_verb.values()) for one in turn if one is not None]
