"""What the examples share: the question on the command line, the way to the server, a worker.

Your own caller needs nothing of this: any client can start research and read its result. Only where
payloads are encrypted does it need the workers' data converter, which `connect` gives it.
"""

from __future__ import annotations

import argparse
import asyncio
import os
from collections.abc import Callable, Coroutine
from typing import Any
from uuid import uuid4

from temporalio.client import Client
from temporalio.worker import Worker

from console.errors import exit_process
from console.runtime.connection import connect
from workflows.config.settings import Settings

TEAM = "newsroom"
"""The task queue of the callers' own worker."""


def parsed(parser: argparse.ArgumentParser) -> argparse.Namespace:
    """The question and the folder, beside what the example adds of its own."""
    parser.add_argument("question")
    parser.add_argument("--corpus", required=True, help="a folder the research workers can read")
    options = parser.parse_args()
    options.corpus = os.path.abspath(options.corpus)
    return options


async def connected() -> Client:
    """The server that TEMPORAL_ADDRESS and TEMPORAL_NAMESPACE name."""
    return await connect(Settings.read(os.environ))


def team(client: Client, workflow: type) -> Worker:
    """A worker for the caller's own workflow, as another team would run it."""
    return Worker(client, task_queue=TEAM, workflows=[workflow])


def new_id(name: str) -> str:
    return f"{name}-{uuid4().hex[:8]}"


def run(main: Callable[[], Coroutine[Any, Any, None]]) -> None:
    asyncio.run(main())
    exit_process(0)
