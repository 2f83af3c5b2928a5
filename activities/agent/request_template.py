"""What a role says to its model: prompt, schema, and the frame of every request it makes.

A `Frame` is everything of a request but the conversation. It is made once for a job and kept, so
that a release which rewords a prompt does not change the requests of a job that is running.

The prompt cache is laid out for subagents that run side by side: tools and system prompt come first
and are marked, so all of a role share them; then the last two messages from our side are marked,
so that each turn reads the whole conversation before it and writes only what is new.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from importlib import resources
from typing import Any

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

_MARK = {"type": "ephemeral"}
_MARKED_MESSAGES = 2
"""The newest, for the next turn to read; the one before it, where the last turn ended writing.

The provider looks back from a mark by twenty blocks only, and a turn with many tool results is
longer than that.
"""


class Frame(Record):
    """Everything of a subagent's requests but the messages."""

    role: str
    model: str
    max_turns: int
    hits: int
    fixed: JsonObject

    def request(self, messages: Sequence[JsonObject]) -> JsonObject:
        """The exact request of a turn; its fingerprint is what the journal knows the turn by."""
        return {**self.fixed, "messages": _marked(messages)}


def frame(role: Role, model: str, effort: RoleEffort, tools: Sequence[JsonObject] = ()) -> Frame:
    """What this role asks this model with. `tools` are definitions, in the order they are sent."""
    fixed: JsonObject = {
        "model": model,
        "max_tokens": role.max_tokens,
        "system": [{"type": "text", "text": prompt(role), "cache_control": dict(_MARK)}],
        "output_config": {
            "effort": effort,
            "format": {"type": "json_schema", "schema": schema(role)},
        },
    }
    if tools:
        fixed["tools"] = [dict(tool) for tool in tools]
    ways = card(model).thinking
    if ways:
        way = role.thinking if role.thinking in ways else ways[0]
        fixed["thinking"] = {"type": way}
    return Frame(role=role.name, model=model, max_turns=role.max_turns, hits=role.hits, fixed=fixed)


@cache
def prompt(role: Role) -> str:
    prompts = resources.files("activities.subagents") / "prompts"
    return (prompts / f"{role.name}.md").read_text("utf-8")


@cache
def schema(role: Role) -> JsonObject:
    """The answer's schema; its title names it, which is how the offline engine knows its task."""
    found: JsonObject = anthropic.transform_schema(ANSWERS[role.name].model_json_schema())
    return found


def _marked(messages: Sequence[JsonObject]) -> list[JsonObject]:
    """The messages with cache marks that follow from them alone; the caller's stay as they are."""
    plain = list(messages)
    ours = [at for at, message in enumerate(plain) if message["role"] == "user"]
    for at in ours[-_MARKED_MESSAGES:]:
        content = plain[at]["content"]
        blocks = [{"type": "text", "text": content}] if isinstance(content, str) else list(content)
        if blocks:
            blocks[-1] = {**blocks[-1], "cache_control": dict(_MARK)}
        plain[at] = {**plain[at], "content": blocks}
    return plain
