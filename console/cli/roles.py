"""The `roles` command: model, effort, tools and price of each role, as the next job gets them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import typer

from console import client
from console.cli.options import INSPECT, Json, examples
from console.cli.output import say
from console.errors import ExitCode

if TYPE_CHECKING:
    from workflows.config.model_catalog import ModelCard
    from workflows.config.roles import Role
    from workflows.config.settings import Settings

app = typer.Typer()


@app.command(rich_help_panel=INSPECT, epilog=examples("roles", "roles --json"))
def roles(as_json: Json = False) -> ExitCode:
    """Show the model, effort and tools of each role."""
    settings = client.session.read_settings()
    rows = describe_roles(settings)
    if as_json:
        print(json.dumps(rows, indent=2))
    else:
        _print_table(rows, settings)
    return ExitCode.REPORT


def describe_roles(settings: Settings) -> list[dict[str, Any]]:
    """One row per role, with the overrides of the settings applied."""
    from workflows.config.model_catalog import card
    from workflows.config.roles import ROLES, effort_for, model_for

    rows = []
    for role in ROLES.values():
        model = card(model_for(role, settings.default_model, settings.models))
        prices = {"input": model.input, "output": model.output}
        rows.append(
            {
                "role": role.name,
                "model": model.name,
                "effort": effort_for(role, settings.efforts),
                "thinking": _thinking(role, model),
                "max_turns": role.max_turns,
                "max_tokens": min(settings.max_tokens, model.max_output or settings.max_tokens),
                "usd_per_million": prices if model.priced else None,
                "tools": list(role.tools),
                "reason": role.reason,
            }
        )
    return rows


def _print_table(rows: list[dict[str, Any]], settings: Settings) -> None:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False, header_style="bold")
    for heading in ("role", "model", "effort", "thinking"):
        table.add_column(heading, no_wrap=True)
    for heading in ("turns", "tokens", "$ in / out"):
        table.add_column(heading, justify="right", no_wrap=True)
    for row in rows:
        table.add_row(
            Text(row["role"]),
            Text(row["model"] + _star(row["role"], settings.models)),
            Text(row["effort"] + _star(row["role"], settings.efforts)),
            Text(row["thinking"]),
            f"{row['max_turns']}",
            f"{row['max_tokens']:,}",
            _format_price(row),
        )
    console = Console()
    console.print(table)
    console.print()
    for row in rows:
        say(f"{row['role']} ({', '.join(row['tools']) or 'no tools'}): {row['reason']}.")
    console.print()
    for line in _footnotes(settings):
        say(line)


def _thinking(role: Role, model: ModelCard) -> str:
    if not model.thinking:
        return "none"
    return role.thinking if role.thinking in model.thinking else model.thinking[0]


def _format_price(row: Mapping[str, Any]) -> str:
    from workflows.contracts.request import OFFLINE

    if row["model"] == OFFLINE:
        return "free"
    prices = row["usd_per_million"]
    return f"{prices['input']:.2f} / {prices['output']:.2f}" if prices else "none known"


def _star(role: str, overrides: Mapping[str, str]) -> str:
    return "*" if role in overrides else ""


def _footnotes(settings: Settings) -> list[str]:
    from workflows.config.model_catalog import MIXED, PRICES_AS_OF

    lines = [
        f"Prices are dollars per million tokens, as published on {PRICES_AS_OF}; turns and tokens"
        " are the maximum per subagent and per answer."
    ]
    if settings.models or settings.efforts:
        lines.append("* set by RESEARCH_MODEL_<ROLE> or RESEARCH_EFFORT_<ROLE>.")
    if settings.default_model != MIXED:
        lines.append(
            f"No key is set, so every role uses the {settings.default_model} model; with"
            " ANTHROPIC_API_KEY set, each role has its own."
        )
    lines.append("A job started with --model NAME uses that model for every role.")
    return lines
