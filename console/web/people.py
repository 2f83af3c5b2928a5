"""People and what they may do: each role may do what the roles before it may."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum

from starlette.exceptions import HTTPException
from starlette.requests import HTTPConnection


class Role(IntEnum):
    """
    reader      sees jobs and reports
    researcher  starts jobs, and answers, steers, pauses, forks and cancels them
    operator    restarts and deletes jobs, and manages corpora and schedules
    admin       does everything, for every tenant
    """

    READER = 1
    RESEARCHER = 2
    OPERATOR = 3
    ADMIN = 4

    @property
    def label(self) -> str:
        return self.name.lower()


@dataclass(frozen=True)
class Person:
    """Who sends a request."""

    name: str
    role: Role
    tenant: str = ""
    """The only tenant whose jobs they see and start; empty for all tenants."""
    labels: tuple[str, ...] = ()
    """The permission labels that their jobs may have."""


def require(request: HTTPConnection, role: Role) -> Person:
    """The person who sends the request. Raises 403 unless they have this role or a higher one."""
    person: Person = request.state.person
    if person.role < role:
        raise HTTPException(
            403,
            f"This needs the role {role.label}, and {person.name} has the role"
            f" {person.role.label}: ask an admin of this console.",
        )
    return person
