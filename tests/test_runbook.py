"""The runbook holds: every situation is complete, its commands exist, a test walks through it."""

from __future__ import annotations

import ast
import asyncio
import itertools
import re
import shlex
import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest
import typer.main

from console.cli.app import app
from console.client.jobs import fetch_report
from console.client.runs import parse_changes
from console.devserver.server import find_binary
from tests.job.conftest import (
    NO_GAPS,
    PASSENGERS,
    UNREVIEWED,
    Office,
    Wire,
    documents,
    office,
    planned,
    status_when,
    temporal,
)
from workflows.config.model_catalog import MIXED, MODELS
from workflows.contracts.messages import Resume
from workflows.contracts.request import ResearchRequest
from workflows.coordinator import ResearchWorkflow
from workflows.rules.restart import change_request

__all__ = ["office", "temporal"]  # fixtures

ROOT = Path(__file__).parent.parent
PARTS = ("Symptom", "Look", "Do")
_TEST = re.compile(r"(tests/[\w/]+\.py)::(\w+)")
_TEMPORAL = re.compile(r"(?<![\w/])temporal ([a-z-]+ [^`#]*?)(?=[`#]|\n(?!  ))")
_COMMAND = re.compile(r"python starter\.py ([^`\n#&]+)")


@dataclass(frozen=True)
class Situation:
    title: str
    text: str

    def part(self, name: str) -> str:
        """What stands after the part's name, up to the next part."""
        found = re.search(rf"^\*\*{name}:\*\* (.*?)(?=^\*\*|^```|^<!--|\Z)", self.text, re.S | re.M)
        return found[1].strip() if found else ""

    @property
    def commands(self) -> str:
        return "\n".join(re.findall(r"^```sh\n(.*?)^```$", self.text, re.S | re.M)).strip()

    @property
    def tests(self) -> list[tuple[str, str]]:
        named = re.search(r"<!-- Exercised by: (.*?) -->", self.text, re.S)
        return _TEST.findall(named[1]) if named else []


def situations() -> list[Situation]:
    runbook = (ROOT / "deploy" / "RUNBOOK.md").read_text("utf-8")
    return [
        Situation(*chapter.split("\n", 1)) for chapter in re.split(r"^## ", runbook, flags=re.M)[1:]
    ]


ALL = situations()


def defined(file: str) -> set[str]:
    path = ROOT / file
    if not path.is_file():
        return set()
    tree = ast.parse(path.read_text("utf-8"))
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef)
    return {node.name for node in ast.walk(tree) if isinstance(node, kinds)}


def test_there_are_situations_enough_and_none_twice() -> None:
    titles = [situation.title for situation in ALL]
    assert len(titles) >= 15
    assert len(set(titles)) == len(titles)


@pytest.mark.parametrize("situation", ALL, ids=lambda situation: situation.title)
def test_a_situation_says_what_is_seen_where_to_look_and_what_to_type(
    situation: Situation,
) -> None:
    assert [name for name in PARTS if not situation.part(name)] == []
    assert situation.commands


@pytest.mark.parametrize("situation", ALL, ids=lambda situation: situation.title)
def test_a_situation_is_exercised_by_tests_that_exist(situation: Situation) -> None:
    assert situation.tests
    assert [f"{file}::{name}" for file, name in situation.tests if name not in defined(file)] == []


def test_every_command_and_option_named_is_one_of_the_consoles() -> None:
    known = {
        name: {word for option in command.params for word in option.opts + option.secondary_opts}
        for name, command in typer.main.get_command(app).commands.items()  # type: ignore[attr-defined]
    }
    text = "\n".join(situation.text for situation in ALL)
    for line in _COMMAND.findall(text):
        name, *rest = shlex.split(line)
        assert name in known, line
        assert options(rest) <= known[name], line


def test_every_setting_of_a_fork_can_be_set() -> None:
    text = "\n".join(situation.text for situation in ALL)
    changes = parse_changes(re.findall(r"--set ([^\s`]+)", text))
    assert changes
    assert change_request(ResearchRequest(question="any"), changes)
    models = {value for key, value in changes.items() if key.startswith("model")}
    assert models <= {*MODELS, MIXED}


def test_every_command_and_option_of_temporal_named_is_one_of_its_own() -> None:
    text = "\n".join(situation.text for situation in ALL)
    lines = {" ".join(line.split()) for line in _TEMPORAL.findall(text)}
    assert lines
    for line in sorted(lines):
        words = shlex.split(line)
        verbs = list(itertools.takewhile(lambda word: not word.startswith("--"), words))
        told = subprocess.run(
            [find_binary(), *verbs, "--help"], capture_output=True, text=True, check=False
        )
        assert told.returncode == 0, line
        assert f"temporal {' '.join(verbs)}" in told.stdout, line
        assert options(words) <= set(re.findall(r"--[\w-]+", told.stdout)), line


def options(words: list[str]) -> set[str]:
    return {word for word in words if word.startswith("--")}


async def test_a_corpus_no_worker_sees_blocks_the_job_until_it_is_there(office: Office) -> None:
    missing = office.corpus.parent / "not-mounted-yet"
    office.corpus = missing
    async with office.working(Wire(planned(PASSENGERS), UNREVIEWED, NO_GAPS)):
        job = await office.start()
        status = await status_when(job, lambda s: s.blocked is not None)
        assert status.blocked
        assert status.blocked.step == "open_corpus"
        assert "on the machine that has it" in status.blocked.reason
        await asyncio.to_thread(documents, missing)
        await job.execute_update(ResearchWorkflow.resume, Resume())
        assert (await fetch_report(job)).claims
