"""Settings for the whole suite."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import settings

# A deadline measures how busy the machine is, not whether a property holds. In CI the examples
# follow from the code, so that a change is judged by what it changed.
settings.register_profile("without_deadline", deadline=None, derandomize="CI" in os.environ)
settings.load_profile("without_deadline")

# Directories whose files take longest, in the order in which `make test` hands them out. What is
# not named here takes seconds and comes last, so that all processes end at about the same time.
LONGEST_FIRST = (
    "browser",
    "durability",
    "fleet",
    "retention",
    "simulator",
    "triggers",
    "console",
    "job",
    "confidential",
    "mcp",
    "live",
    "telemetry",
    "security",
)
_TESTS = Path(__file__).parent


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    items.sort(key=_start_rank)


def _start_rank(item: pytest.Item) -> int:
    directory = item.path.relative_to(_TESTS).parts[0]
    is_long = directory in LONGEST_FIRST
    return LONGEST_FIRST.index(directory) if is_long else len(LONGEST_FIRST)
