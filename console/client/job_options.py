"""The options of a new job, each declared once.

The command line reads option names and help texts from the annotations; the web form fills in the
same fields. `research_request` validates them. This module loads neither pydantic nor Temporal,
because `--help` and shell completion need it.
"""

from __future__ import annotations

import secrets
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Annotated

from typer import Argument, Option

_source = partial(Option, rich_help_panel="Sources")
_limit = partial(Option, rich_help_panel="Limits")
_approval = partial(Option, rich_help_panel="Approval")
_report = partial(Option, rich_help_panel="Report")


@dataclass(frozen=True, kw_only=True)
class JobOptions:
    question: Annotated[
        str, Argument(metavar="QUESTION", help="The question, in quotes.", show_default=False)
    ]
    corpus: Annotated[
        str | None,
        _source(
            metavar="DIR|NAME", help="A folder of documents to read, or a corpus that was added."
        ),
    ] = None
    labels: Annotated[
        list[str] | None,
        _source(
            "--label",
            metavar="L",
            help="Also read documents with this permission label; repeatable.",
        ),
    ] = None
    web: Annotated[
        bool | None,
        _source(
            "--web/--no-web",
            help="Search and fetch web pages through the provider; on by default with Claude.",
            show_default=False,
        ),
    ] = None
    allow_domains: Annotated[
        list[str] | None,
        _source("--allow-domain", metavar="D", help="Only this domain; repeatable."),
    ] = None
    block_domains: Annotated[
        list[str] | None,
        _source("--block-domain", metavar="D", help="Not this domain; repeatable."),
    ] = None
    code: Annotated[
        bool, _source("--code/--no-code", help="Let subagents run code in the provider's sandbox.")
    ] = False
    effort: Annotated[str, _limit(metavar="NAME", help="quick, standard or deep.")] = "standard"
    max_passes: Annotated[
        int | None, _limit(metavar="N", help="Maximum number of refinement passes.")
    ] = None
    max_facets: Annotated[
        int | None, _limit(metavar="N", help="Maximum number of sub-questions.")
    ] = None
    budget_usd: Annotated[
        float | None,
        _limit(metavar="X", help="A hard limit in dollars; by default $1, $4 or $20, by effort."),
    ] = None
    budget_tokens: Annotated[int | None, _limit(metavar="N", help="A hard limit in tokens.")] = None
    economy: Annotated[
        bool, _limit("--economy", help="Verify in batches: half the price, up to a day later.")
    ] = False
    approve: Annotated[
        bool, _approval("--approve", help="Wait for a person to approve the plan.")
    ] = False
    approve_within: Annotated[
        str | None,
        _approval(
            metavar="TIME",
            help="How long to wait for the approval: 2h, 30m, 90s; a day by default.",
        ),
    ] = None
    unanswered: Annotated[
        str | None,
        _approval(
            metavar="DECISION",
            help="The decision when nobody answers in time: approve (the default) or reject.",
        ),
    ] = None
    rubric: Annotated[
        Path | None,
        _report(
            metavar="FILE", help="Points the report must meet, one a line or as a Markdown list."
        ),
    ] = None
    audience: Annotated[str, _report(metavar="TEXT", help="For whom it is written.")] = ""
    length: Annotated[str, _report(metavar="TEXT", help="How long: `one page`, `600 words`.")] = ""
    tone: Annotated[str, _report(metavar="TEXT", help="In which tone: `plain`.")] = ""
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
