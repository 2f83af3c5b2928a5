"""The tools a model may be given, as the Messages API wants them described.

Which role gets which is in `roles`. A search carries the model's scores of the hits before it, so
that every cycle of retrieval is on record with its reasons.
"""

from __future__ import annotations

from typing import Literal, TypedDict

ToolName = Literal["search", "read"]


class ToolDefinition(TypedDict):
    name: ToolName
    description: str
    input_schema: dict[str, object]


_SCORES = {
    "type": "array",
    "description": "Your scores of the hits of the cycle before: 0 useless, 1 answers it.",
    "items": {
        "type": "object",
        "properties": {
            "source_id": {"type": "string"},
            "score": {"type": "number"},
            "reason": {"type": "string"},
        },
        "required": ["source_id", "score", "reason"],
        "additionalProperties": False,
    },
}

SEARCH: ToolDefinition = {
    "name": "search",
    "description": (
        "Search the documents by words. Returns passages, sentence by sentence, with the id of "
        "the source each stands in, and how many documents hold each of your words. All searches "
        "of one turn are one cycle; the cycles are limited, so start broad, then aim at what is "
        "missing, in the documents' own terms. A passage you have been shown is not sent again."
    ),
    "input_schema": {
        "type": "object",
        "properties": {
            "query": {"type": "string", "description": "Words to look for."},
            "aim": {"type": "string", "description": "What is missing that this should find."},
            "exclude": {
                "type": "array",
                "items": {"type": "string"},
                "description": "Ids of sources not to return again.",
            },
            "scores": _SCORES,
        },
        "required": ["query", "aim"],
        "additionalProperties": False,
    },
}

READ: ToolDefinition = {
    "name": "read",
    "description": "Read a document by its source id, from a character offset on.",
    "input_schema": {
        "type": "object",
        "properties": {
            "source_id": {"type": "string"},
            "start": {"type": "integer", "description": "Offset to read from; 0 is the start."},
        },
        "required": ["source_id"],
        "additionalProperties": False,
    },
}

DEFINITIONS: dict[ToolName, ToolDefinition] = {"search": SEARCH, "read": READ}
