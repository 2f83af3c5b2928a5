"""The people who may use the console, and the log of who did what."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated, TypeVar

import typer

from console import client
from console.cli.options import HelpGroup, Json, examples
from console.errors import BadInputError

if TYPE_CHECKING:
    from console.web.people import People

    Answer = TypeVar("Answer")

app = typer.Typer(cls=HelpGroup, no_args_is_help=True, help="Manage who may use the console.")

Name = Annotated[str, typer.Argument(metavar="NAME", help="The person's name.", show_default=False)]


@app.command(
    epilog=examples(
        "people add anna --role researcher", "people add ben --role reader --tenant law --label hr"
    )
)
def add(
    name: Name,
    role: Annotated[
        str, typer.Option("--role", metavar="R", help="reader, researcher, operator or admin.")
    ],
    tenant: Annotated[
        str, typer.Option("--tenant", metavar="T", help="The only tenant they see; else all.")
    ] = "",
    labels: Annotated[
        list[str] | None,
        typer.Option("--label", metavar="L", help="A permission label of their jobs; repeats."),
    ] = None,
) -> None:
    """Add a person and print their token, once."""
    from console.web.people import NAME, Person, Role
    from workflows.contracts.request import LABEL

    if not re.fullmatch(NAME, name):
        raise BadInputError(f"{name!r} is not a name: use letters, digits and . _ @ + -.")
    for label in (*(labels or ()), *((tenant,) if tenant else ())):
        if not re.fullmatch(LABEL, label):
            raise BadInputError(f"{label!r} is not a label: use letters, digits and . _ : -.")
    person = Person(name, Role.parse(role), tenant, tuple(labels or ()))
    print(_change("add person", name, lambda people: people.add(person)))


@app.command("list", epilog=examples("people list"))
def list_people(as_json: Json = False) -> None:
    """Print everybody who has a token."""
    from console.web.people import People

    people = People.of(client.session.read_settings()).list_people()
    if as_json:
        rows = [
            {
                "name": p.name,
                "role": p.role.label,
                "tenant": p.tenant,
                "labels": p.labels,
                "tokens": n,
            }
            for p, n in people
        ]
        print(json.dumps(rows, indent=2))
        return
    for person, tokens in people:
        more = [f"tenant {person.tenant}"] if person.tenant else []
        more += [f"labels {', '.join(person.labels)}"] if person.labels else []
        more += [f"{tokens} tokens"] if tokens > 1 else []
        print("  ".join([f"{person.name:<24} {person.role.label:<10}", *more]))


@app.command(epilog=examples("people rotate anna", "people rotate anna --overlap 24"))
def rotate(
    name: Name,
    overlap: Annotated[
        float,
        typer.Option("--overlap", metavar="HOURS", min=0, help="How long the old token works."),
    ] = 0.0,
) -> None:
    """Print a new token, once. The old one ends, and what it has signed in."""
    print(_change("rotate token", name, lambda people: people.rotate(name, overlap * 3600)))


@app.command(epilog=examples("people remove anna"))
def remove(name: Name) -> None:
    """Remove a person; their token and sessions end at once."""
    _change("remove person", name, lambda people: people.remove(name))


def _change(act: str, name: str, change: Callable[[People], Answer]) -> Answer:
    from console.web.people import People

    settings = client.session.prepare_settings()
    answer = change(People.of(settings))
    client.audit.command_line_actor(settings).record(f"{act} {name}")
    return answer


def audit(
    job: Annotated[
        str | None, typer.Option("--job", metavar="ID", help="Only what was done to this job.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Print who did what, and when."""
    log = client.audit.AuditLog(client.session.read_settings())
    for line in log.read(job):
        if as_json:
            print(json.dumps(line))
            continue
        who = " ".join(filter(None, (line["who"], line["address"]))) or "-"
        print(
            f"{line['time']}  {who:<24} {line['act']:<14} {line['job'] or '-'}  {line['outcome']}"
        )
