"""The cited sources for reference managers: BibTeX, RIS and CSL JSON."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping

from console.formatting import plain
from console.report.chapters import is_web_url
from workflows.contracts.result import ResearchResult, SourceOut

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


def list_cited(result: ResearchResult) -> list[SourceOut]:
    return sorted((s for s in result.sources if s.n is not None), key=lambda s: s.n or 0)


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
