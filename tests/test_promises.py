"""Every promise of `docs/promises.md` names tests, and they exist."""

from __future__ import annotations

import re

import pytest

from tests.test_runbook import ROOT, defined

DOCUMENT = (ROOT / "docs" / "promises.md").read_text("utf-8")
PROMISES = [line for line in DOCUMENT.splitlines() if re.match(r"\| (?!promise \|)[^-]", line)]
_NAMED = re.compile(r"`(tests/[\w/]+\.py)::(test_\w+)`")


def test_there_are_promises_for_every_hand_over() -> None:
    assert len(re.findall(r"^## ", DOCUMENT, re.M)) == 7
    assert len(PROMISES) >= 30


@pytest.mark.parametrize("promise", PROMISES, ids=lambda line: line.split(" | ")[0][2:])
def test_a_promise_is_held_by_tests_that_exist(promise: str) -> None:
    named = _NAMED.findall(promise)
    assert named
    assert len(named) == promise.count("`tests/"), "every reference is understood"
    assert [f"{file}::{name}" for file, name in named if name not in defined(file)] == []
