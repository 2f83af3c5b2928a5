"""Which skill answers which schema."""

from __future__ import annotations

from activities.offline.evaluator import evaluate
from activities.offline.judge import judge_claims, judge_gaps
from activities.offline.planner import plan
from activities.offline.researcher import research
from activities.offline.reviewer import review
from activities.offline.transport import Skill
from activities.offline.verifier import judge_relations
from activities.offline.writer import write

SKILLS: dict[str, Skill] = {
    "PlanDraft": plan,
    "PlanReview": review,
    "ResearchAnswer": research,
    "EntailmentAnswer": judge_claims,
    "RelationsAnswer": judge_relations,
    "GapRulingsAnswer": judge_gaps,
    "DraftAnswer": write,
    "EvaluationAnswer": evaluate,
}
