"""A small job about things whose names occur nowhere else."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from console.client.jobs import fetch_report
from tests.activities.scripted import failure
from tests.job.conftest import UNREVIEWED, Office, Rule, Wire, facet, planned, status_when
from workflows.contracts.messages import AddNote, Resume, Steer
from workflows.contracts.result import ResearchResult
from workflows.coordinator import ResearchWorkflow

QUESTION = "How does the Marrowgate tramway pay for its Wexcombe depot?"
DOCUMENTS = {
    "Thornquist_accounts.md": """# Marrowgate tramway: accounts

Date: 2025-03-01

The Wexcombe depot cost 14.2 million euros, says Ermintrude Pellamby. The Marrowgate tramway pays
for the depot with Zephyrine bonds issued in 2023. The Zephyrine bonds of the Wexcombe depot end in
December 2041.
""",
    "grants.md": """# Grants for the Marrowgate tramway

Date: 2025-06-10

A grant of 3.5 million euros paid for the sidings at the Wexcombe depot. The Kilnsworthy fund gave
the grant to the Marrowgate tramway in 2024.
""",
}
BONDS = facet(
    "zephyrine-bonds",
    "Zephyrine bonds",
    "With which Zephyrine bonds does it pay for the Wexcombe depot?",
)
NOTE = "Ask what Mrs Oldacre was promised."
TOLD = "your key of Brackenfold is not valid"

SECRETS = (
    "marrowgate", "wexcombe",  # the question, the sources, the report
    "pellamby", "kilnsworthy",  # the sources
    "thornquist",  # a file's name
    "zephyrine",  # a facet's title and id
    "oldacre",  # a person's note
    "brackenfold",  # what a failure says
)  # fmt: skip


def corpus(folder: Path) -> Path:
    folder.mkdir()
    for name, words in DOCUMENTS.items():
        (folder / name).write_text(words, "utf-8")
    return folder


async def work(office: Office) -> tuple[str, ResearchResult, dict[str, Any]]:
    """A job that is blocked, steered and resumed on its way."""
    fault = Rule("ResearchAnswer", lambda _: failure(401, "authentication_error", TOLD), times=1)
    async with office.working(Wire(fault, planned(BONDS), UNREVIEWED)):
        handle = await office.start(QUESTION)
        await status_when(handle, lambda s: s.blocked is not None)
        blocked = await (await handle.describe()).memo()
        note = Steer(changes=(AddNote(text=NOTE),))
        await handle.execute_update(ResearchWorkflow.steer, note)
        await handle.execute_update(ResearchWorkflow.resume, Resume())
        return handle.id, await fetch_report(handle), dict(blocked)
