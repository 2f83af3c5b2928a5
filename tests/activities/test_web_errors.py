"""Every error of the provider's tools by name: what nobody could look at is never absent."""

from __future__ import annotations

from pathlib import Path
from typing import Any, get_args

import pytest
from anthropic.types import (
    bash_code_execution_tool_result_error_code as bash,
)
from anthropic.types import (
    code_execution_tool_result_error_code as code,
)
from anthropic.types import (
    text_editor_code_execution_tool_result_error_code as editor,
)
from anthropic.types import (
    web_fetch_tool_result_error_code as fetch,
)
from anthropic.types import (
    web_search_tool_result_error_code as search,
)

from activities.agent.toolbox import Toolbox
from activities.sources.web import TROUBLES, Ran, ServerTools
from activities.storage.store import Store
from tests.activities.test_web import FERRY, WORDS, call, hits, page, said
from workflows.config.roles import RESEARCHER

JsonObject = dict[str, Any]
SEARCH_CODES = (
    "unavailable",
    "max_uses_exceeded",
    "too_many_requests",
    "query_too_long",
    "invalid_tool_input",
    "request_too_large",
)
FETCH_CODES = (
    "unavailable",
    "max_uses_exceeded",
    "too_many_requests",
    "invalid_tool_input",
    "url_too_long",
    "url_not_allowed",
    "url_not_in_prior_context",
    "url_not_accessible",
    "unsupported_content_type",
    "content_too_large",
)


def failed(tool: str, error_code: str, use_id: str) -> JsonObject:
    return {
        "type": f"{tool}_tool_result",
        "tool_use_id": use_id,
        "content": {"type": f"{tool}_tool_result_error", "error_code": error_code},
    }


@pytest.fixture
def tools(tmp_path: Path) -> Toolbox:
    return Toolbox(RESEARCHER, None, Store.open(str(tmp_path)), 3)


def test_every_code_the_sdk_knows_has_its_sentence() -> None:
    assert set(get_args(search.WebSearchToolResultErrorCode)) == set(SEARCH_CODES)
    assert set(get_args(fetch.WebFetchToolResultErrorCode)) == set(FETCH_CODES)
    of_code = (
        get_args(code.CodeExecutionToolResultErrorCode)
        + get_args(bash.BashCodeExecutionToolResultErrorCode)
        + get_args(editor.TextEditorCodeExecutionToolResultErrorCode)
    )
    assert set(TROUBLES) == {*SEARCH_CODES, *FETCH_CODES, *of_code}


@pytest.mark.parametrize("error_code", SEARCH_CODES)
async def test_a_search_that_failed_is_asked_and_not_searched(
    tools: Toolbox, error_code: str
) -> None:
    await tools.observe(
        0, said(call("web_search", "s1", query="tern"), failed("web_search", error_code, "s1"))
    )
    assert tools.log.answered == 0
    assert tools.log.queries() == ("tern",)
    assert tools.log.problems == [
        f"the web search “tern” failed: {TROUBLES[error_code]} ({error_code})"
    ]


@pytest.mark.parametrize("error_code", FETCH_CODES)
async def test_hits_that_could_not_be_opened_are_not_searched(
    tools: Toolbox, error_code: str
) -> None:
    await tools.observe(0, said(
        call("web_search", query="tern"), hits(FERRY),
        call("web_search", "s9", query="none"), hits(use_id="s9"),
        call("web_fetch", "f1", url=FERRY), failed("web_fetch", error_code, "f1"),
    ))  # fmt: skip
    assert tools.log.answered == 0
    assert tools.sources == {}
    assert tools.log.problems == [f"fetching {FERRY} failed: {TROUBLES[error_code]} ({error_code})"]


@pytest.mark.parametrize(
    ("tool", "error_code"),
    [
        ("code_execution", "execution_time_exceeded"),
        ("code_execution", "unavailable"),
        ("bash_code_execution", "output_file_too_large"),
        ("text_editor_code_execution", "file_not_found"),
    ],
)
async def test_code_that_broke_down_is_a_problem_and_no_search(
    tools: Toolbox, tool: str, error_code: str
) -> None:
    broken = failed(tool, error_code, "c1")
    if tool == "text_editor_code_execution":
        broken["content"]["error_message"] = None
    await tools.observe(0, said(call(tool, "c1", code="1/0"), broken))
    assert tools.log.problems == [
        f"code in the sandbox failed: {TROUBLES[error_code]} ({error_code})"
    ]
    assert tools.log.queries() == ()


async def test_an_error_nobody_has_heard_of_is_an_error(tools: Toolbox) -> None:
    message = {"content": [call("web_search", "s1", query="tern"),
                           failed("web_search", "solar_flare", "s1")]}  # fmt: skip
    await tools.observe(0, message)
    assert tools.log.answered == 0
    assert "(solar_flare)" in tools.log.problems[0]


async def test_a_search_without_hits_is_an_answer(tools: Toolbox) -> None:
    await tools.observe(0, said(call("web_search", query="tern"), hits()))
    assert tools.log.answered == 1
    assert tools.log.problems == []


async def test_one_answer_among_failures_is_a_look(tools: Toolbox) -> None:
    await tools.observe(0, said(
        call("web_search", "s1", query="a"), failed("web_search", "query_too_long", "s1"),
        call("web_search", "s2", query="b"), hits(FERRY, use_id="s2"),
        call("web_fetch", "f1", url="https://gone.example"),
        failed("web_fetch", "url_not_accessible", "f1"),
        call("web_fetch", "f2", url=FERRY), page(FERRY, WORDS, "f2"),
    ))  # fmt: skip
    assert tools.log.answered == 1
    assert len(tools.log.problems) == 2


async def test_a_problem_is_told_once(tools: Toolbox) -> None:
    for turn in range(3):
        await tools.observe(turn, said(call("web_search", "s1", query="tern"),
                                       failed("web_search", "unavailable", "s1")))  # fmt: skip
    assert len(tools.log.problems) == 1
    assert tools.log.queries() == ("tern", "tern", "tern")


def test_what_code_printed_is_told_with_the_code_and_a_failed_program_is_not() -> None:
    def ran(name: str, given: dict[str, str], return_code: int = 0) -> dict[str, object]:
        result = {"type": f"{name}_result", "stdout": "0.8\n", "stderr": "", "content": [],
                  "return_code": return_code}  # fmt: skip
        return {
            "content": [
                {"type": "server_tool_use", "id": "srvtoolu_1", "name": name, "input": given},
                {"type": f"{name}_tool_result", "tool_use_id": "srvtoolu_1", "content": result},
            ]
        }

    python = ran("code_execution", {"code": "print(4 / 5)"})
    shell = ran("bash_code_execution", {"command": "echo 0.8"})
    assert list(ServerTools().read(python)) == [Ran("print(4 / 5)", "0.8")]
    assert list(ServerTools().read(shell)) == [Ran("echo 0.8", "0.8")]
    assert list(ServerTools().read(ran("code_execution", {"code": "x"}, 1))) == []
