"""The tools a model may be given, as the Messages API wants them described.

`workflows.config.roles` says which tools a role may have at most, the job says which there are. A
search carries the model's scores of the previous hits, so that every retrieval cycle is recorded
with its reasons.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Literal, TypedDict

from workflows.config.roles import PLANNER, Role
from workflows.contracts.activity_io import Job
from workflows.contracts.request import Web

JsonObject = dict[str, Any]
ToolName = Literal["search", "read"]

PAGE_TOKENS = 16_000
"""How much of a web page is shown: a long article whole, the start of a book."""
# A page that code filtered before the model read it is not what is stored, and quotes of it could
# not be checked. Beside the sandbox, this also keeps a tool from being called from inside it.
_CALLERS = ("direct",)


class ToolDefinition(TypedDict):
    name: ToolName
    description: str
    input_schema: dict[str, object]


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

SEARCH: ToolDefinition = {
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

READ: ToolDefinition = {
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

SURVEY: ToolDefinition = {
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


def build_tool_set(
    role: Role, job: Job, mcp_definitions: Iterable[Mapping[str, Any]] = ()
) -> list[JsonObject]:
    """What the requests of this role in this job carry, always in the same order."""
    tools: list[JsonObject] = []
    if job.corpus is not None and "search" in role.tools:
        tools.append({**(SURVEY if role.name == PLANNER.name else SEARCH)})
    if (job.corpus is not None or job.web is not None) and "read" in role.tools:
        tools.append({**READ})
    if job.web is not None and "web_search" in role.tools:
        tools.append(_web_search(job.web))
    if job.web is not None and "web_fetch" in role.tools:
        tools.append(_web_fetch(job.web))
    if job.code and "code" in role.tools:
        tools.append({"type": "code_execution_20260521", "name": "code_execution"})
    return [*tools, *({**definition} for definition in mcp_definitions)]


def _web_search(web: Web) -> JsonObject:
    return {
        "type": "web_search_20260318",
        "name": "web_search",
        "max_uses": web.max_searches,
        "allowed_callers": list(_CALLERS),
        **_domains(web),
    }


def _web_fetch(web: Web) -> JsonObject:
    return {
        "type": "web_fetch_20260318",
        "name": "web_fetch",
        "max_uses": web.max_fetches,
        "max_content_tokens": PAGE_TOKENS,
        # The API refuses citations beside an answer that follows a schema.
        "citations": {"enabled": False},
        "allowed_callers": list(_CALLERS),
        **_domains(web),
    }


def _domains(web: Web) -> JsonObject:
    """One list or none: the API refuses both at once."""
    if web.allowed_domains:
        return {"allowed_domains": list(web.allowed_domains)}
    if web.blocked_domains:
        return {"blocked_domains": list(web.blocked_domains)}
    return {}
