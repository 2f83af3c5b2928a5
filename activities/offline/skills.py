"""Which skill answers which schema."""

from __future__ import annotations

from activities.offline.draft_judge import judge_draft
from activities.offline.evaluator import evaluate
from activities.offline.planner import plan
from activities.offline.researcher import research
from activities.offline.reviewer import review
from activities.offline.transport import Skill
from activities.offline.verifier import verify
from activities.offline.writer import write

SKILLS: dict[str, Skill] = {
    "PlanDraft": plan,
    "PlanReview": review,
    "ResearchAnswer": research,
    "VerifierAnswer": verify,
    "DraftAnswer": write,
    "DraftJudgement": judge_draft,
    "EvaluationAnswer": evaluate,
}
