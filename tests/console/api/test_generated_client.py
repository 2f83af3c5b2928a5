"""A client that a generator made from the schema runs a job and reads its report."""

from __future__ import annotations

import importlib
import io
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.console.api.conftest import QUESTION, TOKEN, Api
from tests.job.conftest import DOCUMENTS


@pytest.fixture
def generated(api: Api, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """The name of the package, which can be imported."""
    schema = tmp_path / "openapi.json"
    schema.write_text(json.dumps(api.web.get("/openapi.json").json()))
    tools = f"{Path(sys.executable).parent}:/usr/bin:/bin"
    subprocess.run(
        [Path(sys.executable).parent / "openapi-python-client", "generate", "--meta", "none",
         "--path", schema, "--output-path", tmp_path / "research_client", "--fail-on-warning"],
        check=True, env={"PATH": tools}, timeout=100,
    )  # fmt: skip
    monkeypatch.syspath_prepend(tmp_path)
    return "research_client"


@pytest.mark.slow
def test_a_generated_client_uploads_runs_a_job_and_reads_its_report(
    api: Api, generated: str
) -> None:
    def load(name: str) -> Any:
        return importlib.import_module(f"{generated}.{name}")

    models, corpora = load("models"), load("api.corpora.upload_files")
    client = load("client").AuthenticatedClient(base_url=api.url, token=TOKEN)
    files = [
        load("types").File(payload=io.BytesIO(text.encode()), file_name=path)
        for path, text in DOCUMENTS.items()
    ]
    with client:
        body = models.BodyUploadFiles(files=files)
        corpus = corpora.sync(name="generated", client=client, body=body)
        assert getattr(corpus, "files", 0) == len(DOCUMENTS), corpus
        asked = models.NewJob(question=QUESTION, corpus="generated", effort=models.Effort.QUICK)
        started = load("api.jobs.create_job").sync(
            client=client, body=asked, idempotency_key="once"
        )
        assert started.found == models.StartState.NEW
        events = load("api.jobs.follow_job").sync_detailed(started.id, client=client)
        assert b"event: end" in events.content
        report = load("api.jobs.get_report").sync(started.id, client=client)
        assert report.question == QUESTION
        assert report.claims[0].quotes[0].text
        file = load("api.jobs.download_report").sync(
            started.id, models.DownloadReportReportFormat.MD, client=client
        )
        assert file.payload.read().decode().startswith("#")
        missing = load("api.jobs.get_job").sync("no-such-job", client=client)
        assert isinstance(missing, models.Problem)
        assert missing.status == 404
