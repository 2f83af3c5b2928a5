"""People and what they may do: each role may do what the roles before it may.

The people file holds a salted digest of every token, never a token. It is read again when it has
changed, so a running console sees a person who was added, rotated or removed at once.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import hmac
import logging
import os
import secrets
import time
from collections.abc import Iterator
from dataclasses import dataclass
from enum import IntEnum
from pathlib import Path
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, ValidationError
from starlette.exceptions import HTTPException
from starlette.requests import HTTPConnection

from console.client.audit import Actor, AuditLog, act_as
from console.errors import BadInputError, first_fault
from workflows.config.settings import Settings
from workflows.contracts.request import LABEL, Label

_log = logging.getLogger(__name__)

NAME = r"^[A-Za-z0-9][A-Za-z0-9._@+-]{0,63}$"
CONSOLE = "console"
"""The name of the person who holds the token of `serve`."""


class Role(IntEnum):
    """
    reader      sees jobs and reports
    researcher  starts jobs, and answers, steers, pauses, forks and cancels them
    operator    restarts and deletes jobs, and manages corpora and schedules
    admin       does everything, with any label
    """

    READER = 1
    RESEARCHER = 2
    OPERATOR = 3
    ADMIN = 4

    @property
    def label(self) -> str:
        return self.name.lower()

    @classmethod
    def parse(cls, label: str) -> Role:
        try:
            return cls[label.upper()]
        except KeyError:
            known = ", ".join(role.label for role in cls)
            raise BadInputError(f"There is no role {label!r}: choose among {known}.") from None


RoleName = Literal["reader", "researcher", "operator", "admin"]

_BY_RESEARCHERS = ("start", "approve", "steer", "add", "drop", "pause", "resume", "finish",
                   "cancel", "fork", "share", "ask", "commission")  # fmt: skip
ACTIONS = {
    "read": Role.READER,
    **dict.fromkeys(_BY_RESEARCHERS, Role.RESEARCHER),
    **dict.fromkeys(("restart", "delete"), Role.OPERATOR),
}
"""The role that an action on a job needs."""


@dataclass(frozen=True)
class Person:
    """Who sends a request."""

    name: str
    role: Role
    tenant: str = ""
    """The only tenant whose jobs they see and start; empty for all tenants."""
    labels: tuple[str, ...] = ()
    """The permission labels of their jobs; an admin without labels may choose any."""

    def may(self, action: str) -> bool:
        return self.role >= ACTIONS[action]

    def as_actor(self, address: str, log: AuditLog) -> Actor:
        labels = None if self.role is Role.ADMIN and not self.labels else self.labels
        return Actor(self.name, self.role.label, address, self.tenant, labels, log)


def require(request: HTTPConnection, role: Role) -> Person:
    """The person who sends the request, who acts from here on.

    Raises 403 unless they have this role or a higher one.
    """
    person: Person = request.state.person
    if person.role < role:
        raise HTTPException(
            403,
            f"This needs the role {role.label}, and {person.name} has the role"
            f" {person.role.label}: ask an admin of this console.",
        )
    # The task may have been started by an earlier request, as in a session of MCP.
    act_as(request.state.actor)
    return person


@dataclass(frozen=True)
class SignIn:
    """A person, and the token that proves it."""

    person: Person
    digest: str = ""
    """The digest of the token; empty where an identity provider vouches for the person."""


class _Token(BaseModel):
    model_config = ConfigDict(extra="forbid")

    salt: str
    digest: str
    expires: float | None = None
    """When an earlier token ends after a rotation."""


class _Entry(BaseModel):
    model_config = ConfigDict(extra="forbid")

    role: RoleName
    tenant: Annotated[str, StringConstraints(pattern=f"^$|{LABEL}")] = ""
    labels: tuple[Label, ...] = ()
    tokens: tuple[_Token, ...] = ()

    def valid_tokens(self) -> list[_Token]:
        now = time.time()
        return [token for token in self.tokens if token.expires is None or token.expires > now]


class _File(BaseModel):
    model_config = ConfigDict(extra="forbid")

    people: dict[Annotated[str, StringConstraints(pattern=NAME)], _Entry] = Field(
        default_factory=dict
    )


class People:
    """The people of a people file, and the holder of the console's own token."""

    def __init__(self, file: Path, console_token: str = "") -> None:
        self.file = file
        self._console = _new_token(console_token) if console_token else None
        self._version: tuple[int, ...] = ()
        self._known = _File()

    @classmethod
    def of(cls, settings: Settings, console_token: str = "") -> People:
        return cls(Path(settings.people or Path(settings.state_dir) / "people.json"), console_token)

    def authenticate(self, token: str) -> SignIn | None:
        """The person whose token it is. Every digest is compared, so that time tells nothing."""
        found = None
        for person, known in self._list_tokens():
            if hmac.compare_digest(_digest(known.salt, token.strip()), known.digest):
                found = SignIn(person, known.digest)
        return found

    def renew(self, sign_in: SignIn) -> Person | None:
        """The person as the file has them now; None if their token has ended."""
        if not sign_in.digest:
            return sign_in.person
        people = (person for person, token in self._list_tokens() if token.digest == sign_in.digest)
        return next(people, None)

    def list_people(self) -> list[tuple[Person, int]]:
        """Everybody in the file, and how many tokens they have."""
        entries = sorted(self._read().people.items())
        return [(_person(name, entry), len(entry.valid_tokens())) for name, entry in entries]

    def add(self, person: Person) -> str:
        """Add a person; the new token is returned and kept nowhere."""
        token = secrets.token_urlsafe(32)
        with self._edit() as known:
            if person.name in (*known.people, CONSOLE):
                raise BadInputError(
                    f"There is already somebody named {person.name}: `people rotate {person.name}`"
                    " gives them another token."
                )
            known.people[person.name] = _Entry(
                role=person.role.label,
                tenant=person.tenant,
                labels=person.labels,
                tokens=(_new_token(token),),
            )
        return token

    def rotate(self, name: str, overlap_seconds: float = 0.0) -> str:
        """A new token; the old ones end, with an overlap after that time."""
        token, end = secrets.token_urlsafe(32), time.time() + overlap_seconds
        with self._edit() as known:
            entry = self._find(known, name)
            old = entry.valid_tokens() if overlap_seconds > 0 else []
            kept = [t.model_copy(update={"expires": min(t.expires or end, end)}) for t in old]
            known.people[name] = entry.model_copy(update={"tokens": (*kept, _new_token(token))})
        return token

    def remove(self, name: str) -> None:
        with self._edit() as known:
            self._find(known, name)
            del known.people[name]

    def check(self) -> None:
        """Raises `BadInputError` for a file that cannot be used."""
        self._read()

    def _find(self, known: _File, name: str) -> _Entry:
        if name not in known.people:
            raise BadInputError(f"There is nobody named {name}: `people list` shows everybody.")
        return known.people[name]

    def _list_tokens(self) -> Iterator[tuple[Person, _Token]]:
        if self._console is not None:
            yield Person(CONSOLE, Role.ADMIN), self._console
        try:
            known = self._read()
        except BadInputError as error:
            # Nobody of the file gets in until it is mended; the console's own token still works.
            _log.error("%s", error)
            return
        for name, entry in known.people.items():
            for token in entry.valid_tokens():
                yield _person(name, entry), token

    def _read(self) -> _File:
        try:
            status = self.file.stat()
            version = (status.st_mtime_ns, status.st_size, status.st_ino)
            if version != self._version:
                if status.st_mode & 0o077:
                    raise BadInputError(
                        f"The people file {self.file} is open to others: `chmod 600` it."
                    )
                self._known = _File.model_validate_json(self.file.read_bytes())
                self._version = version
        except FileNotFoundError:
            self._known, self._version = _File(), ()
        except OSError as error:
            raise BadInputError(
                f"The people file {self.file} cannot be read ({error.strerror})."
            ) from None
        except ValidationError as error:
            place, why = first_fault(error)
            raise BadInputError(
                f"The people file {self.file} is invalid: correct {place} ({why})."
            ) from None
        return self._known

    @contextlib.contextmanager
    def _edit(self) -> Iterator[_File]:
        """Change the file as a whole, one command after the other."""
        self.file.parent.mkdir(parents=True, exist_ok=True)
        flags = os.O_RDWR | os.O_CREAT
        with open(os.open(f"{self.file}.lock", flags, 0o600), "r+b") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            changed = self._read().model_copy(deep=True)
            yield changed
            draft = self.file.with_name(f"{self.file.name}.new")
            draft.unlink(missing_ok=True)
            with open(os.open(draft, flags | os.O_EXCL, 0o600), "w", encoding="utf-8") as output:
                output.write(changed.model_dump_json(indent=2) + "\n")
            draft.replace(self.file)


def _person(name: str, entry: _Entry) -> Person:
    return Person(name, Role.parse(entry.role), entry.tenant, entry.labels)


def _new_token(token: str) -> _Token:
    salt = secrets.token_hex(16)
    return _Token(salt=salt, digest=_digest(salt, token))


def _digest(salt: str, token: str) -> str:
    return hmac.new(salt.encode(), token.encode(), hashlib.sha256).hexdigest()
