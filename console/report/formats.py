"""The formats of a report: one table for the command line, the console and the API.

The page, PDF and Word have modules of their own. Markdown, JSON and the cited sources for reference
managers (BibTeX, RIS, CSL) are made here.
"""

from __future__ import annotations

import json
import os
import pkgutil
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from console.errors import BadInputError, ConsoleError
from console.formatting import plain
from console.report.contents import is_web_url, list_cited
from workflows.contracts.result import ResearchResult, SourceOut


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
        ("bib", "BibTeX", "application/x-bibtex; charset=utf-8", "formats:render_bibtex"),
        ("ris", "RIS", _RIS, "formats:render_ris"),
        ("csl.json", "CSL", _CSL, "formats:render_csl"),
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


# --- for reference managers ----------------------------------------------------------------------

# Kind of document → type in BibTeX, RIS and CSL; everything else is of the last kind.
_TYPES: Mapping[str, tuple[str, str, str]] = {
    "study": ("article", "JOUR", "article-journal"),
    "report": ("techreport", "RPRT", "report"),
    "regulation": ("misc", "LEGAL", "legislation"),
    "dataset": ("misc", "DATA", "dataset"),
    "press": ("article", "NEWS", "article-newspaper"),
    "blog": ("misc", "BLOG", "post-weblog"),
    "page": ("misc", "ELEC", "webpage"),
    "slides": ("misc", "SLIDE", "speech"),
    "mail": ("misc", "PCOMM", "personal_communication"),
}
_OTHER = ("misc", "GEN", "document")
_LATEX = {
    "\\": r"\textbackslash{}",
    # A brace that is only escaped would still be counted.
    "{": r"\textbraceleft{}",
    "}": r"\textbraceright{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    **{mark: f"\\{mark}" for mark in "#$%&_"},
}
_URL_UNSAFE = re.compile(r"[\s\x00-\x1f{}\\^`<>\"|]")


def render_bibtex(result: ResearchResult) -> str:
    entries = []
    for source in list_cited(result):
        year, month, _ = _date_parts(source)
        fields = {
            "title": f"{{{_latex(source.title)}}}",
            "year": year,
            "month": month.lstrip("0"),
            "url": _url(source),
            "howpublished": "" if _url(source) else _latex(source.uri),
            "note": f"Source [{source.n}]; sha256 {source.sha256[:16]}",
        }
        lines = [f"  {name} = {{{value}}}" for name, value in fields.items() if value]
        entries.append(
            f"@{_types(source)[0]}{{{_key(result, source)},\n" + ",\n".join(lines) + "\n}\n"
        )
    return "\n".join(entries)


def render_ris(result: ResearchResult) -> str:
    entries = []
    for source in list_cited(result):
        year, month, day = _date_parts(source)
        fields = (
            ("TY", _types(source)[1]),
            ("ID", _key(result, source)),
            ("TI", plain(source.title)),
            ("PY", year),
            ("DA", f"{year}/{month}/{day}/" if year else ""),
            ("UR", _url(source)),
            ("L1", "" if _url(source) else plain(source.uri)),
            ("N1", f"Source [{source.n}]; sha256 {source.sha256[:16]}"),
        )
        lines = [f"{tag}  - {value}" for tag, value in fields if value]
        entries.append("\r\n".join([*lines, "ER  - ", ""]))
    return "\r\n".join(entries)


def render_csl(result: ResearchResult) -> str:
    items = []
    for source in list_cited(result):
        parts = [int(part) for part in _date_parts(source) if part]
        item = {
            "id": _key(result, source),
            "type": _types(source)[2],
            "title": plain(source.title),
            "issued": {"date-parts": [parts]} if parts else None,
            "URL": _url(source),
            "archive_location": "" if _url(source) else plain(source.uri),
            "citation-number": str(source.n),
            "note": f"sha256 {source.sha256[:16]}",
        }
        items.append({name: value for name, value in item.items() if value})
    return json.dumps(items, ensure_ascii=False, indent=1) + "\n"


def _types(source: SourceOut) -> tuple[str, str, str]:
    return _TYPES.get(source.kind, _OTHER)


def _key(result: ResearchResult, source: SourceOut) -> str:
    """The job and the number of the source: unique among the reports that somebody collects."""
    return f"{re.sub(r'[^A-Za-z0-9-]', '-', result.id)}-{source.n}"


def _date_parts(source: SourceOut) -> tuple[str, str, str]:
    """Year, month and day; empty where the source's date does not say."""
    found = re.fullmatch(r"(\d{4})(?:-(\d\d))?(?:-(\d\d))?", source.date or "")
    year, month, day = found.groups("") if found else ("", "", "")
    return year, month, day


def _url(source: SourceOut) -> str:
    """The address, if it is one of the web, with what would end a field encoded."""
    if not is_web_url(source.uri):
        return ""
    return _URL_UNSAFE.sub(lambda hit: f"%{ord(hit[0]):02X}", source.uri.strip())


def _latex(text: str) -> str:
    return "".join(_LATEX.get(character, character) for character in plain(text))
