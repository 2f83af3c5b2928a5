"""The staff: which model each role works with, how hard, with which tools, at what price, and why.

What is shown is what the next job gets: the table of roles with the settings' overrides applied.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from console.faults import BadInputError, ExitCode
from workflows.config.model_catalog import MIXED, PRICES_AS_OF, ModelCard, card
from workflows.config.roles import EFFORTS, ROLES, Role, effort_for, model_for
from workflows.config.settings import Settings
from workflows.contracts.request import OFFLINE


def roles(settings: Settings, console: Console | None = None, *, as_json: bool = False) -> ExitCode:
    """Prints the table of roles as the settings have it."""
    console = console or Console()
    models = _overrides(settings.models, "RESEARCH_MODEL_")
    efforts = _overrides(settings.efforts, "RESEARCH_EFFORT_")
    # Without a key every role is played by the offline engine, unless it is given another model.
    request_model = settings.default_model
    if as_json:
        rows = [
            _told(role, model_for(role, request_model, models), efforts) for role in ROLES.values()
        ]
        print(json.dumps(rows, indent=2))
        return ExitCode.REPORT
    table = Table(box=None, pad_edge=False, header_style="bold")
    for heading in ("role", "model", "effort", "thinking"):
        table.add_column(heading, no_wrap=True)
    for heading in ("turns", "tokens", "$ in / out"):
        table.add_column(heading, justify="right", no_wrap=True)
    for role in ROLES.values():
        name = model_for(role, request_model, models)
        table.add_row(
            Text(role.name),
            Text(name + _star(role, models)),
            Text(_effort(role, efforts) + _star(role, efforts)),
            Text(_thinking(role, card(name))),
            f"{role.max_turns}",
            f"{role.max_tokens:,}",
            _price(card(name)),
        )
    console.print(table)
    console.print()
    for role in ROLES.values():
        # As text: what a reason says is not markup.
        tools = ", ".join(role.tools) or "no tools"
        console.print(Text(f"{role.name} ({tools}): {role.reason}."))
    console.print()
    for line in _footnotes(request_model, {**models, **efforts}):
        console.print(Text(line))
    return ExitCode.REPORT


def _told(role: Role, name: str, efforts: Mapping[str, str]) -> dict[str, Any]:
    model = card(name)
    return {
        "role": role.name,
        "model": name,
        "effort": _effort(role, efforts),
        "thinking": _thinking(role, model),
        "max_turns": role.max_turns,
        "max_tokens": role.max_tokens,
        "usd_per_million": {"input": model.input, "output": model.output} if model.priced else None,
        "tools": list(role.tools),
        "reason": role.reason,
    }


def _overrides(given: Mapping[str, str], variable: str) -> dict[str, str]:
    unknown = sorted(set(given) - set(ROLES))
    if unknown:
        raise BadInputError(
            f"There is no role {unknown[0]!r}: {variable}<ROLE> takes one of {', '.join(ROLES)}."
        )
    return dict(given)


def _effort(role: Role, efforts: Mapping[str, str]) -> str:
    try:
        return effort_for(role, efforts)
    except ValueError:
        raise BadInputError(
            f"The effort {efforts[role.name]!r} of the {role.name} is not known: set"
            f" RESEARCH_EFFORT_{role.name.upper()} to one of {', '.join(EFFORTS)}."
        ) from None


def _thinking(role: Role, model: ModelCard) -> str:
    if not model.thinking:
        return "none"
    return role.thinking if role.thinking in model.thinking else model.thinking[0]


def _price(model: ModelCard) -> str:
    if model.name == OFFLINE:
        return "free"
    return f"{model.input:.2f} / {model.output:.2f}" if model.priced else "none known"


def _star(role: Role, overrides: Mapping[str, str]) -> str:
    return "*" if role.name in overrides else ""


def _footnotes(request_model: str, overrides: Mapping[str, str]) -> list[str]:
    lines = [
        f"Prices are dollars per million tokens, as published on {PRICES_AS_OF}; turns and tokens"
        " are the most a subagent may take and the most one answer may hold."
    ]
    if overrides:
        lines.append("* set by RESEARCH_MODEL_<ROLE> or RESEARCH_EFFORT_<ROLE>.")
    if request_model != MIXED:
        lines.append(
            f"No key is set, so every role is played by the {request_model} model; with"
            " ANTHROPIC_API_KEY set, each has its own."
        )
    lines.append("A job started with --model NAME uses that one model for every role.")
    return lines
