"""The settings file of MCP servers: which there are, how they are reached, which role may use what.

Everything that can be wrong with the file is said when it is read, with file, field and remedy.
Secrets stand in the worker's environment and are named in the file as `${NAME}`; they are put in
place when a server is started and are never part of the settings.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any
from urllib.parse import urlsplit

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator, model_validator

ROLES = ("planner", "researcher", "verifier")
"""Who may be given MCP tools. The others judge and write from evidence that was checked."""
_SECRET = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)\}")

ToolList = Annotated[tuple[str, ...], Field(min_length=1)]
ServerName = Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9-]{0,23}$")]


class McpSettingsError(ValueError):
    """The settings file cannot be used; the message says where and what to do about it."""


class ServerSettings(BaseModel):
    """One server: a command to run, or a URL to speak to."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    command: str | None = Field(default=None, min_length=1)
    args: tuple[str, ...] = ()
    env: dict[str, str] = {}
    cwd: str | None = None
    url: str | None = None
    headers: dict[str, str] = {}
    roles: dict[str, ToolList] = Field(min_length=1)
    start_seconds: float = Field(default=30, gt=0, le=600)
    """For the server to be ready; one that is fetched before it first runs may need more."""
    timeout_seconds: float = Field(default=30, gt=0, le=600)
    """For each call."""
    max_characters: int = Field(default=40_000, ge=100, le=1_000_000)
    """Of one result; what is longer is cut, and the subagent is told."""

    @field_validator("roles")
    @classmethod
    def _only_who_gathers_evidence(cls, roles: dict[str, ToolList]) -> dict[str, ToolList]:
        for role in roles:
            if role not in ROLES:
                raise ValueError(
                    f"the role {role!r} cannot be given MCP tools; "
                    f"name tools for {', '.join(ROLES[:-1])} or {ROLES[-1]} only"
                )
        return roles

    @field_validator("url")
    @classmethod
    def _speaks_http(cls, url: str | None) -> str | None:
        if url is not None and (urlsplit(url).scheme not in {"http", "https"} or "@" in url):
            raise ValueError(
                "a url starts with https:// or http:// and holds no password; "
                "put secrets in headers, as ${NAME}"
            )
        return url

    @field_validator("args")
    @classmethod
    def _no_secret_in_arguments(cls, args: tuple[str, ...]) -> tuple[str, ...]:
        if any(_SECRET.search(arg) for arg in args):
            raise ValueError(
                "arguments can be seen by every process of the machine; pass ${NAME} in env"
            )
        return args

    @model_validator(mode="after")
    def _one_way_to_reach_it(self) -> ServerSettings:
        if (self.command is None) == (self.url is None):
            raise ValueError("name either a command to start or a url to speak to, not both")
        if self.url and (self.args or self.env or self.cwd):
            raise ValueError("args, env and cwd belong to a command; give a url headers instead")
        if self.command and self.headers:
            raise ValueError("headers belong to a url; give a command env instead")
        return self

    @property
    def tools(self) -> tuple[str, ...]:
        """Every tool that some role may use, in the file's order."""
        return tuple(dict.fromkeys(tool for tools in self.roles.values() for tool in tools))


class McpSettings(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)

    servers: dict[ServerName, ServerSettings]

    @classmethod
    def load(cls, path: Path, environment: Mapping[str, str]) -> McpSettings:
        """The checked settings; secrets that the environment does not hold are refused here."""
        try:
            settings = cls.model_validate(json.loads(path.read_text("utf-8")))
        except OSError as unreadable:
            raise McpSettingsError(
                f"{path} cannot be read ({unreadable.strerror}); "
                "RESEARCH_MCP names the settings file of MCP servers: correct or unset it"
            ) from None
        except ValidationError as wrong:
            said = "; ".join(_complaint(error) for error in wrong.errors()[:8])
            raise McpSettingsError(f"{path}: {said}") from None
        except ValueError as wrong:
            raise McpSettingsError(f"{path} is not JSON in UTF-8 ({wrong}); correct it") from None
        for name, server in settings.servers.items():
            for field in ("env", "headers"):
                for key, value in getattr(server, field).items():
                    for secret in _SECRET.findall(value):
                        if secret not in environment:
                            raise McpSettingsError(
                                f"{path}: servers.{name}.{field}.{key} asks for {secret}, "
                                "which the worker's environment does not hold; set it there"
                            )
        return settings


def with_secrets(values: Mapping[str, str], environment: Mapping[str, str]) -> dict[str, str]:
    """The values with every `${NAME}` put in place."""
    # Secrets come with a line's end where they are mounted as files, and an HTTP client that
    # refuses such a header shows it in its error.
    return {
        key: _SECRET.sub(lambda named: environment.get(named[1], "").strip(), value)
        for key, value in values.items()
    }


def _complaint(error: Any) -> str:
    place = ".".join(str(part) for part in error["loc"] if part != "[key]") or "the file"
    match error["type"]:
        case "extra_forbidden":
            known = ServerSettings if len(error["loc"]) > 1 else McpSettings
            return f"{place} is no setting; remove it or use {', '.join(known.model_fields)}"
        case "missing":
            return f"{place} is missing; add it"
        case "value_error":
            return f"{place}: {error['ctx']['error']}"
        case "string_pattern_mismatch":
            return (
                f"{place} is no name for a server; "
                "use up to 24 small letters, digits and hyphens, a letter or digit first"
            )
    return f"{place}: {error['msg'][:1].lower()}{error['msg'][1:]}; correct it"
