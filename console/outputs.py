"""The three files of a finished job: `report.md`, `report.html`, `report.json`.

Each appears whole or not at all: it is written beside its place and then moved there, so a reader
never sees half a report and a full disk leaves the old one.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from console.faults import ConsoleError
from console.report import page
from workflows.contracts.result import ResearchResult


@dataclass(frozen=True)
class Files:
    markdown: Path
    html: Path
    json: Path

    def __iter__(self) -> Iterator[Path]:
        yield from (self.markdown, self.html, self.json)


def write(result: ResearchResult, folder: Path) -> Files:
    """Write the report in its three forms, over whatever report was there."""
    files = Files(*(folder / f"report.{suffix}" for suffix in ("md", "html", "json")))
    try:
        folder.mkdir(parents=True, exist_ok=True)
        _replace(files.markdown, result.report_markdown.rstrip() + "\n")
        _replace(files.html, page(result))
        _replace(files.json, result.model_dump_json(indent=2) + "\n")
    except OSError as error:
        raise ConsoleError(
            f"The report could not be written to {folder} ({error.strerror}): the job is finished"
            f" and kept; `result {result.id} --out DIR` writes it elsewhere."
        ) from error
    return files


def _replace(path: Path, text: str) -> None:
    draft = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        draft.write_text(text, encoding="utf-8")
        draft.replace(path)
    finally:
        draft.unlink(missing_ok=True)
