"""The provider's web tools: results, errors and limits in the SDK's own shapes."""

from __future__ import annotations

from typing import Any

import pytest

from tests.simulator.asking import WEB_FETCH, WEB_SEARCH, JsonObject, asking, client_of, user
from tests.simulator.brains import Scripted
from tests.simulator.simulator import Simulator
from tests.simulator.web import Fetch, Page, Search, Web, search_then_fetch

TEA, COFFEE = "https://tea.org/hills", "https://shop.coffee.com/beans"
PAGES = {
    TEA: Page("Tea hills", "Tea grows in the hills of Velmora.", age="May 2, 2026"),
    COFFEE: Page("Coffee", "Coffee grows in Velmora too."),
    "https://tea.org/scan.pdf": Page("Scan", "", fetch_error="unsupported_content_type"),
}
QUESTION = user("Where does tea grow in Velmora?")


async def blocks(steps: list[Any] | None = None, **tools: JsonObject) -> list[JsonObject]:
    plan = (lambda _: steps) if steps is not None else search_then_fetch
    simulator = Simulator(Web(Scripted(["done"]), PAGES, plan=plan))
    offered = [
        {**WEB_SEARCH, **tools.get("search", {})},
        {**WEB_FETCH, **tools.get("fetch", {})},
    ]
    message = await client_of(simulator).messages.create(**asking(QUESTION, tools=offered))
    answer: JsonObject = message.to_dict(mode="json")
    return [b for b in answer["content"] if b["type"].endswith("result")]


async def test_a_search_and_a_fetch_stand_before_the_answer() -> None:
    brain = Scripted(["It grows in the hills."])
    client = client_of(Simulator(Web(brain, PAGES)))
    message = await client.messages.create(**asking(QUESTION, tools=[WEB_SEARCH, WEB_FETCH]))
    _, used, found, fetching, fetched, answer = message.content
    assert used.type == "server_tool_use"
    assert found.type == "web_search_tool_result"
    assert found.tool_use_id == used.id
    assert isinstance(found.content, list)
    assert [hit.url for hit in found.content] == [TEA, COFFEE]
    assert (found.content[0].title, found.content[0].page_age) == ("Tea hills", "May 2, 2026")
    assert fetched.type == "web_fetch_tool_result"
    assert fetched.tool_use_id == fetching.id  # type: ignore[union-attr]
    assert fetched.content.content.source.data == PAGES[TEA].text  # type: ignore[union-attr]
    assert answer.type == "text"
    assert message.usage.server_tool_use
    assert message.usage.server_tool_use.web_search_requests == 1
    assert message.usage.server_tool_use.web_fetch_requests == 1
    # The brain inside read the results before it spoke.
    assert brain.asked[0]["messages"][-1]["content"][1]["type"] == "web_search_tool_result"


async def test_domains_are_kept_to() -> None:
    found, *_ = await blocks([Search("tea Velmora")], search={"allowed_domains": ["coffee.com"]})
    assert [hit["url"] for hit in found["content"]] == [COFFEE]
    found, *_ = await blocks([Search("tea Velmora")], search={"blocked_domains": ["coffee.com"]})
    assert [hit["url"] for hit in found["content"]] == [TEA]


@pytest.mark.parametrize(
    ("steps", "tools", "code"),
    [
        ([Search("a", error="too_many_requests")], {}, "too_many_requests"),
        ([Search("a " * 300)], {}, "query_too_long"),
        ([Search("tea"), Search("tea")], {"search": {"max_uses": 1}}, "max_uses_exceeded"),
        ([Fetch(TEA)], {}, "url_not_in_prior_context"),
        ([Fetch("https://tea.org/" + "x" * 300)], {}, "url_too_long"),
        ([Search("tea"), Fetch(TEA)], {"fetch": {"blocked_domains": ["tea.org"]}},
         "url_not_allowed"),
        ([Search("scan"), Fetch()], {}, "unsupported_content_type"),
    ],
)  # fmt: skip
async def test_what_fails_comes_back_as_an_error_block(
    steps: list[Any], tools: dict[str, JsonObject], code: str
) -> None:
    *_, last = await blocks(steps, **tools)
    assert last["content"]["error_code"] == code
    assert last["content"]["type"] == f"{last['type']}_error"


async def test_a_page_is_cut_at_its_limit() -> None:
    *_, fetched = await blocks(fetch={"max_content_tokens": 2})
    assert fetched["content"]["content"]["source"]["data"] == "Tea grow"


async def test_a_paused_search_goes_on_where_it_stopped() -> None:
    simulator = Simulator(Web(Scripted(["done"]), PAGES, pause=True))
    client = client_of(simulator)
    body = asking(QUESTION, tools=[WEB_SEARCH, WEB_FETCH])
    paused = await client.messages.create(**body)
    assert paused.stop_reason == "pause_turn"
    body["messages"].append(
        {"role": "assistant", "content": paused.to_dict(mode="json")["content"]}
    )
    ended = await client.messages.create(**body)
    assert (ended.stop_reason, ended.content[-1].text) == ("end_turn", "done")  # type: ignore[union-attr]


async def test_without_web_tools_there_is_no_web() -> None:
    message = await client_of(Simulator(Web(Scripted(["done"]), PAGES))).messages.create(**asking())
    assert [block.type for block in message.content] == ["thinking", "text"]
