"""The parts of a `report.md`, by the headings that every report has."""

from __future__ import annotations

import re
from itertools import islice

import nupunkt

from workflows.contracts.result import DISAGREE, METHOD, MISSING, SOURCES, SUMMARY

CITATION = re.compile(r"\[(\d{1,5})\]")
_FIXED = frozenset({SUMMARY, DISAGREE, MISSING, METHOD, SOURCES})
_MARKUP = re.compile(r"^[ \t]*(?:(?:>|[-*+] |\d+[.)] |#+ )[ \t]*)+", re.MULTILINE)


def split_sections(markdown: str) -> list[tuple[str, str]]:
    """The headings of the second level and what stands under each."""
    _, *parts = re.split(r"^## +", markdown, flags=re.MULTILINE)
    return [(title.strip(), text.strip()) for title, _, text in (p.partition("\n") for p in parts)]


def find_section(markdown: str, title: str) -> str:
    """What stands under a heading of the second level; nothing where it is missing."""
    return next((text for name, text in split_sections(markdown) if name == title), "")


def join_answer(markdown: str) -> str:
    """The summary and the sections of the facets, one after the other."""
    sections = split_sections(markdown)
    return "\n\n".join(text for title, text in sections if title not in _FIXED - {SUMMARY})


def drop_sources(markdown: str) -> str:
    """The report without its list of sources, where every number resolves by construction."""
    return f"\n{markdown}".partition(f"\n## {SOURCES}\n")[0]


def strip_markup(text: str) -> str:
    """The words a reader reads: no citations, no markers of quotes, lists and headings."""
    return re.sub(r" +([.,;:!?])", r"\1", _MARKUP.sub("", CITATION.sub("", text))).strip()


def split_sentences(text: str) -> list[str]:
    """The sentences of every paragraph."""
    paragraphs = re.split(r"\n\s*\n", text)
    found = (str(one).strip() for part in paragraphs for one in nupunkt.sent_tokenize(part))
    return [sentence for sentence in found if sentence]


def cut_words(text: str, count: int) -> str:
    """The first `count` words."""
    return " ".join(match.group() for match in islice(re.finditer(r"\S+", text), count))


def count_words(text: str) -> int:
    return len(text.split())
