"""How far a figure can be trusted: 95 % intervals for shares, means, ratios and differences.

Every measure of a case is a pair (part, whole); a set's figure is the sum of the parts over the sum
of the wholes. A mean over cases has a whole of 1 each; a precision over all pairs has the pairs of
each case. All chance is seeded: the same results print the same intervals.
"""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from dataclasses import dataclass

Pair = tuple[float, float]

_Z = 1.959964
_ROUNDS = 2000
_SEED = 20240517


@dataclass(frozen=True)
class Estimate:
    """A figure with its interval and what it was counted over."""

    value: float
    low: float
    high: float
    n: int
    """Cases, or where cases count several things each, those things."""


def estimate(pairs: Sequence[Pair], share: bool = True) -> Estimate | None:
    """The figure over all cases; None where nothing was there to be counted.

    `share` says that it lies between 0 and 1, as a part of a whole does.
    """
    counted = [pair for pair in pairs if any(pair)]
    whole = sum(w for _, w in counted)
    if not whole:
        return None
    value = _ratio(counted)
    if share and all(w == 1 and p in (0, 1) for p, w in counted):
        low, high = wilson(sum(p for p, _ in counted), len(counted))
    else:
        low, high = bootstrap(counted)
        if share and _all_or_none(counted):
            # Resampling cannot leave 0 or 1 once all cases agree; what was counted still can.
            low, high = wilson(sum(p for p, _ in counted), whole)
    return Estimate(value, low, high, round(whole))


def wilson(successes: float, trials: float) -> tuple[float, float]:
    """Wilson's interval for a share: honest near 0 and 1, and where there are few trials."""
    if not trials:
        return 0.0, 1.0
    share = successes / trials
    spread = _Z * math.sqrt(share * (1 - share) / trials + _Z**2 / (4 * trials**2))
    centre = share + _Z**2 / (2 * trials)
    scale = 1 + _Z**2 / trials
    return max(0.0, (centre - spread) / scale), min(1.0, (centre + spread) / scale)


def bootstrap(pairs: Sequence[Pair]) -> tuple[float, float]:
    """The middle 95 % of the figure over cases drawn again and again."""
    chance = random.Random(_SEED)
    drawn = []
    for _ in range(_ROUNDS):
        again = chance.choices(pairs, k=len(pairs))
        if any(whole for _, whole in again):
            drawn.append(_ratio(again))
    return _middle(drawn)


def difference(before: Sequence[Pair], after: Sequence[Pair]) -> Estimate | None:
    """`after` less `before` over the same cases, in the same order: what they share cancels out."""
    both = [(one, other) for one, other in zip(before, after, strict=True) if one[1] or other[1]]
    if not any(one[1] for one, _ in both) or not any(other[1] for _, other in both):
        return None
    chance = random.Random(_SEED)
    drawn = []
    for _ in range(_ROUNDS):
        again = chance.choices(both, k=len(both))
        ones, others = [a for a, _ in again], [b for _, b in again]
        if any(w for _, w in ones) and any(w for _, w in others):
            drawn.append(_ratio(others) - _ratio(ones))
    value = _ratio([b for _, b in both]) - _ratio([a for a, _ in both])
    low, high = _middle(drawn)
    return Estimate(value, low, high, len(both))


def _ratio(pairs: Sequence[Pair]) -> float:
    return sum(part for part, _ in pairs) / sum(whole for _, whole in pairs)


def _all_or_none(pairs: Sequence[Pair]) -> bool:
    whole = sum(w for _, w in pairs)
    counts = all(float(p).is_integer() and float(w).is_integer() and p <= w for p, w in pairs)
    return counts and sum(p for p, _ in pairs) in (0, whole)


def _middle(drawn: Sequence[float]) -> tuple[float, float]:
    ordered = sorted(drawn)
    last = len(ordered) - 1
    return ordered[round(0.025 * last)], ordered[round(0.975 * last)]
