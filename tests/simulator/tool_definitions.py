"""Which tools a request may offer, and how it may ask for them."""

from __future__ import annotations

import re
from typing import Any

from tests.simulator.errors import invalid
from tests.simulator.models import ModelProfile
from tests.simulator.schema_subset import check_schema

JsonObject = dict[str, Any]

_NAME = re.compile(r"[a-zA-Z0-9_-]{1,128}")
_EVERY = {"name", "type", "allowed_callers", "cache_control", "defer_loading", "strict"}
_WEB = {"allowed_domains", "blocked_domains", "max_uses", "response_inclusion"}
_CUSTOM = _EVERY | {"description", "input_schema", "input_examples", "eager_input_streaming"}
SERVER_TOOLS: dict[str, tuple[str, set[str]]] = {
    "web_search_20260318": ("web_search", _EVERY | _WEB | {"user_location"}),
    "web_fetch_20260318": (
        "web_fetch",
        _EVERY | _WEB | {"citations", "max_content_tokens", "url_sources", "use_cache"},
    ),
    "code_execution_20260521": ("code_execution", _EVERY),
}


def check_tools(body: JsonObject, profile: ModelProfile) -> None:
    tools = body.get("tools") or []
    if not isinstance(tools, list):
        raise invalid("tools: Input should be a valid list")
    for n, tool in enumerate(tools):
        if not isinstance(tool, dict):
            raise invalid(f"tools.{n}: Input should be a valid dictionary")
        if tool.get("type") in (None, "custom"):
            _check_custom(tool, f"tools.{n}.custom")
        else:
            _check_server(tool, f"tools.{n}")
    names = [tool["name"] for tool in tools]
    if len(set(names)) != len(names):
        raise invalid("tools: Tool names must be unique.")
    _check_choice(body, profile, names)


def _check_custom(tool: JsonObject, path: str) -> None:
    for field in ("name", "input_schema"):
        if field not in tool:
            raise invalid(f"{path}.{field}: Field required")
    _no_extras(tool, _CUSTOM, path)
    if not isinstance(tool["name"], str) or not _NAME.fullmatch(tool["name"]):
        raise invalid(f"{path}.name: String should match pattern '^[a-zA-Z0-9_-]{{1,128}}$'")
    schema = tool["input_schema"]
    if not isinstance(schema, dict) or schema.get("type") != "object":
        raise invalid(f"{path}.input_schema.type: Input should be 'object'")
    if tool.get("strict"):
        check_schema(schema, f"{path}.input_schema")


def _check_server(tool: JsonObject, path: str) -> None:
    kind = tool["type"]
    if kind not in SERVER_TOOLS:
        known = ", ".join(repr(name) for name in ("custom", *SERVER_TOOLS))
        raise invalid(f"{path}: Input tag {kind!r} found using 'type' does not match any of the "
                      f"expected tags: {known}")  # fmt: skip
    name, fields = SERVER_TOOLS[kind]
    path = f"{path}.{kind}"
    if tool.get("name") != name:
        raise invalid(f"{path}.name: Input should be {name!r}")
    _no_extras(tool, fields, path)
    if tool.get("allowed_domains") and tool.get("blocked_domains"):
        raise invalid(f"{path}: only one of `allowed_domains` and `blocked_domains` may be given")
    for domain in [*(tool.get("allowed_domains") or ()), *(tool.get("blocked_domains") or ())]:
        if not isinstance(domain, str) or not domain or "://" in domain:
            raise invalid(f"{path}: domains are given without a scheme, not {domain!r}")
    for field in ("max_uses", "max_content_tokens"):
        value = tool.get(field)
        if value is not None and (not _whole(value) or value < 1):
            raise invalid(f"{path}.{field}: Input should be greater than 0")
    if tool.get("response_inclusion", "full") not in ("full", "excluded"):
        raise invalid(f"{path}.response_inclusion: Input should be 'full' or 'excluded'")
    location = tool.get("user_location")
    if location is not None and location.get("type") != "approximate":
        raise invalid(f"{path}.user_location.type: Input should be 'approximate'")


def _check_choice(body: JsonObject, profile: ModelProfile, names: list[str]) -> None:
    choice = body.get("tool_choice")
    if choice is None:
        return
    kind = choice.get("type") if isinstance(choice, dict) else None
    if kind not in ("auto", "any", "tool", "none"):
        raise invalid("tool_choice: Input should be of type 'auto', 'any', 'tool' or 'none'")
    if not names:
        raise invalid("tool_choice: may only be specified while providing tools")
    if kind in ("any", "tool"):
        if not profile.forced_tools:
            raise invalid(f"tool_choice: forced tool use ('{kind}') is not supported on "
                          f"{profile.name}; use 'auto' or 'none'")  # fmt: skip
        if (body.get("thinking") or {}).get("type") in ("adaptive", "enabled"):
            raise invalid("Thinking may not be enabled when tool_choice forces tool use.")
    if kind == "tool" and choice.get("name") not in names:
        raise invalid(f"tool_choice: Tool {choice.get('name')!r} not found in provided tools")


def _no_extras(given: JsonObject, allowed: set[str], path: str) -> None:
    for field in given.keys() - allowed:
        raise invalid(f"{path}.{field}: Extra inputs are not permitted")


def _whole(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)
