"""What an endpoint cannot do, learnt from its refusals, and how a request is put to it instead.

    schema           goes into the system prompt as text; the answer is checked as always
    server_tools     are left out, and the model is told so
    effort           is left out
    thinking         is left out
    cache_control    is left out
    search_results   become plain text
    stream           the answer is asked for in one piece

A request is asked as it stands first. When the endpoint refuses it by name (400 or 422), the same
request goes out without what was refused; once that is answered, this worker remembers it for the
model. The journal knows a turn by the request as it was asked, not as it was adapted.
"""

from __future__ import annotations

import json
import logging
import re
from collections.abc import Callable
from typing import Any, Literal, get_args

from activities.llm.errors import redacted
from activities.llm.lazy_sdk import anthropic

JsonObject = dict[str, Any]
Ability = Literal[
    "schema", "server_tools", "effort", "thinking", "cache_control", "search_results", "stream"
]
ABILITIES: tuple[Ability, ...] = get_args(Ability)

log = logging.getLogger(__name__)

# The words a refusal is known by. Each counts only where the request holds the thing itself.
_REFUSALS: dict[Ability, re.Pattern[str]] = {
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
}

# Words that say something is not taken at all, and not merely used in the wrong way.
_NOT_TAKEN = re.compile(
    r"extra inputs?|extra field|unknown|unsupported|unexpected|unrecogni[sz]ed|no such"
    r"|not (?:yet )?(?:supported|permitted|allowed|available|enabled|implemented|valid"
    r"|recogni[sz]ed|known)|(?:does|do|can) ?not (?:support|match|accept|handle)|doesn't support"
    r"|invalid|input should be|required",
    re.I,
)

_IN_PROMPT = (
    "\n\nAnswer with one JSON object and nothing else: no words around it, no code fence. It must "
    "follow this JSON schema:\n"
)
_FENCE = re.compile(r"```(?:json)?[ \t]*\n(.*?)\n?[ \t]*```", re.S)


class Abilities:
    """What the models behind one endpoint have been found not to do."""

    def __init__(self, own_endpoint: bool = False) -> None:
        """`own_endpoint` is one that may pass over, in silence, what it does not know."""
        self._own_endpoint = own_endpoint
        self._missing: dict[str, frozenset[Ability]] = {}

    def missing(self, model: str) -> frozenset[Ability]:
        return self._missing.get(model, frozenset())

    def remember(self, model: str, missing: frozenset[Ability], why: str) -> None:
        """Said once: what is done instead is in the module's first lines."""
        new = missing - self.missing(model)
        if new:
            log.warning(
                "the endpoint of %s does not take %s (%s); going on without",
                model, ", ".join(sorted(new)), redacted(why)[:300],
            )  # fmt: skip
            self._missing[model] = self.missing(model) | missing

    def overlooked(self, body: JsonObject, message: JsonObject) -> None:
        """An endpoint that takes a schema and does not follow it gets it in the prompt next time.

        The answer goes back to the model as malformed, and that next turn is asked with it.
        """
        model = body["model"]
        if (
            self._own_endpoint
            and "schema" in _held(body) - self.missing(model)
            and message.get("stop_reason") == "end_turn"
            and not _is_json(_text_of(message))
        ):
            self.remember(model, frozenset({"schema"}), "its answer does not follow the schema")


def refused(error: anthropic.APIStatusError, body: JsonObject) -> frozenset[Ability]:
    """What of this request the endpoint says it does not take; nothing where it is another fault.

    `body` is the request as it was sent, so what has been left out already is not found again.
    """
    if error.status_code not in (400, 422):
        return frozenset()
    said = error.api_message or _words(error.body) or error.message
    if not _NOT_TAKEN.search(said):
        return frozenset()
    named = {name: at for name in _held(body) if (at := _REFUSALS[name].search(said))}
    # What is named first is what it is about; the rest is often advice.
    first = min((at.start() for at in named.values()), default=0)
    found = frozenset(name for name, at in named.items() if at.start() == first)
    # A complaint that names a place in the conversation is about that, not about a setting.
    in_history = re.search(r"messages\W+\d+", said) is not None
    return found & {"cache_control", "search_results"} if in_history else found


def adapted(body: JsonObject, missing: frozenset[Ability]) -> JsonObject:
    """The request as an endpoint takes it that lacks these abilities; `body` is left as it is."""
    for name in ABILITIES:
        if name in missing and name in _held(body):
            body = _WAYS_ROUND[name](body)
    return body


def unwrapped(message: JsonObject) -> JsonObject:
    """The answer without the fence and the words that endpoints without schemas put around it."""
    text = _text_of(message)
    if _is_json(text):
        return message
    fenced = [inside for inside in _FENCE.findall(text) if _is_json(inside)]
    if len(fenced) != 1:
        return message
    others = [block for block in message["content"] if block["type"] != "text"]
    return {**message, "content": [*others, {"type": "text", "text": fenced[0].strip()}]}


def _held(body: JsonObject) -> set[Ability]:
    """The abilities a request makes use of."""
    output = body.get("output_config") or {}
    held: dict[Ability, bool] = {
        "schema": "format" in output,
        "effort": "effort" in output,
        "server_tools": any(_is_server_tool(tool) for tool in body.get("tools") or ()),
        "thinking": "thinking" in body,
        "cache_control": '"cache_control"' in json.dumps(body),
        "search_results": '"search_result"' in json.dumps(body.get("messages") or []),
        "stream": True,
    }
    return {name for name, there in held.items() if there}


def _is_server_tool(tool: JsonObject) -> bool:
    return bool(tool.get("type", "custom") != "custom")


def _schema_in_prompt(body: JsonObject) -> JsonObject:
    schema = body["output_config"]["format"]["schema"]
    text = _IN_PROMPT + json.dumps(schema, ensure_ascii=False)
    return _telling(_without_output(body, "format"), text)


def _without_server_tools(body: JsonObject) -> JsonObject:
    gone = [tool["name"] for tool in body["tools"] if _is_server_tool(tool)]
    rest = [tool for tool in body["tools"] if not _is_server_tool(tool)]
    slim = {key: value for key, value in body.items() if key != "tools"}
    if rest:
        slim["tools"] = rest
    note = f"\n\nNot available here, whatever is said above: {', '.join(gone)}."
    return _telling(slim, note)


def _without_output(body: JsonObject, key: str) -> JsonObject:
    rest = {name: value for name, value in body["output_config"].items() if name != key}
    slim = {name: value for name, value in body.items() if name != "output_config"}
    return {**slim, "output_config": rest} if rest else slim


def _telling(body: JsonObject, text: str) -> JsonObject:
    """The request with something more in its system prompt, within what is cached of it."""
    system = body.get("system") or []
    blocks = [{"type": "text", "text": system}] if isinstance(system, str) else list(system)
    if not blocks:
        blocks = [{"type": "text", "text": ""}]
    blocks[-1] = {**blocks[-1], "text": (blocks[-1]["text"] + text).lstrip()}
    return {**body, "system": blocks}


def _unmarked(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _unmarked(item) for key, item in value.items() if key != "cache_control"}
    return [_unmarked(item) for item in value] if isinstance(value, list) else value


def _plain_results(value: Any) -> Any:
    if isinstance(value, dict):
        if value.get("type") == "search_result":
            words = "\n".join(_words(part) for part in value.get("content") or ())
            title = f"[{value.get('source')}] {value.get('title')}"
            marked = {key: value[key] for key in ("cache_control",) if key in value}
            return {"type": "text", "text": f"{title}\n{words}", **marked}
        return {key: _plain_results(item) for key, item in value.items()}
    return [_plain_results(item) for item in value] if isinstance(value, list) else value


_WAYS_ROUND: dict[Ability, Callable[[JsonObject], JsonObject]] = {
    "schema": _schema_in_prompt,
    "server_tools": _without_server_tools,
    "effort": lambda body: _without_output(body, "effort"),
    "thinking": lambda body: {key: value for key, value in body.items() if key != "thinking"},
    "cache_control": lambda body: dict(_unmarked(body)),
    "search_results": lambda body: {**body, "messages": _plain_results(body["messages"])},
    "stream": lambda body: body,
}


def _words(value: object) -> str:
    if isinstance(value, dict):
        return str(value.get("text") or value.get("message") or value.get("detail") or value)
    return str(value or "")


def _text_of(message: JsonObject) -> str:
    return "".join(block["text"] for block in message["content"] if block["type"] == "text")


def _is_json(text: str) -> bool:
    try:
        json.loads(text)
    except ValueError:
        return False
    return True
