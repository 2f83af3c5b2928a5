"""Short writes by the worker that runs a job: its checkpoints, and orders for its subagents."""

from __future__ import annotations

from temporalio import activity

from activities.workshop import Workshop
from workflows.briefs import KeepCheckpoint, Kept, OrdersPosted, PostOrders
from workflows.calls import AT_HOME, ON_THE_SPOT
from workflows.investigation import WITHOUT_THE_LATE
from workflows.keys import orders_key


class Keeping:
    def __init__(self, workshop: Workshop, at_home: bool = False) -> None:
        """`at_home`: every worker here takes subagents from the queue of the jobs."""
        self._store = workshop.store
        self._ways = (ON_THE_SPOT, WITHOUT_THE_LATE, *((AT_HOME,) if at_home else ()))

    @activity.defn
    async def keep_checkpoint(self, brief: KeepCheckpoint) -> Kept:
        """The state under its key. Kept twice, the first stands: the second is the same."""
        await self._store.put_new(brief.key, brief.state.model_dump_json().encode())
        return Kept(key=brief.key)

    @activity.defn
    async def post_orders(self, brief: PostOrders) -> OrdersPosted:
        """What running subagents are to know from now on."""
        await self._store.replace(orders_key(brief.job_id), brief.orders.model_dump_json().encode())
        return OrdersPosted(ways=self._ways)
