"""The offline model at the wire, asked by the real client."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import anthropic
import httpx2
import pytest

from activities.agent import messages
from activities.offline.request import Conversation, JsonObject, Reply, UseTools
from activities.offline.transport import SKILLS, OfflineTransport
from tests.activities.offline.library import research_brief

BRIEF = research_brief("When was the tower built?")


def request(schema: str = "ResearchAnswer", brief: JsonObject = BRIEF, **more: Any) -> JsonObject:
    return {
        "model": "offline",
        "max_tokens": 1000,
        "messages": [messages.opening(brief)],
        "output_config": {
            "format": {"type": "json_schema", "schema": {"title": schema, "type": "object"}}
        },
        **more,
    }


def asking(skills: Any = SKILLS) -> anthropic.AsyncAnthropic:
    return anthropic.AsyncAnthropic(
        api_key="none",
        base_url="http://offline.example",
        max_retries=0,
        http_client=httpx2.AsyncClient(transport=OfflineTransport(skills)),
    )


@pytest.fixture
async def client() -> AsyncIterator[anthropic.AsyncAnthropic]:
    async with asking() as opened:
        yield opened


SEARCH = {"name": "search", "input_schema": {"type": "object"}}


@pytest.mark.parametrize("tools", [[], [SEARCH]], ids=["answer", "tool use"])
async def test_a_stream_put_together_is_the_whole_message(
    client: anthropic.AsyncAnthropic, tools: list[JsonObject]
) -> None:
    whole = await client.messages.create(**request(tools=tools))
    async with client.messages.stream(**request(tools=tools)) as stream:
        streamed = await stream.get_final_message()
    assert streamed.content[0].type == ("tool_use" if tools else "text")
    assert streamed.model_dump(exclude_none=True) == whole.model_dump(exclude_none=True)


async def test_the_same_request_gets_the_same_message(client: anthropic.AsyncAnthropic) -> None:
    first = await client.messages.create(**request())
    assert await client.messages.create(**request()) == first
    other = await client.messages.create(**request(brief=research_brief("Who owns the tower?")))
    assert other.id != first.id


async def test_a_long_answer_arrives_whole_over_many_deltas() -> None:
    told = {"summary": "Größe “tower” 🗼 " * 500}

    def answer(_: Conversation) -> UseTools | Reply:
        return Reply(told)

    async with asking({"ResearchAnswer": answer}) as client:
        async with client.messages.stream(**request()) as stream:
            text = await stream.get_final_text()
        whole = await client.messages.create(**request())
    assert whole.content[0].type == "text"
    assert text == whole.content[0].text
    assert "🗼" in text


@pytest.mark.parametrize(
    "wrong",
    [
        request(schema="Poem"),
        {**request(), "output_config": {}},
        {**request(), "messages": [{"role": "user", "content": "Hello"}]},
    ],
    ids=["unknown schema", "no schema", "no brief"],
)
async def test_a_request_it_cannot_read_is_a_bad_request(
    client: anthropic.AsyncAnthropic, wrong: JsonObject
) -> None:
    with pytest.raises(anthropic.BadRequestError, match="offline model"):
        await client.messages.create(**wrong)


async def test_a_skill_that_breaks_is_a_server_error() -> None:
    def broken(_: Conversation) -> UseTools | Reply:
        raise RuntimeError("no such word")

    async with asking({"ResearchAnswer": broken}) as client:
        with pytest.raises(anthropic.InternalServerError, match="RuntimeError: no such word"):
            await client.messages.create(**request())


async def test_another_path_is_not_found(client: anthropic.AsyncAnthropic) -> None:
    with pytest.raises(anthropic.NotFoundError):
        await client.models.list()
