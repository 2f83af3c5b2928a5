"""The planner asks back where a question is vague, and splits it into facets; the reviewer corrects
the plan."""

from __future__ import annotations

from temporalio import activity
from temporalio.exceptions import ApplicationError

from activities.agent.conversation import Answered, Unanswered
from activities.agent.schemas import ClarifyAnswer, PlanChange, PlanDraft, PlanReview
from activities.context import ActivityContext
from activities.evidence.text.terms import detect_language, terms, words
from activities.fleet.heartbeat import send_heartbeats
from activities.subagents.prompt_parts import describe_asker
from workflows.config.roles import CLARIFIER, PLANNER, REVIEWER
from workflows.contracts.activity_io import Job, PlanBrief, Planned, ReviewBrief
from workflows.contracts.asking import Clarification
from workflows.contracts.facets import Facet, Plan
from workflows.rules.plan import faults
from workflows.stages.activity_interfaces import PlanningActivities

PLANNING_CYCLES = 2


class Planning(PlanningActivities):
    def __init__(self, context: ActivityContext) -> None:
        self._context = context

    @activity.defn
    async def plan(self, brief: PlanBrief) -> Planned:
        job = brief.job
        async with send_heartbeats():
            tools = await self._context.create_toolbox(PLANNER, job, PLANNING_CYCLES)
            subagent = await self._context.create_subagent(PLANNER, job, "plan")
            prompt = {
                **describe_asker(job),
                "effort": brief.effort,
                "max_facets": brief.max_facets,
                **({"notes": brief.notes} if brief.notes else {}),
            }
            reply = await subagent.converse(PlanDraft, prompt, tools, gate=_plan_faults)
        if isinstance(reply, Unanswered):
            raise _no_answer(reply, "plan")
        return Planned(plan=_plan(reply.answer), spend=reply.spend)

    @activity.defn
    async def review_plan(self, brief: ReviewBrief) -> Planned:
        job, plan = brief.job, brief.plan

        async def review_faults(review: PlanReview) -> list[str]:
            return faults(revise(plan, review.changes, job.question))

        async with send_heartbeats():
            subagent = await self._context.create_subagent(REVIEWER, job, "review")
            reply = await subagent.converse(
                PlanReview,
                {
                    **describe_asker(job),
                    "max_facets": brief.max_facets,
                    "plan": plan.model_dump(mode="json", include={"kind", "facets"}),
                    **({"notes": brief.notes} if brief.notes else {}),
                },
                gate=review_faults,
            )
        if isinstance(reply, Answered):
            revised = revise(plan, reply.answer.changes, job.question)
            return Planned(plan=revised, spend=reply.spend)
        # A plan that could not be reviewed is used; the report says that it was not reviewed.
        note = f"not reviewed: {reply.detail}"
        return Planned(
            plan=plan.model_copy(update={"changes": (*plan.changes, note)}), spend=reply.spend
        )

    @activity.defn
    async def clarify(self, job: Job) -> Clarification:
        async with send_heartbeats():
            tools = await self._context.create_toolbox(CLARIFIER, job, cycles=1)
            subagent = await self._context.create_subagent(CLARIFIER, job, "clarify")
            reply = await subagent.converse(ClarifyAnswer, describe_asker(job), tools)
        if isinstance(reply, Unanswered):
            raise _no_answer(reply, "questions")
        return Clarification(questions=tuple(reply.answer.questions), spend=reply.spend)


def revise(plan: Plan, changes: list[PlanChange], question: str = "") -> Plan:
    """The plan after a review. A change that names no facet of the plan changes nothing.

    What the question names stays: a change that leaves a word of it without a facet is not made.
    """
    facets = list(plan.facets)
    notes = list(plan.changes)
    for change in changes:
        changed = list(facets)
        note = _apply_change(changed, change)
        if note is None:
            continue
        if lost := _lost_words(question, facets, changed):
            notes.append(f"not {note}: the question names {', '.join(sorted(lost))}")
        else:
            facets = changed
            notes.append(f"{note}: {change.reason}")
    return plan.model_copy(update={"facets": tuple(facets), "changes": tuple(notes)})


def _lost_words(question: str, before: list[Facet], after: list[Facet]) -> set[str]:
    """The words of the question that a facet was titled by, and that no facet speaks of now."""
    language = detect_language(question)
    titled = {t for facet in before for t in terms(facet.title, language)}
    held = {t for facet in after for t in terms(f"{facet.title} {facet.question}", language)}
    lost = titled - held
    return {word for word in words(question) if lost.intersection(terms(word, language))}


def _apply_change(facets: list[Facet], change: PlanChange) -> str | None:
    """Change the facets in place; returns what was done, None for nothing."""
    named = [facet for facet in facets if facet.id in change.facet_ids]
    others = [facet for facet in facets if facet not in named]
    titles = " and ".join(f"“{facet.title}”" for facet in named)
    match change.action, change.facet:
        case "add", Facet() as new:
            facets.append(new)
            return f"added “{new.title}”"
        case "rewrite" | "merge", Facet() as new if named:
            others.insert(facets.index(named[0]), new)
            facets[:] = others
            return f"{titles} became “{new.title}”"
        case "drop", _ if named and others:
            facets[:] = others
            return f"dropped {titles}"
    return None


def _plan(draft: PlanDraft) -> Plan:
    return Plan(kind=draft.kind, facets=tuple(draft.facets))


async def _plan_faults(draft: PlanDraft) -> list[str]:
    return faults(_plan(draft))


def _no_answer(reply: Unanswered, wanted: str) -> ApplicationError:
    """Told to a person at once: another try by itself would end in the same way."""
    kind, what = f"no_{wanted}", f"the planner gave no {wanted} ({reply.why})"
    if reply.why == "refused":
        kind, what = "refused", "the model declines this question"
    return ApplicationError(f"{what}: {reply.detail}", type=kind, non_retryable=True)
