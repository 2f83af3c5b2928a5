"""Write `report.md`, `report.html` and `report.json`.

Each file is written under a temporary name and then renamed, so that a reader never sees half a
report, and a full disk leaves the old one.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from console.errors import ConsoleError
from console.report.page import render_page
from workflows.contracts.result import ResearchResult


@dataclass(frozen=True)
class ReportFiles:
    markdown: Path
    html: Path
    json: Path

    def __iter__(self) -> Iterator[Path]:
        yield from (self.markdown, self.html, self.json)


def write_report(result: ResearchResult, folder: Path) -> ReportFiles:
    """Write the report in its three formats, over an old one."""
    files = ReportFiles(*(folder / f"report.{suffix}" for suffix in ("md", "html", "json")))
    try:
        folder.mkdir(parents=True, exist_ok=True)
        _replace(files.markdown, result.report_markdown.rstrip() + "\n")
        _replace(files.html, render_page(result))
        _replace(files.json, result.model_dump_json(indent=2) + "\n")
    except OSError as error:
        raise ConsoleError(
            f"The report could not be written to {folder} ({error.strerror}): the job is finished;"
            f" `result {result.id} --out DIR` writes it to another folder."
        ) from error
    return files


def _replace(path: Path, text: str) -> None:
    draft = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        draft.write_text(text, encoding="utf-8")
        draft.replace(path)
    finally:
        draft.unlink(missing_ok=True)
