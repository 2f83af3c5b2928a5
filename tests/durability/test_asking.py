"""A worker that is killed while it answers a question: another one goes on, and pays once."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from console.client import asking
from console.client.session import Session
from tests.durability.site import a_site
from tests.durability.waiting import until
from workflows.config.settings import Settings

QUESTION = "How many people does the operator employ on the harbour line?"


@pytest.mark.slow
@pytest.mark.timeout(240)
async def test_an_answer_survives_its_worker(tmp_path: Path) -> None:
    async with a_site(tmp_path / "site", workers=0) as site:
        site.start_worker(RESEARCH_WORKER_ROLE="all")
        job = await site.start_job()
        await job.result()
        before = len(site.endpoint.arrived())
        armed = len(site.endpoint.lines())
        await site.endpoint.hold("in_flight", 1)
        settings = Settings(state_dir=str(site.home), store=str(site.store), has_server=True)
        answering = asyncio.ensure_future(
            asking.ask(Session(settings, site.client), job.id, QUESTION)
        )
        await until(lambda: site.endpoint.held(armed), "the question is with the model")
        site.worker.kill()
        site.start_worker(RESEARCH_WORKER_ROLE="all")
        await site.endpoint.go()
        answer = await answering
        sent = site.endpoint.arrived()[before:]
    assert answer.status == "answered"
    assert "86 people" in answer.text
    assert len(sent) == 2, "the call that was lost, and its repetition"
