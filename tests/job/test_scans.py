"""A job over scanned pages: what was recognised is quoted, and marked wherever it is cited."""

from __future__ import annotations

import io
from importlib.util import find_spec
from pathlib import Path

import docx
import pytest

from console.report.formats import FORMATS
from tests.job.conftest import NO_GAPS, PASSENGERS, UNREVIEWED, Office, planned
from tests.scans import write_engine, write_scan
from workflows.config.settings import Settings
from workflows.contracts.result import ResearchResult

PAGE = (
    "Ticket sales were counted by hand.",
    "The harbour line carried 398,200 passengers in 2019.",
)


async def run(office: Office) -> ResearchResult:
    write_scan(office.corpus / "harbour" / "year_2019.pdf", PAGE)
    home = {"RESEARCH_HOME": office.settings.state_dir, "RESEARCH_OCR": "1"}
    office.settings = Settings.read(home)
    return await office.run(planned(PASSENGERS), UNREVIEWED, NO_GAPS)


def check(result: ResearchResult) -> None:
    sources = {source.uri: source for source in result.sources}
    scan, text = sources["harbour/year_2019.pdf"], sources["harbour/annual_report.md"]
    assert (scan.recognised, text.recognised) == (True, False)
    quotes = [q.text for claim in result.claims for q in claim.quotes if q.source_id == scan.id]
    assert any(PAGE[1] in quote for quote in quotes)
    lines = result.report_markdown.splitlines()
    (listed,) = [line for line in lines if line.startswith(f"{scan.n}. {scan.title} (")]
    assert "recognised text)" in listed
    assert result.report_markdown.count("recognised text)") == 1
    assert FORMATS["html"].render(result).decode().count("· recognised text") == 1
    word = docx.Document(io.BytesIO(FORMATS["docx"].render(result)))
    assert sum("recognised text" in paragraph.text for paragraph in word.paragraphs) == 1


async def test_a_quote_of_recognised_text_is_marked_in_every_report(
    office: Office, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    packages = tmp_path / "packages"
    packages.mkdir()
    write_engine(packages, PAGE)
    monkeypatch.syspath_prepend(str(packages))
    check(await run(office))


@pytest.mark.slow
@pytest.mark.timeout(300)
@pytest.mark.skipif(not find_spec("rapidocr"), reason='install "durable-research[ocr]"')
async def test_a_scan_is_recognised_by_the_real_package_and_quoted(office: Office) -> None:
    check(await run(office))
