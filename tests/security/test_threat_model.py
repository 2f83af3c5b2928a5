"""The threat model names its tests, and they are there."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
DOCUMENT = (ROOT / "deploy" / "SECURITY.md").read_text("utf-8")
NAMED = sorted(set(re.findall(r"`(tests/[\w/]+\.py)::(test_\w+)`", DOCUMENT)))
TOPICS = ("traversal", "zip bomb", "PDF", "prompt injection", "HTML", "oversized", "secrets",
          "loopback", "TLS")  # fmt: skip


@pytest.mark.parametrize(("file", "name"), NAMED, ids=lambda part: part.rpartition("/")[2])
def test_a_test_that_is_named_exists(file: str, name: str) -> None:
    tree = ast.parse((ROOT / file).read_text("utf-8"))
    functions = (ast.FunctionDef, ast.AsyncFunctionDef)
    assert name in {node.name for node in ast.walk(tree) if isinstance(node, functions)}


def test_every_reference_is_understood() -> None:
    assert len(re.findall(r"`tests/", DOCUMENT)) == len(
        re.findall(r"`tests/[\w/]+\.py::test_\w+`", DOCUMENT)
    )


def test_every_line_of_the_table_has_a_test() -> None:
    section = DOCUMENT.partition("## Threats")[2].partition("\n## ")[0]
    _, *threats = [line for line in section.splitlines() if line.startswith("| ")]
    assert len(threats) >= 15
    assert [line for line in threats if "::test_" not in line] == []


@pytest.mark.parametrize("topic", TOPICS)
def test_what_must_be_spoken_of_is(topic: str) -> None:
    assert topic.lower() in DOCUMENT.lower()
