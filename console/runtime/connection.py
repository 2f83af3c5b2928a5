"""Connect to a Temporal server, and set up what jobs need there: search attributes, retention.

The embedded server is started with the search attributes. On any other server, a worker adds the
missing ones when it starts: a workflow task that sets an unknown attribute fails.
"""

from __future__ import annotations

import asyncio
import ipaddress
import logging
import time
from contextlib import suppress
from datetime import timedelta

from temporalio.api.enums.v1 import IndexedValueType
from temporalio.api.operatorservice.v1 import (
    AddSearchAttributesRequest,
    ListSearchAttributesRequest,
)
from temporalio.client import (
    Client,
    Schedule,
    ScheduleActionStartWorkflow,
    ScheduleAlreadyRunningError,
    ScheduleIntervalSpec,
    ScheduleOverlapPolicy,
    SchedulePolicy,
    ScheduleSpec,
    ScheduleUpdate,
    ScheduleUpdateInput,
)
from temporalio.envconfig import ClientConfig, ClientConnectConfig
from temporalio.service import GrpcCompression, RPCError, RPCStatusCode

from console.devserver.server import SEARCH_ATTRIBUTES
from console.errors import BadInputError, ConsoleError
from console.runtime.data_converter import data_converter
from workflows.config.settings import Settings
from workflows.contracts.activity_io import RetentionBrief
from workflows.contracts.request import TASK_QUEUE

_log = logging.getLogger(__name__)
RETENTION = "research-retention"
"""The id of the schedule that deletes what is too old, and of the workflow that it starts."""
FRESH_SERVER_SECONDS = 3.0
"""How long a fresh embedded server may take to know its own attributes; usually milliseconds."""


async def connect(
    settings: Settings, address: str | None = None, *, patience: float = 15.0
) -> Client:
    """A client of the server at `address`, or of the one in Temporal's environment or profile.

    A server that is still starting has `patience` seconds to answer.
    """
    target = ClientConnectConfig(target_host=address) if address else _load_profile()
    plugins, runtime = [], None
    if settings.telemetry:
        from console.runtime.telemetry import set_up_telemetry

        telemetry = set_up_telemetry()
        plugins, runtime = [telemetry.plugin], telemetry.runtime
    deadline = time.monotonic() + patience
    while True:
        try:
            return await Client.connect(
                **target,
                data_converter=data_converter(settings),
                plugins=plugins,
                runtime=runtime,
                grpc_compression=_choose_compression(target.get("target_host", "")),
            )
        except RuntimeError as error:
            if time.monotonic() > deadline:
                host = target.get("target_host")
                raise ConsoleError(
                    f"No Temporal server answers at {host}: start it, correct TEMPORAL_ADDRESS, or"
                    f" unset it to use the embedded one ({_first_line(error)})."
                ) from error
        await asyncio.sleep(0.05)


def _choose_compression(host: str) -> GrpcCompression:
    """On one machine, compression costs more than it saves."""
    is_here = is_loopback(host.rpartition(":")[0].strip("[]"))
    return GrpcCompression.NONE if is_here else GrpcCompression.GZIP


def is_loopback(host: str) -> bool:
    """Whether an address is reachable from this machine only."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _load_profile() -> ClientConnectConfig:
    try:
        return ClientConfig.load_client_connect_config()
    except RuntimeError as error:
        raise BadInputError(
            f"Temporal's settings cannot be read: correct TEMPORAL_CONFIG_FILE or TEMPORAL_PROFILE"
            f" ({_first_line(error)})."
        ) from error


def _first_line(error: RuntimeError) -> str:
    return str(error).splitlines()[0][:200]


async def find_missing(client: Client, patience: float = 0.0) -> list[str]:
    """The attributes the server still does not have after `patience` seconds."""
    request = ListSearchAttributesRequest(namespace=client.namespace)
    deadline = asyncio.get_running_loop().time() + patience
    while True:
        known = await client.operator_service.list_search_attributes(request, retry=True)
        names = [name for name in SEARCH_ATTRIBUTES if name not in known.custom_attributes]
        if not names or asyncio.get_running_loop().time() >= deadline:
            return names
        await asyncio.sleep(0.01)


async def register(client: Client, patience: float = 0.0) -> None:
    """Add the missing attributes to the server."""
    try:
        if names := await find_missing(client, patience):
            keyword = IndexedValueType.INDEXED_VALUE_TYPE_KEYWORD
            await client.operator_service.add_search_attributes(
                AddSearchAttributesRequest(
                    namespace=client.namespace,
                    search_attributes=dict.fromkeys(names, keyword),
                )
            )
    except RPCError as error:
        if error.status is RPCStatusCode.ALREADY_EXISTS:
            return  # another worker, or the embedded server itself, added them first
        wanted = ", ".join(SEARCH_ATTRIBUTES)
        raise ConsoleError(
            f"The server's search attributes cannot be read or added: ask its operator to add the"
            f" keywords {wanted} to the namespace {client.namespace} ({error.message})."
        ) from error


async def schedule_retention(client: Client, settings: Settings) -> None:
    """Have the server start a retention pass every so often, or no more."""
    handle = client.get_schedule_handle(RETENTION)
    if not settings.retention_hours:
        with suppress(RPCError):  # there is none
            await handle.delete()
        return
    schedule = Schedule(
        action=ScheduleActionStartWorkflow(
            "RetentionWorkflow", RetentionBrief(), id=RETENTION, task_queue=TASK_QUEUE
        ),
        spec=ScheduleSpec(
            intervals=[ScheduleIntervalSpec(every=timedelta(hours=settings.retention_hours))]
        ),
        policy=SchedulePolicy(overlap=ScheduleOverlapPolicy.SKIP),
    )

    def change_interval(found: ScheduleUpdateInput) -> ScheduleUpdate | None:
        known = found.description.schedule
        if known.spec.intervals == schedule.spec.intervals:
            return None
        known.spec.intervals = schedule.spec.intervals
        return ScheduleUpdate(known)

    try:
        await client.create_schedule(RETENTION, schedule)
    except ScheduleAlreadyRunningError:
        await handle.update(change_interval)
    except RPCError as error:
        _log.warning(
            "Nothing is deleted by age: the server refuses the schedule %s (%s). Let workers create"
            " it, or call `retention` from time to time.",
            RETENTION,
            error.message,
        )
