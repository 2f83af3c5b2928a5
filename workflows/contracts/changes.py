"""What changed since the last run of a question: new, gone and changed claims, disputes, sources.

It is part of the result; `activities.evidence.run_comparison` finds the changes.
"""

from __future__ import annotations

from typing import Literal

from .evidence import Record, Verdict


class ClaimSeen(Record):
    """A claim that one of the two results holds and the other does not."""

    id: str
    text: str
    facet: str = ""
    """The title of its facet."""
    sources: tuple[str, ...] = ()
    """Addresses of the sources it rests on."""
    cites: tuple[int, ...] = ()
    """The [n] of these sources in the report it stands in."""


class ClaimChanged(Record):
    before: ClaimSeen
    after: ClaimSeen
    what: Literal["figures", "meaning", "verdict"]
    verdict_before: Verdict
    verdict_after: Verdict


class ContradictionSeen(Record):
    id: str
    about: str
    sides: tuple[str, ...]


class SourceSeen(Record):
    uri: str
    title: str
    sha256: str


class SourceChanged(Record):
    uri: str
    title: str
    before: str
    """The hash of the copy the earlier run read."""
    after: str


class AnswerChanged(Record):
    """The summary of either report, in Markdown."""

    before: str
    after: str


class Changes(Record):
    """The differences from the previous run, or between any two reports."""

    since: str
    """When the earlier run began."""
    previous: str
    """Its job's id."""
    answer: AnswerChanged | None = None
    """Only where two reports are compared on request, and their summaries differ; other words for
    the same claims are no change."""
    new_claims: tuple[ClaimSeen, ...] = ()
    gone_claims: tuple[ClaimSeen, ...] = ()
    changed_claims: tuple[ClaimChanged, ...] = ()
    new_contradictions: tuple[ContradictionSeen, ...] = ()
    gone_contradictions: tuple[ContradictionSeen, ...] = ()
    new_sources: tuple[SourceSeen, ...] = ()
    gone_sources: tuple[SourceSeen, ...] = ()
    changed_sources: tuple[SourceChanged, ...] = ()
    new_documents: tuple[str, ...] = ()
    """Paths of the corpus, whether the report uses them or not."""
    changed_documents: tuple[str, ...] = ()
    gone_documents: tuple[str, ...] = ()

    @property
    def none(self) -> bool:
        return not any(value for value in dict(self).values() if isinstance(value, tuple))
