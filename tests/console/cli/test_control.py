"""What an operator says reaches a running job; what cannot be done is refused with a reason."""

from __future__ import annotations

import json
import os
import pty
import shlex
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from console.cli.control import parse_facet
from console.devserver.server import DevServer
from tests.console.cli.test_commands import GOOD, wait_for
from tests.console.conftest import STARTER, Place, call, eventually
from workflows.contracts.facets import Plan
from workflows.contracts.messages import Steer

Served = tuple[Place, DevServer]
CTRL_C = "\x03"


@pytest.fixture
def configured(served: Served, monkeypatch: pytest.MonkeyPatch) -> Place:
    """A place whose commands talk to a configured server with a worker."""
    place, server = served
    monkeypatch.setenv("TEMPORAL_ADDRESS", server.address)
    return place


def started(job_id: str, *options: str, asked: str = "hold on") -> None:
    assert call("start", asked, *GOOD, "--id", job_id, *options)[0] == 0


def state(job_id: str) -> str:
    return str(json.loads(call("status", job_id, "--json")[1])["state"])


def detail(job_id: str) -> dict[str, Any]:
    told = json.loads(call("status", job_id, "--json")[1])["detail"]
    return told if isinstance(told, dict) else {"phase": None}


def test_a_plan_is_shown_edited_and_approved(configured: Place) -> None:
    started("ap", "--approve", "--approve-within", "1h", asked="approved by whom")
    assert eventually(lambda: state("ap") == "awaiting_approval")
    assert eventually(lambda: "ap " in call("list", "--status", "awaiting_approval")[1])
    said = call("status", "ap")[1]
    assert "the plan waits for approval until" in said
    assert "f: The one facet\n  asks: What is it?\n  not: all else" in call("plan", "ap")[1]

    plan = json.loads(call("plan", "ap", "--json")[1])
    plan["facets"][0]["question"] = "What else is it?"
    file = configured.folder / "plan.json"
    file.write_text(json.dumps(plan))
    code, said, _ = call("approve", "ap", "--plan", str(file))
    assert (code, said) == (0, "The job ap continues with the plan.\n")
    assert call("watch", "ap")[0] == 0
    assert "asks: What else is it?" in call("plan", "ap")[1]


def test_a_plan_is_rejected_and_that_ends_the_job(configured: Place) -> None:
    started("rej", "--approve")
    assert eventually(lambda: state("rej") == "awaiting_approval")
    code, said, _ = call("approve", "rej", "--reject")
    assert (code, said) == (0, "The job rej ends without a report.\n")
    code, _, complained = call("watch", "rej")
    assert (code, "did not finish: the plan was rejected" in complained) == (1, True)


def test_a_plan_that_cannot_be_is_refused_before_it_is_sent(configured: Place) -> None:
    file = configured.folder / "bad.json"
    for text, why in {
        "{": "is not a plan: edit the output of `plan ID --json`",
        '{"kind": "fact", "facets": []}': "is not a plan",
        json.dumps({"kind": "overview", "facets": [_facet("a"), _facet("a")]}): "share the id 'a'",
    }.items():
        file.write_text(text)
        code, _, complained = call("approve", "any", "--plan", str(file))
        assert (code, why in complained) == (2, True), complained
    code, _, complained = call("approve", "any", "--plan", "nowhere.json")
    assert (code, "cannot be read as text (No such file" in complained) == (2, True)
    code, _, complained = call("approve", "any", "--plan", str(file), "--reject")
    assert (code, "give --reject or --plan" in complained) == (2, True)


def _facet(name: str) -> dict[str, str]:
    return {"id": name, "title": name, "question": f"What is {name}?", "boundary": "b",
            "prefer": "p", "reason": "r"}  # fmt: skip


def test_a_job_is_steered_paused_resumed_and_finished(configured: Place) -> None:
    started("st", "--budget-usd", "5", "--budget-tokens", "700")
    assert eventually(lambda: detail("st")["phase"] == "researching")
    code, said, _ = call(
        "steer", "st", "--note", "mind the gap", "--note", "and the step", "--budget-usd", "9",
        "--add-facet", "Crew & pay: Who works there?", "--refine-facet", "f: What was it?",
    )  # fmt: skip
    assert (code, said) == (0, "The job st is steered (5 changes taken).\n")
    now = detail("st")
    assert now["budget_usd"] == 9.0
    assert {"mind the gap", "and the step"} <= set(now["notes"])
    plan = Plan.model_validate_json(call("plan", "st", "--json")[1])
    assert [facet.question for facet in plan.facets] == ["What was it?", "Who works there?"]
    assert call("steer", "st", "--drop-facet", "crew-pay", "--budget-tokens", "800")[0] == 0
    assert detail("st")["budget_usd"] == 9.0, "the limit that was not named was lifted"

    said = call("pause", "st")[1]
    assert said == "The job st is paused; `python starter.py resume st` continues it.\n"
    assert state("st") == "paused"
    assert eventually(lambda: "st " in call("list", "--status", "paused")[1])
    assert "  note: mind the gap" in call("status", "st")[1].splitlines()
    assert "The job st continues" in call("resume", "st")[1]
    code, _, complained = call("resume", "st")
    assert (code, "neither blocked nor paused" in complained) == (2, True)
    assert call("finish", "st")[1] == "The job st finishes with what was found.\n"
    assert call("watch", "st")[0] == 0


def test_what_the_job_refuses_is_told_with_its_reason(configured: Place) -> None:
    started("no")
    assert eventually(lambda: detail("no")["phase"] == "researching")
    for words, why in {
        ("steer", "--drop-facet", "g"): "there is no facet 'g'; the plan has f",
        ("steer", "--drop-facet", "f"): "it is the only facet left: cancel the job instead",
        ("approve",): "no plan waits for approval",
    }.items():
        code, _, complained = call(words[0], "no", *words[1:])
        assert (code, why in complained) == (2, True), complained
        assert "`status no` shows its state" in complained
    assert call("cancel", "no")[0] == 0


@pytest.mark.parametrize(
    ("options", "why"),
    [
        ((), "There is nothing to change: give --add-facet"),
        (("--add-facet", "no colon"), 'write it as "Title: question"'),
        (("--refine-facet", "f:"), 'write it as "ID: question"'),
        (("--note", " "), "--note is invalid: correct its text"),
        (("--add-facet", f"{'t' * 200}: q"), "correct its title"),
        (("--budget-usd", "-1"), "an amount above 0"),
        (("--budget-tokens", "0"), "a number above 0"),
    ],
)
def test_a_change_that_cannot_be_read_is_refused(
    configured: Place, options: tuple[str, ...], why: str
) -> None:
    code, _, complained = call("steer", "any", *options)
    assert (code, why in complained) == (2, True), complained


def test_a_facet_is_made_of_a_title_and_a_question() -> None:
    facet = parse_facet(" Crew, pay & Überstunden : Who works: and when? ")
    assert (facet.id, facet.title) == ("crew-pay-überstunden", "Crew, pay & Überstunden")
    assert facet.question == "Who works: and when?"
    assert facet.boundary == "what the other facets cover"
    assert parse_facet("!!: what?").id == "facet"


def test_a_configured_server_without_a_worker_is_not_waited_for_forever(
    configured: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("console.client.runs.find_task_queue", lambda *_: "deserted")
    monkeypatch.setattr("console.client.session._ANSWER_SECONDS", 0.5)
    started("alone")
    for command in (("pause",), ("finish",), ("steer", "--budget-usd", "3"), ("cancel",)):
        code, _, complained = call(command[0], "alone", *command[1:])
        assert (code, "No worker answered for the job alone" in complained) == (1, True)
        assert "start one with `python worker.py`" in complained
    code, _, complained = call("plan", "alone")
    assert (code, "has no plan yet" in complained) == (1, True)


@pytest.mark.slow
def test_a_job_nobody_works_on_hears_through_a_worker_that_only_answers(place: Place) -> None:
    process = place.popen("run", "hold on", *GOOD, "--id", "lone")
    wait_for(process, "The one facet: running")
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=60)

    code, said, complained = place.starter("pause", "lone")
    assert (code, complained) == (0, "")
    assert said == "The job lone is paused; `python starter.py resume lone` continues it.\n"
    said = place.starter("status", "lone")[1]
    assert "state: paused" in said
    assert "as of its checkpoint planned:" in said
    said = place.starter("finish", "lone")[1]
    assert "No worker runs it: `python starter.py resume lone` continues it." in said
    code, said, complained = place.starter("resume", "lone")
    assert (code, complained) == (0, "")
    assert "It was paused and continues now." in said
    assert Path(place.out / "report.md").exists()


def test_changes_are_plain_json_for_other_clients() -> None:
    order = Steer.model_validate(
        {"changes": [{"kind": "set_budget", "budget": {"usd": 3}},
                     {"kind": "add_facet", "facet": _facet("a")}]}
    )  # fmt: skip
    assert [change.kind for change in order.changes] == ["set_budget", "add_facet"]


def run_at_a_terminal(served: Served, answers: list[str], *arguments: str) -> tuple[int, str]:
    """The exit code and what was said; an answer is typed at each question."""
    place, server = served
    terminal, its_end = pty.openpty()
    editor = place.folder / "editor"
    editor.write_text("#!/bin/sh\nsed -i 's/one/edited/' \"$1\"\n")
    editor.chmod(0o755)
    process = subprocess.Popen(
        [sys.executable, "-c", STARTER, str(place.worker), *arguments],
        stdin=its_end, stdout=its_end, stderr=its_end, cwd=place.folder,
        env=place.env() | {"TERM": "xterm", "COLUMNS": "100", "EDITOR": shlex.quote(str(editor)),
                           "TEMPORAL_ADDRESS": server.address},
    )  # fmt: skip
    os.close(its_end)
    said, asked = "", 0
    while True:
        try:
            said += os.read(terminal, 65536).decode("utf-8", "replace")
        except OSError:
            break  # the other end is closed
        prompts = ("[y/n/edit]", "What should change?", "your own words:")
        if sum(map(said.count, prompts)) > asked and answers:
            asked += 1
            if (answer := answers.pop(0)) == CTRL_C:
                process.send_signal(signal.SIGINT)
            else:
                os.write(terminal, f"{answer}\n".encode())
    os.close(terminal)
    assert answers == [], said
    return process.wait(60), said


@pytest.mark.parametrize(
    ("answers", "code"), [(["y"], 0), (["what", "edit"], 0), (["n", ""], 1)], ids=str
)
def test_a_plan_is_approved_in_place_at_a_terminal(
    served: Served, answers: list[str], code: int
) -> None:
    """The editor changes a title; without a note a rejected plan ends the job."""
    edits = "edit" in answers
    found, said = run_at_a_terminal(
        served,
        answers,
        *("run", "anything", *GOOD, "--id", f"seen-{len(answers)}-{code}", "--approve"),
    )
    assert found == code, said
    assert ("The edited facet" in said) is edits


@pytest.mark.parametrize(
    ("answers", "question"),
    [
        (["1", "no one", "what", "edit", "y"], "How vague (the [31mred edited; no one)?"),
        (["", ""], "How vague?"),
        pytest.param(["7", "", "n"], "How vague?", marks=pytest.mark.slow),
    ],
    ids=str,
)
def test_a_vague_question_is_asked_back_at_a_terminal(
    served: Served, answers: list[str], question: str
) -> None:
    """By number or in words, edited or left as it was; Enter skips."""
    is_answered = any(answers)
    code, said = run_at_a_terminal(served, answers, "run", "How vague?", *GOOD)
    assert code == 0, said
    assert "\x1b[31mred" not in said
    assert ("[y/n/edit]" in said) is is_answered
    report = json.loads((served[0].out / "report.json").read_text("utf-8"))
    assert report["question"] == question


def test_ctrl_c_at_a_clarifying_question_leaves_no_job_to_continue(served: Served) -> None:
    code, said = run_at_a_terminal(served, ["", CTRL_C], "run", "How vague?", *GOOD)
    assert code == 130, said
    assert "Stopped before the job was started." in said
    assert "continue" not in said


def test_nobody_is_asked_back_without_a_terminal(configured: Place) -> None:
    code, said, _ = call("start", "How vague?", *GOOD, "--id", "silent")
    assert code == 0
    assert "your own words" not in said
    assert call("watch", "silent")[0] == 0
    assert call("status", "silent")[1].count("How vague?")
