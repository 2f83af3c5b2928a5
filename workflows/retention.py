"""A pass over the store that deletes what is too old, started by a schedule that workers create."""

from __future__ import annotations

from datetime import timedelta

from temporalio import workflow

with workflow.unsafe.imports_passed_through():
    from workflows.config.policies import ActivityPolicy
    from workflows.contracts.activity_io import RetentionBrief, RetentionResult
    from workflows.contracts.state import Timing
    from workflows.stages.activity_interfaces import RecordActivities

# An attempt that was cut off left less to do for the next one.
POLICY = ActivityPolicy(
    start_to_close=timedelta(hours=12), schedule_to_close=timedelta(hours=20), attempts=5
)


@workflow.defn(name="RetentionWorkflow")
class RetentionWorkflow:
    @workflow.run
    async def run(self, brief: RetentionBrief) -> RetentionResult:
        return await workflow.execute_activity_method(
            RecordActivities.delete_old_objects,
            brief,
            start_to_close_timeout=POLICY.start_to_close,
            schedule_to_close_timeout=POLICY.schedule_to_close,
            heartbeat_timeout=timedelta(seconds=Timing().heartbeat_seconds),
            retry_policy=POLICY.retry_policy,
            summary="delete what is too old",
        )
