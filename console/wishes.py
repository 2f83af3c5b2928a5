"""A job as it was typed, and the request it becomes: what it may read, its limits, who is asked.

What cannot be is refused with one sentence that says what to do, before anything is spent.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from console import checks
from console.faults import BadInputError
from workflows.config.model_catalog import MIXED, MODELS, card
from workflows.config.settings import Settings
from workflows.contracts.facets import Effort
from workflows.contracts.request import OFFLINE, Approval, ResearchRequest, Web
from workflows.contracts.spend import Budget

MAX_FACETS = 60
MAX_PASSES = 20
DEFAULT_USD = {Effort.QUICK: 2.0, Effort.STANDARD: 10.0, Effort.DEEP: 40.0}
"""What a job may spend at most when no budget was given."""

_DAY = 24 * 3600.0
_TIME = re.compile(r"(?:(\d+)d)?(?:(\d+)h)?(?:(\d+)m)?(?:(\d+)s)?")


@dataclass(frozen=True)
class Wish:
    question: str
    corpus: Path | None = None
    effort: str = Effort.STANDARD.value
    max_passes: int | None = None
    max_facets: int | None = None
    budget_usd: float | None = None
    budget_tokens: int | None = None
    model: str | None = None
    web: bool | None = None
    allow_domains: tuple[str, ...] = ()
    block_domains: tuple[str, ...] = ()
    code: bool = False
    economy: bool = False
    approve: bool = False
    approve_within: str | None = None
    unanswered: str | None = None


def request(wish: Wish, settings: Settings) -> ResearchRequest:
    """The wish as a request the coordinator takes."""
    model = checks.model(wish.model, settings)
    effort = checks.effort(wish.effort)
    corpus = _corpus(wish, settings)
    web = _web(wish, model, settings)
    offline = model == OFFLINE
    if corpus is None and web is None:
        also = "" if offline else ", or let it search the web with --web"
        raise BadInputError(f"There is nothing to read: name a folder with --corpus DIR{also}.")
    if offline and (wish.code or wish.economy):
        option = "--code" if wish.code else "--economy"
        raise BadInputError(
            f"{option} is for a model of the provider's: choose one with --model, or leave it out."
        )
    usd = checks.budget(wish.budget_usd)
    return ResearchRequest(
        question=checks.question(wish.question),
        corpus=str(corpus) if corpus else None,
        model=model,
        models={} if offline else checks.role_models(settings),
        efforts={} if offline else settings.efforts,
        web=web,
        code=wish.code,
        economy=wish.economy,
        effort=effort,
        max_passes=checks.within("--max-passes", wish.max_passes, 0, MAX_PASSES),
        max_facets=checks.within("--max-facets", wish.max_facets, 1, MAX_FACETS),
        budget=Budget(
            usd=usd if usd is not None else default_limit(model, effort),
            tokens=checks.tokens(wish.budget_tokens),
        ),
        approval=approval(wish.approve, wish.approve_within, wish.unanswered),
    )


def faults(wish: Wish, settings: Settings) -> dict[str, str]:
    """What is wrong with each part of a wish, by its name; all of it, not only the first."""
    parts: dict[str, Callable[[], object]] = {
        "question": lambda: checks.question(wish.question),
        "model": lambda: checks.model(wish.model, settings),
        "corpus": lambda: _corpus(wish, settings),
        "effort": lambda: checks.effort(wish.effort),
        "budget_usd": lambda: checks.budget(wish.budget_usd),
        "budget_tokens": lambda: checks.tokens(wish.budget_tokens),
        "max_passes": lambda: checks.within("--max-passes", wish.max_passes, 0, MAX_PASSES),
        "max_facets": lambda: checks.within("--max-facets", wish.max_facets, 1, MAX_FACETS),
        "approve_within": lambda: approval(wish.approve, wish.approve_within, wish.unanswered),
    }
    found: dict[str, str] = {}
    for name, check in parts.items():
        try:
            check()
        except BadInputError as error:
            found[name] = str(error)
    if not found:
        # What is wrong only together: nothing to read, or a web that the model cannot reach.
        try:
            request(wish, settings)
        except BadInputError as error:
            found["corpus" if wish.corpus is None and wish.web is not True else "web"] = str(error)
    return found


def _corpus(wish: Wish, settings: Settings) -> Path | None:
    """The folder, among those the workers may read where these are named."""
    folder = checks.corpus(wish.corpus)
    allowed = [Path(place).resolve() for place in settings.corpora]
    if folder and allowed and not any(folder.is_relative_to(place) for place in allowed):
        known = ", ".join(str(place) for place in allowed)
        raise BadInputError(
            f"The folder {folder} is not one that may be read: choose one within {known}, or change"
            " RESEARCH_CORPORA."
        )
    return folder


def default_limit(model: str, effort: Effort) -> float | None:
    """Dollars a job may spend when nothing was said; None where no price is known."""
    return DEFAULT_USD[effort] if model == MIXED or card(model).priced else None


def spending(request: ResearchRequest, *, by_default: bool) -> str:
    """What the job may cost, in a sentence; nothing where it costs nothing."""
    usd = request.budget.usd
    if usd is None or default_limit(request.model, request.effort) is None:
        return ""
    if not by_default:
        return f"Spends at most ${usd:,.2f}."
    return (
        f"Spends at most ${usd:,.2f} (the limit of {request.effort.value} effort): --budget-usd"
        " changes it."
    )


def _web(wish: Wish, model: str, settings: Settings) -> Web | None:
    """How far the provider's web tools may reach; None where they are off."""
    if wish.allow_domains and wish.block_domains:
        raise BadInputError(
            "Both kinds of domains are named: give --allow-domain or --block-domain, not both."
        )
    if wish.web and model == OFFLINE:
        raise BadInputError(
            "The offline model uses no network: leave --web out, or choose another --model."
        )
    # A model of one's own on an endpoint of one's own knows nothing of the provider's tools.
    known = model == MIXED or (model in MODELS and model != OFFLINE)
    on = known and settings.provider == "anthropic" if wish.web is None else wish.web
    if (wish.allow_domains or wish.block_domains) and not on:
        raise BadInputError("Domains are named and the web is off: add --web, or leave them out.")
    if not on:
        return None
    return Web(
        allowed_domains=tuple(checks.domain(text) for text in wish.allow_domains),
        blocked_domains=tuple(checks.domain(text) for text in wish.block_domains),
    )


def approval(wanted: bool, within: str | None, unanswered: str | None) -> Approval | None:
    """How a person is asked about the plan; None where nobody is."""
    if not wanted and within is None and unanswered is None:
        return None
    choice = (unanswered or "approve").strip().lower()
    if choice not in ("approve", "reject"):
        raise BadInputError(f"--unanswered {unanswered!r} is not known: say approve or reject.")
    default: Literal["approve", "reject"] = "reject" if choice == "reject" else "approve"
    return Approval(seconds=seconds(within) if within is not None else _DAY, default=default)


def seconds(text: str) -> float:
    """A time such as 2h, 30m, 90s or 1h30m."""
    match = _TIME.fullmatch(text.strip().lower())
    parts = [float(part or 0) for part in match.groups()] if match else []
    total = sum(part * size for part, size in zip(parts, (_DAY, 3600, 60, 1), strict=False))
    if not 0 < total <= 30 * _DAY:
        raise BadInputError(
            f"--approve-within {text!r} is not a time: write it as 2h, 30m or 90s, 30d at most."
        )
    return total
