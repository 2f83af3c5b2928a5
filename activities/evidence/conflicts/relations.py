"""How two values of one thing relate: a contradiction, or a difference of another kind."""

from __future__ import annotations

import re
from collections.abc import Sequence

from activities.evidence.conflicts.statements import Statement, Value
from activities.evidence.quantities.dates import Moment, apart
from workflows.contracts.evidence import Relation

_COUNTS = re.compile(
    r"\b(?:includ\w+|exclud\w+|without|net of|gross|before tax|after tax|only|adjusted|unadjusted|"
    r"constant prices|current prices|nominal|real terms)\b",
    re.IGNORECASE,
)
_OLD = re.compile(
    r"\b(?:superseded|outdated|out of date|obsolete|no longer (?:valid|current|applies|in force)|"
    r"replaced by|formerly|previously|originally)\b",
    re.IGNORECASE,
)
_CALLS_ITSELF_OLD = re.compile(
    r"\b(?:this|the) (?:\w+ )?(?:document|page|version|edition|policy|report|file|guide|note|memo) "
    r"(?:is|was|has been) (?:now )?(?:superseded|replaced|outdated|out of date|obsolete|withdrawn|"
    r"retired|deprecated)\b|\bstatus\W{1,4}(?:superseded|replaced|outdated|obsolete|withdrawn|"
    r"deprecated|archived)\b|[\[(](?:superseded|outdated|obsolete|deprecated|archived)[\])]|"
    r"\bsuperseded by\b|\bno longer (?:valid|current|in force|maintained)\b",
    re.IGNORECASE,
)
_QUALIFIED = re.compile(r"(.+?)(?:,| \() ?([^(),]+)\)?")
_VERSION = re.compile(r"\d+(?:\.\d+)+|(?<!\d)(?:19|20)\d\d(?!\d)(?:[-_]\d\d)*|(?<=\bv)\d+")


def calls_itself_superseded(title: str, opening: str) -> bool:
    """Whether a document says in its title or its first lines that it is out of date."""
    return _CALLS_ITSELF_OLD.search(f"{title}\n{opening}") is not None


def edition(uri: str) -> tuple[str, str]:
    """A file's name without its version or year, and that version; both empty where it has none."""
    found = _VERSION.findall(uri)
    return (_VERSION.sub("#", uri), " ".join(found)) if found else ("", "")


def relate(a: Value, b: Value) -> Relation:
    """The relation of two different values of one thing."""
    if _is_old(a.statement) != _is_old(b.statement):
        return "superseded"
    if editions := _other_edition(a.statement, b.statement):
        return editions
    if a.kind != "date" and _other_period(_scope(a), _scope(b)):
        return "other_period"
    if _is_in_title(a) and _is_in_title(b):
        return "other_period"
    if _other_entry(a.statement, b.statement):
        return "other_entity"
    if a.kind == "number" and _other_definition(a.statement.text, b.statement.text):
        return "other_definition"
    return "contradicts"


def _is_old(statement: Statement) -> bool:
    return statement.superseded or _OLD.search(statement.text) is not None


def _other_edition(a: Statement, b: Statement) -> Relation | None:
    """Releases of one document: by year they are a series, by version one replaces the other."""
    for name, version in a.editions:
        for other_name, other_version in b.editions:
            if name and name == other_name and version != other_version:
                return "superseded" if "." in version else "other_period"
    return None


def _scope(value: Value) -> list[Moment]:
    """The periods a statement names beside the value."""
    return [m for m in value.statement.moments if m.end <= value.start or m.start >= value.end]


def _is_in_title(value: Value) -> bool:
    """Whether the documents are titled by the value: "Films of 1998", "Films of 1999"."""
    return any(value.text in title for title in value.statement.titles)


def _other_period(a: Sequence[Moment], b: Sequence[Moment]) -> bool:
    return bool(a and b) and all(apart(x, y) for x in a for y in b)


def _other_entry(a: Statement, b: Statement) -> bool:
    """Whether the titles tell two things of one name apart: "Moss (Ohio)" and "Moss, Norway"."""
    ours, theirs = (
        {found.groups() for title in side.titles if (found := _QUALIFIED.fullmatch(title))}
        for side in (a, b)
    )
    return any(x[0] == y[0] and x[1] != y[1] for x in ours for y in theirs)


def _other_definition(a: str, b: str) -> bool:
    """Whether both say what is counted, in different words."""
    first = {found.lower() for found in _COUNTS.findall(a)}
    second = {found.lower() for found in _COUNTS.findall(b)}
    return bool(first and second) and first.isdisjoint(second)
