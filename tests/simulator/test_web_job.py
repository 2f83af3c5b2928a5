"""A job on the web through the provider's tools: pages kept, quotes exact, no false absence.

The researcher is a script with web tools in front of it; the offline engine plays the other roles.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import AsyncIterator
from dataclasses import dataclass

import pytest
import pytest_asyncio

from activities.evidence.quotes import StoredText
from activities.storage.store import Store
from tests.simulator.brains import ByTitle, Offline, Turn, json_answer
from tests.simulator.jobs import (
    JsonObject,
    Office,
    Wire,
    blocks,
    brief,
    cost,
    credentials,
    refused,
    temporal,
)
from tests.simulator.simulator import Simulator
from tests.simulator.web import Fetch, Page, Search, Web
from workflows.contracts.request import Web as Reach
from workflows.contracts.result import Coverage, ResearchResult

__all__ = ["credentials", "temporal"]

QUESTION = "What is known about the harbour line?"
ALLOWED = ("ferries.example", "city.example")
PAGES = {
    "https://ferries.example/passengers": Page(
        "Passengers of the harbour line",
        "Passengers of the harbour line.\r\n\r\nThe harbour line carried  412,000 passengers in"
        " 2024 – “a record”, the operator said. Gates count every ticket.\n",
        age="March 1, 2025",
    ),
    "https://city.example/electricity": Page(
        "Electricity supply",
        "The harbour line uses 2.4 gigawatt hours of electricity a year. The electricity contract"
        " ends in December 2027.\n",
    ),
    "https://ferries.example/fares": Page(
        "Fares", "Fares: behind a wall.", fetch_error="url_not_accessible"
    ),
    "https://elsewhere.example/opera": Page("Opera singers", "Opera singers sing on the boats."),
}
FACETS = ("Passengers", "Electricity", "Fares", "Maintenance", "Opera")
PAUSED = "Electricity"
NO_SEARCH = "Maintenance"
"""Its searches fail; those for the opera find nothing on the domains that are allowed."""


def facet_of(body: JsonObject) -> str:
    return str(brief(body)["facet"]["title"])


def plan(_: JsonObject) -> Turn:
    facets = [
        {
            "id": title.lower(),
            "title": title,
            "question": f"What is known about the {title.lower()} of the harbour line?",
            "boundary": "the other facets",
            "prefer": "reports",
            "reason": "named by the person who asks",
        }
        for title in FACETS
    ]
    return json_answer({"kind": "overview", "facets": facets})


def look(body: JsonObject) -> list[Search | Fetch]:
    """One search and one page, once in a conversation."""
    if blocks(body, "server_tool_use"):
        return []
    title = facet_of(body)
    error = "too_many_requests" if title == NO_SEARCH else None
    return [Search(title, error), Fetch()]


def answer(body: JsonObject) -> Turn:
    """Quotes the sentence with the facet's name in it: from memory first, then as it stands."""
    word = facet_of(body).lower()
    quotes = [
        {"source_id": block["content"]["url"], "text": sentence}
        for block in blocks(body, "web_fetch_tool_result")
        if "error_code" not in block["content"]
        for sentence in re.findall(
            rf"The [^.]*{word}[^.]*?[\d”][^.]*\.", block["content"]["content"]["source"]["data"]
        )
    ]
    complained = any("does not stand" in block["text"] for block in blocks(body, "text"))
    if not complained:
        quotes = [{**quote, "text": quote["text"].replace("412", "413")} for quote in quotes]
    claims = [
        {"text": quote["text"], "quotes": [quote], "confidence": 0.9, "relevance": 0.9}
        for quote in quotes
    ]
    return json_answer({"summary": f"On {word}.", "claims": claims, "exhausted": True})


@dataclass
class Done:
    result: ResearchResult
    wire: Wire
    store: Store

    def coverage(self, title: str) -> Coverage:
        return next(c for c in self.result.coverage if c.title == title)

    def asked(self, title: str) -> list[JsonObject]:
        """The requests of the researchers of a facet."""
        return [
            body
            for body in self.wire.bodies
            if body["output_config"]["format"]["schema"]["title"] == "ResearchAnswer"
            and facet_of(body) == title
        ]


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def done(
    temporal: str, credentials: str, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[Done]:
    office = await Office.at(temporal, tmp_path_factory.mktemp("web") / "home")
    reading, pausing = Web(answer, PAGES, look), Web(answer, PAGES, look, pause=True)

    async def researcher(body: JsonObject) -> Turn:
        return await (pausing if facet_of(body) == PAUSED else reading)(body)

    brain = ByTitle({"PlanDraft": plan, "ResearchAnswer": researcher}, otherwise=Offline())
    wire = Wire(Simulator(brain))
    result = await office.run(
        wire, QUESTION, web=Reach(allowed_domains=ALLOWED), max_facets=5, max_passes=0
    )
    yield Done(result, wire, Store.open(office.settings.store))


def test_the_api_refuses_nothing_and_searches_are_on_the_bill(done: Done) -> None:
    records = done.wire.simulator.records
    assert refused(records) == []
    searches = [(r.usage or {}).get("server_tool_use") or {} for r in records]
    assert sum(used.get("web_search_requests", 0) for used in searches) >= 3
    assert done.result.telemetry.usd == pytest.approx(sum(map(cost, records)))


@pytest.mark.asyncio(loop_scope="module")
async def test_pages_are_stored_and_quotes_stand_in_them_letter_for_letter(done: Done) -> None:
    sources = {source.id: source for source in done.result.sources}
    cited = [quote for claim in done.result.claims for quote in claim.quotes]
    assert {quote.source_id for quote in cited} == {
        "https://ferries.example/passengers", "https://city.example/electricity",
    }  # fmt: skip
    for quote in cited:
        source = sources[quote.source_id]
        page = PAGES[source.uri].text
        assert await done.store.text(source.sha256) == page
        assert source.sha256 == hashlib.sha256(page.encode()).hexdigest()
        assert StoredText(page).find(quote) is not None
        assert source.n is not None
        assert f"[{source.n}]" in done.result.report_markdown
    assert sources["https://ferries.example/passengers"].date == "2025-03-01"


def test_a_quote_from_memory_goes_back_to_the_model(done: Done) -> None:
    first, second = done.asked("Passengers")
    assert len(first["messages"]) == 1
    assert "does not stand" in second["messages"][-1]["content"][0]["text"]
    assert "413,000" not in done.result.model_dump_json()


def test_a_paused_turn_is_sent_back_unchanged_and_goes_on(done: Done) -> None:
    opening, *_, last = done.asked(PAUSED)
    assert opening["messages"][-1]["role"] == "user"
    paused = done.asked(PAUSED)[1]
    assert paused["messages"][-1]["role"] == "assistant"
    assert {block["type"] for block in paused["messages"][-1]["content"]} >= {
        "server_tool_use", "web_search_tool_result", "web_fetch_tool_result",
    }  # fmt: skip
    assert last["messages"][: len(paused["messages"])][-1] == paused["messages"][-1]
    assert done.coverage(PAUSED).status == "answered"


def test_domains_are_sent_with_every_request_that_has_the_web(done: Done) -> None:
    offered = [
        tool
        for body in done.wire.bodies
        for tool in body.get("tools") or ()
        if tool["name"].startswith("web_")
    ]
    assert {tool["name"] for tool in offered} == {"web_search", "web_fetch"}
    assert all(tool["allowed_domains"] == list(ALLOWED) for tool in offered)


@pytest.mark.parametrize(
    ("title", "status"),
    [
        ("Passengers", "answered"),
        ("Electricity", "answered"),
        ("Fares", "failed"),
        (NO_SEARCH, "failed"),
        ("Opera", "absent"),
    ],
)
def test_that_nobody_could_look_is_not_that_there_is_nothing(
    done: Done, title: str, status: str
) -> None:
    coverage = done.coverage(title)
    assert coverage.status == status, coverage.reason


@pytest.mark.parametrize(
    ("title", "why"), [("Fares", "url_not_accessible"), (NO_SEARCH, "too_many_requests")]
)
def test_a_failed_facet_says_what_the_web_tools_said(done: Done, title: str, why: str) -> None:
    assert why in done.coverage(title).reason
