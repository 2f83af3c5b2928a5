"""The rules that can be switched off, so that a benchmark can show what each is worth."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal, get_args

Family = Literal["answer_types", "figures", "links", "parts", "sections", "spread"]
FAMILIES: tuple[Family, ...] = get_args(Family)

_disabled: set[str] = set()


def disable(names: Iterable[str]) -> None:
    """Switch these families off in this process; raises ValueError for an unknown one."""
    wanted = set(names)
    if unknown := sorted(wanted - set(FAMILIES)):
        raise ValueError(f"there is no rule family {unknown[0]!r}: choose from {FAMILIES}")
    _disabled.clear()
    _disabled.update(wanted)


def is_on(family: Family) -> bool:
    return family not in _disabled
