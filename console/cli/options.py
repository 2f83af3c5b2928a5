"""Arguments and options that several commands share, each defined once."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from console import client
from console.client.job_options import JobOptions
from console.errors import COMMAND, ExitCode

ASK = "Ask"
INSPECT = "Inspect"
CONTROL = "Control"
RECOVER = "Recover"
OPERATE = "Operate"


def check_id(job_id: str | None) -> str | None:
    """The callback of options and arguments that name a job."""
    return client.validation.check_job_id(job_id) if job_id is not None else None


JobId = Annotated[
    str,
    typer.Argument(metavar="ID", help="The job's id.", show_default=False, callback=check_id),
]
Reference = Annotated[
    str,
    typer.Argument(
        metavar="ID[@N]",
        help="A job's id; with @N version N of its report.",
        show_default=False,
    ),
]
NewId = Annotated[
    str | None,
    typer.Option(
        "--id",
        metavar="ID",
        callback=check_id,
        help="The job's id; an unfinished job is continued.",
    ),
]
Out = Annotated[Path, typer.Option("--out", metavar="DIR", help="The report's folder.")]


def _check_formats(named: list[str] | None) -> list[str]:
    """Before anything is started; without the option the import is not needed."""
    from console.report.formats import check_formats

    return list(check_formats(named)) if named else []


Formats = Annotated[
    list[str] | None,
    typer.Option(
        "--format",
        metavar="NAME",
        callback=_check_formats,
        help="md, html, json, pdf, docx, bib, ris, csl.json or all; repeatable."
        " By default md, html and json.",
    ),
]
OutIfWanted = Annotated[
    Path | None,
    typer.Option("--out", metavar="DIR", help="Wait for the report and write it there."),
]
Wait = Annotated[
    bool, typer.Option("--wait", help="Wait for the report; implied on the embedded server.")
]
LocalModel = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE", help="A GGUF file: the model `local`, served on this machine by llama.cpp."
    ),
]
FailOnGaps = Annotated[bool, typer.Option("--fail-on-gaps", help="Exit with 3 if gaps are left.")]
Estimate = Annotated[
    bool,
    typer.Option(
        "--estimate",
        help="Print what it will roughly cost and take, from past jobs, and end.",
    ),
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]
From = Annotated[
    str | None,
    typer.Option("--from", metavar="NAME", help="A checkpoint's name; by default the last one."),
]


class HelpGroup(TyperGroup):
    """A group of commands whose help names no type for flags: they take no value."""

    def get_params(self, ctx: Any) -> list[Any]:
        return _without_flag_types(super().get_params(ctx))

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        command = super().get_command(ctx, cmd_name)
        if command is not None:
            _without_flag_types(command.get_params(ctx))
        return command


def _without_flag_types(params: list[Any]) -> list[Any]:
    for param in params:
        if getattr(param, "is_flag", False) and param.metavar is None:
            param.metavar = ""
    return params


def examples(*lines: str) -> str:
    """The epilog of a command's help; each line is written without the program's name."""
    heading = "Examples:" if len(lines) > 1 else "Example:"
    return "\n".join([heading, *(f"  {COMMAND} {line}" for line in lines)])


def with_job_options(command: Callable[..., ExitCode]) -> Callable[..., ExitCode]:
    """Add the fields of `JobOptions` to a command's parameters.

    The command receives them as its first argument, one `JobOptions`. Typer reads a command's
    options from its signature, so the returned function gets the combined signature.
    """
    fields = inspect.signature(JobOptions, eval_str=True).parameters
    own = list(inspect.signature(command, eval_str=True).parameters.values())[1:]
    required = [parameter for parameter in own if parameter.default is parameter.empty]
    optional = [parameter for parameter in own if parameter.default is not parameter.empty]
    parameters = [
        parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY)
        for parameter in (*required, *fields.values(), *optional)
    ]

    def call(**values: Any) -> ExitCode:
        return command(JobOptions(**{name: values.pop(name) for name in fields}), **values)

    call.__name__, call.__doc__ = command.__name__, command.__doc__
    call.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    call.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    return call
