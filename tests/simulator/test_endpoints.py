"""Endpoints that speak only a part of the Messages API: asked once for each thing they lack."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable

import httpx2
import pytest

from tests.simulator.brains import Offline
from tests.simulator.jobs import (
    Adapting,
    JsonObject,
    Office,
    Wire,
    credentials,
    documents,
    office,
    refused,
    temporal,
)
from tests.simulator.simulator import Settings, Simulator
from workflows.contracts.facets import Effort
from workflows.contracts.request import Web

__all__ = ["credentials", "documents", "office", "temporal"]

QUESTION = "What is known about the harbour line: its passengers and its fares?"
MODEL = "claude-sonnet-5-5"


def has_server_tools(body: JsonObject) -> bool:
    return any("type" in tool for tool in body.get("tools") or ())


HOLDS: dict[str, Callable[[JsonObject], bool]] = {
    "output_config.format: Extra inputs are not permitted": lambda body: (
        "format" in (body.get("output_config") or {})
    ),
    "tools.2: Input tag 'web_search_20260318' found using 'type' does not match any of the"
    " expected tags: 'custom'": has_server_tools,
    "Streaming is not supported by this endpoint": lambda body: bool(body.get("stream")),
    "system.0.cache_control: Extra inputs are not permitted": lambda body: (
        '"cache_control"' in json.dumps(body)
    ),
}
"""What is refused, by the words it is refused with."""


class Plain(Wire):
    """An endpoint in front of the simulator that refuses requests with these things in them."""

    def __init__(self, simulator: Simulator, *words: str) -> None:
        super().__init__(simulator)
        self._words = words
        self.refusals: Counter[str] = Counter()

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        body = json.loads(await request.aread())
        for words in self._words:
            if HOLDS[words](body):
                self.refusals[words] += 1
                error = {"type": "invalid_request_error", "message": words}
                return httpx2.Response(400, json={"type": "error", "error": error})
        return await super().handle_async_request(request)


@pytest.mark.parametrize(
    "words",
    [*((each,) for each in HOLDS), tuple(HOLDS)],
    ids=["structured output", "server tools", "streaming", "cache_control", "all of them"],
)
async def test_a_job_is_done_without_what_the_endpoint_lacks(
    office: Office, documents: str, words: tuple[str, ...]
) -> None:
    wire = Plain(Simulator(Adapting(Offline())), *words)
    result = await office.run(
        wire, QUESTION, corpus=documents, web=Web(), model=MODEL, effort=Effort.QUICK, max_facets=2
    )
    assert wire.refusals == dict.fromkeys(words, 1)
    assert refused(wire.simulator.records) == []
    assert not any(HOLDS[each](body) for each in words for body in wire.bodies)
    assert {c.status for c in result.coverage} <= {"answered", "contested"}
    assert "[1]" in result.report_markdown


async def test_a_job_is_done_behind_an_endpoint_that_ignores_the_schema_in_silence(
    office: Office, documents: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ANTHROPIC_BASE_URL", "http://127.0.0.1:1")
    wire = Wire(Simulator(Adapting(Offline()), Settings(ignores_output_format=True)))
    result = await office.run(
        wire, QUESTION, corpus=documents, model=MODEL, effort=Effort.QUICK, max_facets=2
    )
    assert refused(wire.simulator.records) == []
    assert {c.status for c in result.coverage} <= {"answered", "contested"}
    assert "[1]" in result.report_markdown
    with_format = [body for body in wire.bodies if "format" in (body.get("output_config") or {})]
    assert len(with_format) == 1, "noticed at the first answer"
