"""Everything that makes the API answer 400, 404 or 401 before a model has read a word."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from tests.simulator.blocks import (
    as_blocks,
    characters,
    nested,
    prompt_blocks,
    tokens,
)
from tests.simulator.errors import ApiError, invalid
from tests.simulator.history import check_order, check_shape, check_system, cited
from tests.simulator.models import EFFORTS, ModelProfile
from tests.simulator.schema_subset import check_schema
from tests.simulator.signatures import Signer
from tests.simulator.tool_definitions import check_tools

JsonObject = dict[str, Any]

_FIELDS = {"model", "messages", "max_tokens", "cache_control", "container", "diagnostics",
           "inference_geo", "metadata", "output_config", "service_tier", "speed",
           "stop_sequences", "stream", "system", "thinking", "tool_choice", "tools",
           "temperature", "top_p", "top_k"}  # fmt: skip
MARKERS = 4
VERSIONS = ("2023-01-01", "2023-06-01", "2026-10-21")


def check_headers(headers: Mapping[str, str], keys: Collection[str] | None) -> None:
    """Who asks, and for which version. `keys` of None accepts any key that is not empty."""
    given = headers.get("x-api-key") or headers.get("authorization", "").removeprefix("Bearer ")
    if not given:
        raise ApiError(401, "x-api-key header is required")
    if keys is not None and given not in keys:
        raise ApiError(401, "invalid x-api-key")
    if not headers.get("anthropic-version"):
        raise invalid("anthropic-version: header is required")
    if headers["anthropic-version"] not in VERSIONS:
        raise invalid(f'anthropic-version: "{headers["anthropic-version"]}" is not a valid version')


def check_request(
    body: Any, models: Mapping[str, ModelProfile], signer: Signer, counting: bool = False
) -> ModelProfile:
    """The profile of the model asked for. `counting` is for `count_tokens`, with no output."""
    if not isinstance(body, dict):
        raise invalid("Input should be a valid dictionary")
    for field in ("model", "messages", *(() if counting else ("max_tokens",))):
        if body.get(field) is None:
            raise invalid(f"{field}: Field required")
    for field in sorted(body.keys() - _FIELDS):
        raise invalid(f"{field}: Extra inputs are not permitted")
    if body["model"] not in models:
        raise ApiError(404, f"model: {body['model']}")
    profile = models[body["model"]]
    if not counting:
        _check_max_tokens(body["max_tokens"], profile)
    check_shape(body)
    check_system(body)
    check_tools(body, profile)
    _check_thinking(body, profile)
    _check_output(body)
    _check_markers(body)
    own = signer.check(body)
    check_order(body, own, profile.prefill)
    size = tokens(sum(characters(block) for _, block in prompt_blocks(body)))
    if size > profile.context:
        raise invalid(f"prompt is too long: {size} tokens > {profile.context} maximum")
    return profile


def _check_max_tokens(limit: Any, profile: ModelProfile) -> None:
    if not isinstance(limit, int) or isinstance(limit, bool):
        raise invalid("max_tokens: Input should be a valid integer")
    if limit < 0:
        raise invalid("max_tokens: Input should be greater than or equal to 0")
    if limit > profile.max_output:
        raise invalid(f"max_tokens: {limit} > {profile.max_output}, which is the maximum allowed "
                      f"number of output tokens for {profile.name}")  # fmt: skip


def _check_thinking(body: JsonObject, profile: ModelProfile) -> None:
    for field in ("temperature", "top_p", "top_k"):
        if body.get(field) is not None and not profile.sampling:
            raise invalid(f"`{field}` is not supported on {profile.name}; leave it out")
    thinking = body.get("thinking")
    if thinking is None:
        return
    kind = thinking.get("type") if isinstance(thinking, dict) else None
    if kind not in ("adaptive", "between_tools", "disabled", "enabled"):
        raise invalid("thinking.type: Input should be 'adaptive', 'between_tools', 'disabled' or "
                      "'enabled'")  # fmt: skip
    if kind not in profile.thinking:
        raise invalid(f'"thinking.type.{kind}" is not supported for this model. Use '
                      '"thinking.type.adaptive" and "output_config.effort" to control thinking '
                      "behavior.")  # fmt: skip
    allowed = {"type", "display"} if kind in ("adaptive", "enabled") else {"type"}
    allowed |= {"budget_tokens"} if kind == "enabled" else set()
    for field in sorted(thinking.keys() - allowed):
        raise invalid(f"thinking.{kind}.{field}: Extra inputs are not permitted")
    if kind == "enabled" and not 1024 <= thinking.get("budget_tokens", 0) < body["max_tokens"]:
        raise invalid("thinking.enabled.budget_tokens: must be at least 1024 and less than "
                      "`max_tokens`")  # fmt: skip


def _check_output(body: JsonObject) -> None:
    citations = cited(body)
    for kind, states in citations.items():
        if len(states) > 1:
            raise invalid(f"messages: citations must be enabled on all {kind} blocks or on none")
    config = body.get("output_config")
    if config is None:
        return
    if not isinstance(config, dict):
        raise invalid("output_config: Input should be a valid dictionary")
    for field in sorted(config.keys() - {"effort", "format"}):
        raise invalid(f"output_config.{field}: Extra inputs are not permitted")
    if config.get("effort") not in (None, *EFFORTS):
        raise invalid(f"output_config.effort: Input should be {', '.join(map(repr, EFFORTS))}")
    wanted = config.get("format")
    if wanted is None:
        return
    if not isinstance(wanted, dict) or wanted.get("type") != "json_schema":
        raise invalid("output_config.format.type: Input should be 'json_schema'")
    if "schema" not in wanted:
        raise invalid("output_config.format.schema: Field required")
    for field in sorted(wanted.keys() - {"type", "schema"}):
        raise invalid(f"output_config.format.{field}: Extra inputs are not permitted")
    check_schema(wanted["schema"], "output_config.format.schema")
    fetched = any((t.get("citations") or {}).get("enabled") for t in body.get("tools") or ())
    if fetched or any(True in states for states in citations.values()):
        raise invalid("output_config.format: citations cannot be enabled together with a "
                      "structured output format")  # fmt: skip


def _check_markers(body: JsonObject) -> None:
    found = [
        (where, inner["cache_control"])
        for where, block in prompt_blocks(body)
        for inner in (nested(block) if where not in ("tools", "system") else (block,))
        if inner.get("cache_control") is not None
    ]
    top = body.get("cache_control")
    if top is not None:
        last = as_blocks(body["messages"][-1]["content"])[-1]
        if last.get("cache_control") is None:
            found.append(("messages", top))
    for where, marker in found:
        if not isinstance(marker, dict) or marker.get("type") != "ephemeral":
            raise invalid(f"{where}: cache_control.type: Input should be 'ephemeral'")
        if marker.get("ttl", "5m") not in ("5m", "1h") or marker.keys() - {"type", "ttl"}:
            raise invalid(f"{where}: cache_control.ttl: Input should be '5m' or '1h'")
    if len(found) > MARKERS:
        raise invalid(f"A maximum of {MARKERS} blocks with cache_control may be provided. "
                      f"Found {len(found)}.")  # fmt: skip
    lives = [marker.get("ttl", "5m") for _, marker in found]
    if lives != sorted(lives):
        raise invalid("a ttl='1h' cache_control block must not come after a ttl='5m' "
                      "cache_control block")  # fmt: skip
