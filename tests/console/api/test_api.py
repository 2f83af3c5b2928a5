"""The API over HTTP: what it does with jobs, and how it says no."""

from __future__ import annotations

import json
import time
from typing import Any

import httpx2
import pytest

from console.client.audit import AuditLog
from console.report.formats import FORMATS
from console.web.people import ACTIONS, Role
from tests.console.api.conftest import CORPUS, QUESTION, TOKEN, Api
from workflows.contracts.result import ResearchResult

NEW = {"question": QUESTION, "corpus": CORPUS, "effort": "quick"}


def problem(answer: httpx2.Response, status: int) -> dict[str, Any]:
    assert answer.status_code == status, answer.text
    assert answer.headers["content-type"] == "application/problem+json"
    found: dict[str, Any] = answer.json()
    assert found["status"] == status
    assert found["title"]
    assert found["detail"]
    return found


def read_events(
    api: Api, job_id: str, last: str | None = None
) -> list[tuple[str, str, dict[str, Any]]]:
    """The events of a job until its stream ends: name, id and data."""
    headers = {"Last-Event-ID": last} if last else {}
    events = []
    with api.web.stream("GET", f"/jobs/{job_id}/events", headers=headers) as stream:
        assert stream.headers["content-type"].startswith("text/event-stream")
        for block in "".join(stream.iter_text()).split("\n\n"):
            fields = dict(line.split(": ", 1) for line in block.splitlines() if ": " in line)
            if "event" in fields:
                events.append((fields["event"], fields["id"], json.loads(fields["data"])))
    return events


def test_a_job_is_read_listed_and_its_report_had_in_every_format(api: Api, finished: str) -> None:
    job = api.web.get(f"/jobs/{finished}").json()
    assert job["question"] == QUESTION
    assert job["status"]["phase"] == "evaluating"
    assert job["checkpoints"][-1]["name"] == "evaluated"
    listed = api.web.get("/jobs", params={"state": "completed", "limit": 100}).json()["jobs"]
    assert finished in [row["id"] for row in listed]
    result = ResearchResult.model_validate(api.web.get(f"/jobs/{finished}/report").json())
    assert result.claims
    assert {"md", "html", "json", "pdf", "docx", "bib"} <= set(FORMATS)
    for suffix, one in FORMATS.items():
        file = api.web.get(f"/jobs/{finished}/report/{suffix}")
        assert file.headers["content-type"] == one.media_type
        assert "attachment" in file.headers["content-disposition"]
        assert file.content
        if one.media_type.startswith("text"):
            assert file.content == one.render(result)
    problem(api.web.get(f"/jobs/{finished}/report/exe"), 404)
    problem(api.web.get(f"/jobs/{finished}/report/a%0Ab"), 404)


def test_a_report_is_asked_on_and_answers_with_citations(api: Api, finished: str) -> None:
    asked = {"question": "How many passengers did the harbour line carry in 2024?"}
    answer = api.web.post(f"/jobs/{finished}/ask", json=asked)
    assert answer.status_code == 200, answer.text
    found = answer.json()
    assert "412,000" in found["text"], found
    assert found["citations"]
    problem(api.web.post("/jobs/no-such-job/ask", json={"question": QUESTION}), 404)
    problem(api.web.post(f"/jobs/{finished}/ask", json={"question": ""}), 422)


def test_events_are_neither_lost_nor_repeated_after_a_break(api: Api, finished: str) -> None:
    events = read_events(api, finished)
    names = [data["name"] for kind, _, data in events if kind == "checkpoint"]
    assert names == ["opened", "planned", "researched", "drafted", "evaluated"]
    assert [kind for kind, _, _ in events][-2:] == ["job", "end"]
    third = [event_id for kind, event_id, _ in events if kind == "checkpoint"][2]
    after = read_events(api, finished, last=third)
    assert [data["name"] for kind, _, data in after if kind == "checkpoint"] == names[3:]
    assert [kind for kind, _, _ in read_events(api, finished, last=events[-1][1])] == ["end"]


def test_a_job_is_approved_steered_paused_and_cancelled(api: Api) -> None:
    body = {**NEW, "approval": {}}
    started = api.web.post("/jobs", json=body)
    job_id = started.json()["id"]
    assert started.headers["location"] == f"/api/v1/jobs/{job_id}"
    api.wait(job_id, "awaiting_approval")
    problem(api.web.get(f"/jobs/{job_id}/report"), 409)
    problem(api.web.post(f"/jobs/{job_id}/finish"), 409)
    plan = api.web.get(f"/jobs/{job_id}/plan").json()
    note = {"changes": [{"kind": "add_note", "text": "only the years after 2020"}]}
    assert api.web.post(f"/jobs/{job_id}/steer", json=note).json()["answer"] == "1 changes taken"
    assert api.web.post(f"/jobs/{job_id}/pause").json()["answer"] == "paused"
    approved = api.web.post(f"/jobs/{job_id}/approve", json={"decision": "approve", "plan": plan})
    assert approved.json()["answer"] == "approved"
    assert api.web.get(f"/jobs/{job_id}").json()["status"]["paused"]
    assert api.web.post(f"/jobs/{job_id}/cancel").json()["answer"] == "cancelled"
    assert api.wait(job_id, "cancelled")["closed"]
    problem(api.web.post(f"/jobs/{job_id}/resume"), 409)
    restarted = api.web.post(f"/jobs/{job_id}/restart", json={})
    assert restarted.json()["answer"].startswith("restarted from")
    assert api.web.post(f"/jobs/{job_id}/resume").status_code in (200, 409)
    api.wait(job_id, "completed")


def test_a_repeated_request_with_its_key_gives_the_same_job(api: Api) -> None:
    key = {"Idempotency-Key": "order-17"}
    first = api.web.post("/jobs", json=NEW, headers=key)
    again = api.web.post("/jobs", json=NEW, headers=key)
    assert (first.status_code, again.status_code) == (201, 200)
    assert first.json()["id"] == again.json()["id"]
    other = problem(api.web.post("/jobs", json={**NEW, "effort": "deep"}, headers=key), 422)
    assert "Idempotency-Key" in other["detail"]
    assert api.web.post("/jobs", json=NEW).json()["id"] != first.json()["id"]
    named = {**NEW, "id": first.json()["id"]}
    problem(api.web.post("/jobs", json=named), 409)


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({}, "body.question"),
        ({**NEW, "efort": "deep"}, "body.efort"),
        ({**NEW, "budget": {"usd": -1}}, "body.budget.usd"),
        ({**NEW, "corpus": "../../etc"}, "body.corpus"),
        ({**NEW, "webhook": "ftp://example.org"}, "body.webhook"),
    ],
)
def test_a_field_that_is_wrong_is_named(api: Api, body: dict[str, Any], field: str) -> None:
    found = problem(api.web.post("/jobs", json=body), 422)
    assert field in [error["field"] for error in found["errors"]]


def test_what_is_wrong_is_said_in_the_words_of_the_api(api: Api) -> None:
    for body, words in (
        ({"question": QUESTION}, "`corpus`"),
        ({**NEW, "corpus": "unknown"}, "no corpus"),
        ({**NEW, "model": "claude"}, "no key"),
    ):
        found = problem(api.web.post("/jobs", json=body), 422)
        assert words in found["detail"]
        assert "--" not in found["detail"]
    problem(api.web.get("/jobs/there-is-none"), 404)
    problem(api.web.get("/nothing"), 404)
    problem(api.web.put("/jobs"), 405)
    assert api.web.post("/jobs", content=b"{").status_code == 422


def test_nobody_gets_in_without_a_token_and_a_cookie_needs_its_word(api: Api) -> None:
    for path in ("/jobs", "/openapi.json", "/corpora"):
        refused = problem(api.stranger.get(path), 401)
        assert "Bearer" in refused["detail"]
    problem(api.stranger.get("/jobs", headers={"Authorization": "Bearer wrong"}), 401)
    home = api.url.removesuffix("/api/v1")
    with httpx2.Client(base_url=home, follow_redirects=True) as browser:
        browser.get("/", params={"token": TOKEN})
        assert browser.get("/api/v1/jobs").status_code == 200
        problem(browser.post("/api/v1/jobs", json=NEW), 403)


def test_a_role_does_what_the_console_lets_it_do_and_no_more(api: Api, finished: str) -> None:
    """A request that is let through fails for another cause: the job has ended."""
    bodies: dict[str, dict[str, Any]] = {
        "approve": {"decision": "approve"},
        "steer": {"changes": [{"kind": "add_note", "text": "more"}]},
        "restart": {},
    }
    actions = ("approve", "steer", "pause", "resume", "finish", "cancel", "restart")
    for role in (Role.READER, Role.RESEARCHER, Role.OPERATOR):
        with api.sign_in(f"person-{role}", role) as web:
            assert web.get(f"/jobs/{finished}/report/md").status_code == 200
            for action in actions:
                answer = web.post(f"/jobs/{finished}/{action}", json=bodies.get(action))
                problem(answer, 409 if role >= ACTIONS[action] else 403)
            started = web.post("/jobs", json={**NEW, "corpus": "unknown"})
            problem(started, 422 if role >= ACTIONS["start"] else 403)
            problem(web.delete("/corpora/unknown"), 404 if role >= Role.OPERATOR else 403)


def test_a_person_of_a_tenant_sees_its_jobs_and_schedules_only(api: Api, finished: str) -> None:
    weekly = {**NEW, "id": "weekly", "every": "7d"}
    assert api.web.post("/schedules", json=weekly).status_code == 201
    with api.sign_in("elsewhere", Role.OPERATOR, tenant="other") as web:
        problem(web.get(f"/jobs/{finished}"), 404)
        assert web.get("/jobs").json()["jobs"] == []
        assert web.get("/schedules").json() == []
        for answer in (web.get("/schedules/weekly"), web.post("/schedules/weekly/trigger"),
                       web.delete("/schedules/weekly")):  # fmt: skip
            problem(answer, 404)
        started = web.post("/jobs", json=NEW, headers={"Idempotency-Key": "order-17"})
        assert started.status_code == 201, "a key belongs to the person who sends it"
        api.wait(started.json()["id"], "completed")
        assert [job["id"] for job in web.get("/jobs").json()["jobs"]] == [started.json()["id"]]


def test_a_vague_question_is_asked_back_and_a_clear_one_is_not(api: Api) -> None:
    vague = {**NEW, "question": "What about the harbour line?", "id": "asked-back"}
    asked = api.web.post("/questions/clarify", json=vague)
    assert asked.status_code == 200, asked.text
    found = asked.json()
    assert (found["id"], found["note"], found["spend"]["usd"]) == ("asked-back", "", 0.0)
    assert 2 <= len(found["questions"]) <= 3
    assert all(len(one["suggestions"]) > 1 for one in found["questions"])
    assert api.web.post("/questions/clarify", json=NEW).json()["questions"] == []
    problem(api.web.post("/questions/clarify", json={**vague, "corpus": "unknown"}), 422)
    with api.sign_in("only-reads", Role.READER) as web:
        problem(web.post("/questions/clarify", json=vague), 403)
    problem(api.stranger.post("/questions/clarify", json=vague), 401)


def test_an_operator_deletes_a_job_and_gets_a_receipt(api: Api) -> None:
    """What was asked back before the job goes with it."""
    held = {**NEW, "question": "What about the harbour line?", "id": "short-lived", "approval": {}}
    assert api.web.post("/questions/clarify", json=held).status_code == 200
    assert api.web.post("/jobs", json=held).status_code == 201
    assert "cancel" in problem(api.web.delete("/jobs/short-lived"), 409)["detail"], "it is open"
    assert api.web.post("/jobs/short-lived/cancel").status_code == 200
    with (
        api.sign_in("researches", Role.RESEARCHER) as researcher,
        api.sign_in("operates-elsewhere", Role.OPERATOR, tenant="other") as other,
        api.sign_in("operates", Role.OPERATOR) as operator,
    ):
        problem(researcher.delete("/jobs/short-lived"), 403)
        problem(other.delete("/jobs/short-lived"), 404)
        answer = operator.delete("/jobs/short-lived")
        assert answer.status_code == 200, answer.text
        receipt = answer.json()
        problem(operator.delete("/jobs/short-lived"), 404)
    assert (receipt["by"], receipt["jobs"]) == ("operates", ["short-lived"])
    assert receipt["histories"] >= 2, "the job, and the workflow that asked back"
    assert receipt["objects"]["journal"]["count"] >= 1
    problem(api.web.get("/jobs/short-lived"), 404)
    acts = [(line["act"], line["who"], line["outcome"])
            for line in AuditLog(api.state.settings).read("short-lived")]  # fmt: skip
    assert ("delete", "operates", "done") in acts


def test_schedules_are_made_paused_run_and_deleted(api: Api) -> None:
    daily = {**NEW, "id": "daily", "cron": "0 6 * * *", "time_zone": "Europe/Berlin"}
    created = api.web.post("/schedules", json=daily)
    assert created.status_code == 201, created.text
    problem(api.web.post("/schedules", json=daily), 409)
    problem(api.web.post("/schedules", json={**daily, "id": "d", "every": "1d"}), 422)
    problem(api.web.post("/schedules", json={**daily, "id": "d", "cron": "never"}), 422)
    assert api.web.post("/schedules/daily/pause").status_code == 204
    shown = api.web.get("/schedules/daily").json()
    assert (shown["question"], shown["paused"]) == (QUESTION, True)
    assert api.web.post("/schedules/daily/unpause").status_code == 204
    assert api.web.post("/schedules/daily/trigger").status_code == 204
    deadline = time.monotonic() + 30
    while not (runs := api.web.get("/schedules/daily").json()["runs"]):
        assert time.monotonic() < deadline
        time.sleep(0.1)
    api.wait(runs[0]["id"], "completed")
    assert "daily" in [row["name"] for row in api.web.get("/schedules").json()]
    assert api.web.delete("/schedules/daily").status_code == 204
    problem(api.web.get("/schedules/daily"), 404)
