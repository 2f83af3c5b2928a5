"""Engines that people would use instead, and which of them can take part here."""

from __future__ import annotations

from collections.abc import Iterable

from benchmarks.engines.dbos import Dbos, DbosPostgres
from benchmarks.engines.engine import Engine
from benchmarks.engines.langgraph import LangGraph, LangGraphTasks
from benchmarks.engines.plain_temporal import EmptySteps, PlainTemporal, TemporalPerTurn

OTHERS: tuple[type[Engine], ...] = (
    LangGraph,
    LangGraphTasks,
    Dbos,
    DbosPostgres,
    PlainTemporal,
    TemporalPerTurn,
    EmptySteps,
)


def lacking(kind: type[Engine]) -> str:
    """What to do before this engine can take part; nothing if it can."""
    asked = getattr(kind, "lacks", None)
    return str(asked()) if asked else ""


def absent(kinds: Iterable[type[Engine]]) -> dict[str, str]:
    """Those that cannot take part here, and what to do about it."""
    return {kind.name: words for kind in kinds if (words := lacking(kind))}
