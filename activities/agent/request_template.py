"""The request template of a role: prompt, schema, tools, everything but the conversation.

`workflows.config.roles` says which tools a role may have at most, the job says which there are. A
search carries the model's scores of the previous hits, so that every retrieval cycle is recorded
with its reasons.

A template is built once for a job and stored, so that a release that rewords a prompt does not
change the requests of a running job.

Cache marks are placed for subagents that run in parallel: tools and system prompt come first and
are marked, so that all subagents of a role share them; then the ends of this request and of the one
before are marked, so that each turn reads the conversation before it and writes only what is new. A
request ends with our message or, after a pause, with the model's own.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from importlib import resources
from typing import Any, Literal

from activities.agent import schemas
from activities.agent.messages import JsonObject
from activities.llm.lazy_sdk import anthropic
from activities.mcp.tool_format import PREFIX as MCP
from workflows.config.model_catalog import card
from workflows.config.roles import PLANNER, Role
from workflows.config.settings import MAX_TOKENS
from workflows.contracts.activity_io import Job
from workflows.contracts.evidence import Record
from workflows.contracts.request import RoleEffort, Web

ToolKind = Literal["documents", "web", "code", "mcp"]
_TOOL_PARTS = "{{tools}}"
"""Where the parts of a prompt for the tools of the role stand."""
_MARK = {"type": "ephemeral"}
_MARKED_ENDS = 2
"""The newest, which the next turn reads; the one before it, up to which the last turn wrote.

The provider looks back from a mark by twenty blocks only, and a turn with many tool results is
longer than that.
"""

PAGE_TOKENS = 16_000
"""How much of a web page is shown: a long article whole, the start of a book."""
# A page that code filtered before the model read it is not what is stored, and quotes of it could
# not be checked. Beside the sandbox, this also keeps a tool from being called from inside it.
_CALLERS = ("direct",)


_SCORES = {
    "type": "array",
    "description": "Your scores of the hits of the cycle before: 0 useless, 1 answers it.",
    "items": {
        "type": "object",
        "properties": {
            "source_id": {"type": "string"},
            "score": {"type": "number"},
            "reason": {"type": "string"},
        },
        "required": ["source_id", "score", "reason"],
        "additionalProperties": False,
    },
}

_PATTERNS = {"type": "array", "items": {"type": "string"}}

SEARCH: JsonObject = {
    "name": "search",
    "description": (
        "Search the documents by words. Returns passages, each with the id of its source and the "
        "headings it stands under, and how many documents hold each of your words. All searches "
        "of one turn are one cycle; the cycles are limited, so start broad, then aim at what is "
        "missing, in the documents' own terms. From the second cycle on `scores` of the hits "
        "before are required. A passage you have been shown is not sent again."
    ),
    "input_schema": {
        "type": "object",
        "properties": {
            "query": {"type": "string", "description": "Words to look for."},
            "aim": {"type": "string", "description": "What is missing that this should find."},
            "critical": {
                "type": "boolean",
                "description": "Whether the ask cannot be answered without what `aim` names.",
            },
            "exclude": {
                "type": "array",
                "items": {"type": "string"},
                "description": "Ids of sources not to return again; below 0.2 they are left out.",
            },
            "include_paths": {**_PATTERNS, "description": "Only paths like these: minutes/*.md"},
            "exclude_paths": {**_PATTERNS, "description": "No paths like these."},
            "scores": _SCORES,
        },
        "required": ["query", "aim"],
        "additionalProperties": False,
    },
}

READ: JsonObject = {
    "name": "read",
    "description": (
        "Read a document or a stored web page by its source id, from a character offset on."
    ),
    "input_schema": {
        "type": "object",
        "properties": {
            "source_id": {"type": "string"},
            "start": {"type": "integer", "description": "Offset to read from; 0 is the start."},
        },
        "required": ["source_id"],
        "additionalProperties": False,
    },
}

SURVEY: JsonObject = {
    "name": "search",
    "description": (
        "Search the documents by words, to see what they are about and which terms they use. "
        "Returns passages, each with the id of its source, and how many documents hold each of "
        "your words."
    ),
    "input_schema": {
        "type": "object",
        "properties": {"query": {"type": "string", "description": "Words to look for."}},
        "required": ["query"],
        "additionalProperties": False,
    },
}
"""A search for those who plan: they look around, and score nothing."""


class RequestTemplate(Record):
    """All of a subagent's requests but the messages."""

    role: str
    model: str
    max_turns: int
    hits: int
    fixed: JsonObject

    def request(self, messages: Sequence[JsonObject], container: str | None = None) -> JsonObject:
        """The exact request of a turn; the journal finds the turn by its fingerprint.

        `container` is where the provider ran code in an earlier turn, so its files are there.
        """
        reused = {"container": container} if container else {}
        return {**self.fixed, **reused, "messages": _mark_for_cache(messages)}


def build_template(
    role: Role,
    model: str,
    effort: RoleEffort,
    tools: Sequence[JsonObject] = (),
    max_tokens: int = MAX_TOKENS,
) -> RequestTemplate:
    """`tools` are definitions, in the order they are sent."""
    fixed: JsonObject = {
        "model": model,
        "max_tokens": min(max_tokens, card(model).max_output or max_tokens),
        "system": [
            {"type": "text", "text": prompt(role, tool_kinds(tools)), "cache_control": dict(_MARK)}
        ],
        "output_config": {
            "effort": effort,
            "format": {"type": "json_schema", "schema": schema(role)},
        },
    }
    if tools:
        fixed["tools"] = [dict(tool) for tool in tools]
    modes = card(model).thinking
    if modes:
        mode = role.thinking if role.thinking in modes else modes[0]
        fixed["thinking"] = {"type": mode}
    return RequestTemplate(
        role=role.name, model=model, max_turns=role.max_turns, hits=role.hits, fixed=fixed
    )


def build_tool_set(
    role: Role, job: Job, mcp_definitions: Iterable[Mapping[str, Any]] = ()
) -> list[JsonObject]:
    """What the requests of this role in this job carry, always in the same order."""
    tools: list[JsonObject] = []
    if job.corpus is not None and "search" in role.tools:
        tools.append({**(SURVEY if role.name == PLANNER.name else SEARCH)})
    if (job.corpus is not None or job.web is not None) and "read" in role.tools:
        tools.append({**READ})
    if job.web is not None:
        tools += [tool for tool in _web_tools(job.web) if tool["name"] in role.tools]
    if job.code and "code" in role.tools:
        tools.append({"type": "code_execution_20260521", "name": "code_execution"})
    return [*tools, *({**definition} for definition in mcp_definitions)]


def _web_tools(web: Web) -> list[JsonObject]:
    shared: JsonObject = {"allowed_callers": list(_CALLERS)}
    # One list or none: the API refuses both at once.
    if web.allowed_domains:
        shared["allowed_domains"] = list(web.allowed_domains)
    elif web.blocked_domains:
        shared["blocked_domains"] = list(web.blocked_domains)
    return [
        {
            "type": "web_search_20260318",
            "name": "web_search",
            "max_uses": web.max_searches,
            **shared,
        },
        {
            "type": "web_fetch_20260318",
            "name": "web_fetch",
            "max_uses": web.max_fetches,
            "max_content_tokens": PAGE_TOKENS,
            # The API refuses citations beside an answer that follows a schema.
            "citations": {"enabled": False},
            **shared,
        },
    ]


def tool_kinds(tools: Iterable[JsonObject]) -> tuple[ToolKind, ...]:
    """The kinds of tools a role has in a job; its prompt has a part for each."""
    names = {str(tool["name"]) for tool in tools}
    has: dict[ToolKind, bool] = {
        "documents": "search" in names,
        "web": "web_search" in names,
        "code": "code_execution" in names,
        "mcp": any(name.startswith(MCP) for name in names),
    }
    return tuple(kind for kind, is_there in has.items() if is_there)


@cache
def prompt(role: Role, kinds: tuple[ToolKind, ...] = ()) -> str:
    """The role's prompt, with its parts for the tools that it has."""
    prompts = resources.files("activities.subagents") / "prompts"
    name = role.prompt or role.name
    files = [prompts / f"{name}_{kind}.md" for kind in kinds]
    parts = [file.read_text("utf-8").strip() for file in files if file.is_file()]
    whole = (prompts / f"{name}.md").read_text("utf-8")
    return whole.replace(_TOOL_PARTS, "\n\n".join(parts))


@cache
def schema(role: Role) -> JsonObject:
    """The answer's schema; the offline engine recognizes its task by the title."""
    answer: type[schemas.Answer] = getattr(schemas, role.output)
    found: JsonObject = anthropic.transform_schema(answer.model_json_schema())
    return found


def _mark_for_cache(messages: Sequence[JsonObject]) -> list[JsonObject]:
    """Copies of the messages, with cache marks that depend on nothing else."""
    marked = list(messages)
    followers = [message["role"] for message in marked[1:]] + ["assistant"]
    ends = [at for at, follower in enumerate(followers) if follower == "assistant"]
    for at in ends[-_MARKED_ENDS:]:
        *before, last = marked[at]["content"]
        blocks = [*before, {**last, "cache_control": dict(_MARK)}]
        marked[at] = {**marked[at], "content": blocks}
    return marked
