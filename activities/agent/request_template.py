"""The request template of a role: prompt, schema, tools, everything but the conversation.

A template is built once for a job and stored, so that a release that rewords a prompt does not
change the requests of a running job.

Cache marks are placed for subagents that run in parallel: tools and system prompt come first and
are marked, so that all subagents of a role share them; then the ends of this request and of the one
before are marked, so that each turn reads the conversation before it and writes only what is new. A
request ends with our message or, after a pause, with the model's own.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cache
from importlib import resources
from typing import Any, Literal

from activities.agent.schemas import (
    Answer,
    AskAnswer,
    ClarifyAnswer,
    DraftAnswer,
    DraftJudgement,
    EntailmentAnswer,
    EvaluationAnswer,
    GapRulingsAnswer,
    PlanDraft,
    PlanReview,
    RelationsAnswer,
    ResearchAnswer,
)
from activities.llm.lazy_sdk import anthropic
from activities.mcp.tool_format import PREFIX as MCP
from workflows.config.model_catalog import card
from workflows.config.roles import Role
from workflows.config.settings import MAX_TOKENS
from workflows.contracts.evidence import Record
from workflows.contracts.request import RoleEffort

JsonObject = dict[str, Any]

ANSWERS: dict[str, type[Answer]] = {
    answer.__name__: answer
    for answer in (
        PlanDraft,
        PlanReview,
        ClarifyAnswer,
        ResearchAnswer,
        EntailmentAnswer,
        RelationsAnswer,
        AskAnswer,
        GapRulingsAnswer,
        DraftAnswer,
        DraftJudgement,
        EvaluationAnswer,
    )
}
"""The answers by their schema's title, which a role names as its output."""

ToolKind = Literal["documents", "web", "code", "mcp"]
_TOOL_PARTS = "{{tools}}"
"""Where the parts of a prompt for the tools of the role stand."""
_MARK = {"type": "ephemeral"}
_MARKED_ENDS = 2
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
    found: JsonObject = anthropic.transform_schema(ANSWERS[role.output].model_json_schema())
    return found


def _mark_for_cache(messages: Sequence[JsonObject]) -> list[JsonObject]:
    """Copies of the messages, with cache marks that depend on nothing else."""
    marked = list(messages)
    followers = [message["role"] for message in marked[1:]] + ["assistant"]
    ends = [at for at, follower in enumerate(followers) if follower == "assistant"]
    for at in ends[-_MARKED_ENDS:]:
        content = marked[at]["content"]
        blocks = [{"type": "text", "text": content}] if isinstance(content, str) else list(content)
        if blocks:
            blocks[-1] = {**blocks[-1], "cache_control": dict(_MARK)}
        marked[at] = {**marked[at], "content": blocks}
    return marked
