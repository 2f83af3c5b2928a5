"""Documents come from the store: workers have folders of their own, and the source is gone."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from activities.storage.corpus_publishing import publish
from activities.storage.corpus_versions import load_files, load_listing
from activities.storage.store import Store
from tests.durability.jobs import Job, JsonObject, comparable, request
from tests.durability.site import Site, a_site
from tests.durability.steps import Step
from workflows.config.settings import EMBEDDED
from workflows.contracts.request import TASK_QUEUE
from workflows.coordinator import ResearchWorkflow


def start_worker(site: Site, name: str) -> None:
    """A worker on a machine of its own: it shares the server and the store, and nothing else."""
    site.start_worker(RESEARCH_HOME=str(site.folder / name))


async def start_job(site: Site, corpus: str) -> Job:
    handle = await site.client.start_workflow(
        ResearchWorkflow.run,
        request(site.corpus, "job-corpora").model_copy(update={"corpus": corpus}),
        id="job-corpora",
        task_queue=TASK_QUEUE,
        task_timeout=EMBEDDED.task,
    )
    return Job("job-corpora", site, handle)


def rewrite(folder: Path) -> None:
    report = folder / "annual_report.md"
    report.write_text(report.read_text().replace("412,000", "999,999"))


@pytest.mark.timeout(300)
async def test_workers_that_never_saw_the_folder_agree_on_a_version_that_is_gone(
    tmp_path: Path, reference: JsonObject
) -> None:
    async with a_site(tmp_path / "apart", workers=0) as site:
        store = Store.open(str(site.store))
        head = await publish(store, "harbour", str(site.corpus))
        # What comes after the start of a job is not for it: others see it, and the folder goes.
        rewrite(site.corpus)
        newer = await publish(store, "harbour", str(site.corpus))
        assert newer.version != head.version
        shutil.rmtree(site.corpus)
        start_worker(site, "one")
        start_worker(site, "two")
        step = Step("turn in flight", 8)
        armed = await step.arm(site)
        job = await start_job(site, f"harbour@{head.version}")
        await step.reached(job, armed)
        site.workers[0].kill()
        await site.endpoint.go()
        result = await job.result()
        assert result.corpus is not None
        assert (result.corpus.name, result.corpus.version) == ("harbour", head.version)
        assert "999,999" not in result.report_markdown
        assert comparable(result, site.corpus)["claims"] == reference["claims"]
        files = await load_files(store, await load_listing(store, head.version))
        listed = {file.path for file in files}
        assert {source.uri for source in result.sources} <= listed


@pytest.mark.slow
@pytest.mark.timeout(300)
async def test_a_folder_that_is_removed_breaks_neither_a_running_nor_a_restarted_job(
    tmp_path: Path,
) -> None:
    async with a_site(tmp_path / "removed", workers=0) as site:
        start_worker(site, "one")
        step = Step("turn in flight", 6)
        armed = await step.arm(site)
        job = await start_job(site, str(site.corpus))
        await step.reached(job, armed)
        shutil.rmtree(site.corpus)
        site.workers[0].kill()
        start_worker(site, "two")
        await site.endpoint.go()
        result = await job.result()
        assert result.claims
        assert result.corpus is not None
        assert result.corpus.name.startswith("documents-")
