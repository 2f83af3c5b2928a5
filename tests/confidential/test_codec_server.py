"""The codec server, asked over HTTP as the Temporal UI and CLI ask it."""

from __future__ import annotations

import asyncio
import base64
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from google.protobuf import json_format
from starlette.testclient import TestClient
from temporalio.api.common.v1 import Payloads

from console.devserver.server import find_binary, run_dev_server
from console.errors import BadInputError
from console.runtime.codec_server import build_app, main
from console.runtime.connection import connect
from console.runtime.data_converter import THRESHOLD, data_converter
from tests.confidential.conftest import ring_of, without
from workflows.config.settings import Settings

ROOT = Path(__file__).resolve().parents[2]
UI = "http://127.0.0.1:8233"
WORDS = "the harbour line"


@pytest.fixture
def settings(tmp_path: Path, keys: Path) -> Settings:
    return Settings(store=str(tmp_path / "store"), keys=str(keys))


@contextmanager
def serving(settings: Settings, token: str | None = None) -> Iterator[TestClient]:
    app = build_app(settings, "127.0.0.1", UI, token)
    with TestClient(app, base_url="http://127.0.0.1:8081") as client:
        yield client


def ask(
    running: TestClient, path: str, body: bytes | str = b"", method: str = "POST", **headers: str
) -> tuple[int, bytes, dict[str, str]]:
    told = {name.replace("_", "-"): value for name, value in headers.items()}
    answer = running.request(method, path, content=body, headers={"X-Namespace": "default", **told})
    return answer.status_code, answer.content, dict(answer.headers)


def asked(settings: Settings, *values: Any) -> str:
    """The values as the server holds them, in the protocol's JSON."""
    encoded = asyncio.run(data_converter(settings).encode(values))
    return json_format.MessageToJson(Payloads(payloads=encoded))


def values(answer: bytes) -> list[Any]:
    return [json.loads(p.data) for p in json_format.Parse(answer, Payloads()).payloads]


def test_it_decodes_what_is_sealed_and_fetches_what_is_stored(settings: Settings) -> None:
    large = "l" * (THRESHOLD + 1)
    body = asked(settings, WORDS, large)
    assert len(body) < 3000, "the large one is a reference"
    with serving(settings) as running:
        status, answer, _ = ask(running, "/decode", body)
        assert (status, values(answer)) == (200, [WORDS, large])
        status, answer, _ = ask(running, "/default/decode", body)
        assert (status, values(answer)) == (200, [WORDS, large])
        status, answer, _ = ask(running, "/decode?preserveStorageRefs=true", body)
        assert values(answer)[0] == WORDS
        assert large not in str(values(answer)), "the page asks for it when somebody wants it"
        assert ask(running, "/download", body)[0] == 400, "one of them is no reference"
        status, answer, _ = ask(running, "/download", asked(settings, large))
        assert (status, values(answer)) == (200, [large])


def test_what_it_encodes_a_worker_can_read(settings: Settings) -> None:
    plain = Settings(store=settings.store)
    with serving(settings) as running:
        status, answer, _ = ask(running, "/encode", asked(plain, WORDS))
    assert status == 200
    sealed = json_format.Parse(answer, Payloads()).payloads
    assert WORDS.encode() not in sealed[0].data
    assert asyncio.run(data_converter(settings).decode(sealed)) == [WORDS]


def test_only_pages_of_the_ui_are_answered(settings: Settings) -> None:
    body = asked(settings, WORDS)
    with serving(settings) as running:
        status, _, headers = ask(running, "/decode", method="OPTIONS", Origin=UI)
        assert status == 204
        assert headers["access-control-allow-origin"] == UI
        assert "X-Namespace" in headers["access-control-allow-headers"]
        status, answer, headers = ask(running, "/decode", body, Origin=UI)
        assert (status, headers["access-control-allow-origin"]) == (200, UI)
        for method in ("OPTIONS", "POST"):
            status, answer, headers = ask(
                running, "/decode", body, method, Origin="http://evil.test"
            )
            assert status == 403
            assert b"--origin http://evil.test" in answer
            assert "access-control-allow-origin" not in headers


def test_where_a_token_is_set_it_is_asked_for(settings: Settings) -> None:
    body = asked(settings, WORDS)
    with serving(settings, "hush") as running:
        assert ask(running, "/decode", body)[0] == 401
        assert ask(running, "/decode", body, Authorization="Bearer hash")[0] == 401
        assert ask(running, "/decode", body, Authorization="Bearer hush")[0] == 200
        assert ask(running, "/decode", method="OPTIONS", Origin=UI)[0] == 204


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "research.example"])
def test_beyond_this_machine_a_token_must_be_set(settings: Settings, host: str) -> None:
    with pytest.raises(BadInputError, match="RESEARCH_CODEC_TOKEN"):
        build_app(settings, host, None, None)


def test_a_bad_request_is_told_what_to_send(settings: Settings, keys: Path) -> None:
    key_id = ring_of(keys).current
    sealed = asked(settings, WORDS)
    others = settings.model_copy(update={"keys": str(without(keys, key_id))})
    with serving(others) as running:
        assert ask(running, "/elsewhere", "{}")[0] == 404
        assert ask(running, "/decode", "nonsense")[0] == 400
        assert ask(running, "/decode", b"\xff\xfe")[0] == 400
        assert ask(running, "/decode", Content_Length=str(10**9))[0] == 413
        status, answer, _ = ask(running, "/decode", sealed)
        assert status == 400
        assert f"encrypted with the key '{key_id}'" in answer.decode()
        assert ask(running, "/decode", "{}")[:2] == (200, b"{}"), "and it still serves"


def test_without_keys_it_does_not_start(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv("RESEARCH_KEYS", raising=False)
    assert main(["--port", "0"]) == 2
    assert "set RESEARCH_KEYS" in capsys.readouterr().err


def test_the_temporal_cli_shows_a_job_through_it(settings: Settings, tmp_path: Path) -> None:
    env = {**os.environ, "RESEARCH_KEYS": settings.keys or "", "RESEARCH_STORE": settings.store}
    env.pop("RESEARCH_CODEC_TOKEN", None)

    async def start(address: str) -> None:
        client = await connect(settings, address)
        await client.start_workflow(
            "Nobody", WORDS + "." * THRESHOLD, id="job", task_queue="none", static_summary=WORDS
        )

    with run_dev_server(tmp_path / "server") as temporal:
        asyncio.run(start(temporal.address))
        codec = subprocess.Popen(
            [sys.executable, "-m", "console.runtime.codec_server", "--port", "0"],
            cwd=ROOT,
            env=env,
            stdout=subprocess.PIPE,
            text=True,
        )
        try:
            assert codec.stdout is not None
            place = codec.stdout.readline().split()[-1]
            show = [
                str(find_binary()),
                "workflow",
                "show",
                "-w",
                "job",
                "--address",
                temporal.address,
            ]
            shown = [
                subprocess.run(
                    [*show, "--output", "json", *more], capture_output=True, text=True, check=True
                ).stdout
                for more in ([], ["--codec-endpoint", place])
            ]
        finally:
            codec.terminate()
            codec.communicate(timeout=30)
    assert [WORDS in given_to(history) for history in shown] == [False, True]


def given_to(history: str) -> str:
    started = json.loads(history)["events"][0]["workflowExecutionStartedEventAttributes"]
    return base64.b64decode(started["input"]["payloads"][0]["data"]).decode("utf-8", "replace")
