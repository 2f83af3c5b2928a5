"""The activities as workflows see them: names and types, without the code that does the I/O.

Each class is implemented by a class of the same methods in `activities/`.
"""

from __future__ import annotations

from typing import Protocol

from temporalio import activity

from workflows.contracts.activity_io import (
    ControlMessagesPosted,
    CorpusOpened,
    EvaluateBrief,
    Evaluated,
    GapsJudged,
    Job,
    JudgeClaimsBrief,
    Judged,
    JudgeGapsBrief,
    JudgeRelationsBrief,
    KeepCheckpoint,
    OpenCorpus,
    ParseFiles,
    PlanBrief,
    Planned,
    PostControlMessages,
    PublishBrief,
    Published,
    ReconcileBrief,
    Reconciled,
    ResearchBrief,
    Researched,
    RetentionBrief,
    RetentionResult,
    ReviewBrief,
    WriteBrief,
    Written,
)
from workflows.contracts.asking import (
    Answer,
    AskRequest,
    Clarification,
    CompareReports,
    Comparison,
)
from workflows.contracts.messages import Delivery


class PlanningActivities(Protocol):
    @activity.defn
    async def plan(self, brief: PlanBrief) -> Planned: ...

    @activity.defn
    async def review_plan(self, brief: ReviewBrief) -> Planned: ...

    @activity.defn
    async def clarify(self, job: Job) -> Clarification: ...


class ResearchActivities(Protocol):
    @activity.defn
    async def research(self, brief: ResearchBrief) -> Researched: ...


class VerificationActivities(Protocol):
    @activity.defn
    async def reconcile(self, brief: ReconcileBrief) -> Reconciled: ...

    @activity.defn
    async def judge_claims(self, brief: JudgeClaimsBrief) -> Judged: ...

    @activity.defn
    async def judge_relations(self, brief: JudgeRelationsBrief) -> Judged: ...

    @activity.defn
    async def judge_gaps(self, brief: JudgeGapsBrief) -> GapsJudged: ...


class WritingActivities(Protocol):
    @activity.defn
    async def write(self, brief: WriteBrief) -> Written: ...


class EvaluationActivities(Protocol):
    @activity.defn
    async def evaluate(self, brief: EvaluateBrief) -> Evaluated: ...


class AskingActivities(Protocol):
    @activity.defn
    async def ask(self, request: AskRequest) -> Answer: ...


class RecordActivities(Protocol):
    @activity.defn
    async def open_corpus(self, brief: OpenCorpus) -> CorpusOpened: ...

    @activity.defn
    async def parse_files(self, brief: ParseFiles) -> int: ...

    @activity.defn
    async def keep_checkpoint(self, brief: KeepCheckpoint) -> str: ...

    @activity.defn
    async def post_control_messages(self, brief: PostControlMessages) -> ControlMessagesPosted: ...

    @activity.defn
    async def publish(self, brief: PublishBrief) -> Published: ...

    @activity.defn
    async def compare_reports(self, request: CompareReports) -> Comparison: ...

    @activity.defn
    async def delete_old_objects(self, brief: RetentionBrief) -> RetentionResult: ...


class WebhookActivities(Protocol):
    @activity.defn
    async def deliver(self, delivery: Delivery) -> int: ...
