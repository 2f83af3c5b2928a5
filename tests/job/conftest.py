"""A real Temporal server, a real worker, a small folder of documents; a fake only at the wire."""

from __future__ import annotations

import itertools
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx2
import pytest
from temporalio.client import Client, WorkflowHandle

from activities.offline.transport import SKILLS, OfflineTransport
from console.client.jobs import fetch_report
from console.devserver.server import run_dev_server
from console.runtime.connection import connect
from tests.activities.scripted import JsonObject, message, text
from worker import build_context, build_worker
from workflows.config.settings import EMBEDDED, Settings
from workflows.contracts.request import TASK_QUEUE, ResearchRequest
from workflows.contracts.result import ResearchResult, ResearchSummary, Status
from workflows.coordinator import ResearchWorkflow

Handle = WorkflowHandle[ResearchWorkflow, ResearchSummary]
Reply = JsonObject | httpx2.Response | Exception | None
Answer = Callable[[JsonObject], Reply | Awaitable[Reply]]
"""None leaves the request to the next rule, after whatever was waited for."""
_ids = itertools.count()

QUESTION = "What is known about the harbour line?"
DOCUMENTS = {
    "harbour/annual_report.md": """# Harbour lines: annual report 2024

Date: 2025-03-01

The harbour line carried 412,000 passengers in 2024. Ticket sales are counted at the gates.
The line runs every twenty minutes from six in the morning. Fares rose by 4 per cent in May 2024.
The operator employs 86 people on the harbour line. Punctuality reached 93 per cent in 2024.
""",
    "harbour/city_statistics.md": """# City statistics: transport 2024

Date: 2025-06-10

The harbour line carried 367,500 passengers in 2024. The figure is an estimate from a survey on
weekdays only. Bus lines in the city carried 9.1 million passengers in 2024.
""",
    "energy/power_supply.md": """# Power supply of the harbour line

Date: 2024-11-20

The harbour line uses 2.4 gigawatt hours of electricity a year. A second feeder from the northern
substation was built in 2023 and gives a reserve of 3 megawatts. Charging takes place at night.
The electricity contract ends in December 2027.
""",
    "energy/maintenance.txt": """Maintenance of the electric fleet

Date: 2025-01-15

Each electric boat is taken out of service for nine days a year. Batteries are replaced after ten
years. Maintenance of the electric fleet cost 1.2 million euros in 2024.
""",
}


@dataclass
class Rule:
    """At the wire: which requests get which answer, and how often."""

    schema: str
    answer: Answer
    when: Callable[[JsonObject], bool] = lambda _: True
    times: int = 10_000


class Wire(httpx2.AsyncBaseTransport):
    """The offline model, with faults where a test wants them. Remembers every request."""

    def __init__(self, *rules: Rule) -> None:
        self.rules = list(rules)
        self.requests: list[JsonObject] = []
        self._offline = OfflineTransport(SKILLS)

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        body = json.loads(await request.aread())
        self.requests.append(body)
        for rule in self.rules:
            if rule.times and rule.schema == wanted(body) and rule.when(body):
                rule.times -= 1
                answer = rule.answer(body)
                if isinstance(answer, Awaitable):
                    answer = await answer
                if answer is None:
                    continue
                if isinstance(answer, Exception):
                    raise answer
                if isinstance(answer, httpx2.Response):
                    return answer
                return httpx2.Response(200, json=answer)
        return await self._offline.handle_async_request(request)

    def asked(self, schema: str) -> list[JsonObject]:
        return [brief(body) for body in self.requests if wanted(body) == schema]


def wanted(body: JsonObject) -> str:
    return str(body["output_config"]["format"]["schema"]["title"])


def brief(body: JsonObject) -> JsonObject:
    words = body["messages"][0]["content"][0]["text"]
    found: JsonObject = json.loads(words.removeprefix("<brief>").removesuffix("</brief>"))
    return found


def reply(**answer: Any) -> Answer:
    return lambda _: message(text(json.dumps(answer)))


def facet(fid: str, title: str, question: str, **more: Any) -> JsonObject:
    return {
        "id": fid,
        "title": title,
        "question": question,
        "boundary": "the other facets",
        "prefer": "reports",
        "reason": "named in the question",
        **more,
    }


PASSENGERS = facet("passengers", "Passengers", "How many passengers did the harbour line carry?")
POWER = facet("power", "Electricity supply", "How is the harbour line supplied with electricity?")
OPERA = facet("opera", "Opera singers", "Which opera singers perform at the theatre?")


def planned(*facets: JsonObject, kind: str = "overview") -> Rule:
    return Rule("PlanDraft", reply(kind=kind, facets=list(facets)))


def about(title: str) -> Callable[[JsonObject], bool]:
    """Requests of the research subagent for the facet with this title."""
    return lambda body: brief(body)["facet"]["title"] == title


NO_GAPS = Rule("EvaluationAnswer", reply(judgements=[], gaps=[]))
UNREVIEWED = Rule("PlanReview", reply(changes=[]))


@dataclass
class Office:
    """Where jobs are started."""

    client: Client
    settings: Settings
    corpus: Path

    @asynccontextmanager
    async def working(self, wire: Wire) -> AsyncIterator[None]:
        context = build_context(self.settings, wire)
        async with build_worker(self.client, self.settings, context):
            yield
        await context.close()

    async def start(self, question: str = QUESTION, **request: Any) -> Handle:
        return await self.client.start_workflow(
            ResearchWorkflow.run,
            ResearchRequest(question=question, corpus=str(self.corpus), **request),
            task_timeout=EMBEDDED.task,
            id=f"job-{next(_ids)}-{self.settings.state_dir[-12:].replace('/', '-')}",
            task_queue=TASK_QUEUE,
        )

    async def run(self, *rules: Rule, **request: Any) -> ResearchResult:
        async with self.working(Wire(*rules)):
            return await fetch_report(await self.start(**request))


def documents(folder: Path) -> Path:
    for name, words in DOCUMENTS.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(words, "utf-8")
    return folder


@pytest.fixture(scope="package")
def temporal(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with run_dev_server(tmp_path_factory.mktemp("temporal")) as running:
        yield running.address


@pytest.fixture
async def office(temporal: str, tmp_path: Path, request: pytest.FixtureRequest) -> Office:
    # The SDK's sandbox takes a quarter of the CPU time of a small job. Marked tests have it, as
    # have all that start `worker.py` at a configured server.
    sandbox = "1" if request.node.get_closest_marker("sandbox") else "0"
    given = {"RESEARCH_HOME": str(tmp_path / "home"), "RESEARCH_SANDBOX": sandbox}
    settings = Settings.read(given)
    return Office(await connect(settings, temporal), settings, documents(tmp_path / "documents"))


async def status_when(handle: Handle, condition: Callable[[Status], bool]) -> Status:
    """The job's status once it is as wanted."""
    import asyncio

    async with asyncio.timeout(60):
        while True:
            status = await handle.query(ResearchWorkflow.status)
            if condition(status):
                return status
            await asyncio.sleep(0.05)
