"""Write `report.md`, `report.html` and `report.json`.

Each file is written under a temporary name and then renamed, so that a reader never sees half a
report, and a full disk leaves the old one.
"""

from __future__ import annotations

import os
from pathlib import Path

from console.errors import ConsoleError
from console.report.page import render_page
from workflows.contracts.result import ResearchResult


def render_report(result: ResearchResult, suffix: str) -> str:
    """The report as `md`, `html` or `json`."""
    if suffix == "html":
        return render_page(result)
    text = result.model_dump_json(indent=2) if suffix == "json" else result.report_markdown.rstrip()
    return f"{text}\n"


def write_report(result: ResearchResult, folder: Path) -> list[Path]:
    """Write the report in its three formats, over an old one."""
    files = [folder / f"report.{suffix}" for suffix in ("md", "html", "json")]
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for file in files:
            _replace(file, render_report(result, file.suffix[1:]))
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
