"""Research as a Nexus service: the contract other teams import, from any namespace.

    start    begins research; the operation ends with its result. Awaiting the operation's handle
             is awaiting the research, and cancelling the operation cancels the research.
    status   where a research that was started here stands
    cancel   ends one by its id, for those who do not hold the operation

Only what was started over this service can be seen and cancelled over it. Results of 64 KB and more
lie in the store: a caller needs the same data converter and RESEARCH_STORE as the workers.
"""

from __future__ import annotations

import nexusrpc
from pydantic import Field

from .evidence import Record
from .request import ResearchRequest
from .result import ResearchResult, Status

ENDPOINT = "research"
"""What the endpoint is called where nobody chose another name."""
PREFIX = "nexus-"
"""Before the id a caller chose: jobs of others are out of reach."""

_ID = r"^[A-Za-z0-9][A-Za-z0-9._:-]{0,190}$"


class StartResearch(Record):
    request: ResearchRequest
    id: str | None = Field(default=None, pattern=_ID)
    """Names the research for `status` and `cancel`; one is made up where it is left out."""


class ResearchId(Record):
    """A research by the id it was started with."""

    id: str = Field(pattern=_ID)


class CancelRequested(Record):
    id: str


@nexusrpc.service
class ResearchService:
    start: nexusrpc.Operation[StartResearch, ResearchResult]
    status: nexusrpc.Operation[ResearchId, Status]
    cancel: nexusrpc.Operation[ResearchId, CancelRequested]
