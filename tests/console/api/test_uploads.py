"""Uploads to corpora: what is taken, and what exceeds the limits; the examples of docs/api.md."""

from __future__ import annotations

import io
import os
import re
import socket
import subprocess
import time
import zipfile
from pathlib import Path
from typing import Any

import httpx2
import pytest

from activities.webhooks import sign
from console.client import corpora
from console.web import auth
from console.web.people import Role
from tests.console.api.conftest import TOKEN, Api
from tests.console.api.test_api import problem
from tests.job.conftest import DOCUMENTS


def pack(files: dict[str, bytes], compression: int = zipfile.ZIP_DEFLATED) -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", compression) as archive:
        for name, data in files.items():
            archive.writestr(name, data)
    return packed.getvalue()


def send(api: Api, name: str, *files: tuple[str, bytes], **fields: Any) -> httpx2.Response:
    parts = [("files", (path, io.BytesIO(data))) for path, data in files]
    return api.web.post(f"/corpora/{name}/files", files=parts, data=fields)


def test_files_and_archives_are_added_listed_and_removed(api: Api) -> None:
    first = send(api, "notes", ("a.md", b"One."), ("b/c.txt", b"Two."))
    assert first.status_code == 200, first.text
    assert first.json()["files"] == 2
    archive = pack({"d.md": b"Three.", "picture.png": b"?", "__MACOSX/d.md": b"?", ".e.md": b"?"})
    second = send(api, "notes", ("more.zip", archive), ("a.md", b"Changed."))
    assert second.json()["version"] != first.json()["version"]
    shown = api.web.get("/corpora/notes").json()
    assert [file["path"] for file in shown["files"]] == ["a.md", "b/c.txt", "d.md"]
    assert "notes" in [head["name"] for head in api.web.get("/corpora").json()]
    assert api.web.delete("/corpora/notes").status_code == 204
    problem(api.web.get("/corpora/notes"), 404)


def test_labels_hide_files_from_who_may_not_see_them(api: Api) -> None:
    sent = send(api, "staff", ("pay/a.md", b"1"), ("b.md", b"2"), labels="pay/*=hr")
    assert sent.json()["rules"] == {"pay/*": ["hr"]}
    for labels, paths in (((), ["b.md"]), (("hr",), ["b.md", "pay/a.md"])):
        with api.sign_in(f"reader-{len(labels)}", Role.READER, labels=labels) as reader:
            shown = reader.get("/corpora/staff").json()
        assert [file["path"] for file in shown["files"]] == paths
    problem(send(api, "staff", ("c.md", b"3"), labels="nonsense"), 422)


@pytest.mark.parametrize(
    ("path", "content"),
    [
        ("program.exe", b"MZ"),
        ("../outside.md", b"text"),
        ("/etc/passwd.txt", b"text"),
        ("", b"text"),
        ("broken.zip", b"PK\3\4 no archive"),
        ("empty.zip", pack({"picture.png": b"?"})),
        ("escape.zip", pack({"../../outside.md": b"text"})),
    ],
)
def test_what_is_no_document_or_leads_elsewhere_is_refused(
    api: Api, path: str, content: bytes
) -> None:
    problem(send(api, "refused", (path, content)), 422)
    problem(api.web.get("/corpora/refused"), 404)


@pytest.mark.parametrize(
    "files",
    [
        {"bomb.md": b"0" * 3_000_000},
        {f"{n}.md": b"0" * 600_000 for n in range(5)},
        {f"{n}.md": b"" for n in range(30)},
    ],
    ids=["one file", "together", "count"],
)
def test_an_archive_is_not_unpacked_beyond_the_limits(
    api: Api, files: dict[str, bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(corpora, "MAX_UPLOAD_BYTES", 2_000_000)
    monkeypatch.setattr(corpora, "MAX_UPLOAD_FILES", 20)
    packed = pack(files)
    assert len(packed) < 10_000
    refused = problem(send(api, "refused", ("bomb.zip", packed)), 422)
    assert "2,000,000" in refused["detail"]
    problem(api.web.get("/corpora/refused"), 404)


def test_an_archive_that_lies_about_its_sizes_is_not_believed(
    api: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(corpora, "MAX_UPLOAD_BYTES", 2_000_000)
    honest = pack({"bomb.md": b"0" * 3_000_000})
    size = (3_000_000).to_bytes(4, "little")
    assert honest.count(size) == 2, "in the local header and the directory"
    refused = send(api, "refused", ("bomb.zip", honest.replace(size, b"\1\0\0\0")))
    problem(refused, 422)


def test_a_body_over_the_limit_of_uploads_is_not_read_and_the_limit_is_told(
    api: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(auth, "MAX_UPLOAD_BYTES", 2_000_000)
    taken = send(api, "large", ("a.md", b"0" * 1_500_000))
    assert taken.status_code == 200, "over the limit of other requests"
    refused = problem(send(api, "large", ("b.md", b"0" * 2_500_000)), 413)
    assert "2,000,000" in refused["detail"]

    def endless() -> Any:
        # Without a length: chunks until the server has had enough.
        yield b'--x\r\nContent-Disposition: form-data; name="files"; filename="a.md"\r\n\r\n'
        for _ in range(40):
            yield b"0" * 100_000

    headers = {"Content-Type": "multipart/form-data; boundary=x"}
    answer = api.web.post("/corpora/large/files", content=endless(), headers=headers)
    assert "2,000,000" in problem(answer, 413)["detail"]
    problem(api.web.post("/jobs", content=b" " * 1_500_000), 413)


def test_an_upload_without_a_token_is_refused_before_its_body_is_sent(api: Api) -> None:
    url = httpx2.URL(api.url)
    head = (
        f"POST {url.path}/corpora/large/files HTTP/1.1\r\nHost: 127.0.0.1\r\n"
        "Content-Type: multipart/form-data; boundary=x\r\nContent-Length: 200000000\r\n\r\n"
    )
    with socket.create_connection((url.host, url.port), timeout=30) as connection:
        connection.sendall(head.encode())
        answer = connection.recv(4096).decode()
    assert answer.startswith("HTTP/1.1 401")
    assert "application/problem+json" in answer


def test_the_examples_of_the_documentation_work(api: Api, tmp_path: Path) -> None:
    text = (Path(__file__).parents[3] / "docs" / "api.md").read_text("utf-8")
    commands = re.findall(r"```sh\n(.*?)```", text, re.S)[0]
    assert "http://127.0.0.1:8484/api/v1" in commands
    [note] = [words for name, words in DOCUMENTS.items() if name.endswith("maintenance.txt")]
    (tmp_path / "notes.md").write_text(note)
    (tmp_path / "more.zip").write_bytes(pack({"b.md": b"The harbour line costs 3 euros."}))
    done = subprocess.run(
        ["bash", "-e", "-c", commands.replace("http://127.0.0.1:8484/api/v1", api.url)],
        cwd=tmp_path, env={**os.environ, "RESEARCH_CONSOLE_TOKEN": TOKEN}, timeout=100,
        capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "event: end" in done.stdout
    assert (tmp_path / "report.md").read_text("utf-8").count("## Summary") == 1
    problem(api.web.get("/jobs/costs"), 404)

    example: dict[str, Any] = {}
    exec(re.findall(r"```python\n(.*?)```", text, re.S)[0], example)
    for secret in ("any text", "whsec_c2VjcmV0"):
        stamp, body = str(int(time.time())), b'{"type": "job.finished"}'
        signed = sign(["an earlier one", secret], "m1", stamp, body)
        headers = {"webhook-id": "m1", "webhook-timestamp": stamp, "webhook-signature": signed}
        assert example["is_genuine"](headers, body, secret)
        assert not example["is_genuine"](headers, body + b" ", secret)
        assert not example["is_genuine"](headers, body, "another")
        old = headers | {"webhook-timestamp": "1000000000"}
        old["webhook-signature"] = sign([secret], "m1", "1000000000", body)
        assert not example["is_genuine"](old, body, secret)
