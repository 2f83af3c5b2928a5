"""The table of roles: model, effort and tools of each, with the reason.

A test pins the tools of each role; the writer only reads. Splitting the question and judging the
report are rare and steer everything else, so they get the large model; research makes most turns,
so it gets the medium one; judging one claim beside its quote is a small task done for every claim,
so the verifier gets the small one.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Literal, get_args

from workflows.config.model_catalog import LARGE, MEDIUM, MIXED, SMALL
from workflows.contracts.request import RoleEffort

Thinking = Literal["adaptive", "between_tools", "disabled"]
RoleTool = Literal["search", "read", "web_search", "web_fetch", "code"]

EFFORTS: tuple[RoleEffort, ...] = get_args(RoleEffort)


@dataclass(frozen=True)
class Role:
    """What a subagent of this kind is given."""

    name: str
    model: str
    effort: RoleEffort
    reason: str
    """Why this model and this effort."""
    output: str
    """The title of the schema its answer follows."""
    thinking: Thinking = "adaptive"
    tools: tuple[RoleTool, ...] = ()
    max_turns: int = 12
    hits: int = 12
    """Passages a search returns."""
    prompt: str = ""
    """The file of its prompt, where that is not named for the role."""


PLANNER = Role(
    "planner",
    model=LARGE,
    effort="high",
    reason="one or two turns a job, and every later dollar follows the split it makes",
    output="PlanDraft",
    tools=("search", "web_search"),
    max_turns=5,
    hits=30,
)
CLARIFIER = replace(
    PLANNER,
    model=SMALL,
    effort="low",
    thinking="disabled",
    output="ClarifyAnswer",
    tools=("search",),
    max_turns=3,
    prompt="clarifier",
)
"""The planner before a job: somebody waits to hear whether the question is vague."""
REVIEWER = Role(
    "reviewer",
    model=MEDIUM,
    effort="high",
    reason="a second pair of eyes is worth most when it is another model than the planner's",
    output="PlanReview",
    max_turns=4,
)
RESEARCHER = Role(
    "researcher",
    model=MEDIUM,
    effort="medium",
    reason=(
        "most of a job's turns: reads, scores the relevance of every hit within these same turns, "
        "and quotes exactly; what it gets wrong is caught by the quote check and the verifier"
    ),
    output="ResearchAnswer",
    tools=("search", "read", "web_search", "web_fetch", "code"),
    max_turns=14,
    hits=18,
)
VERIFIER = Role(
    "verifier",
    model=SMALL,
    effort="high",
    reason="reads every claim of a job beside its quote: many small tasks with all they need",
    output="RelationsAnswer",
    tools=("search", "read", "web_search", "web_fetch", "code"),
    max_turns=8,
)
CLAIM_VERIFIER = replace(
    VERIFIER,
    output="EntailmentAnswer",
    prompt="verifier_claims",
    effort="low",
    thinking="disabled",
    tools=(),
    max_turns=3,
)
"""The verifier on single claims: everything it needs is in the brief."""
GAP_VERIFIER = replace(
    CLAIM_VERIFIER, output="GapRulingsAnswer", prompt="verifier_gaps", effort="medium"
)
"""The verifier on gaps after their follow-ups."""
WRITER = Role(
    "writer",
    model=MEDIUM,
    effort="medium",
    reason="long output from given claims, and a mechanical gate reads every paragraph of it",
    output="DraftAnswer",
    tools=("read",),
    max_turns=8,
)
ANSWERER = replace(
    WRITER, output="AskAnswer", prompt="answerer", effort="low", tools=(), max_turns=4
)
"""The writer on a question to a finished report: somebody waits for a few sentences."""
DRAFT_JUDGE = Role(
    "draft_judge",
    model=SMALL,
    effort="medium",
    reason=(
        "reads every sentence of a draft beside the claims it cites: many small comparisons, and"
        " the reader waits for them"
    ),
    output="DraftJudgement",
    max_turns=4,
)
EVALUATOR = Role(
    "evaluator",
    model=LARGE,
    effort="high",
    reason="judges the whole report, and every gap it names is researched and paid for",
    output="EvaluationAnswer",
    max_turns=4,
)

ROLES = {
    role.name: role
    for role in (PLANNER, REVIEWER, RESEARCHER, VERIFIER, WRITER, DRAFT_JUDGE, EVALUATOR)
}


def model_for(role: Role, request_model: str, overrides: Mapping[str, str]) -> str:
    """An override for the role, else the job's one model, else (`MIXED`) the role's own."""
    if chosen := overrides.get(role.name):
        return role.model if chosen == MIXED else chosen
    return role.model if request_model == MIXED else request_model


def effort_for(role: Role, overrides: Mapping[str, RoleEffort]) -> RoleEffort:
    """An override for the role, else its own effort."""
    return overrides.get(role.name, role.effort)
