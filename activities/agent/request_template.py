"""The request template of a role: prompt, schema, tools, everything but the conversation.

A template is built once for a job and stored, so that a release that rewords a prompt does not
change the requests of a running job.

Cache marks are placed for subagents that run in parallel: tools and system prompt come first and
are marked, so that all subagents of a role share them; then our last two messages are marked, so
that each turn reads the whole conversation before it and writes only what is new.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cache
from importlib import resources
from typing import Any, Literal

from activities.agent.schemas import (
    Answer,
    DraftAnswer,
    EvaluationAnswer,
    PlanDraft,
    PlanReview,
    ResearchAnswer,
    VerifierAnswer,
)
from activities.llm.lazy_sdk import anthropic
from activities.mcp.definitions import PREFIX as MCP
from workflows.config.model_catalog import card
from workflows.config.roles import (
    EVALUATOR,
    PLANNER,
    RESEARCHER,
    REVIEWER,
    VERIFIER,
    WRITER,
    Role,
)
from workflows.contracts.evidence import Record
from workflows.contracts.request import RoleEffort

JsonObject = dict[str, Any]

ANSWERS: dict[str, type[Answer]] = {
    PLANNER.name: PlanDraft,
    REVIEWER.name: PlanReview,
    RESEARCHER.name: ResearchAnswer,
    VERIFIER.name: VerifierAnswer,
    WRITER.name: DraftAnswer,
    EVALUATOR.name: EvaluationAnswer,
}

ToolKind = Literal["documents", "web", "code", "mcp"]
_TOOL_PARTS = "{{tools}}"
"""Where the parts of a prompt for the tools of the role stand."""
_MARK = {"type": "ephemeral"}
_MARKED_MESSAGES = 2
"""The newest, which the next turn reads; the one before it, up to which the last turn wrote.

The provider looks back from a mark by twenty blocks only, and a turn with many tool results is
longer than that.
"""


class RequestTemplate(Record):
    """All of a subagent's requests but the messages."""

    role: str
    model: str
    max_turns: int
    hits: int
    fixed: JsonObject

    def request(self, messages: Sequence[JsonObject]) -> JsonObject:
        """The exact request of a turn; the journal finds the turn by its fingerprint."""
        return {**self.fixed, "messages": _mark_for_cache(messages)}


def build_template(
    role: Role, model: str, effort: RoleEffort, tools: Sequence[JsonObject] = ()
) -> RequestTemplate:
    """`tools` are definitions, in the order they are sent."""
    fixed: JsonObject = {
        "model": model,
        "max_tokens": role.max_tokens,
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
    files = [prompts / f"{role.name}_{kind}.md" for kind in kinds]
    parts = [file.read_text("utf-8").strip() for file in files if file.is_file()]
    whole = (prompts / f"{role.name}.md").read_text("utf-8")
    return whole.replace(_TOOL_PARTS, "\n\n".join(parts))


@cache
def schema(role: Role) -> JsonObject:
    """The answer's schema; the offline engine recognizes its task by the title."""
    found: JsonObject = anthropic.transform_schema(ANSWERS[role.name].model_json_schema())
    return found


def _mark_for_cache(messages: Sequence[JsonObject]) -> list[JsonObject]:
    """Copies of the messages, with cache marks that depend on nothing else."""
    plain = list(messages)
    ours = [at for at, message in enumerate(plain) if message["role"] == "user"]
    for at in ours[-_MARKED_MESSAGES:]:
        content = plain[at]["content"]
        blocks = [{"type": "text", "text": content}] if isinstance(content, str) else list(content)
        if blocks:
            blocks[-1] = {**blocks[-1], "cache_control": dict(_MARK)}
        plain[at] = {**plain[at], "content": blocks}
    return plain
