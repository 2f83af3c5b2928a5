"""An operator's day at the front desk, with the real worker and the offline model."""

from __future__ import annotations

import asyncio
import json
import signal
from typing import Any

import pytest

from activities.storage.store import Store
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


def test_a_stopped_job_stays_stopped_until_it_is_named(real: Place) -> None:
    """Its approval times out meanwhile: with any worker it would go on and spend."""
    asked = ("What did the harbour at Norre cost?", "--corpus", "docs", "--effort", "quick")
    process = real.popen("run", *asked, "--id", "first", "--approve", "--approve-within", "2s")
    wait_for(process, "the plan waits for approval until")
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=60)
    assert process.returncode == 130
    stored = real.starter("checkpoints", "first", "--json")[1]
    code, said, complained = real.starter("run", *asked, "--id", "second")
    assert (code, complained) == (0, "")
    assert "1 unfinished job stays stopped: first; `" in said
    assert real.starter("checkpoints", "first", "--json")[1] == stored
    code, said, complained = real.starter("resume", "first", "--out", "later")
    assert (code, complained) == (0, "")
    assert "unfinished" not in said
    assert report(real, "later")["id"] == "first"


def test_a_worker_with_another_store_refuses_the_job(real: Place) -> None:
    """The first worker never polls; the second one finds another store in the same folder."""
    idle = real.folder / "idle.py"
    idle.write_text("import time; time.sleep(60)")
    real.worker = idle
    process = real.popen("run", "What did the harbour cost?", "--corpus", "docs", "--id", "moved")
    wait_for(process, "Job moved starts")
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=60)
    store = Store.open(str(real.state / "store"))
    assert asyncio.run(store.get("store-id")) is not None
    asyncio.run(store.replace("store-id", b"another"))
    real.worker = ROOT / "worker.py"
    code, _, complained = real.starter("resume", "moved")
    assert code == 1
    assert "the worker's store is not the one the job was started with" in complained
    assert "set RESEARCH_STORE of all workers to the store of the job" in complained
