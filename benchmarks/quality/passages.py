"""Passages of a data set as folders of Markdown files, one file a passage, its title as heading."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from workflows.contracts.result import ResearchResult


def write_passages(folder: Path, passages: Iterable[tuple[str, str, str]]) -> None:
    """Write (name, title, text) as `name.md`; a passage without a title has no heading."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, title, text in passages:
        heading = f"# {title}\n\n" if title else ""
        (folder / f"{name}.md").write_text(f"{heading}{text}\n", "utf-8")


def name_sources(result: ResearchResult) -> dict[str, str]:
    """The passage that each source of a report is, by the source's id."""
    return {
        source.id: source.uri.partition("#")[0].rpartition("/")[2].removesuffix(".md")
        for source in result.sources
    }
