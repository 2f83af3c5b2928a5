"""What is streamed adds up to what is sent in one piece, as the SDK reads both."""

from __future__ import annotations

from typing import Any

from tests.simulator.asking import WEB_SEARCH, JsonObject, asking, client_of
from tests.simulator.brains import Scripted, Turn, text, use
from tests.simulator.simulator import Simulator
from tests.simulator.streaming import encode, events
from tests.simulator.web import Page, Web

PAGES = {"https://a.org/tea": Page("Tea", "Tea grows in the hills. " * 9, age="May 2, 2026")}
CONTENT = [text("Grüße. " * 40), use("search", query="tea", deep=[1, {"a": None}])]


def talkative() -> Simulator:
    return Simulator(Web(Scripted([CONTENT] * 3), PAGES))


async def ask(**more: Any) -> tuple[JsonObject, JsonObject, list[str]]:
    """The message sent whole, the message put together by the SDK, the raw events' types."""
    simulator = talkative()
    client = client_of(simulator)
    body = asking(tools=[WEB_SEARCH], **more)
    whole = await client.messages.create(**body)
    async with client.messages.stream(**body) as stream:
        streamed = await stream.get_final_message()
    raw: list[str] = [
        event.type async for event in await client.messages.create(**body, stream=True)
    ]
    assert [record.answered for record in simulator.messages] == [True, True, True]
    assert len({record.fingerprint for record in simulator.messages}) == 1
    return whole.to_dict(mode="json"), streamed.to_dict(mode="json"), raw


async def test_a_stream_adds_up_to_the_whole_message() -> None:
    whole, streamed, raw = await ask(system="Tea?")
    kinds = ["thinking", "server_tool_use", "web_search_tool_result", "text", "tool_use"]
    assert [block["type"] for block in whole["content"]] == kinds
    assert streamed["content"] == whole["content"]
    assert streamed["stop_reason"] == whole["stop_reason"] == "tool_use"
    for part in ("input_tokens", "output_tokens", "server_tool_use", "cache_read_input_tokens"):
        assert streamed["usage"][part] == whole["usage"][part]
    assert whole["usage"]["server_tool_use"]["web_search_requests"] == 1
    assert raw[0] == "message_start"
    assert raw[-2:] == ["message_delta", "message_stop"]
    assert raw.count("content_block_start") == raw.count("content_block_stop") == len(kinds)


async def test_a_streamed_answer_can_be_sent_back() -> None:
    simulator = Simulator(Scripted(["one", "two"]))
    client = client_of(simulator)
    body = asking()
    async with client.messages.stream(**body) as stream:
        said = (await stream.get_final_message()).to_dict(mode="json")["content"]
    body["messages"] += [{"role": "assistant", "content": said}, {"role": "user", "content": "b"}]
    assert (await client.messages.create(**body)).stop_reason == "end_turn"


def test_the_first_event_promises_nothing_and_a_ping_follows() -> None:
    usage = {"input_tokens": 3, "output_tokens": 9}
    message = {"id": "m", "content": [text("a")], "stop_reason": "end_turn", "usage": usage}
    first, second, *_ = events(message)
    assert first["message"]["content"] == []
    assert first["message"]["stop_reason"] is None
    assert first["message"]["usage"]["output_tokens"] == 1
    assert encode(second) == b'event: ping\ndata: {"type": "ping"}\n\n'


async def test_an_answer_over_its_limit_is_cut_off() -> None:
    client = client_of(Simulator(Scripted([Turn([text("long " * 400)])])))
    short = await client.messages.create(**asking(max_tokens=60))
    assert short.stop_reason == "max_tokens"
    assert short.usage.output_tokens == 60


async def test_a_stream_left_in_the_middle_is_paid_for_and_not_answered() -> None:
    simulator = talkative()
    async with client_of(simulator).messages.stream(**asking()) as stream:
        async for _ in stream:
            break
    (record,) = simulator.messages
    assert (record.begun, record.answered, record.outcome) == (True, False, "abandoned")
