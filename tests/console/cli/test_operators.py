"""An operator's day at the front desk, with the real worker and the offline model."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.console.cli.test_commands import wait_for
from tests.console.conftest import ROOT, Place, eventually

NOTES = {
    "harbour.md": "# Harbour\n\nThe harbour at Norre cost 40 million crowns in 2021. "
    "The county paid for the harbour at Norre.\n\nThe harbour opened in May 2022.\n",
    "ferry.md": "# Ferry\n\nThe ferry Tern crosses to Norre in 25 minutes. The ferry Tern carried "
    "120,000 passengers in 2023.\n\nThe ferry's battery was built in 2020.\n",
    "crew.md": "# Crew\n\nThe ferry Tern needs a crew of four. The union asked for five in 2024.\n",
}


@pytest.fixture
def real(place: Place) -> Place:
    """A place where the real worker works on a few short documents."""
    place.worker = ROOT / "worker.py"
    for name, text in NOTES.items():
        (place.folder / "docs" / name).write_text(text)
    return place


def told(place: Place, job_id: str) -> dict[str, Any]:
    code, said, complained = place.starter("status", job_id, "--json")
    assert code == 0, complained
    state: dict[str, Any] = json.loads(said)
    return state


def report(place: Place, folder: str) -> dict[str, Any]:
    written: dict[str, Any] = json.loads((place.folder / folder / "report.json").read_text())
    return written


def test_a_job_is_approved_steered_closed_restarted_and_forked(real: Place) -> None:
    process = real.popen("run", "What is known about the ferry Tern and the harbour at Norre?",
                         "--corpus", "docs", "--effort", "quick", "--id", "day",
                         "--approve")  # fmt: skip
    wait_for(process, "the plan waits for approval until")
    assert told(real, "day")["state"] == "awaiting_approval"
    code, _, complained = real.starter(
        "steer", "day", "--note", "years matter", "--add-facet", "Crew: How large is the crew?"
    )
    assert (code, complained) == (0, "")
    plan = json.loads(real.starter("plan", "day", "--json")[1])
    assert "crew" in [facet["id"] for facet in plan["facets"]]
    (real.folder / "plan.json").write_text(json.dumps(plan))
    code, _, complained = real.starter("approve", "day", "--plan", "plan.json")
    assert (code, complained) == (0, "")
    _, complained = process.communicate(timeout=110)
    assert (process.returncode, complained) == (0, "")
    first = report(real, "out")
    assert "crew" in [facet["id"] for facet in first["plan"]["facets"]]

    listed = json.loads(real.starter("checkpoints", "day", "--json")[1])
    names = [row["name"] for row in listed]
    assert names[-1] == "evaluated"
    assert {"planned", "approved", "researched", "drafted"} <= set(names)
    code, _, complained = real.starter("restart", "day")
    assert (code, "fork day" in complained) == (2, True)

    code, _, complained = real.starter(
        "fork", "day", "--from", "researched", "--id", "again", "--out", "forked"
    )
    assert (code, complained) == (0, "")
    fork = report(real, "forked")
    assert (fork["parent"]["id"], fork["parent"]["checkpoint"]) == ("day", "researched")
    assert fork["telemetry"]["turns"] == first["telemetry"]["turns"]
    assert fork["report_markdown"] == first["report_markdown"]


def test_a_paused_job_is_closed_and_taken_up_from_its_checkpoint(real: Place) -> None:
    process = real.popen("run", "How large is the crew of the ferry Tern?", "--corpus", "docs",
                         "--effort", "quick", "--id", "p", "--approve-within", "1h")  # fmt: skip
    wait_for(process, "the plan waits for approval until")
    assert real.starter("pause", "p")[0] == 0
    assert real.starter("approve", "p")[0] == 0
    assert eventually(lambda: told(real, "p")["phase"] == "researching")
    assert told(real, "p")["state"] == "paused"

    code, said, complained = real.starter("restart", "p", "--from", "approved")
    assert (code, complained) == (0, "")
    assert "Job p restarts from approved" in said
    _, complained = process.communicate(timeout=110)
    assert (process.returncode, complained) == (0, ""), "who followed it did not see its end"
    assert report(real, "out")["parent"]["how"] == "restart"
