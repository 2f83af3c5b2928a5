"""The formats of a report: one table for the command line, the console and the API.

A renderer is imported when it is used: most commands need none of their libraries.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
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
    render: Callable[[ResearchResult], bytes]


def _markdown(result: ResearchResult) -> bytes:
    return f"{result.report_markdown.rstrip()}\n".encode()


def _html(result: ResearchResult) -> bytes:
    from console.report.page import render_page

    return render_page(result).encode()


def _json(result: ResearchResult) -> bytes:
    return f"{result.model_dump_json(indent=2)}\n".encode()


def _pdf(result: ResearchResult) -> bytes:
    from console.report.pdf_file import render_pdf

    return render_pdf(result)


def _docx(result: ResearchResult) -> bytes:
    from console.report.word_file import render_docx

    return render_docx(result)


def _bibliography(style: str) -> Callable[[ResearchResult], bytes]:
    def render(result: ResearchResult) -> bytes:
        from console.report import bibliography

        return bibliography.RENDERERS[style](result).encode()

    return render


_WORD = "application/vnd.openxmlformats-officedocument.wordprocessingml.document"
FORMATS = {
    one.suffix: one
    for one in (
        ReportFormat("md", "Markdown", "text/markdown; charset=utf-8", _markdown),
        ReportFormat("html", "HTML", "text/html; charset=utf-8", _html),
        ReportFormat("json", "JSON", "application/json", _json),
        ReportFormat("pdf", "PDF", "application/pdf", _pdf),
        ReportFormat("docx", "Word", _WORD, _docx),
        ReportFormat("bib", "BibTeX", "application/x-bibtex; charset=utf-8", _bibliography("bib")),
        ReportFormat(
            "ris",
            "RIS",
            "application/x-research-info-systems; charset=utf-8",
            _bibliography("ris"),
        ),
        ReportFormat(
            "csl.json",
            "CSL",
            "application/vnd.citationstyles.csl+json",
            _bibliography("csl.json"),
        ),
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
