"""Research as a Nexus service: the contract other teams import, from any namespace.

    start    starts research; the operation ends with its summary, and cancelling the operation
             cancels the research
    status   the status of research that was started here
    report   the full report of completed research, as JSON text in pages
    cancel   cancels research by its id, for callers that do not hold the operation

Only jobs that were started over this service can be seen and cancelled over it. All answers are
small: a caller needs neither the workers' data converter nor their store, unless payloads are
encrypted.
"""

from __future__ import annotations

import nexusrpc
from pydantic import Field

from .evidence import Message, Record
from .request import ResearchRequest
from .result import ReportPage, ResearchSummary, Status

ENDPOINT = "research"
"""The default name of the endpoint."""
PREFIX = "nexus-"
"""Precedes the id that a caller chose, so that it cannot reach other jobs."""

_ID = r"^[A-Za-z0-9][A-Za-z0-9._:-]{0,190}$"


class StartResearch(Message):
    request: ResearchRequest
    id: str | None = Field(default=None, pattern=_ID)
    """The id for `status` and `cancel`; generated if it is left out."""


class ResearchId(Message):
    """A research by the id it was started with."""

    id: str = Field(pattern=_ID)


class GetReport(Message):
    id: str = Field(pattern=_ID)
    page: int = Field(default=0, ge=0)


class CancelRequested(Record):
    id: str


@nexusrpc.service
class ResearchService:
    start: nexusrpc.Operation[StartResearch, ResearchSummary]
    status: nexusrpc.Operation[ResearchId, Status]
    report: nexusrpc.Operation[GetReport, ReportPage]
    cancel: nexusrpc.Operation[ResearchId, CancelRequested]
