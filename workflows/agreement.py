"""Claims that say the same thing, so that their sources can be counted together.

Two claims agree when they rest on the same quote, or when their words largely coincide, every
number and date of one stands in the other, no name of one is foreign to the other, and neither
denies what the other says or has another phrase in the same place: an edited copy is not a second
witness. Agreement is symmetric; a claim agrees with itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

from workflows.evidence import Claim
from workflows.moments import same_moment
from workflows.polarity import opposed
from workflows.quantities import read, same_number
from workflows.statements import Reading, Value, different, read_claims
from workflows.substitutions import substitutions
from workflows.words import stems

_WITHIN = 0.7  # share of the shorter claim's words that must stand in the longer
_TOGETHER = 0.5
_CROWD = 64


def agree(a: Claim, b: Claim) -> bool:
    """Whether the two claims say the same thing."""
    first, second = read_claims([a, b])
    return _agree(a, b, first, second)


def groups_of_agreement(claims: Sequence[Claim]) -> list[list[int]]:
    """Places of claims that say the same thing, grouped; a claim that stands alone is a group.

    A claim joins a group only if it agrees with every member, so agreement never drifts along a
    chain of near neighbours.
    """
    readings = read_claims(claims)
    words = [frozenset(stems(claim.text)) for claim in claims]
    counts: dict[str, int] = {}
    for bag in words:
        for word in sorted(bag):
            counts[word] = counts.get(word, 0) + 1
    blocks: dict[tuple[str, ...], list[int]] = {}
    for place, claim in enumerate(claims):
        rare = sorted((w for w in words[place] if counts[w] > 1), key=lambda w: (counts[w], w))[:5]
        for key in combinations(sorted(rare), 2):
            blocks.setdefault(key, []).append(place)
        blocks.setdefault(("text", " ".join(sorted(words[place]))), []).append(place)
        for quote in claim.quotes:
            blocks.setdefault(("quote", _folded(quote.text)), []).append(place)
    met = {
        pair: None
        for places in blocks.values()
        if 1 < len(places) <= _CROWD
        for pair in combinations(places, 2)
    }
    order = sorted(range(len(claims)), key=lambda n: (claims[n].id, claims[n].text))
    rank = {place: n for n, place in enumerate(order)}
    home = list(range(len(claims)))
    groups: dict[int, list[int]] = {n: [n] for n in home}
    known: dict[tuple[int, int], bool] = {}

    def agrees(x: int, y: int) -> bool:
        pair = (x, y) if x < y else (y, x)
        if pair not in known:
            known[pair] = _agree(claims[x], claims[y], readings[x], readings[y])
        return known[pair]

    pairs = [(x, y) if rank[x] < rank[y] else (y, x) for x, y in met]
    for x, y in sorted(pairs, key=lambda pair: (rank[pair[0]], rank[pair[1]])):
        one, other = home[x], home[y]
        if one == other or not agrees(x, y):
            continue
        if all(agrees(m, n) for m in groups[one] for n in groups[other]):
            for member in groups[other]:
                home[member] = one
            groups[one].extend(groups.pop(other))
    return sorted(sorted(group) for group in groups.values())


def _folded(text: str) -> str:
    return " ".join(text.lower().split())


def _agree(a: Claim, b: Claim, first: Reading, second: Reading) -> bool:
    if _folded(a.text) == _folded(b.text):
        return True
    if not _values_agree(a.text, b.text):
        return False
    mine, theirs = _statement(a, first), _statement(b, second)
    if different(mine, theirs) or opposed(mine, theirs):
        return False
    if {_folded(q.text) for q in a.quotes} & {_folded(q.text) for q in b.quotes}:
        return True
    bag, other = frozenset(stems(a.text)), frozenset(stems(b.text))
    shared, least = len(bag & other), min(len(bag), len(other))
    if not least:
        return False
    if shared / least < _WITHIN or shared / len(bag | other) < _TOGETHER:
        return False
    return not _edited(a.text, b.text)


def _edited(a: str, b: str) -> bool:
    """Whether a phrase of one was exchanged in the other; the same either way round."""
    pairs = [(a, b, once) for once in substitutions(a, b)]
    pairs += [(b, a, once) for once in substitutions(b, a)]
    for first, second, once in pairs:
        mine, theirs = first[slice(*once.mine)], second[slice(*once.theirs)]
        # The same amount in other words is no other phrase.
        if not (read(mine)[1] and _values_agree(mine, theirs)):
            return True
    return False


def _statement(claim: Claim, reading: Reading) -> Value:
    """The claim's first sentence, widened to all its names, periods and contrasts."""
    whole = reading.statements[0]
    return Value(
        claim=whole.claim, kind="number", unit="", text=claim.text, amount=None, moment=None,
        name=(), slot="", stems=whole.stems, near=whole.near, names=whole.names,
        labels=whole.labels, periods=whole.periods, contrasts=whole.contrasts,
        measures=whole.measures, sentence=claim.text,
    )  # fmt: skip


def _values_agree(a: str, b: str) -> bool:
    """Every number and date of each stands in the other, rounding forgiven."""
    dates_a, amounts_a = read(a)
    dates_b, amounts_b = read(b)
    for mine, theirs in ((amounts_a, amounts_b), (amounts_b, amounts_a)):
        if not all(any(same_number(x, y) for y in theirs) for x in mine):
            return False
    return all(
        all(any(same_moment(x, y) for y in theirs) for x in mine)
        for mine, theirs in ((dates_a, dates_b), (dates_b, dates_a))
    )
