"""The delivery of one event to a webhook. It is no part of the job and goes on after its end."""

from __future__ import annotations

from datetime import timedelta

from temporalio import workflow
from temporalio.common import RetryPolicy

with workflow.unsafe.imports_passed_through():
    from workflows.contracts.messages import WEBHOOK_WORKFLOW, Delivery
    from workflows.stages.activity_interfaces import WebhookActivities

REFUSED = "webhook_refused"
"""The error type of a delivery that no attempt can make."""
_ATTEMPT = timedelta(seconds=30)
_GIVE_UP = timedelta(days=3)
_RETRIES = RetryPolicy(
    initial_interval=timedelta(seconds=1),
    maximum_interval=timedelta(hours=1),
    non_retryable_error_types=[REFUSED],
)


@workflow.defn(name=WEBHOOK_WORKFLOW)
class WebhookWorkflow:
    @workflow.run
    async def run(self, delivery: Delivery) -> int:
        """The HTTP status that the receiver accepted it with."""
        return await workflow.execute_activity_method(
            WebhookActivities.deliver,
            delivery,
            start_to_close_timeout=_ATTEMPT,
            schedule_to_close_timeout=_GIVE_UP,
            retry_policy=_RETRIES,
            summary=f"tell {delivery.host} of {delivery.event.checkpoint}",
        )
