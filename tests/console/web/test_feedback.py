"""A reader calls a citation wrong: what is kept, who may, and what the benchmark reads of it."""

from __future__ import annotations

import re
import subprocess
import sys
from html import unescape
from pathlib import Path

import pytest

from console.client import asking
from console.client.audit import AuditLog, FeedbackLog
from console.web.people import Role
from tests.console.api.conftest import Api
from tests.console.web.test_home import browse, load_report
from workflows.config.settings import Settings


def test_a_citation_called_wrong_is_kept_with_its_claim_and_read_by_the_benchmark(
    api: Api, finished: str
) -> None:
    report = load_report(api, finished)
    with browse(api, Role.READER) as reader:
        page = reader.get(f"/jobs/{finished}/report").text
        assert 'id="ask-question"' not in page, "a reader may not ask"
        citation = unescape(re.findall(r'<option value="([^"]+)"', page)[0])
        claim_id, n = citation.split(" ")
        reason = "It is about <b>another</b> line."
        form = {"citation": citation, "reason": reason}
        sent = reader.post(f"/jobs/{finished}/feedback?version=1", data=form)
        assert sent.status_code == 303, sent.text
        assert "It is kept" in reader.get(sent.headers["location"]).text
    log = FeedbackLog(api.state.settings)
    assert log.file.stat().st_mode & 0o077 == 0
    [kept] = log.read(finished)
    claim = next(one for one in report["claims"] if one["id"] == claim_id)
    source = next(one for one in report["sources"] if str(one["n"]) == n)
    assert kept.pop("time")
    assert kept.pop("who").startswith("p")
    assert kept == {
        "job": finished, "version": "1", "model": "offline", "claim": claim_id,
        "text": claim["text"], "source": n, "uri": source["uri"], "reason": reason,
        "quote": next(q["text"] for q in claim["quotes"] if q["source_id"] == source["id"]),
    }  # fmt: skip
    assert "feedback" in [line["act"] for line in AuditLog(api.state.settings).read(finished)]

    again = {"claim": claim_id, "source": int(n), "reason": "Still wrong."}
    assert api.web.post(f"/jobs/{finished}/feedback", json=again).json()["answer"] == "kept"
    command = [sys.executable, "-m", "benchmarks.quality.feedback", str(log.file)]
    told = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60).stdout
    assert told.startswith("1 citation called wrong, 2 times, in 1 job\n")
    assert f"{finished}@1 [{n}] {source['uri']}" in told
    assert reason in told
    assert "Still wrong." in told


def test_feedback_that_names_no_citation_or_comes_from_elsewhere_is_refused(
    api: Api, finished: str
) -> None:
    before = list(FeedbackLog(api.state.settings).read())
    path = f"/jobs/{finished}/feedback"
    report = load_report(api, finished)
    claim = report["claims"][0]["id"]
    n = next(
        s["n"]
        for s in report["sources"]
        if s["id"] == report["claims"][0]["quotes"][0]["source_id"]
    )
    with browse(api, Role.READER) as reader, browse(api, Role.ADMIN, tenant="law") as other:
        for citation, reason in [
            (f"{claim} 99", "wrong"),
            (f"unknown {n}", "wrong"),
            ("", "wrong"),
            (f"{claim} ²", "wrong"),
            (f"{claim} {n}", " "),
            (f"{claim} {n}", "x" * 1001),
        ]:
            form = {"citation": citation, "reason": reason}
            assert reader.post(path, data=form).status_code == 422, form
        right = {"citation": f"{claim} {n}", "reason": "wrong"}
        for address in (path, f"{path}?version=1"):
            assert other.post(address, data=right).status_code == 404, "another tenant's job"
        token = reader.headers.pop("Authorization")
        assert reader.post(path, data=right).status_code == 401
        reader.get("/", params={"token": token.removeprefix("Bearer ")})
        assert reader.cookies
        assert reader.post(path, data=right).status_code == 403, "a form without its CSRF token"
    assert list(FeedbackLog(api.state.settings).read()) == before


def test_feedback_on_a_deleted_job_is_deleted_and_no_other(tmp_path: Path) -> None:
    log = FeedbackLog(Settings.read({"RESEARCH_HOME": str(tmp_path)}))
    log.delete(["none"])
    for job in ("a", "b", "a", "c"):
        log.write(job=job, quote="of a document " * 20)
    log.delete(["a"])
    log.write(job="d")
    assert [line["job"] for line in log.read()] == ["b", "c", "d"]
    assert log.file.stat().st_mode & 0o077 == 0


def test_a_person_calls_only_so_many_citations_wrong_in_an_hour(
    api: Api, finished: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    report = load_report(api, finished)
    claim = report["claims"][0]
    quoted = claim["quotes"][0]["source_id"]
    source = next(one["n"] for one in report["sources"] if one["id"] == quoted)
    wrong = {"claim": claim["id"], "source": source, "reason": "No."}
    monkeypatch.setattr(asking, "MAX_FEEDBACK", 2)
    with (
        api.sign_in("complains", Role.READER) as often,
        api.sign_in("complains-too", Role.READER) as once,
    ):
        path = f"/jobs/{finished}/feedback"
        answers = [often.post(path, json=wrong).status_code for _ in range(3)]
        assert answers == [200, 200, 429]
        assert once.post(path, json=wrong).status_code == 200, "another person's bound"
        often.base_url = once.base_url.copy_with(path="/")
        form = {"citation": f"{claim} 1", "reason": "No."}
        refused = often.post(path, data=form)
        assert refused.status_code == 429
        assert "try again later" in refused.text
