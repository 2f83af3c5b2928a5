"""A worker's places for subagents: as many as are its share of the fleet's."""

from __future__ import annotations

from temporalio.worker import (
    CustomSlotSupplier,
    SlotMarkUsedContext,
    SlotPermit,
    SlotReleaseContext,
    SlotReserveContext,
)

from activities.fleet.limits import Fleet


class FleetPlaces(CustomSlotSupplier):
    """Asks for work only where the fleet has a place for it."""

    def __init__(self, fleet: Fleet) -> None:
        self._fleet = fleet

    async def reserve_slot(self, ctx: SlotReserveContext) -> SlotPermit:
        await self._fleet.take()
        return SlotPermit()

    def try_reserve_slot(self, ctx: SlotReserveContext) -> SlotPermit | None:
        return SlotPermit() if self._fleet.try_take() else None

    def mark_slot_used(self, ctx: SlotMarkUsedContext) -> None:
        """A place counts from the moment it is reserved."""

    def release_slot(self, ctx: SlotReleaseContext) -> None:
        self._fleet.give_back()
