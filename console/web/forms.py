"""What was typed into a form, and what it becomes; what cannot be taken is said beside its field.

The checks are the commands' own. Their messages name options; here they name the fields instead.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from pydantic import ValidationError
from starlette.datastructures import FormData
from starlette.exceptions import HTTPException
from starlette.requests import Request

from console import checks, wishes
from console.faults import BadInputError
from console.web.guard import Keys
from console.wishes import Wish
from workflows.config.settings import Settings
from workflows.contracts.facets import Facet, Plan
from workflows.rules.plan import faults

NEW_FACETS = 3
"""Empty places for more facets, below those of the plan."""

_FIELDS = {
    "--budget-usd": "“Budget”",
    "--budget-tokens": "“Tokens at most”",
    "--corpus DIR": "“Folder of documents”",
    "--corpus": "“Folder of documents”",
    "--max-passes": "“Passes at most”",
    "--max-facets": "“Facets at most”",
    "--approve-within": "“How long it waits”",
    "--model": "“Model”",
    "--id": "“Name”",
    "--web": "“Web”",
    "--set ": "",
    "put it in quotes after the command": "write it here",
}
_COMMANDS = re.compile(r"`(?:python starter\.py )?(\w+)(?: [^`]*)?`")


@dataclass
class Typed:
    """The fields as they were typed, and what is wrong with them, by name."""

    values: dict[str, str] = field(default_factory=dict)
    faults: dict[str, str] = field(default_factory=dict)

    def __getitem__(self, name: str) -> str:
        return self.values.get(name, "")

    def fault(self, name: str) -> str:
        return self.faults.get(name, "")


async def sent(request: Request, keys: Keys) -> dict[str, str]:
    """The fields of a form of ours; each field once."""
    form: FormData = await request.form(max_files=0, max_fields=2000)
    values = {name: value for name, value in form.items() if isinstance(value, str)}
    if not keys.in_form(values.pop("word", "")):
        raise HTTPException(403, "This form is from another time: open its page again.")
    # Browsers send lines as CRLF.
    return {name: value.replace("\r\n", "\n") for name, value in values.items()}


def in_words(message: str) -> str:
    """A command's message for someone who has fields and buttons before him."""
    for option, name in _FIELDS.items():
        message = message.replace(option, name)
    return _COMMANDS.sub(r"“\1”", message)


def asked(typed: Typed, settings: Settings) -> Wish | None:
    """The wish; None where something is wrong with it, which is then said in `typed`."""
    web = {"on": True, "off": False}.get(typed["web"])
    wish = Wish(
        question=typed["question"],
        corpus=Path(typed["corpus"].strip()) if typed["corpus"].strip() else None,
        effort=typed["effort"] or "standard",
        max_passes=_whole(typed, "max_passes"),
        max_facets=_whole(typed, "max_facets"),
        budget_usd=_amount(typed, "budget_usd"),
        budget_tokens=_whole(typed, "budget_tokens"),
        model=typed["model"].strip() or None,
        web=web,
        economy=typed["economy"] == "yes",
        approve=typed["approve"] == "yes",
        approve_within=typed["approve_within"].strip() or None if typed["approve"] else None,
    )
    if "\0" in typed["corpus"]:
        typed.faults["corpus"] = "This is not a path."
        return None
    found = {name: in_words(text) for name, text in wishes.faults(wish, settings).items()}
    # What could not be read at all is said rather than what follows from its absence.
    typed.faults = found | typed.faults
    if name := typed["id"].strip():
        try:
            checks.job_id(name)
        except BadInputError as error:
            typed.faults["id"] = str(error)
    return None if typed.faults else wish


def amounts(typed: Typed) -> tuple[float | None, int | None]:
    """A budget in dollars and tokens; what is empty is left as it is."""
    usd, tokens = _amount(typed, "budget_usd"), _whole(typed, "budget_tokens")
    for name, check in (("budget_usd", lambda: checks.budget(usd)),
                        ("budget_tokens", lambda: checks.tokens(tokens))):  # fmt: skip
        try:
            check()
        except BadInputError as error:
            typed.faults[name] = in_words(str(error))
    return usd, tokens


def plan_fields(plan: Plan) -> dict[str, str]:
    """The plan as the form shows it first."""
    values: dict[str, str] = {}
    for n, facet in enumerate(plan.facets):
        values |= {
            f"id-{n}": facet.id,
            f"title-{n}": facet.title,
            f"question-{n}": facet.question,
            f"boundary-{n}": facet.boundary,
        }
    return values


def edited(typed: Typed, plan: Plan) -> Plan | None:
    """The plan as it was edited; None where nothing was, or where a fault is in `typed`."""
    known = {facet.id: facet for facet in plan.facets}
    facets: list[Facet] = []
    for n in range(len(plan.facets) + NEW_FACETS):
        words = {name: typed[f"{name}-{n}"].strip() for name in ("title", "question", "boundary")}
        old = known.get(typed[f"id-{n}"])
        if typed[f"drop-{n}"] or (old is None and not any(words.values())):
            continue
        try:
            facets.append(_facet(old, words, {facet.id for facet in facets} | set(known)))
        except ValidationError as error:
            fault = error.errors()[0]
            typed.faults[f"{fault['loc'][-1]}-{n}"] = f"{fault['msg']}."
    if not facets and not typed.faults:
        typed.faults["plan"] = "No facet is left: keep one, or reject the plan."
    if typed.faults:
        return None
    left = {facet.id for facet in facets}
    kept = tuple(
        f.model_copy(update={"depends_on": tuple(d for d in f.depends_on if d in left)})
        for f in facets
    )
    if kept == plan.facets:
        return None
    changed = plan.model_copy(update={"facets": kept})
    if wrong := faults(changed):
        typed.faults["plan"] = f"The plan breaks the rules, mend it: {'; '.join(wrong)}."
        return None
    return changed


def new_facet(typed: Mapping[str, str], taken: set[str]) -> Facet:
    return _facet(
        None, {name: typed.get(name, "").strip() for name in ("title", "question")}, taken
    )


def _facet(old: Facet | None, words: Mapping[str, str], taken: set[str]) -> Facet:
    if old is not None:
        return Facet.model_validate(old.model_dump() | dict(words))
    slug = re.sub(r"[\W_]+", "-", words["title"].lower()).strip("-")[:58] or "facet"
    numbered = [slug, *(f"{slug}-{n}" for n in range(2, 99))]
    return Facet(
        id=next(name for name in numbered if name not in taken),
        title=words["title"],
        question=words["question"],
        boundary=words.get("boundary") or "what the other facets cover",
        prefer="authoritative sources",
        reason="added by an operator",
    )


def _amount(typed: Typed, name: str) -> float | None:
    text = typed[name].strip().removeprefix("$").replace(",", "")
    try:
        return float(text) if text else None
    except ValueError:
        typed.faults[name] = f"{text[:40]!r} is not an amount: write it as 5 or 2.50."
        return None


def _whole(typed: Typed, name: str) -> int | None:
    text = typed[name].strip().replace(",", "")
    try:
        return int(text) if text else None
    except ValueError:
        typed.faults[name] = f"{text[:40]!r} is not a whole number: write it as 3."
        return None
