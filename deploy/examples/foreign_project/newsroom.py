"""Runs this team's worker, and one of its workflows.

python -m newsroom child "QUESTION" --corpus NAME
python -m newsroom nexus "QUESTION" --corpus NAME
"""

from __future__ import annotations

import argparse
import asyncio
import os
import sys
from uuid import uuid4

from durable_research_contracts.result import ReportPage, ResearchResult
from temporalio.client import Client
from temporalio.contrib.pydantic import pydantic_data_converter
from temporalio.envconfig import ClientConfig
from temporalio.worker import Worker
from workflows.briefing import Briefing
from workflows.inquiry import Inquiry

TASK_QUEUE = "newsroom"


async def run_child(client: Client, question: str, corpus: str) -> str:
    """The summary is the child's result; the full report comes from its query, in pages."""
    summary = await client.execute_workflow(
        Briefing.run,
        args=[question, corpus],
        id=f"briefing-{uuid4().hex[:8]}",
        task_queue=TASK_QUEUE,
    )
    research = client.get_workflow_handle(summary.id)
    pages = [
        await research.query("report_page", page, result_type=ReportPage)
        for page in range(summary.report.pages)
    ]
    report = ResearchResult.model_validate_json("".join(page.text for page in pages))
    return report.report_markdown


async def run_nexus(client: Client, question: str, corpus: str) -> str:
    return await client.execute_workflow(
        Inquiry.run,
        args=[question, corpus],
        id=f"inquiry-{uuid4().hex[:8]}",
        task_queue=TASK_QUEUE,
    )


async def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("way", choices=["child", "nexus"])
    parser.add_argument("question")
    parser.add_argument("--corpus", required=True, help="a corpus of the research workers' store")
    asked = parser.parse_args()
    # The server that TEMPORAL_ADDRESS and TEMPORAL_NAMESPACE name.
    connect = ClientConfig.load_client_connect_config()
    client = await Client.connect(**connect, data_converter=pydantic_data_converter)
    run = run_child if asked.way == "child" else run_nexus
    async with Worker(client, task_queue=TASK_QUEUE, workflows=[Briefing, Inquiry]):
        print(await run(client, asked.question, asked.corpus))


if __name__ == "__main__":
    asyncio.run(main())
    # A normal exit sometimes aborts: a thread of Temporal's core needs the interpreter while it
    # ends (temporalio/sdk-python#300). A worker that runs for long does not need this.
    sys.stdout.flush()
    os._exit(0)
