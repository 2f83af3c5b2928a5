"""Schedules: research that repeats. They need a Temporal server that keeps running."""

from __future__ import annotations

import asyncio
from typing import Annotated, Literal

from fastapi import APIRouter, Depends, Path, Response
from pydantic import Field

from console.api.dependencies import Console, Operator, Reader, describe_problems
from console.api.job_endpoints import NewJob
from console.client import schedules
from console.client.schedules import ScheduleDetails, ScheduleRecord
from console.client.validation import JOB_ID


def _require_server(console: Console) -> None:
    schedules.require_server(console.settings)


router = APIRouter(tags=["schedules"], dependencies=[Depends(_require_server)])

Name = Annotated[str, Path(pattern=f"^{JOB_ID}$")]


class NewSchedule(NewJob):
    """A question, and when it is asked: give `every` or `cron`. Its `id` is the schedule's name."""

    id: str = Field(pattern=f"^{JOB_ID}$")
    every: str | None = Field(default=None, max_length=20)
    """`7d`, `24h` or `90m`."""
    cron: str | None = Field(default=None, max_length=100)
    """As in a crontab: `0 6 * * 1-5`."""
    time_zone: str | None = Field(default=None, max_length=60)
    """For `cron`, such as Europe/Berlin; UTC by default."""


@router.post("/schedules", status_code=201, responses=describe_problems(409))
async def create_schedule(new: NewSchedule, _: Operator, console: Console) -> ScheduleDetails:
    spec = schedules.build_spec(new.every, new.cron, new.time_zone)
    request = await asyncio.to_thread(new.build, console)
    return await schedules.create(console.client, console.settings, new.id, request, spec)


@router.get("/schedules")
async def list_schedules(_: Reader, console: Console) -> list[ScheduleRecord]:
    return await schedules.list_all(console.client)


@router.get("/schedules/{name}")
async def get_schedule(name: Name, _: Reader, console: Console) -> ScheduleDetails:
    return await schedules.find(console.client, name)


@router.post("/schedules/{name}/{action}", status_code=204)
async def control_schedule(
    name: Name, action: Literal["pause", "unpause", "trigger"], _: Operator, console: Console
) -> Response:
    """Pause, unpause, or run it now or as soon as its current run is over."""
    await schedules.control(console.client, name, action)
    return Response(status_code=204)


@router.delete("/schedules/{name}", status_code=204)
async def delete_schedule(name: Name, _: Operator, console: Console) -> Response:
    """Delete a schedule. Its jobs stay."""
    await schedules.control(console.client, name, "delete")
    return Response(status_code=204)
