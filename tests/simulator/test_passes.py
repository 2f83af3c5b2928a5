"""The API's rules on server tools, thinking and what is new, and how the product keeps them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from activities.agent.conversation import Answered
from activities.agent.interrupts import Interrupts
from activities.agent.loop import Subagent
from activities.agent.messages import size
from activities.agent.request_template import build_template
from activities.agent.schemas import PlanReview
from activities.agent.turns import TurnSource
from activities.llm.client import Models
from activities.storage.journal import Journal
from activities.storage.store import Store
from tests.simulator.brains import Brain, Scripted, Turn, json_answer, text, use
from tests.simulator.jobs import Wire, refused
from tests.simulator.simulator import Settings, Simulator
from tests.simulator.web import Fetch, Page, Search, Web
from workflows.config.model_catalog import MEDIUM
from workflows.config.roles import RESEARCHER

JsonObject = dict[str, Any]

PAGES = {
    f"https://harbour.example/{n}": Page(f"Harbour {n}", f"The harbour line, page {n}. " * 900)
    for n in range(4)
}
ANSWER = json_answer({"changes": []})
CODE = {"type": "code_execution_20260521", "name": "code_execution"}
WEB = [
    {"type": "web_search_20260318", "name": "web_search", "max_uses": 8},
    {"type": "web_fetch_20260318", "name": "web_fetch", "max_uses": 8,
     "citations": {"enabled": False}},
]  # fmt: skip


@pytest.fixture(autouse=True)
def key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("ANTHROPIC_BASE_URL", raising=False)
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-ant-test-of-the-simulator")


def fetching(body: JsonObject) -> list[Search | Fetch]:
    """Four pages, one after the other, in answer to the brief."""
    if len(body["messages"]) > 1:
        return []
    return [Search("harbour line"), *(Fetch(url) for url in PAGES)]


async def converse(
    folder: Path, brain: Brain, settings: Settings | None = None, tools: Any = WEB, times: int = 1
) -> tuple[Answered[PlanReview] | Any, Wire]:
    wire = Wire(Simulator(brain, settings))
    store = Store.open(str(folder))
    for _ in range(times):
        template = build_template(RESEARCHER, MEDIUM, "medium", tools)
        interrupts = Interrupts(store, "job", "task")
        subagent = Subagent(TurnSource(Models(wire), Journal(store, "job"), template, interrupts))
        spoken = await subagent.converse(PlanReview, {"question": "?"}, attempts=1)
    return spoken, wire


async def test_what_a_paused_turn_fetched_is_paid_for_once(tmp_path: Path) -> None:
    brain = Web(Scripted(["no JSON", ANSWER]), PAGES, fetching, pause=True)
    spoken, wire = await converse(tmp_path, brain)
    assert isinstance(spoken, Answered)
    assert refused(wire.simulator.records) == []
    _, went_on, repaired = (record.usage or {} for record in wire.simulator.messages)
    pages = sum(len(page.text) for page in PAGES.values()) // 4
    assert went_on["input_tokens"] < 100, "the pages are written to the cache, not sent plain"
    assert went_on["cache_creation_input_tokens"] > pages
    assert repaired["cache_read_input_tokens"] > pages
    assert repaired["input_tokens"] + repaired["cache_creation_input_tokens"] < 500


async def test_the_usage_of_server_tools_is_the_sum_of_passes_and_the_size_is_not(
    tmp_path: Path,
) -> None:
    answered = Web(Scripted([ANSWER]), PAGES, fetching)
    _, wire = await converse(tmp_path, answered)
    (record,) = wire.simulator.messages
    usage = record.usage or {}
    content = [
        block
        for kind in ["web_search", *["web_fetch"] * 4]
        for block in ({"type": "server_tool_use"}, {"type": f"{kind}_tool_result"})
    ]
    pages = sum(len(page.text) for page in PAGES.values()) // 4
    assert usage["cache_read_input_tokens"] > 1.5 * pages, "each pass reads all before it"
    counted = size({"content": content, "usage": usage})
    assert pages < counted < 2 * pages


async def test_an_answer_of_thinking_alone_is_not_sent_back(tmp_path: Path) -> None:
    silent = Turn([{"type": "thinking", "thinking": "Hm."}], "end_turn")
    spoken, wire = await converse(tmp_path, Scripted([silent, ANSWER]))
    assert isinstance(spoken, Answered)
    assert refused(wire.simulator.records) == []


async def test_the_simulator_refuses_a_message_that_ends_in_thinking() -> None:
    simulator = Simulator(Scripted([ANSWER]))
    wire = Wire(simulator)
    thought = {"type": "thinking", "thinking": "Hm.", "signature": "c2ln"}
    body = {
        "model": MEDIUM,
        "max_tokens": 10,
        "messages": [
            {"role": "user", "content": [text("a")]},
            {"role": "assistant", "content": [thought]},
            {"role": "user", "content": [text("b")]},
        ],
    }
    with pytest.raises(Exception, match="final block in an assistant message"):
        await Models(wire).ask(body)


async def test_blocks_events_and_deltas_that_nobody_knows_cost_nothing(tmp_path: Path) -> None:
    brain = Scripted([[use("search", query="a")], "no JSON", ANSWER])
    tools = [{"name": "search", "description": "d", "input_schema": {"type": "object"}}]
    spoken, wire = await converse(tmp_path, brain, Settings(novelties=True), tools)
    assert isinstance(spoken, Answered)
    assert refused(wire.simulator.records) == []
    assert len(wire.simulator.messages) == 3


async def test_the_providers_container_is_used_again_and_replayed(tmp_path: Path) -> None:
    ran = Turn([
        {"type": "server_tool_use", "id": "srvtoolu_1", "name": "code_execution",
         "input": {"code": "open('a','w')"}},
        {"type": "code_execution_tool_result", "tool_use_id": "srvtoolu_1",
         "content": {"type": "code_execution_result", "stdout": "", "stderr": "",
                     "return_code": 0, "content": []}},
        text("no JSON"),
    ])  # fmt: skip
    spoken, wire = await converse(tmp_path, Scripted([ran, ANSWER]), tools=[CODE], times=2)
    assert isinstance(spoken, Answered)
    assert refused(wire.simulator.records) == []
    first, second = wire.bodies
    assert "container" not in first
    assert second["container"].startswith("container_")
    assert len(wire.bodies) == 2, "the replay found both turns"
