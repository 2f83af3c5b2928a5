"""The one table of roles: who may do what, with which prompt, and how much of it.

No tool is in a role's row by accident: a test pins the table. The writer only reads.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Any

from anthropic import transform_schema

from activities.answers import (
    Answer,
    DraftAnswer,
    EvaluationAnswer,
    PlanDraft,
    PlanReview,
    ResearchAnswer,
    VerifierAnswer,
)
from activities.tools import DEFINITIONS, ToolName

JsonObject = dict[str, Any]


@dataclass(frozen=True)
class Role:
    """What a subagent of this kind is given."""

    name: str
    answer: type[Answer]
    tools: tuple[ToolName, ...] = ()
    max_tokens: int = 16_000
    max_turns: int = 12
    hits: int = 12
    """Passages a search returns."""
    effort: str = "medium"


PLANNER = Role("planner", PlanDraft, tools=("search",), max_turns=5, hits=30, effort="high")
REVIEWER = Role("reviewer", PlanReview, max_turns=4, effort="high")
RESEARCHER = Role("researcher", ResearchAnswer, tools=("search", "read"), max_turns=14, hits=18)
VERIFIER = Role("verifier", VerifierAnswer, tools=("search", "read"), max_turns=8)
WRITER = Role("writer", DraftAnswer, tools=("read",), max_tokens=21_000, max_turns=8)
EVALUATOR = Role("evaluator", EvaluationAnswer, max_turns=4, effort="high")

ROLES = {role.name: role for role in (PLANNER, REVIEWER, RESEARCHER, VERIFIER, WRITER, EVALUATOR)}


@cache
def prompt(role: Role) -> str:
    return resources.files("activities").joinpath(f"prompts/{role.name}.md").read_text("utf-8")


def request(role: Role, model: str, messages: list[JsonObject]) -> JsonObject:
    """The exact request of a turn; its fingerprint is what the journal knows the turn by."""
    body: JsonObject = {
        "model": model,
        "max_tokens": role.max_tokens,
        "system": [{"type": "text", "text": prompt(role), "cache_control": {"type": "ephemeral"}}],
        "messages": messages,
        "output_config": {
            "effort": role.effort,
            "format": {"type": "json_schema", "schema": schema(role)},
        },
    }
    if role.tools:
        body["tools"] = [DEFINITIONS[name] for name in role.tools]
    return body


@cache
def schema(role: Role) -> JsonObject:
    """The answer's schema; its title names it, which is how the offline engine knows its task."""
    found: JsonObject = transform_schema(role.answer.model_json_schema())
    return found
