"""The provider's web tools: pages become stored texts that quotes are checked against."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

import pytest
from anthropic.types import Message
from temporalio.testing import ActivityEnvironment

from activities.agent.schemas import ResearchAnswer, SourceScore
from activities.agent.toolbox import Toolbox
from activities.context import ActivityContext
from activities.evidence.quotes import StoredText
from activities.llm.client import Models
from activities.sources.web import address
from activities.storage.store import Store
from activities.subagents.findings import AnswerChecker
from activities.subagents.researching import Researching
from tests.activities.scripted import ScriptedTransport, message, text
from tests.simulator.brains import echo
from tests.simulator.web import Page, Web
from workflows.config.roles import RESEARCHER
from workflows.contracts.activity_io import Job, ResearchBrief
from workflows.contracts.evidence import Quote, Source
from workflows.contracts.facets import Facet
from workflows.contracts.outcomes import Failed, Found, NoResults, SubagentOutcome
from workflows.contracts.request import Web as WebReach
from workflows.contracts.spend import Allowance

JsonObject = dict[str, Any]
FERRY = "https://ferries.example/news/tern"
WORDS = "MV Tern entered service.\r\n\r\nIt carries  149 cars – and “no” diesel.\n"
COUNCIL = Path(__file__).parents[2] / "sample_corpus" / "council"
BUSINESS_CASE = (COUNCIL / "business_case_quiet_crossing_2023.pdf").read_bytes()


def said(*blocks: JsonObject, stop: str = "end_turn") -> JsonObject:
    """A message as the SDK reads it and the journal keeps it."""
    return Message.model_validate(message(*blocks, stop=stop)).to_dict(mode="json")


def call(name: str, use_id: str = "srvtoolu_1", **given: str) -> JsonObject:
    return {"type": "server_tool_use", "id": use_id, "name": name, "input": given}


def hits(*urls: str, use_id: str = "srvtoolu_1", age: str | None = None) -> JsonObject:
    return {
        "type": "web_search_tool_result",
        "tool_use_id": use_id,
        "content": [
            {"type": "web_search_result", "url": url, "title": f"About {url}",
             "encrypted_content": "c2VhbGVk", "page_age": age}
            for url in urls
        ],
    }  # fmt: skip


def page(
    url: str, words: str, use_id: str = "srvtoolu_2", title: str | None = "The Tern"
) -> JsonObject:
    return fetched(url, {"type": "text", "media_type": "text/plain", "data": words}, use_id, title)


def pdf(url: str, content: bytes) -> JsonObject:
    data = base64.b64encode(content).decode()
    return fetched(url, {"type": "base64", "media_type": "application/pdf", "data": data})


def fetched(
    url: str, source: JsonObject, use_id: str = "srvtoolu_2", title: str | None = None
) -> JsonObject:
    return {
        "type": "web_fetch_tool_result",
        "tool_use_id": use_id,
        "content": {
            "type": "web_fetch_result",
            "url": url,
            "content": {"type": "document", "title": title, "source": source},
            "retrieved_at": "2026-11-01T00:00:00Z",
        },
    }


@pytest.fixture
def tools(tmp_path: Path) -> Toolbox:
    return Toolbox(RESEARCHER, None, Store.open(str(tmp_path)), 3)


async def test_a_fetched_page_is_stored_exactly_as_the_model_saw_it(tmp_path: Path) -> None:
    store = Store.open(str(tmp_path))
    tools = Toolbox(RESEARCHER, None, store, 3)
    await tools.observe(0, said(call("web_fetch", "srvtoolu_2", url=FERRY), page(FERRY, WORDS)))
    source = tools.sources[FERRY]
    assert (source.id, source.uri, source.title) == (FERRY, FERRY, "The Tern")
    assert source.sketch
    kept = await store.text(source.sha256)
    assert kept == WORDS
    quote = Quote(source_id=FERRY, text="It carries 149 cars – and “no” diesel.")
    found = StoredText(kept).find(quote)
    assert found is not None
    assert WORDS[found.start : found.end] == "It carries  149 cars – and “no” diesel."


async def test_a_search_hit_cannot_be_quoted_until_its_page_is_fetched(tools: Toolbox) -> None:
    other = "https://other.example/"
    await tools.observe(0, said(call("web_search", query="tern"), hits(FERRY, other)))
    assert tools.sources == {}
    assert [hit.url for hit in tools.candidates] == [FERRY, other]
    await tools.observe(1, said(call("web_fetch", "srvtoolu_2", url=FERRY), page(FERRY, WORDS)))
    assert set(tools.sources) == {FERRY}
    assert [hit.url for hit in tools.candidates] == [other]


@pytest.mark.parametrize(
    ("age", "words", "date"),
    [
        ("April 30, 2025", WORDS, "2025-04-30"),
        ("3 days ago", WORDS, None),
        (None, "The Tern\n\nPublished: 12 March 2024\n\nIt sails.", "2024-03-12"),
        (None, WORDS, None),
    ],
)
async def test_a_page_has_its_own_date_or_none_and_never_that_of_the_fetch(
    tools: Toolbox, age: str | None, words: str, date: str | None
) -> None:
    await tools.observe(0, said(
        call("web_search", query="tern"), hits(FERRY, age=age),
        call("web_fetch", "srvtoolu_2", url=FERRY), page(FERRY, words),
    ))  # fmt: skip
    assert tools.sources[FERRY].date == date


async def test_the_kind_of_a_page_is_guessed_like_that_of_a_document(tools: Toolbox) -> None:
    blog = "https://blog.example/posts/tern"
    await tools.observe(0, said(page(blog, WORDS), page("https://a.example/tern", WORDS)))
    assert tools.sources[blog].kind == "blog"
    assert tools.sources["https://a.example/tern"].kind == "page"


@pytest.mark.parametrize(
    "written",
    [
        FERRY,
        f"{FERRY}/",
        f"{FERRY}#costs",
        f" {FERRY}\n",
        "HTTPS://Ferries.Example:443/news/tern",
        "http://ferries.example/news/%74ern",
    ],
)
async def test_a_page_is_known_by_any_spelling_of_its_address(tools: Toolbox, written: str) -> None:
    await tools.observe(0, said(page(FERRY, WORDS)))
    assert tools.resolve(written) == FERRY


@pytest.mark.parametrize(
    "written", ["d0123456789", "https://ferries.example/news", f"{FERRY}?p=2", "", "http://[", "//"]
)
async def test_what_is_no_page_of_the_conversation_stays_as_it_was_written(
    tools: Toolbox, written: str
) -> None:
    await tools.observe(0, said(page(FERRY, WORDS)))
    assert tools.resolve(written) == written


async def test_a_page_that_was_redirected_is_known_by_both_addresses(tools: Toolbox) -> None:
    short = "https://f.example/t"
    await tools.observe(0, said(call("web_fetch", "srvtoolu_2", url=short), page(FERRY, WORDS)))
    assert set(tools.sources) == {FERRY}
    assert tools.resolve(short) == FERRY


async def test_a_page_keeps_its_words_when_its_address_later_leads_elsewhere(
    tools: Toolbox,
) -> None:
    login = "https://ferries.example/login"
    await tools.observe(0, said(call("web_fetch", "srvtoolu_2", url=FERRY), page(FERRY, WORDS)))
    before = tools.sources[FERRY]
    await tools.observe(1, said(call("web_fetch", "srvtoolu_2", url=FERRY), page(login, "Log in")))
    assert tools.sources[FERRY] == before
    assert set(tools.sources) == {FERRY, login}
    assert tools.resolve(FERRY) == FERRY


async def test_a_page_that_changed_between_fetches_is_quotable_as_it_was_both_times(
    tmp_path: Path,
) -> None:
    store = Store.open(str(tmp_path))
    tools = Toolbox(RESEARCHER, None, store, 3)
    for turn, places in enumerate((149, 150, 149)):
        url = f"{FERRY}/" if turn else FERRY
        await tools.observe(turn, said(page(url, f"It has {places} places.")))
    assert set(tools.sources) == {FERRY}
    kept = await store.text(tools.sources[FERRY].sha256)
    assert kept == "It has 149 places.\n\nIt has 150 places."


async def test_a_pdf_is_read_and_quotable(tmp_path: Path) -> None:
    store = Store.open(str(tmp_path))
    tools = Toolbox(RESEARCHER, None, store, 3)
    url = "https://council.example/files/business-case?download=1"
    await tools.observe(0, said(pdf(url, BUSINESS_CASE)))
    kept = await store.text(tools.sources[url].sha256)
    assert kept is not None
    assert "Quiet Crossing" in kept
    assert "Quiet Crossing" in tools.sources[url].title


async def test_a_pdf_that_cannot_be_read_is_named_and_no_source(tools: Toolbox) -> None:
    await tools.observe(0, said(pdf(FERRY, b"%PDF-1.7 nonsense")))
    assert tools.sources == {}
    assert len(tools.log.problems) == 1
    assert FERRY in tools.log.problems[0]
    assert "cannot be quoted" in tools.log.problems[0]


async def test_a_page_without_words_is_named_and_no_source(tools: Toolbox) -> None:
    await tools.observe(0, said(page(FERRY, " \n—\n")))
    assert tools.sources == {}
    assert "came without text" in tools.log.problems[0]


async def test_a_call_that_was_paused_is_matched_with_its_result_a_message_later(
    tools: Toolbox,
) -> None:
    await tools.observe(0, said(call("web_search", query="tern"), stop="pause_turn"))
    assert tools.log.queries() == ()
    assert tools.log.answered == 0
    await tools.observe(1, said(hits(FERRY), text("found")))
    assert tools.log.queries() == ("tern",)
    assert tools.log.answered == 1


async def test_web_searches_are_on_record_turn_by_turn(tools: Toolbox) -> None:
    await tools.observe(0, said(
        call("web_search", "s1", query="tern"), hits(FERRY, use_id="s1"),
        call("web_search", "s2", query="eider"), hits(use_id="s2"),
    ))  # fmt: skip
    await tools.observe(1, said(call("web_search", "s3", query="plover"), hits(use_id="s3")))
    cycles = tools.log.cycles([SourceScore(source_id=FERRY, score=0.8, reason="names it")])
    assert [cycle.queries for cycle in cycles] == [("tern", "eider"), ("plover",)]
    assert cycles[-1].scores == {FERRY: 0.8}
    assert tools.log.answered == 3


@pytest.mark.parametrize("reason", ["", "names it"])
async def test_from_the_second_search_on_an_answer_scores_each_page_and_tool_result(
    tmp_path: Path, reason: str
) -> None:
    store = Store.open(str(tmp_path))
    tools = Toolbox(RESEARCHER, None, store, 3)
    checker = AnswerChecker(store, tools)
    plain = ResearchAnswer(summary="")
    await tools.observe(0, said(
        call("web_search", "s1", query="tern"), hits(FERRY, use_id="s1"),
        call("web_fetch", "srvtoolu_2", url=FERRY), page(FERRY, WORDS),
    ))  # fmt: skip
    assert await checker.complaints(plain) == [], "one search is no loop"
    returned = Source(id="mcp-1", uri="mcp://archive/lookup", title="Archive", sha256="0" * 64)
    tools.record(
        1,
        "mcp__archive__lookup",
        {"query": "tern"},
        {"content": [], "sources": [returned.model_dump()]},
    )
    assert [c.partition(": ")[0] for c in await checker.complaints(plain)] == [FERRY, "mcp-1"]
    scores = [SourceScore(source_id=sid, score=0.8, reason=reason) for sid in (FERRY, "mcp-1")]
    scored = ResearchAnswer(summary="", scores=scores)
    assert len(await checker.complaints(scored)) == (0 if reason else 2)
    assert len(await checker.complaints(plain)) == (0 if reason else 2), "a score given is kept"


async def test_messages_without_server_tools_change_nothing(tools: Toolbox) -> None:
    await tools.observe(0, said(text("hello")))
    assert (tools.sources, tools.log.problems, tools.log.answered) == ({}, [], 0)


async def test_the_simulated_provider_gives_blocks_that_are_understood(tools: Toolbox) -> None:
    pages = {FERRY: Page("The Tern", WORDS, age="2026-01-05")}
    body = {
        "tools": [{"name": "web_search"}, {"name": "web_fetch"}],
        "messages": [{"role": "user", "content": "when did the tern enter service?"}],
    }
    turn = await Web(echo, pages)(body)
    await tools.observe(0, said(*turn.content))
    assert tools.sources[FERRY].date == "2026-01-05"
    assert tools.log.queries() == ("when did the tern enter service?",)
    assert tools.log.problems == []


def test_an_id_leaves_out_only_what_does_not_name_the_page() -> None:
    assert address("HTTP://Example.ORG:80/A/?q=B#part") == "http://example.org/A/?q=B"
    assert address("https://example.org:8443/a") == "https://example.org:8443/a"


# --- to an outcome -------------------------------------------------------------------------------


async def researched(folder: Path, *answers: JsonObject) -> SubagentOutcome:
    """What a researcher with the web and no documents comes back with."""
    models = Models(ScriptedTransport(answers))
    context = ActivityContext(Store.open(str(folder / "store")), models, folder / "index")
    brief = ResearchBrief(
        job=Job(
            id="j", journal="j", model="offline", question="?", today="2026-11-01", web=WebReach()
        ),
        facet=Facet(id="f1", title="Tern", question="Cars?", boundary="b", prefer="p", reason="r"),
        ask="How many cars does the Tern carry?",
        task="f1",
        cycles=3,
        max_claims=5,
        allowance=Allowance(),
        seconds=100,
    )
    told = await ActivityEnvironment().run(Researching(context).research, brief)
    return told.outcome


def answer(**given: Any) -> JsonObject:
    return text(json.dumps({"summary": "s", **given}))


async def test_a_quote_of_a_fetched_page_stands_however_its_address_is_spelt(
    tmp_path: Path,
) -> None:
    quote = {"source_id": f"{FERRY}/#top", "text": "It carries 149 cars"}
    claim = {"text": "It carries 149 cars.", "quotes": [quote], "confidence": 1, "relevance": 1}
    outcome = await researched(
        tmp_path,
        message(call("web_search", query="tern"), stop="pause_turn"),
        message(hits(FERRY), call("web_fetch", "srvtoolu_2", url=FERRY), page(FERRY, WORDS),
                answer(claims=[claim])),
    )  # fmt: skip
    assert isinstance(outcome, Found)
    assert outcome.findings.sources == 1


async def test_a_web_without_hits_is_searched_and_absent(tmp_path: Path) -> None:
    outcome = await researched(
        tmp_path, message(call("web_search", query="tern"), hits(), answer(missing=["cars"]))
    )
    assert isinstance(outcome, NoResults)
    assert outcome.queries == ("tern",)


async def test_a_web_that_could_not_be_searched_is_a_failure_and_nothing_is_absent(
    tmp_path: Path,
) -> None:
    down = {
        "type": "web_search_tool_result",
        "tool_use_id": "srvtoolu_1",
        "content": {"type": "web_search_tool_result_error", "error_code": "unavailable"},
    }
    outcome = await researched(
        tmp_path, message(call("web_search", query="tern"), down, answer(missing=["cars"]))
    )
    assert isinstance(outcome, Failed)
    assert "searches failed" in outcome.reason
