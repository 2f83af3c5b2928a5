"""An operator's day at the front desk, with the real worker and the offline model."""

from __future__ import annotations

import asyncio
import json
import signal
from typing import Any

from activities.storage.store import Store
from tests.console.cli.test_commands import GOOD, wait_for
from tests.console.conftest import ROOT, Place, call, eventually, processes

NOTES = {
    "harbour.md": "# Harbour\n\nThe harbour at Norre cost 40 million crowns in 2021. "
    "The county paid for the harbour at Norre.\n\nThe harbour opened in May 2022.\n",
    "ferry.md": "# Ferry\n\nThe ferry Tern crosses to Norre in 25 minutes. The ferry Tern carried "
    "120,000 passengers in 2023.\n\nThe ferry's battery was built in 2020.\n",
    "crew.md": "# Crew\n\nThe ferry Tern needs a crew of four. The union asked for five in 2024.\n",
}


def with_notes(place: Place) -> Place:
    for name, text in NOTES.items():
        (place.folder / "docs" / name).write_text(text)
    return place


def state(job_id: str) -> dict[str, Any]:
    code, said, complained = call("status", job_id, "--json")
    assert code == 0, complained
    found: dict[str, Any] = json.loads(said)
    return found


def report(place: Place, folder: str) -> dict[str, Any]:
    written: dict[str, Any] = json.loads((place.folder / folder / "report.json").read_text())
    return written


def test_a_job_is_approved_steered_closed_restarted_and_forked(researching: Place) -> None:
    place = with_notes(researching)
    question = "What is known about the ferry Tern and the harbour at Norre?"
    corpus = ("--corpus", "docs", "--effort", "quick")
    assert call("start", question, *corpus, "--id", "day", "--approve")[0] == 0
    assert eventually(lambda: state("day")["state"] == "awaiting_approval")
    code, _, complained = call(
        "steer", "day", "--note", "years matter", "--add-facet", "Crew: How large is the crew?"
    )
    assert (code, complained) == (0, "")
    plan = json.loads(call("plan", "day", "--json")[1])
    assert "crew" in [facet["id"] for facet in plan["facets"]]
    (place.folder / "plan.json").write_text(json.dumps(plan))
    code, _, complained = call("approve", "day", "--plan", "plan.json")
    assert (code, complained) == (0, "")
    assert call("watch", "day")[0] == 0
    assert call("result", "day")[0] == 0
    first = report(place, "out")
    assert "crew" in [facet["id"] for facet in first["plan"]["facets"]]

    listed = json.loads(call("checkpoints", "day", "--json")[1])
    names = [row["name"] for row in listed]
    assert names[-1] == "evaluated"
    assert {"planned", "approved", "researched", "drafted"} <= set(names)
    code, _, complained = call("restart", "day")
    assert (code, "fork day" in complained) == (2, True)

    code, _, complained = call("fork", "day", "--from", "researched", "--id", "again")
    assert (code, complained) == (0, "")
    assert call("watch", "again")[0] == 0
    assert call("result", "again", "--out", "forked")[0] == 0
    fork = report(place, "forked")
    assert (fork["parent"]["id"], fork["parent"]["checkpoint"]) == ("day", "researched")
    assert fork["telemetry"]["turns"] == first["telemetry"]["turns"]
    assert fork["report_markdown"] == first["report_markdown"]


def test_a_paused_job_is_closed_and_taken_up_from_its_checkpoint(researching: Place) -> None:
    place = with_notes(researching)
    process = place.popen("run", "How large is the crew of the ferry Tern?", "--corpus", "docs",
                          "--effort", "quick", "--id", "p", "--approve-within", "1h")  # fmt: skip
    wait_for(process, "the plan waits for approval until")
    assert call("pause", "p")[0] == 0
    assert call("approve", "p")[0] == 0
    assert eventually(lambda: state("p")["phase"] == "researching")
    assert state("p")["state"] == "paused"

    code, said, complained = call("restart", "p", "--from", "approved")
    assert (code, complained) == (0, "")
    assert "Job p restarts from approved" in said
    _, complained = process.communicate(timeout=110)
    assert (process.returncode, complained) == (0, ""), "who followed it did not see its end"
    assert report(place, "out")["parent"]["how"] == "restart"


def test_a_stopped_job_stays_stopped_until_it_is_named(place: Place) -> None:
    """It could go on meanwhile: with any worker it would, and spend."""
    process = place.popen("run", "hold on", *GOOD, "--id", "first")
    wait_for(process, "The one facet: running")
    process.send_signal(signal.SIGTERM)
    _, complained = process.communicate(timeout=60)
    assert (process.returncode, complained) == (130, "")
    assert not processes(place.folder)
    (place.state / "go").touch()
    checkpoints = place.state / "store" / "checkpoints" / "first"
    stored = sorted(checkpoints.rglob("*.json"))
    assert [file.name for file in stored] == ["000-planned.json"]
    code, said, complained = place.starter("run", "another", *GOOD, "--id", "second")
    assert (code, complained) == (0, "")
    assert "1 unfinished job stays stopped: first; `" in said
    assert sorted(checkpoints.rglob("*.json")) == stored
    code, said, complained = place.starter("resume", "first", "--out", "later")
    assert (code, complained) == (0, "")
    assert "unfinished" not in said
    assert report(place, "later")["id"] == "first"


def test_a_worker_with_another_store_refuses_the_job(place: Place) -> None:
    """The first worker never polls; the second one finds another store in the same folder."""
    idle = place.folder / "idle.py"
    idle.write_text("import time; time.sleep(60)")
    place.worker = idle
    process = place.popen("run", "What did the harbour cost?", "--corpus", "docs", "--id", "moved")
    wait_for(process, "Job moved starts")
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=60)
    store = Store.open(str(place.state / "store"))
    assert asyncio.run(store.get("store-id")) is not None
    asyncio.run(store.replace("store-id", b"another"))
    place.worker = ROOT / "worker.py"
    code, _, complained = place.starter("resume", "moved")
    assert code == 1
    assert "the worker's store is not the one the job was started with" in complained
    assert "set RESEARCH_STORE of all workers to the store of the job" in complained
