"""The office of whole jobs, and a second namespace whose workflows ask it for research."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any
from uuid import uuid4

import pytest
from google.protobuf.duration_pb2 import Duration
from temporalio.api.nexus.v1 import EndpointSpec, EndpointTarget
from temporalio.api.operatorservice.v1 import CreateNexusEndpointRequest
from temporalio.api.workflowservice.v1 import RegisterNamespaceRequest
from temporalio.client import Client
from temporalio.contrib.pydantic import pydantic_data_converter
from temporalio.service import RPCError, RPCStatusCode
from temporalio.worker import Worker

from console.runtime.connection import connect
from tests.activities.scripted import JsonObject
from tests.job.conftest import Office, Rule, about, office, temporal
from workflows.config.settings import Settings
from workflows.contracts.nexus import ENDPOINT
from workflows.contracts.request import TASK_QUEUE

__all__ = ["office", "temporal"]

ELSEWHERE = "other-team"


@dataclass
class Held:
    """A subagent that thinks until it is let go."""

    title: str
    asked: asyncio.Event = field(default_factory=asyncio.Event)
    released: asyncio.Event = field(default_factory=asyncio.Event)

    @property
    def rule(self) -> Rule:
        async def wait(_: JsonObject) -> None:
            self.asked.set()
            await self.released.wait()

        return Rule("ResearchAnswer", wait, about(self.title), times=1)


def unique(name: str) -> str:
    return f"{name}-{uuid4().hex[:10]}"


@asynccontextmanager
async def team(client: Client, *workflows: type) -> AsyncIterator[str]:
    """Another team's worker, for its own workflows; yields its task queue."""
    queue = unique("team")
    async with Worker(client, task_queue=queue, workflows=workflows):
        yield queue


async def eventually(holds: Callable[[], Awaitable[Any]], seconds: float = 60.0) -> Any:
    """What is awaited, once it is true."""
    deadline = time.monotonic() + seconds
    while not (found := await holds()):
        assert time.monotonic() < deadline, "it never came to be"
        await asyncio.sleep(0.1)
    return found


async def _tolerated(call: Awaitable[Any]) -> None:
    """Made before, by another test on the same server."""
    try:
        await call
    except RPCError as error:
        if error.status is not RPCStatusCode.ALREADY_EXISTS:
            raise


@pytest.fixture
async def elsewhere(temporal: str, office: Office) -> Client:
    """A client in another namespace, with an endpoint that leads to the office's.

    It has neither the store nor the codec of the office.
    """
    here = office.client
    await _tolerated(
        here.workflow_service.register_namespace(
            RegisterNamespaceRequest(
                namespace=ELSEWHERE, workflow_execution_retention_period=Duration(seconds=86_400)
            )
        )
    )
    target = EndpointTarget(
        worker=EndpointTarget.Worker(namespace=here.namespace, task_queue=TASK_QUEUE)
    )
    await _tolerated(
        here.operator_service.create_nexus_endpoint(
            CreateNexusEndpointRequest(spec=EndpointSpec(name=ENDPOINT, target=target))
        )
    )
    client = await Client.connect(
        temporal, namespace=ELSEWHERE, data_converter=pydantic_data_converter
    )

    async def known() -> bool:
        try:
            await client.count_workflows()
        except RPCError as error:
            if error.status is RPCStatusCode.NOT_FOUND:
                return False
            raise
        return True

    await eventually(known)
    return client


async def reconnected(office: Office, temporal: str, settings: Settings) -> Office:
    """The same office with a client that writes payloads as `settings` say."""
    return Office(await connect(settings, temporal), settings, office.corpus)
