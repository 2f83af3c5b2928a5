"""Which features and limits an endpoint has, learnt from its refusals, and how requests keep to it.

    schema           a tool `answer`, whose input is the answer, takes its place
    answer_tool      the schema goes into the system prompt as text
    tool_choice      is left out
    server_tools     are left out, and the model is told so
    effort           is left out
    thinking         is left out
    cache_control    is left out
    search_results   become plain text
    stream           the answer is asked for in one piece
    container        is left out; it expires by itself, so this is not remembered

A request is first sent as it is. When the endpoint refuses a feature by name (400 or 422), the same
request is sent without it; once that is answered, this worker remembers it for the model. A server
of one's own may also ignore a feature in silence: an answer that does not follow the schema shows
that it ignores the schema, and search results, which such servers drop, are sent to models other
than Claude as text. Limits of models that are not in the catalog are learnt from the errors that
name them. The fingerprint of a turn is that of the original request, not of the adapted one.
"""

from __future__ import annotations

import json
import logging
import re
from collections.abc import Callable
from typing import Any, Literal, get_args

from activities.llm.errors import redact
from activities.llm.lazy_sdk import anthropic
from workflows.config.model_catalog import LOCAL

JsonObject = dict[str, Any]
Capability = Literal[
    "schema", "answer_tool", "tool_choice", "server_tools", "effort", "thinking", "cache_control",
    "search_results", "stream", "container",
]  # fmt: skip
CAPABILITIES: tuple[Capability, ...] = get_args(Capability)

log = logging.getLogger(__name__)

ANSWER = "answer"
"""The tool whose input is the answer, where the endpoint has no structured output."""

# How a refusal of each feature is worded. It counts only where the request uses the feature.
_REFUSALS: dict[Capability, re.Pattern[str]] = {
    "effort": re.compile(r"\beffort\b|output_config['\"]?(?!\W*format)", re.I),
    "schema": re.compile(
        r"output_config['\"]?(?!\W*effort)|json_schema|output_format|structured output"
        r"|response_format|\bschema\b",
        re.I,
    ),
    "server_tools": re.compile(
        r"web_search|web_fetch|code_execution|server[_ ]tool|tools?\W+\d+\W+(?:type|input_schema)"
        r"|tools?\W+\d+\W+\w+\W+(?:type|input_schema)|tools?\W+\d+: Input tag",
        re.I,
    ),
    # A complaint about thinking *blocks* is about the history, not about the setting.
    "thinking": re.compile(r"\bthinking\b(?!\W*block)|\badaptive\b", re.I),
    "cache_control": re.compile(r"cache_control|prompt caching", re.I),
    "search_results": re.compile(r"search_result", re.I),
    "stream": re.compile(r"\bstream(?:ing)?\b", re.I),
    "tool_choice": re.compile(r"tool_choice|forced tool", re.I),
    "answer_tool": re.compile(r"\btools?\b(?!_choice|\W+\d)|function call", re.I),
    "container": re.compile(r"\bcontainer\b", re.I),
}

# Words that say a feature is not supported, not that it is used in the wrong way.
_NOT_SUPPORTED = re.compile(
    r"extra inputs?|extra field|unknown|unsupported|unexpected|unrecogni[sz]ed|no such"
    r"|not (?:yet )?(?:supported|permitted|allowed|available|enabled|implemented|valid"
    r"|recogni[sz]ed|known)|(?:does|do|can) ?not (?:support|match|accept|handle)|doesn't support"
    r"|invalid|input should be|required|expired|not found",
    re.I,
)

_IN_PROMPT = (
    "Answer with one JSON object and nothing else: no words around it, no code fence. It must "
    "follow this JSON schema:\n"
)
_ANSWER_TOOL = (
    "Give your answer by calling the tool `answer`, once, with all of it as the input; write no "
    "answer as text."
)


_ROOM = 64
"""Tokens that are left free: servers count their own marks in."""
_LEAST_OUTPUT = 256

# "max_tokens: 64000 > 8192, which is the maximum"; "max_tokens must be at most 4096"
_OUTPUT = re.compile(
    r"max_(?:completion_|output_)?tokens\W+\d+ > (\d+)"
    r"|max_(?:completion_|output_)?tokens\b[^.]{0,60}?"
    r"(?:at most|less than or equal to|no more than|up to|<=|maximum(?: value)?(?: of| is)?)"
    r"\s*:?\s*(\d+)",
    re.I,
)
# "the available context size (4096 tokens)"; "maximum context length is 8192 tokens";
# "prompt is too long: 210000 tokens > 200000 maximum"; "exceed context limit: 100 + 20 > 110"
_CONTEXT = re.compile(
    r"context size \((\d+)|context (?:length|window)(?: of| is)? (\d+)"
    r"|tokens > (\d+) maximum|context limit: \d+ \+ \d+ > (\d+)",
    re.I,
)
_INPUT = re.compile(
    r"(\d+) (?:tokens )?(?:input|prompt)|(\d+) (?:tokens )?in the (?:messages|prompt)"
    r"|(?:input|prompt)[^.\d]{0,40}?(\d+) tokens|request \((\d+) tokens\)"
    r"|context limit: (\d+) \+",
    re.I,
)


class Capabilities:
    """The features that models behind one endpoint were found to lack."""

    def __init__(self, own_endpoint: bool = False) -> None:
        """`own_endpoint` is one that may ignore, without an error, what it does not know."""
        self._own_endpoint = own_endpoint
        self._missing: dict[str, frozenset[Capability]] = {}

    def missing(self, model: str) -> frozenset[Capability]:
        presumed: frozenset[Capability] = frozenset()
        if model.startswith("claude"):
            # The current models refuse to be forced; they call the answer tool unforced.
            presumed = frozenset({"tool_choice"})
        elif model == LOCAL:
            presumed = frozenset({"schema", "effort", "search_results", "server_tools"})
        elif self._own_endpoint:
            presumed = frozenset({"search_results", "server_tools"})
        return self._missing.get(model, frozenset()) | presumed

    def remember(self, model: str, missing: frozenset[Capability], why: str) -> None:
        """Remember for later requests, with one warning."""
        new = missing - self.missing(model) - {"container"}
        if new:
            log.warning(
                "the endpoint of %s does not support %s (%s); continuing without",
                model, ", ".join(sorted(new)), redact(why)[:300],
            )  # fmt: skip
            self._missing[model] = self.missing(model) | new

    def ignores_schema(self, sent: JsonObject, message: JsonObject) -> bool:
        """Whether the endpoint took the schema of this request and did not follow it.

        The same request is then sent with the answer tool.
        """
        return (
            self._own_endpoint
            and "schema" in _used_features(sent)
            and message.get("stop_reason") == "end_turn"
            and not _follows(text_of(message), sent["output_config"]["format"]["schema"])
        )


class ModelLimits:
    """What is known of the models behind one endpoint, in tokens."""

    def __init__(self) -> None:
        self._output: dict[str, int] = {}
        self._context: dict[str, int] = {}

    def context(self, model: str) -> int:
        """0 where it is not known."""
        return self._context.get(model, 0)

    def output(self, model: str, wanted: int) -> int:
        """The output limit to ask for: a quarter of a small window is left for the answer."""
        context = self._context.get(model, 0)
        room = max(_LEAST_OUTPUT, context // 4) if context else wanted
        return min(wanted, self._output.get(model, wanted), room)

    def learn(self, model: str, error: anthropic.APIStatusError, asked: int) -> int | None:
        """Remember the limit that an error names; the output limit to try instead, if any."""
        if error.status_code not in (400, 413, 422):
            return None
        said = error.api_message or str(error.body or "") or error.message
        output, context = _find_number(_OUTPUT, said), _find_number(_CONTEXT, said)
        if context:
            self._context[model] = context
            used = _find_number(_INPUT, said)
            output = output or (context - used - _ROOM if used else None)
        elif output:
            self._output[model] = output
        return output if output and _LEAST_OUTPUT <= output < asked else None


def _find_number(pattern: re.Pattern[str], said: str) -> int | None:
    found = pattern.search(said)
    return next((int(group) for group in found.groups() if group), None) if found else None


def find_refused(error: anthropic.APIStatusError, body: JsonObject) -> frozenset[Capability]:
    """The features the endpoint refuses in this request; none where the error is another one.

    `body` is the request as it was sent, so what was left out already is not found again.
    """
    if error.status_code not in (400, 422):
        return frozenset()
    said = error.api_message or _words(error.body) or error.message
    if not _NOT_SUPPORTED.search(said):
        return frozenset()
    named = {name: at for name in _used_features(body) if (at := _REFUSALS[name].search(said))}
    # The feature that is named first is the refused one; the rest is often advice.
    first = min((at.start() for at in named.values()), default=0)
    found = frozenset(name for name, at in named.items() if at.start() == first)
    # An error that names a message is about its content, not about a setting.
    in_history = re.search(r"messages\W+\d+", said) is not None
    return found & {"cache_control", "search_results"} if in_history else found


def adapt(body: JsonObject, missing: frozenset[Capability]) -> JsonObject:
    """The request without the features that are missing; `body` is not changed."""
    for name in CAPABILITIES:
        if name in missing and name in _used_features(body):
            body = _ADAPTERS[name](body)
    return body


def _used_features(body: JsonObject) -> set[Capability]:
    """The features that a request uses."""
    output = body.get("output_config") or {}
    held: dict[Capability, bool] = {
        "schema": "format" in output,
        "effort": "effort" in output,
        "server_tools": any(_is_server_tool(tool) for tool in body.get("tools") or ()),
        "thinking": "thinking" in body,
        "cache_control": '"cache_control"' in json.dumps(body),
        "search_results": '"search_result"' in json.dumps(body.get("messages") or []),
        "stream": True,
        "answer_tool": any(tool["name"] == ANSWER for tool in body.get("tools") or ()),
        "tool_choice": "tool_choice" in body,
        "container": "container" in body,
    }
    return {name for name, there in held.items() if there}


def _is_server_tool(tool: JsonObject) -> bool:
    return bool(tool.get("type", "custom") != "custom")


def _schema_in_tool(body: JsonObject) -> JsonObject:
    """Every turn must call a tool: one of its own, or `answer`."""
    schema = body["output_config"]["format"]["schema"]
    tool = {"name": ANSWER, "description": _ANSWER_TOOL, "input_schema": schema}
    changed = _change(
        _without_output(body, "format"),
        tools=[*(body.get("tools") or ()), tool],
        tool_choice={"type": "any"},
    )
    return _append_to_system(changed, _ANSWER_TOOL)


def _schema_in_prompt(body: JsonObject) -> JsonObject:
    schema = next(tool["input_schema"] for tool in body["tools"] if tool["name"] == ANSWER)
    rest = [tool for tool in body["tools"] if tool["name"] != ANSWER]
    return _append_to_system(
        _change(body, tools=rest, tool_choice=None),
        _IN_PROMPT + json.dumps(schema, ensure_ascii=False),
    )


def _without_server_tools(body: JsonObject) -> JsonObject:
    gone = [tool["name"] for tool in body["tools"] if _is_server_tool(tool)]
    rest = [tool for tool in body["tools"] if not _is_server_tool(tool)]
    note = f"Not available here, whatever is said above: {', '.join(gone)}."
    return _append_to_system(_change(body, tools=rest), note)


def _without_output(body: JsonObject, key: str) -> JsonObject:
    rest = {name: value for name, value in body["output_config"].items() if name != key}
    return _change(body, output_config=rest)


def _change(body: JsonObject, **changes: object) -> JsonObject:
    """The request with these fields; those that are empty are left out."""
    kept = {name: value for name, value in body.items() if name not in changes}
    return kept | {name: value for name, value in changes.items() if value}


def _append_to_system(body: JsonObject, text: str) -> JsonObject:
    """The request with more text in its system prompt, inside the part that is cached."""
    *before, last = body.get("system") or [{"type": "text", "text": ""}]
    longer = {**last, "text": f"{last['text']}\n\n{text}".lstrip()}
    return {**body, "system": [*before, longer]}


def _rewrite(value: Any, change: Callable[[JsonObject], JsonObject]) -> Any:
    """The value with every object in it changed."""
    if isinstance(value, dict):
        return change({key: _rewrite(item, change) for key, item in value.items()})
    return [_rewrite(item, change) for item in value] if isinstance(value, list) else value


def _unmark(block: JsonObject) -> JsonObject:
    return {key: value for key, value in block.items() if key != "cache_control"}


def _plain_result(block: JsonObject) -> JsonObject:
    if block.get("type") != "search_result":
        return block
    words = "\n".join(_words(part) for part in block.get("content") or ())
    text = f"[{block.get('source')}] {block.get('title')}\n{words}"
    mark = {key: block[key] for key in ("cache_control",) if key in block}
    return {"type": "text", "text": text, **mark}


_ADAPTERS: dict[Capability, Callable[[JsonObject], JsonObject]] = {
    "schema": _schema_in_tool,
    "answer_tool": _schema_in_prompt,
    "tool_choice": lambda body: _change(body, tool_choice=None),
    "container": lambda body: _change(body, container=None),
    "server_tools": _without_server_tools,
    "effort": lambda body: _without_output(body, "effort"),
    "thinking": lambda body: _change(body, thinking=None),
    "cache_control": lambda body: dict(_rewrite(body, _unmark)),
    "search_results": lambda body: _change(
        body, messages=_rewrite(body["messages"], _plain_result)
    ),
    "stream": lambda body: body,
}


def _words(value: object) -> str:
    if isinstance(value, dict):
        return str(value.get("text") or value.get("message") or value.get("detail") or value)
    return str(value or "")


def text_of(message: JsonObject) -> str:
    return "".join(block["text"] for block in message["content"] if block["type"] == "text")


def _follows(text: str, schema: JsonObject) -> bool:
    from jsonschema import Draft202012Validator

    try:
        return bool(Draft202012Validator(schema).is_valid(json.loads(text)))
    except ValueError:
        return False
