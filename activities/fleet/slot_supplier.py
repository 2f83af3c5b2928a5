"""The slot supplier of subagent workers: as many slots as the worker's share of the fleet."""

from __future__ import annotations

from temporalio.worker import (
    CustomSlotSupplier,
    SlotMarkUsedContext,
    SlotPermit,
    SlotReleaseContext,
    SlotReserveContext,
)

from activities.fleet.limits import Fleet


class FleetSlotSupplier(CustomSlotSupplier):
    """Polls for a subagent only where the fleet has a slot for it."""

    def __init__(self, fleet: Fleet) -> None:
        self._fleet = fleet

    async def reserve_slot(self, ctx: SlotReserveContext) -> SlotPermit:
        await self._fleet.reserve()
        return SlotPermit()

    def try_reserve_slot(self, ctx: SlotReserveContext) -> SlotPermit | None:
        return SlotPermit() if self._fleet.try_reserve() else None

    def mark_slot_used(self, ctx: SlotMarkUsedContext) -> None:
        self._fleet.mark_running()

    def release_slot(self, ctx: SlotReleaseContext) -> None:
        self._fleet.release(was_running=ctx.slot_info is not None)
