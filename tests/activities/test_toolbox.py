"""The toolbox: which tools a request offers, where a call goes, and what is remembered of it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import anthropic.types
import pytest

from activities.agent.request_template import READ, SEARCH, SURVEY, build_tool_set
from activities.agent.toolbox import Toolbox
from activities.mcp.server_settings import McpSettings
from activities.mcp.servers import McpServers
from activities.sources.corpus_search import Corpus
from activities.storage.store import Store
from tests.activities.test_web import FERRY, WORDS, call, hits, page, said
from tests.activities.test_web_errors import failed
from tests.corpora import FolderCorpus, index_folder
from tests.simulator.models import MODELS
from tests.simulator.tool_definitions import check_tools
from workflows.config.roles import EVALUATOR, PLANNER, RESEARCHER, REVIEWER, VERIFIER, WRITER, Role
from workflows.contracts.activity_io import Job
from workflows.contracts.request import Web
from workflows.contracts.state import CorpusRef

JsonObject = dict[str, Any]
FIRST = "The MV Tern entered service in 2024. It carries 149 cars."
DOCUMENTS = CorpusRef(name="d", version="1", index="indexes/1.json")
LOOKUP = {"name": "mcp__archive__lookup", "description": "d", "input_schema": {"type": "object"}}


def job(**given: Any) -> Job:
    return Job(id="j", journal="j", model="offline", question="?", today="2026-11-01", **given)


def names(role: Role, **given: Any) -> list[str]:
    return [tool["name"] for tool in build_tool_set(role, job(**given), [LOOKUP])]


@pytest.fixture
def corpus(tmp_path: Path) -> FolderCorpus:
    folder = tmp_path / "documents"
    folder.mkdir()
    (folder / "tern.md").write_text(f"# The Tern\n\n{FIRST}\n\n- One hull\n", "utf-8")
    (folder / "eider.md").write_text("# The Eider\n\nThe Eider burns diesel.\n", "utf-8")
    return index_folder(folder, tmp_path / "index")


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store.open(str(tmp_path / "store"))


# --- which tools ---------------------------------------------------------------------------------


def test_a_corpus_alone_gives_the_same_tools_as_ever() -> None:
    assert build_tool_set(RESEARCHER, job(corpus=DOCUMENTS)) == [SEARCH, READ]
    assert build_tool_set(PLANNER, job(corpus=DOCUMENTS)) == [SURVEY]
    assert build_tool_set(WRITER, job(corpus=DOCUMENTS)) == [READ]


def test_without_a_corpus_there_is_nothing_to_search() -> None:
    assert [build_tool_set(role, job()) for role in (PLANNER, RESEARCHER, VERIFIER, WRITER)] == [
        []
    ] * 4


@pytest.mark.parametrize("role", [RESEARCHER, VERIFIER], ids=lambda role: role.name)
def test_researchers_and_verifiers_get_all_of_it_in_one_order(role: Role) -> None:
    assert names(role, corpus=DOCUMENTS, web=Web(), code=True) == [
        "search", "read", "web_search", "web_fetch", "code_execution", "mcp__archive__lookup",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("role", "tools"),
    [
        (PLANNER, ["web_search"]),
        (REVIEWER, []),
        (WRITER, ["read"]),
        (EVALUATOR, []),
    ],
    ids=lambda given: given.name if isinstance(given, Role) else "",
)
def test_the_planner_looks_at_the_web_the_writer_reads_stored_pages_and_no_more(
    role: Role, tools: list[str]
) -> None:
    assert [tool["name"] for tool in build_tool_set(role, job(web=Web(), code=True))] == tools


def test_those_who_plan_are_asked_for_no_scores() -> None:
    (survey,) = build_tool_set(PLANNER, job(corpus=DOCUMENTS))
    assert set(survey["input_schema"]["properties"]) == {"query"}


@pytest.mark.parametrize(
    ("web", "domains"),
    [
        (Web(), {}),
        (Web(allowed_domains=("a.example",)), {"allowed_domains": ["a.example"]}),
        (Web(blocked_domains=("b.example",)), {"blocked_domains": ["b.example"]}),
    ],
)
def test_limits_and_domains_hold_for_search_and_fetch(web: Web, domains: JsonObject) -> None:
    limited = web.model_copy(update={"max_searches": 3, "max_fetches": 5})
    _, search, fetch = build_tool_set(RESEARCHER, job(web=limited))
    assert (search["max_uses"], fetch["max_uses"]) == (3, 5)
    for tool in (search, fetch):
        assert {k: v for k, v in tool.items() if k.endswith("_domains")} == domains


def test_pages_come_whole_and_without_citations_so_that_quotes_can_be_checked() -> None:
    _, search, fetch = build_tool_set(RESEARCHER, job(web=Web()))
    assert fetch["citations"] == {"enabled": False}
    assert search["allowed_callers"] == fetch["allowed_callers"] == ["direct"]


def test_definitions_are_as_the_sdk_and_the_provider_know_them() -> None:
    tools = build_tool_set(RESEARCHER, job(corpus=DOCUMENTS, web=Web(), code=True), [LOOKUP])
    for profile in MODELS.values():
        check_tools({"tools": tools}, profile)
    kinds: dict[str, Any] = {
        "web_search": anthropic.types.WebSearchTool20260318Param,
        "web_fetch": anthropic.types.WebFetchTool20260318Param,
        "code_execution": anthropic.types.CodeExecutionTool20260521Param,
    }
    for tool in tools:
        if kind := kinds.get(tool["name"]):
            assert kind.__required_keys__ <= set(tool) <= set(kind.__annotations__)


# --- documents -----------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["search", "read"])
async def test_every_block_shown_stands_in_the_stored_text(
    corpus: Corpus, store: Store, name: str
) -> None:
    tools = Toolbox(RESEARCHER, corpus, store, 3)
    result = await tools.run("search", {"query": "tern cars service", "aim": "all"}, 0)
    if name == "read":
        source_id = result["sources"][0]["id"]
        result = await tools.run("read", {"source_id": source_id, "start": 12}, 1)
    tools.record(0, name, {"query": "tern"}, json.loads(json.dumps(result)))
    shown = [
        (block["source"], part["text"])
        for block in result["content"]
        if block["type"] == "search_result"
        for part in block["content"]
    ]
    assert [words for _, words in shown][-2:] == [FIRST, "- One hull"]
    for source_id, words in shown:
        stored = await store.text(tools.sources[source_id].sha256)
        assert stored is not None
        assert words in stored


async def test_a_hit_is_titled_by_its_document_and_the_headings_above_it(
    corpus: FolderCorpus, store: Store, tmp_path: Path
) -> None:
    long = "\n\n".join(f"Sentence {n} tells of a quay and its many stones." for n in range(60))
    guide = f"# Guide\n\n## Quays\n\n{long}\n\nThe last lantern is green.\n"
    (tmp_path / "documents" / "guide.md").write_text(guide, "utf-8")
    corpus.refresh()
    tools = Toolbox(RESEARCHER, corpus, store, 3)
    result = await tools.run("search", {"query": "lantern green", "aim": "all"}, 0)
    assert result["content"][1]["title"].endswith(" › Quays")


async def test_a_result_is_fenced_as_data(corpus: Corpus, store: Store) -> None:
    tools = Toolbox(RESEARCHER, corpus, store, 3)
    result = await tools.run("search", {"query": "tern", "aim": "all"}, 0)
    report, *blocks = result["content"]
    assert json.loads(report["text"])["cycle"] == 1
    assert {block["type"] for block in blocks} == {"search_result"}
    assert not any("citations" in block for block in blocks)


async def test_web_searches_use_up_no_cycle_of_the_documents(corpus: Corpus, store: Store) -> None:
    tools = Toolbox(RESEARCHER, corpus, store, 1)
    for turn in range(3):
        await tools.observe(turn, said(call("web_search", query=f"web {turn}"), hits()))
    asked = {"query": "tern", "aim": "all"}
    first = await tools.run("search", asked, 3)
    tools.record(3, "search", asked, first)
    assert not first.get("is_error")
    late = await tools.run("search", asked, 4)
    assert late["is_error"]
    assert tools.log.queries() == ("web 0", "web 1", "web 2", "tern")


async def test_a_web_that_could_not_be_searched_leaves_nothing_absent_from_documents_alone(
    corpus: Corpus, store: Store
) -> None:
    tools = Toolbox(RESEARCHER, corpus, store, 3)
    asked = {"query": "tern", "aim": "all"}
    tools.record(0, "search", asked, await tools.run("search", asked, 0))
    assert tools.log.answered == 1
    down = failed("web_search", "unavailable", "s1")
    await tools.observe(1, said(call("web_search", "s1", query="tern"), down))
    assert tools.log.answered == 0
    await tools.observe(2, said(call("web_search", "s1", query="tern"), hits(use_id="s1")))
    assert tools.log.answered == 2


async def test_documents_and_pages_are_sources_side_by_side(corpus: Corpus, store: Store) -> None:
    tools = Toolbox(RESEARCHER, corpus, store, 3)
    asked = {"query": "eider diesel", "aim": "all"}
    tools.record(0, "search", asked, await tools.run("search", asked, 0))
    await tools.observe(1, said(page(FERRY, WORDS)))
    known = set(tools.sources)
    assert FERRY in known
    assert len(known) > 1
    assert {tools.resolve(source_id) for source_id in known} == known


async def test_a_clean_conversation_is_shown_passages_again(corpus: Corpus, store: Store) -> None:
    tools = Toolbox(RESEARCHER, corpus, store, 3)
    asked = {"query": "eider diesel", "aim": "all"}
    first = await tools.run("search", asked, 0)
    tools.record(0, "search", asked, first)
    again = await tools.run("search", asked, 0)
    assert len(again["content"]) == 1
    tools.start_over(is_new_attempt=False)
    afresh = await tools.run("search", asked, 0)
    assert afresh["content"][1:] == first["content"][1:]


@pytest.mark.parametrize("name", ["search", "read"])
async def test_without_documents_the_model_is_told_so(store: Store, name: str) -> None:
    tools = Toolbox(RESEARCHER, None, store, 3)
    result = await tools.run(name, {"query": "tern", "source_id": "d1"}, 0)
    assert result["is_error"]
    tools.record(0, name, {"query": "tern"}, result)
    await tools.observe(1, said(call("web_search", query="tern"), hits()))
    assert tools.log.answered == 1


@pytest.mark.parametrize("name", ["web_search", "web_fetch", "code", "shell", LOOKUP["name"]])
async def test_a_tool_that_does_not_run_here_is_refused(
    corpus: Corpus, store: Store, name: str
) -> None:
    result = await Toolbox(RESEARCHER, corpus, store, 3).run(name, {"query": "tern"}, 0)
    assert result["is_error"]
    assert name in result["content"][0]["text"]


async def test_from_the_second_cycle_on_hits_are_scored_with_reasons(
    corpus: Corpus, store: Store
) -> None:
    tools = Toolbox(RESEARCHER, corpus, store, 3, is_guided=True)
    asked = {"query": "tern", "aim": "all"}
    first = await tools.run("search", asked, 0)
    tools.record(0, "search", asked, first)
    source, *_ = [sid for sid, _ in first["passages"]]
    again: JsonObject = {}
    for scores in ([], [{"source_id": source, "score": 0.9, "reason": " "}]):
        again = {"query": "tern cars", "aim": "its cars", "scores": scores}
        refused = await tools.run("search", again, 1)
        assert "score the hits" in refused["content"][0]["text"]
        tools.record(1, "search", again, refused)
    assert tools.log.problems == [], "the model is told; no tool failed"
    scored = {**again, "scores": [{"source_id": source, "score": 0.9, "reason": "names it"}]}
    second = await tools.run("search", scored, 2)
    assert json.loads(second["content"][0]["text"])["cycle"] == 2, "a refusal uses up no cycle"


async def test_three_good_sources_end_the_search_unless_a_hole_is_critical(
    corpus: Corpus, store: Store
) -> None:
    tools = Toolbox(RESEARCHER, corpus, store, 3, is_guided=True)
    asked = {"query": "tern eider", "aim": "all"}
    tools.record(0, "search", asked, await tools.run("search", asked, 0))
    scores = [{"source_id": f"d{n}", "score": 0.8, "reason": "it answers"} for n in range(3)]
    more = {"query": "eider", "aim": "its fuel", "scores": scores}
    ended = await tools.run("search", more, 1)
    assert "answer now" in ended["content"][0]["text"]
    assert not (await tools.run("search", {**more, "critical": True}, 1)).get("is_error")


async def test_what_scored_below_a_fifth_is_left_out_but_not_the_first_hits(
    corpus: FolderCorpus, store: Store, tmp_path: Path
) -> None:
    for n in range(14):
        words = f"# Note {n}\n\nThe Tern {'tern ' * (14 - n)} was seen at pier {n}.\n"
        (tmp_path / "documents" / f"note{n}.md").write_text(words, "utf-8")
    corpus.refresh()
    tools = Toolbox(RESEARCHER, corpus, store, 3, is_guided=True)
    asked = {"query": "tern pier", "aim": "all"}
    first = await tools.run("search", asked, 0)
    tools.record(0, "search", asked, first)
    seen = list(dict.fromkeys(sid for sid, _ in first["passages"]))
    assert len(seen) > 10
    useless = [{"source_id": sid, "score": 0.1, "reason": "off topic"} for sid in seen]
    assert set(tools.log.excluded({"scores": useless})) == set(seen[10:])


async def test_paths_can_be_included_and_excluded(corpus: Corpus, store: Store) -> None:
    tools = Toolbox(RESEARCHER, corpus, store, 3)

    async def uris(**patterns: list[str]) -> set[str]:
        found = await tools.run("search", {"query": "tern eider", "aim": "all", **patterns}, 0)
        return {source["uri"] for source in found["sources"]}

    both = await uris()
    assert len(both) == 2
    assert {uri[-7:] for uri in await uris(include_paths=["*tern.md"])} == {"tern.md"}
    assert {uri[-8:] for uri in await uris(exclude_paths=["*tern.md"])} == {"eider.md"}


async def test_a_stored_page_can_be_read_again_and_by_those_who_did_not_fetch_it(
    store: Store,
) -> None:
    tools = Toolbox(RESEARCHER, None, store, 3)
    await tools.observe(0, said(page(FERRY, WORDS)))
    own = await tools.run("read", {"source_id": FERRY}, 1)
    shown = [part["text"] for part in own["content"][1]["content"]]
    assert shown
    assert all(words in " ".join(WORDS.split()) for words in shown)
    writer = Toolbox(WRITER, None, store, 0, pages=tools.sources)
    assert (await writer.run("read", {"source_id": FERRY}, 0))["content"] == own["content"]
    unknown = await writer.run("read", {"source_id": "https://else.example"}, 0)
    assert unknown["is_error"]


async def test_what_was_really_searched_is_listed_by_place(corpus: Corpus, store: Store) -> None:
    tools = Toolbox(RESEARCHER, corpus, store, 3)
    asked = {"query": "tern", "aim": "all"}
    tools.record(0, "search", asked, await tools.run("search", asked, 0))
    down = failed("web_search", "unavailable", "s1")
    await tools.observe(1, said(call("web_search", "s1", query="lost"), down))
    await tools.observe(2, said(call("web_search", "s2", query="found"), hits(use_id="s2")))
    assert tools.log.searched == ["documents: tern", "web: found"]
    assert len(tools.log.problems) == 1


# --- MCP -----------------------------------------------------------------------------------------


class Archive:
    """An MCP server's answer, in the form `McpServers.call` gives it."""

    def __init__(self, result: JsonObject) -> None:
        self.result = result
        self.asked: list[tuple[str, str, JsonObject]] = []

    async def call(self, role: str, name: str, tool_input: JsonObject) -> JsonObject:
        self.asked.append((role, name, tool_input))
        return self.result


async def test_an_mcp_call_goes_to_its_server_and_its_source_is_known(store: Store) -> None:
    source = {"id": "m1", "uri": "mcp://archive/lookup", "title": "t", "sha256": "0" * 64}
    archive = Archive({"content": [], "sources": [source], "passages": [("m1", 0)]})
    tools = Toolbox(RESEARCHER, None, store, 3, servers=archive)  # type: ignore[arg-type]
    result = await tools.run("mcp__archive__lookup", {"word": "tern"}, 0)
    tools.record(0, "mcp__archive__lookup", {"word": "tern"}, result)
    assert archive.asked == [("researcher", "mcp__archive__lookup", {"word": "tern"})]
    assert set(tools.sources) == {"m1"}
    assert tools.log.answered == 1
    assert tools.log.queries() == ('mcp__archive__lookup {"word": "tern"}',)


async def test_a_server_that_is_down_is_a_problem_and_not_an_absence(store: Store) -> None:
    down = {"is_error": True, "content": [{"type": "text", "text": "the server is down"}]}
    tools = Toolbox(RESEARCHER, None, store, 3, servers=Archive(down))  # type: ignore[arg-type]
    result = await tools.run("mcp__archive__lookup", {}, 0)
    tools.record(0, "mcp__archive__lookup", {}, result)
    assert tools.log.answered == 0
    assert tools.log.problems == ["the server is down"]


async def test_a_role_has_only_the_mcp_tools_it_was_given(store: Store) -> None:
    servers = McpServers(McpSettings.model_validate({"servers": {}}), store)
    tools = Toolbox(WRITER, None, store, 0, servers=servers)
    result = await tools.run("mcp__archive__lookup", {}, 0)
    assert result["is_error"]
    assert "writer has no tool" in result["content"][0]["text"]
