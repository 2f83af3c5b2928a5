"""A state folder in which two jobs were run, copied for every test that deletes something in it."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from activities.storage.store import Store
from console.devserver.server import run_dev_server
from console.runtime.data_converter import load_keyring
from console.runtime.keys_file import create_file
from tests.durability.processes import ROOT, clean
from workflows.config.settings import Settings

TRAMWAY = "How does the Marrowgate tramway pay for its Wexcombe depot?"
HARBOUR = "How many passengers did the harbour line carry in 2024?"
MARKERS = ("marrowgate", "wexcombe", "pellamby", "zephyrine")
"""Words of the tramway's question and documents that occur nowhere else."""
DOCUMENTS = {
    "tramway/accounts.md": """# Marrowgate tramway: accounts

Date: 2025-03-01

The Wexcombe depot cost 14.2 million euros, says Ermintrude Pellamby. The Marrowgate tramway pays
for the depot with Zephyrine bonds issued in 2023. The Zephyrine bonds of the Wexcombe depot end in
December 2041.
""",
    "harbour/report.md": """# Harbour lines: annual report 2024

Date: 2025-03-01

The harbour line carried 412,000 passengers in 2024. Ticket sales are counted at the gates.
""",
}


class Home:
    """A folder with a state folder, documents and, maybe, keys; commands are called in it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    @property
    def state(self) -> Path:
        return self.folder / "state"

    @property
    def settings(self) -> Settings:
        return Settings.read(self._variables())

    def _variables(self) -> dict[str, str]:
        keys = self.folder / "keys.json"
        known = {"RESEARCH_KEYS": str(keys)} if keys.exists() else {}
        return known | {"RESEARCH_HOME": str(self.state)}

    def start(self, *arguments: str, **env: str) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [sys.executable, str(ROOT / "starter.py"), *arguments],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            cwd=self.folder,
            env=clean() | self._variables() | env,
        )

    def call(self, *arguments: str, **env: str) -> tuple[int, str]:
        """Exit code and output of a command."""
        process = self.start(*arguments, **env)
        said, complained = process.communicate(timeout=100)
        return process.returncode, said + complained

    def read(self, *arguments: str, **env: str) -> Any:
        """What a command prints as JSON."""
        process = self.start(*arguments, "--json", **env)
        said, complained = process.communicate(timeout=100)
        assert process.returncode == 0, complained
        return json.loads(said)

    def research(self, question: str, corpus: str, job: str, *more: str) -> None:
        code, said = self.call(
            "run", question, "--corpus", corpus, "--id", job, "--out", job, *more
        )
        assert code in (0, 3), said

    def report(self, job: str) -> Any:
        return json.loads((self.folder / job / "report.json").read_text())

    def store(self) -> Store:
        return Store.open(self.settings.store, load_keyring(self.settings))

    def objects(self) -> set[str]:
        place = self.state / "store"
        return {str(file.relative_to(place)) for file in place.rglob("*") if file.is_file()}

    def find(self, *words: str) -> dict[str, str]:
        """Which of the words occur where in the state folder, in the names of files, too."""
        found = {}
        for file in self.state.rglob("*"):
            content = file.read_bytes().lower() if file.is_file() else b""
            for word in words:
                if word.encode() in content or word in file.name.lower():
                    found[str(file.relative_to(self.state))] = word
        return found

    def age(self, days: float) -> None:
        """Make every object of the store older."""
        for file in (self.state / "store").rglob("*"):
            if file.is_file():
                at = file.stat().st_mtime - days * 86400
                os.utime(file, (at, at))

    def copy(self, folder: Path) -> Home:
        shutil.copytree(self.folder, folder)
        return Home(folder)


class Worked(Home):
    before: set[str]
    """The objects that there were before the tramway's job."""


def work(folder: Path, *, encrypted: bool) -> Worked:
    home = Worked(folder)
    for name, words in DOCUMENTS.items():
        file = folder / name
        file.parent.mkdir(parents=True)
        file.write_text(words, "utf-8")
    if encrypted:
        create_file(folder / "keys.json")
    # Held open here, it is the one server of both commands.
    with run_dev_server(home.state):
        home.research(HARBOUR, "harbour", "harbour-job", "--effort", "quick")
        home.before = home.objects()
        home.research(TRAMWAY, "tramway", "tramway-job", "--effort", "quick")
    return home


@pytest.fixture(scope="session")
def worked(tmp_path_factory: pytest.TempPathFactory) -> Worked:
    return work(tmp_path_factory.mktemp("plain") / "home", encrypted=False)


@pytest.fixture(scope="session")
def encrypted(tmp_path_factory: pytest.TempPathFactory) -> Worked:
    return work(tmp_path_factory.mktemp("encrypted") / "home", encrypted=True)


@pytest.fixture
def home(worked: Worked, tmp_path: Path) -> Home:
    return worked.copy(tmp_path / "home")
