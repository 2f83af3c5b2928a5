"""The options of a new job, each declared once.

The command line reads option names and help texts from the annotations; the web form fills in the
same fields. `research_request` validates them. This module loads neither pydantic nor Temporal,
because `--help` and shell completion need it.
"""

from __future__ import annotations

import secrets
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

from typer import Argument, Option

_SOURCES = "Sources"
_LIMITS = "Limits"
_APPROVAL = "Approval"
_REPORT = "Report"


@dataclass(frozen=True, kw_only=True)
class JobOptions:
    question: Annotated[
        str, Argument(metavar="QUESTION", help="The question, in quotes.", show_default=False)
    ]
    corpus: Annotated[
        str | None,
        Option(
            metavar="DIR|NAME",
            help="A folder of documents to read, or a corpus that was added.",
            rich_help_panel=_SOURCES,
        ),
    ] = None
    labels: Annotated[
        list[str] | None,
        Option(
            "--label",
            metavar="L",
            help="Also read documents with this permission label; repeatable.",
            rich_help_panel=_SOURCES,
        ),
    ] = None
    web: Annotated[
        bool | None,
        Option(
            "--web/--no-web",
            help="Search and fetch web pages through the provider; on by default with Claude.",
            show_default=False,
            rich_help_panel=_SOURCES,
        ),
    ] = None
    allow_domains: Annotated[
        list[str] | None,
        Option(
            "--allow-domain",
            metavar="D",
            help="Only this domain; repeatable.",
            rich_help_panel=_SOURCES,
        ),
    ] = None
    block_domains: Annotated[
        list[str] | None,
        Option(
            "--block-domain",
            metavar="D",
            help="Not this domain; repeatable.",
            rich_help_panel=_SOURCES,
        ),
    ] = None
    code: Annotated[
        bool,
        Option(
            "--code/--no-code",
            help="Let subagents run code in the provider's sandbox.",
            rich_help_panel=_SOURCES,
        ),
    ] = False
    effort: Annotated[
        str, Option(metavar="NAME", help="quick, standard or deep.", rich_help_panel=_LIMITS)
    ] = "standard"
    max_passes: Annotated[
        int | None,
        Option(metavar="N", help="Maximum number of refinement passes.", rich_help_panel=_LIMITS),
    ] = None
    max_facets: Annotated[
        int | None,
        Option(metavar="N", help="Maximum number of sub-questions.", rich_help_panel=_LIMITS),
    ] = None
    budget_usd: Annotated[
        float | None,
        Option(
            metavar="X",
            help="A hard limit in dollars; by default $1, $4 or $20, by effort.",
            rich_help_panel=_LIMITS,
        ),
    ] = None
    budget_tokens: Annotated[
        int | None, Option(metavar="N", help="A hard limit in tokens.", rich_help_panel=_LIMITS)
    ] = None
    economy: Annotated[
        bool,
        Option(
            "--economy",
            help="Verify in batches: half the price, up to a day later.",
            rich_help_panel=_LIMITS,
        ),
    ] = False
    approve: Annotated[
        bool,
        Option(
            "--approve", help="Wait for a person to approve the plan.", rich_help_panel=_APPROVAL
        ),
    ] = False
    approve_within: Annotated[
        str | None,
        Option(
            metavar="TIME",
            help="How long to wait for the approval: 2h, 30m, 90s; a day by default.",
            rich_help_panel=_APPROVAL,
        ),
    ] = None
    unanswered: Annotated[
        str | None,
        Option(
            metavar="DECISION",
            help="The decision when nobody answers in time: approve (the default) or reject.",
            rich_help_panel=_APPROVAL,
        ),
    ] = None
    rubric: Annotated[
        Path | None,
        Option(
            metavar="FILE",
            help="Points the report must meet, one a line or as a Markdown list.",
            rich_help_panel=_REPORT,
        ),
    ] = None
    audience: Annotated[
        str, Option(metavar="TEXT", help="For whom it is written.", rich_help_panel=_REPORT)
    ] = ""
    length: Annotated[
        str,
        Option(metavar="TEXT", help="How long: `one page`, `600 words`.", rich_help_panel=_REPORT),
    ] = ""
    tone: Annotated[
        str, Option(metavar="TEXT", help="In which tone: `plain`.", rich_help_panel=_REPORT)
    ] = ""
    webhook: Annotated[
        str | None,
        Option(metavar="URL", help="Send a signed message there at each checkpoint and the end."),
    ] = None
    model: Annotated[
        str | None,
        Option(
            metavar="NAME",
            help="`claude` (a model per role), one model for all roles, `offline` (no key) or"
            " `local`; `ROLE=NAME` for one role, several with commas.",
        ),
    ] = None


def new_job_id(prefix: str = "research") -> str:
    """A readable, unique id. It holds nothing of the question: ids are never encrypted."""
    return f"{prefix}-{datetime.now(UTC):%Y%m%d-%H%M%S}-{secrets.token_hex(2)}"
