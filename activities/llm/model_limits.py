"""The limits of models that are not in the catalog, learnt from the errors that name them."""

from __future__ import annotations

import re

from activities.llm.lazy_sdk import anthropic

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
        output, context = _number(_OUTPUT, said), _number(_CONTEXT, said)
        if context:
            self._context[model] = context
            used = _number(_INPUT, said)
            output = output or (context - used - _ROOM if used else None)
        elif output:
            self._output[model] = output
        return output if output and _LEAST_OUTPUT <= output < asked else None


def _number(pattern: re.Pattern[str], said: str) -> int | None:
    found = pattern.search(said)
    return next((int(group) for group in found.groups() if group), None) if found else None
