"""Structured output takes what the SDK's own transformation emits, and nothing beyond it."""

from __future__ import annotations

from enum import Enum
from typing import Any, Literal

import pytest
from anthropic import transform_schema
from pydantic import BaseModel, Field, TypeAdapter

from activities.agent import schemas as answers
from tests.simulator.errors import ApiError
from tests.simulator.schema_subset import check_schema


class Colour(Enum):
    RED = "red"


class Leaf(BaseModel):
    name: str = Field(min_length=1, max_length=20, pattern="^a")
    share: float = Field(ge=0, le=1)
    count: int | None = None


class Tree(BaseModel):
    leaves: list[Leaf] = Field(min_length=1, max_length=9)
    kind: Literal["a", "b"] = "a"
    colour: Colour | None = None
    by_name: dict[str, int] = Field(default_factory=dict)
    either: Leaf | str = "x"


class Loop(BaseModel):
    children: list[Loop] = Field(default_factory=list)


@pytest.mark.parametrize("kind", [Tree, Leaf, list[Leaf], Leaf | str])
def test_what_the_sdk_emits_is_accepted(kind: Any) -> None:
    check_schema(transform_schema(TypeAdapter(kind).json_schema()), "schema")


def test_the_projects_own_answers_are_within_the_subset() -> None:
    kinds = [
        kind
        for kind in vars(answers).values()
        if isinstance(kind, type) and issubclass(kind, answers.Answer) and kind.model_fields
    ]
    assert kinds
    for kind in kinds:
        check_schema(transform_schema(kind.model_json_schema()), kind.__name__)


def test_a_recursive_schema_is_refused_even_when_transformed() -> None:
    with pytest.raises(ApiError, match="Recursive"):
        check_schema(transform_schema(Loop.model_json_schema()), "schema")


def an_object(**properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "additionalProperties": False}


@pytest.mark.parametrize(
    "refused",
    [
        {"type": "object", "properties": {}},
        {**an_object(), "additionalProperties": {"type": "string"}},
        {**an_object(), "required": ["absent"]},
        an_object(a={"type": "integer", "maximum": 3}),
        an_object(a={"type": "string", "minLength": 1}),
        an_object(a={"type": "string", "pattern": "a"}),
        an_object(a={"type": "string", "format": "phone"}),
        an_object(a={"type": "array", "items": {"type": "string"}, "minItems": 2}),
        an_object(a={"type": "array", "items": {"type": "string"}, "maxItems": 2}),
        an_object(a={"type": "array", "items": {"type": "string"}, "uniqueItems": True}),
        an_object(a={"oneOf": [{"type": "string"}]}),
        an_object(a={"enum": [{"x": 1}]}),
        an_object(a={"$ref": "https://example.org/schema.json"}),
        an_object(a={"$ref": "#/$defs/Absent"}),
        an_object(a={}),
        an_object(a={"type": "object"}),
        {"$defs": {"A": an_object(a={"$ref": "#/$defs/A"})}, "$ref": "#/$defs/A"},
        "not a schema",
    ],
)
def test_what_goes_beyond_the_subset_is_refused(refused: Any) -> None:
    with pytest.raises(ApiError) as error:
        check_schema(refused, "output_config.format.schema")
    assert error.value.status == 400
    assert error.value.message.startswith("output_config.format.schema: ")
