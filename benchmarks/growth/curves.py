"""A curve: what was measured at which size, and the power of the size it grows by.

The exponent is the slope of a straight line through the points on logarithmic axes. Small sizes are
mostly fixed cost and flatten it, so the slope of the largest alone is told beside it, and the
steeper of the two decides.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

LINEAR = 1.15
"""Up to here a slope counts as linear: two runs of the same job differ by a tenth."""
_END = 4
"""What is as large as a quarter of the largest belongs to the end."""


@dataclass(frozen=True)
class Curve:
    """One measure over one size."""

    of: str
    """What grows: facets, claims."""
    measure: str
    unit: str
    points: tuple[tuple[float, float], ...]
    remark: str = ""
    """Why it is as it is; or why there are no points."""

    @property
    def exponent(self) -> float | None:
        return slope(self.points)

    @property
    def at_the_end(self) -> float | None:
        far = max((x for x, _ in self.points), default=0) / _END
        largest = [point for point in self.points if point[0] >= far]
        return slope(largest if len(largest) > 1 else self.points[-2:])

    @property
    def verdict(self) -> str:
        steepest = [s for s in (self.exponent, self.at_the_end) if s is not None]
        if not steepest:
            return self.remark or "too few points"
        said = "linear or better" if max(steepest) <= LINEAR else "steeper than linear"
        return f"{said}: {self.remark}" if self.remark else said

    def told(self) -> dict[str, Any]:
        return {
            "of": self.of,
            "measure": self.measure,
            "unit": self.unit,
            "points": [list(point) for point in self.points],
            "exponent": _rounded(self.exponent),
            "exponent_at_the_end": _rounded(self.at_the_end),
            "verdict": self.verdict,
        }


def slope(points: Sequence[tuple[float, float]]) -> float | None:
    """The exponent of the power law nearest to the points; None where none can be told."""
    logs = [(math.log(x), math.log(y)) for x, y in points if x > 0 and y > 0]
    if len({x for x, _ in logs}) < 2:
        return None
    middle_x = sum(x for x, _ in logs) / len(logs)
    middle_y = sum(y for _, y in logs) / len(logs)
    across = sum((x - middle_x) ** 2 for x, _ in logs)
    return sum((x - middle_x) * (y - middle_y) for x, y in logs) / across


def table(curves: Sequence[Curve]) -> str:
    rows: list[tuple[str, ...]] = [("of", "measure", "measured", "exponent", "at the end", "")]
    rows.append(("---",) * len(rows[0]))
    for curve in curves:
        points = ", ".join(f"{x:g}: {_short(y)}" for x, y in curve.points)
        rows.append((
            curve.of,
            f"{curve.measure}, {curve.unit}" if curve.unit else curve.measure,
            points,
            _exponent(curve.exponent),
            _exponent(curve.at_the_end),
            curve.verdict,
        ))  # fmt: skip
    return "\n".join("| " + " | ".join(row) + " |" for row in rows)


def _short(y: float) -> str:
    return f"{y:.0f}" if y >= 100 else f"{y:.3g}"


def _exponent(value: float | None) -> str:
    return "" if value is None else f"{value:.2f}"


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, 3)
