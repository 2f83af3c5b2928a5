"""The formats of a report: one table for the command line, the console and the API."""

from __future__ import annotations

import os
import pkgutil
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from console.errors import BadInputError, ConsoleError
from workflows.contracts.result import ResearchResult


@dataclass(frozen=True)
class ReportFormat:
    suffix: str
    name: str
    """As people call it."""
    media_type: str
    renderer: str
    """The function in this package that renders a result."""

    def render(self, result: ResearchResult) -> bytes:
        # Imported here: most commands need none of the libraries.
        rendered = pkgutil.resolve_name(f"console.report.{self.renderer}")(result)
        return rendered.encode() if isinstance(rendered, str) else rendered


def render_markdown(result: ResearchResult) -> str:
    return f"{result.report_markdown.rstrip()}\n"


def render_json(result: ResearchResult) -> str:
    return f"{result.model_dump_json(indent=2)}\n"


_WORD = "application/vnd.openxmlformats-officedocument.wordprocessingml.document"
_RIS = "application/x-research-info-systems; charset=utf-8"
_CSL = "application/vnd.citationstyles.csl+json"
FORMATS = {
    suffix: ReportFormat(suffix, name, media_type, renderer)
    for suffix, name, media_type, renderer in (
        ("md", "Markdown", "text/markdown; charset=utf-8", "formats:render_markdown"),
        ("html", "HTML", "text/html; charset=utf-8", "page:render_page"),
        ("json", "JSON", "application/json", "formats:render_json"),
        ("pdf", "PDF", "application/pdf", "pdf_file:render_pdf"),
        ("docx", "Word", _WORD, "word_file:render_docx"),
        ("bib", "BibTeX", "application/x-bibtex; charset=utf-8", "bibliography:render_bibtex"),
        ("ris", "RIS", _RIS, "bibliography:render_ris"),
        ("csl.json", "CSL", _CSL, "bibliography:render_csl"),
    )
}
USUAL = ("md", "html", "json")
"""What a command writes unless it is told other formats."""


def check_formats(suffixes: Iterable[str]) -> tuple[str, ...]:
    """The formats a person named, `all` among them; the usual ones where none is named."""
    named = tuple(dict.fromkeys(suffixes))
    if unknown := [suffix for suffix in named if suffix not in (*FORMATS, "all")]:
        raise BadInputError(
            f"--format {unknown[0]} is not known; the formats are: {', '.join(FORMATS)}, all."
        )
    return tuple(FORMATS) if "all" in named else named or USUAL


def write_report(
    result: ResearchResult, folder: Path, suffixes: Iterable[str] = USUAL
) -> list[Path]:
    """Write the report in these formats, over an old one.

    Each file is written under a temporary name and then renamed, so that a reader never sees half a
    report, and a full disk leaves the old one.
    """
    files = {folder / f"report.{suffix}": FORMATS[suffix] for suffix in suffixes}
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for file, one in files.items():
            _replace(file, one.render(result))
    except OSError as error:
        raise ConsoleError(
            f"The report could not be written to {folder} ({error.strerror}): the job is finished;"
            f" `result {result.id} --out DIR` writes it to another folder."
        ) from error
    return list(files)


def _replace(path: Path, content: bytes) -> None:
    draft = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        draft.write_bytes(content)
        draft.replace(path)
    finally:
        draft.unlink(missing_ok=True)
