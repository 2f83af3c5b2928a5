"""Build a `ResearchRequest` from the options of a new job.

Invalid options raise `BadInputError` before anything is started or spent.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Container
from pathlib import Path
from typing import Any, Literal

from activities.storage.corpus_versions import is_source
from console.client import validation
from console.client.job_options import JobOptions
from console.errors import BadInputError
from workflows.config.model_catalog import MIXED, MODELS, card
from workflows.config.settings import Settings
from workflows.contracts.facets import Effort, Facet
from workflows.contracts.request import LABEL, OFFLINE, Approval, ResearchRequest, Web
from workflows.contracts.spend import Budget

MAX_FACETS = 60
MAX_PASSES = 20
DEFAULT_BUDGET_USD = {Effort.QUICK: 1.0, Effort.STANDARD: 4.0, Effort.DEEP: 20.0}
"""The budget of a job that was given none, by effort."""

_DAY = 24 * 3600.0
_WISHES = ("audience", "length", "tone")
_DURATION = re.compile(r"(?:(\d+)d)?(?:(\d+)h)?(?:(\d+)m)?(?:(\d+)s)?")


def build_request(options: JobOptions, settings: Settings) -> ResearchRequest:
    """The request for the coordinator. Raises `BadInputError` with the first error."""
    values, errors = _run_checks(options, settings)
    if errors:
        raise BadInputError(next(iter(errors.values())))
    model, usd = values["model"], values.pop("budget_usd")
    _, role_models = validation.split_models(options.model)
    offline = model == OFFLINE
    return ResearchRequest(
        budget=Budget(
            usd=usd if usd is not None else default_budget_usd(model, values["effort"]),
            tokens=values.pop("budget_tokens"),
        ),
        approval=values.pop("approve_within"),
        models={}
        if offline and not role_models
        else validation.check_role_models(settings, role_models),
        efforts={} if offline else settings.efforts,
        code=options.code,
        economy=options.economy,
        **values,
    )


def find_errors(options: JobOptions, settings: Settings) -> dict[str, str]:
    """All error messages, by the name of the option."""
    return _run_checks(options, settings)[1]


def _run_checks(options: JobOptions, settings: Settings) -> tuple[dict[str, Any], dict[str, str]]:
    """The checked values and the error messages, both by the name of the option."""
    values: dict[str, Any] = {}
    errors: dict[str, str] = {}

    def check(name: str, function: Callable[..., object], *arguments: object) -> None:
        try:
            values[name] = function(*arguments)
        except BadInputError as error:
            errors[name] = str(error)

    check("question", validation.check_question, options.question)
    check("model", _check_model, options.model, settings)
    check("corpus", _check_corpus, options, settings)
    check("labels", _check_labels, options.labels or [])
    check("effort", validation.check_effort, options.effort)
    check("budget_usd", validation.check_budget_usd, options.budget_usd)
    check("budget_tokens", validation.check_tokens, options.budget_tokens)
    passes, facets = options.max_passes, options.max_facets
    check("max_passes", validation.check_range, "--max-passes", passes, 0, MAX_PASSES)
    check("max_facets", validation.check_range, "--max-facets", facets, 1, MAX_FACETS)
    check("approve_within", _build_approval, options)
    check("rubric", validation.check_rubric, options.rubric)
    check("webhook", validation.check_webhook, options.webhook, settings)
    for wish in _WISHES:
        check(wish, validation.check_wish, f"--{wish}", getattr(options, wish))
    if not errors:
        # These options can be valid one by one and invalid together.
        check("web", _build_web, options, values["model"], settings)
    if not errors:
        check("corpus", _check_sources, options, values)
    return values, errors


def _check_model(text: str | None, settings: Settings) -> str:
    name, roles = validation.split_models(text)
    validation.check_role_models(settings, roles)
    return validation.check_model(name, settings)


def _check_sources(options: JobOptions, values: dict[str, Any]) -> str | None:
    """The corpus, if there is anything to read with the model."""
    offline = values["model"] == OFFLINE
    if values["corpus"] is None and values["web"] is None:
        also = "" if offline else ", or search the web with --web"
        raise BadInputError(f"There is nothing to read: name a folder with --corpus DIR{also}.")
    if offline and (options.code or options.economy):
        option = "--code" if options.code else "--economy"
        raise BadInputError(f"{option} needs a Claude model: choose one with --model, or omit it.")
    corpus: str | None = values["corpus"]
    return corpus


def default_budget_usd(model: str, effort: Effort) -> float | None:
    """The budget of a job that was given none; None for a model without a known price."""
    return DEFAULT_BUDGET_USD[effort] if model == MIXED or card(model).priced else None


def describe_budget(request: ResearchRequest, *, by_default: bool) -> str:
    """One sentence about the maximum cost; empty for a model that costs nothing."""
    usd = request.budget.usd
    if usd is None or default_budget_usd(request.model, request.effort) is None:
        return ""
    if not by_default:
        return f"Spends at most ${usd:,.2f}."
    return (
        f"Spends at most ${usd:,.2f} (the default of {request.effort.value} effort): --budget-usd"
        " changes it."
    )


def parse_duration(text: str, option: str, max_days: int) -> float:
    """Seconds of a duration such as 2h, 30m, 90s or 1h30m."""
    match = _DURATION.fullmatch(text.strip().lower())
    parts = [float(part or 0) for part in match.groups()] if match else []
    total = sum(part * size for part, size in zip(parts, (_DAY, 3600, 60, 1), strict=False))
    if not 0 < total <= max_days * _DAY:
        raise BadInputError(
            f"{option} {text!r} is not a duration: write it as 7d, 2h or 30m, at most {max_days}d."
        )
    return total


def _check_corpus(options: JobOptions, settings: Settings) -> str | None:
    corpus = validation.check_corpus(options.corpus, settings.ocr)
    allowed = [Path(place).resolve() for place in settings.corpora]
    if corpus and is_source(corpus) and allowed:
        folder = Path(corpus.removeprefix("file://"))
        if not any(folder.is_relative_to(place) for place in allowed):
            names = ", ".join(str(place) for place in allowed)
            raise BadInputError(
                f"The folder {folder} may not be read: choose one within {names}, or change"
                " RESEARCH_CORPORA."
            )
    return corpus


def _check_labels(labels: list[str]) -> tuple[str, ...]:
    for label in labels:
        if not re.fullmatch(LABEL, label):
            raise BadInputError(f"--label {label!r} is not a label: use letters and digits.")
    return tuple(labels)


def _build_web(options: JobOptions, model: str, settings: Settings) -> Web | None:
    """The limits of the provider's web tools; None if they are off."""
    allowed, blocked = options.allow_domains or [], options.block_domains or []
    if allowed and blocked:
        raise BadInputError("--allow-domain and --block-domain exclude each other: give one.")
    if options.web and model == OFFLINE:
        raise BadInputError(
            "The offline model uses no network: omit --web, or choose another --model."
        )
    # An unknown model on a custom endpoint may not have the provider's server tools.
    known = model == MIXED or (model in MODELS and model != OFFLINE)
    enabled = known and settings.provider == "anthropic" if options.web is None else options.web
    if (allowed or blocked) and not enabled:
        raise BadInputError("Domains are given but the web is off: add --web, or omit them.")
    if not enabled:
        return None
    return Web(
        allowed_domains=tuple(validation.check_domain(text) for text in allowed),
        blocked_domains=tuple(validation.check_domain(text) for text in blocked),
    )


def _build_approval(options: JobOptions) -> Approval | None:
    within, unanswered = options.approve_within, options.unanswered
    if not options.approve and within is None and unanswered is None:
        return None
    choice = (unanswered or "approve").strip().lower()
    if choice not in ("approve", "reject"):
        raise BadInputError(f"--unanswered {unanswered!r} is unknown: write approve or reject.")
    default: Literal["approve", "reject"] = "reject" if choice == "reject" else "approve"
    seconds = parse_duration(within, "--approve-within", 30) if within is not None else _DAY
    return Approval(seconds=seconds, default=default)


def build_facet(title: str, question: str, boundary: str = "", taken: Container[str] = ()) -> Facet:
    """A facet whose id is made from its title and not `taken`. Raises pydantic's error."""
    slug = re.sub(r"[\W_]+", "-", title.lower()).strip("-")[:58] or "facet"
    candidates = (slug, *(f"{slug}-{n}" for n in range(2, 99)))
    return Facet(
        id=next(name for name in candidates if name not in taken),
        title=title,
        question=question,
        boundary=boundary or "what the other facets cover",
        prefer="authoritative sources",
        reason="added by an operator",
    )
