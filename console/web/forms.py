"""Parse the forms. Each error is shown beside its field.

The checks are those of the commands, whose messages name options; `name_fields` replaces these by
the names of the fields.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from pydantic import ValidationError
from starlette.datastructures import FormData, UploadFile
from starlette.requests import Request

from console.client import validation
from console.client.job_options import JobOptions
from console.client.research_request import build_facet, find_errors
from console.errors import BadInputError, first_fault
from console.web.auth import check_csrf
from workflows.config.settings import Settings
from workflows.contracts.asking import MAX_QUESTIONS
from workflows.contracts.facets import Facet, Plan
from workflows.rules.plan import faults

NEW_FACETS = 3
"""Empty rows for new facets in the plan's form."""

_FIELDS = {
    "--budget-usd": "“Budget”",
    "--budget-tokens": "“Maximum tokens”",
    "--corpus DIR": "“Folder of documents”",
    "--corpus": "“Folder of documents”",
    "--max-passes": "“Maximum passes”",
    "--max-facets": "“Maximum facets”",
    "--approve-within": "“Time to approve”",
    "--model": "“Model”",
    "--id": "“Name”",
    "--web": "“Web”",
    "--audience": "“Audience”",
    "--length": "“Length”",
    "--tone": "“Tone”",
    "a file for --rubric": "“What it must cover”",
    "--set ": "",
    "put it in quotes after the command": "write it here",
}
_COMMANDS = re.compile(r"`(?:python starter\.py |durable-research )?(\w+)(?: [^`]*)?`")


@dataclass
class FormValues:
    """The values of a form, and the error messages by field."""

    values: dict[str, str] = field(default_factory=dict)
    errors: dict[str, str] = field(default_factory=dict)
    files: list[UploadFile] = field(default_factory=list)

    def __getitem__(self, name: str) -> str:
        return self.values.get(name, "")

    def error(self, name: str) -> str:
        return self.errors.get(name, "")

    @contextlib.contextmanager
    def collect_error(self, name: str) -> Iterator[None]:
        """Show the `BadInputError` of the body beside this field."""
        try:
            yield
        except BadInputError as error:
            self.errors[name] = name_fields(str(error))

    def parse_number(self, name: str) -> float | None:
        text = self[name].strip().removeprefix("$").replace(",", "")
        try:
            return float(text) if text else None
        except ValueError:
            self.errors[name] = f"{text[:40]!r} is not an amount: write it as 5 or 2.50."
            return None

    def parse_integer(self, name: str) -> int | None:
        text = self[name].strip().replace(",", "")
        try:
            return int(text) if text else None
        except ValueError:
            self.errors[name] = f"{text[:40]!r} is not a whole number: write it as 3."
            return None


async def read_form(request: Request, max_files: int = 0) -> FormValues:
    """The fields of a form of this console. Raises 403 without a valid CSRF token."""
    form: FormData = await request.form(max_files=max_files, max_fields=2000)
    values = {name: value for name, value in form.items() if isinstance(value, str)}
    check_csrf(request, values.pop("csrf_token", ""))
    # A browser sends a nameless empty file where none was chosen.
    sent = (file for _, file in form.multi_items() if isinstance(file, UploadFile))
    files = [file for file in sent if file.filename]
    # Browsers send line breaks as CRLF.
    texts = {name: value.replace("\r\n", "\n") for name, value in values.items()}
    return FormValues(texts, files=files)


def name_fields(message: str) -> str:
    """A message of a command, with the names of fields and buttons instead of options."""
    for option, name in _FIELDS.items():
        message = message.replace(option, name)
    return _COMMANDS.sub(r"“\1”", message)


def parse_job(form: FormValues, settings: Settings, uploaded: str = "") -> JobOptions | None:
    """The options of a new job; None if `form.errors` has an error."""
    corpus = uploaded or form["known_corpus"] or form["corpus"].strip()
    options = JobOptions(
        question=form["question"],
        corpus=corpus or None,
        effort=form["effort"] or "standard",
        max_passes=form.parse_integer("max_passes"),
        max_facets=form.parse_integer("max_facets"),
        budget_usd=form.parse_number("budget_usd"),
        budget_tokens=form.parse_integer("budget_tokens"),
        model=form["model"].strip() or None,
        web={"on": True, "off": False}.get(form["web"]),
        economy=form["economy"] == "yes",
        approve=form["approve"] == "yes",
        approve_within=form["approve_within"].strip() or None if form["approve"] else None,
        audience=form["audience"],
        length=form["length"],
        tone=form["tone"],
    )
    found = {name: name_fields(text) for name, text in find_errors(options, settings).items()}
    # A value that could not be parsed has the more precise message.
    form.errors = found | form.errors
    with form.collect_error("rubric"):
        validation.check_points(form["rubric"], "The list")
    with form.collect_error("id"):
        if name := form["id"].strip():
            validation.check_job_id(name)
    return None if form.errors else options


def parse_answers(form: FormValues) -> list[str]:
    """The answers to clarifying questions: what was chosen, and what was written beside it."""
    names = (f"{kind}-{n}" for n in range(MAX_QUESTIONS) for kind in ("answer", "other"))
    return [form[name].strip() for name in names]


def parse_budget(form: FormValues) -> tuple[float | None, int | None]:
    """Limits in dollars and tokens; None for an empty field."""
    usd, tokens = form.parse_number("budget_usd"), form.parse_integer("budget_tokens")
    with form.collect_error("budget_usd"):
        validation.check_budget_usd(usd)
    with form.collect_error("budget_tokens"):
        validation.check_tokens(tokens)
    return usd, tokens


def plan_fields(plan: Plan) -> dict[str, str]:
    """The plan as the initial values of its form."""
    values: dict[str, str] = {}
    for n, facet in enumerate(plan.facets):
        values |= {
            f"id-{n}": facet.id,
            f"title-{n}": facet.title,
            f"question-{n}": facet.question,
            f"boundary-{n}": facet.boundary,
        }
    return values


def parse_plan(form: FormValues, plan: Plan) -> Plan | None:
    """The edited plan; None if nothing changed or `form.errors` has an error."""
    known = {facet.id: facet for facet in plan.facets}
    facets: list[Facet] = []
    for n in range(len(plan.facets) + NEW_FACETS):
        texts = {name: form[f"{name}-{n}"].strip() for name in ("title", "question", "boundary")}
        old = known.get(form[f"id-{n}"])
        if form[f"drop-{n}"] or (old is None and not any(texts.values())):
            continue
        try:
            taken = {f.id for f in facets} | set(known)
            new = Facet.model_validate(old.model_dump() | texts) if old else None
            facets.append(new or build_facet(**texts, taken=taken))
        except ValidationError as error:
            name, message = first_fault(error)
            form.errors[f"{name}-{n}"] = f"{message}."
    if not facets and not form.errors:
        form.errors["plan"] = "No facet is left: keep one, or reject the plan."
    if form.errors:
        return None
    left = {facet.id for facet in facets}
    edited = tuple(
        f.model_copy(update={"depends_on": tuple(d for d in f.depends_on if d in left)})
        for f in facets
    )
    if edited == plan.facets:
        return None
    changed = plan.model_copy(update={"facets": edited})
    if errors := faults(changed):
        form.errors["plan"] = f"The plan breaks the rules: {'; '.join(errors)}."
        return None
    return changed
