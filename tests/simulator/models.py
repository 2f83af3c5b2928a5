"""The models the simulator knows, and what each of them refuses."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

JsonObject = dict[str, Any]
EFFORTS = ("low", "medium", "high", "xhigh", "max")


@dataclass(frozen=True)
class ModelProfile:
    name: str
    line: str
    thinking: tuple[str, ...]
    """The `thinking.type` values it accepts."""
    thinks_unasked: bool = True
    forced_tools: bool = False
    prefill: bool = False
    sampling: bool = False
    lifecycle: str = "active"
    context: int = 1_000_000
    max_output: int = 128_000

    def info(self) -> JsonObject:
        """What `GET /v1/models/{id}` says about it."""
        types = ("adaptive", "between_tools", "disabled", "enabled")
        strategies = ("clear_thinking_20251015", "clear_tool_uses_20250919", "compact_20260112")
        return {
            "type": "model",
            "id": self.name,
            "display_name": self.name.replace("-", " ").title(),
            "created_at": "2026-01-01T00:00:00Z",
            "lifecycle": self.lifecycle,
            "line": self.line,
            "max_input_tokens": self.context,
            "max_tokens": self.max_output,
            "capabilities": {
                **{name: _yes() for name in ("batch", "citations", "code_execution",
                   "image_input", "pdf_input", "structured_outputs")},
                "context_management": _yes(**{name: _yes() for name in strategies}),
                "effort": _yes(**{name: _yes() for name in EFFORTS}),
                "server_tools": _yes(code_execution=_yes(), web_search=_yes()),
                "thinking": _yes(types={t: {"supported": t in self.thinking} for t in types}),
            },
        }  # fmt: skip


def _yes(**more: Any) -> JsonObject:
    return {"supported": True, **more}


MODELS: dict[str, ModelProfile] = {
    profile.name: profile
    for profile in (
        ModelProfile("claude-opus-5-5", "opus", thinking=("adaptive",)),
        ModelProfile("claude-sonnet-5-5", "sonnet", thinking=("adaptive", "between_tools")),
        ModelProfile(
            "claude-haiku-5-5", "haiku", thinking=("adaptive", "disabled"), forced_tools=True
        ),
        ModelProfile(
            "claude-sonnet-4-5",
            "sonnet",
            thinking=("enabled", "disabled"),
            thinks_unasked=False,
            forced_tools=True,
            prefill=True,
            sampling=True,
            lifecycle="deprecated",
            max_output=64_000,
        ),
    )
}


def thinks(profile: ModelProfile, body: JsonObject, uses_tools: bool) -> bool:
    """Whether an answer to this request comes with a thinking block."""
    kind = (body.get("thinking") or {}).get("type")
    if kind is None:
        return profile.thinks_unasked
    return bool(kind in ("adaptive", "enabled") or (kind == "between_tools" and uses_tools))
