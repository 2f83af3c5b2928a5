"""The role a name fills in its clause, where only one name can fill it.

"built by X", "X built", "awarded to X", "the director is X", "located in X": two clauses that agree
in the rest and differ in such a name cannot both be right. Many may approve, use or visit a thing,
so those verbs give no role.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise

from activities.evidence.conflicts.clauses import AUXILIARY, VERBS
from activities.evidence.words import STOP, Name, stem, word_list

_PARTICIPLES = word_list(
    """built run led made written held drawn sold bought paid laid won taken given known begun
    overseen shown found chosen woven sung driven flown"""
)
# What several can do to one thing, each on its own.
_SHARED = frozenset(
    stem(word)
    for word in word_list(
        """approved used uses visited visits signed signs supported supports attended welcomed read
        seen told sent says said asked asks wants needs has had opposed criticised praised
        joined followed follows preceded accompanied surrounded affected caused reached met meets
        shared offers offered provides provided includes included contains takes gives makes gets
        confirmed replaced inspected checked reported noted recommended reviewed discussed adopted
        proposed serves served carries carried calls called returned passed moved lies stands stood
        agreed expected plans planned remained went came left lost kept thinks thought knows knew
        sails sailed uses used employs employed paid pays costs cost looks looked starts started"""
    )
)
_IS = ("is", "was", "are", "were", "remains", "became", "be")
_SMALL = ("the", "a", "an")
_PLACES = ("in", "at", "from")
# A place is a value only where something can be in one place alone.
_PLACED = frozenset(
    stem(word)
    for word in word_list(
        """located situated based headquartered born died built founded established registered
        moored docked buried held signed manufactured made produced constructed lies office
        headquarters seat yard plant factory"""
    )
)


def slot(name: Name, words: Sequence[tuple[str, int, int]]) -> str:
    """The role the name fills among the words of its clause; empty where it fills none."""
    before = [w.lower() for w, s, _ in words if s < name.start]
    after = [w.lower() for w, s, _ in words if s >= name.end]
    while before and before[-1] in _SMALL:
        before.pop()
    if not before:
        return _agent(after)
    last = before[-1]
    if last == "by":
        return _done(before[:-1], "by")
    if last in _IS:
        subject = [w for w in before if w not in STOP]
        return "is " + stem(subject[0]) if subject else ""
    if last == "to":
        given = _done(before[:-1], "to")
        return given if given in _GIVEN else ""
    if last in _PLACES and len(before) > 1:
        place = stem(before[-2])
        # "X is a school in Y" says where X is, whatever it is.
        is_a = any(pair in (("is", "a"), ("is", "an"), ("was", "a"), ("was", "an"))
                   for pair in pairwise(before))  # fmt: skip
        return f"{last} {place}" if is_a or place in _PLACED else ""
    return ""


_GIVEN = frozenset(
    "to " + stem(word)
    for word in word_list("awarded given sold leased assigned granted handed transferred let lent")
)


def _done(before: Sequence[str], particle: str) -> str:
    """The participle a "by" or "to" belongs to: "converted to battery operation by"."""
    for word in reversed(before[-8:]):
        if word.removeprefix("re") in _PARTICIPLES or (len(word) > 4 and word.endswith("ed")):
            done = stem(word)
            return "" if done in _SHARED else f"{particle} {done}"
    return ""


def _agent(after: Sequence[str]) -> str:
    """What a name that opens its clause does or is."""
    while after and (after[0] in ("also", "has", "have", "had", "itself") or _adverb(after[0])):
        after = after[1:]
    if len(after) < 2:
        return ""
    verb = after[0]
    if verb in ("is", "was") and after[1] == "the":
        role = [w for w in after[2:] if w not in STOP]
        return "is " + stem(role[0]) if role else ""
    if verb in AUXILIARY or verb in STOP or stem(verb) in _SHARED:
        return ""
    if verb in VERBS or verb in _PARTICIPLES or re.search(r"[a-z]{3}(?:ed|[^su]s)$", verb):
        return "by " + stem(verb)
    return ""


def _adverb(word: str) -> bool:
    return len(word) > 4 and word.endswith("ly")
