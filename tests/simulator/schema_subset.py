"""The part of JSON Schema that structured output accepts; anything else is refused by name."""

from __future__ import annotations

from typing import Any

from tests.simulator.errors import invalid

JsonObject = dict[str, Any]

TYPES = {"object", "array", "string", "integer", "number", "boolean", "null"}
FORMATS = {"date-time", "time", "date", "duration", "email", "hostname", "uri", "ipv4", "ipv6",
           "uuid"}  # fmt: skip
_ANYWHERE = {"type", "title", "description", "default", "enum", "const", "anyOf", "allOf", "$ref",
             "$defs", "definitions"}  # fmt: skip
_BY_TYPE = {
    "object": {"properties", "required", "additionalProperties"},
    "array": {"items", "minItems"},
    "string": {"format"},
}


def check_schema(schema: Any, path: str) -> None:
    """Raises the API's 400 for the first thing that structured output cannot hold."""
    if not isinstance(schema, dict):
        raise invalid(f"{path}: Input should be a valid dictionary")
    defs = {
        f"#/{home}/{name}": definition
        for home in ("$defs", "definitions")
        for name, definition in schema.get(home, {}).items()
    }
    for definition in defs.values():
        _check_node(definition, path, defs)
    _check_node(schema, path, defs)
    for name in defs:
        _check_cycle(name, defs, (), path)


def _check_node(node: Any, path: str, defs: JsonObject) -> None:
    if not isinstance(node, dict):
        raise invalid(f"{path}: Schema must be an object, not {node!r}")
    named = node.get("type")
    types = named if isinstance(named, list) else [named] if named is not None else []
    for kind in types:
        if kind not in TYPES:
            raise invalid(f"{path}: Type {kind!r} is not supported")
    if not types and not node.keys() & {"enum", "const", "anyOf", "allOf", "$ref"}:
        raise invalid(f"{path}: Schema must have a 'type', 'anyOf', 'allOf', '$ref', "
                      "'enum' or 'const'")  # fmt: skip
    _check_keywords(node, types, path)
    if "$ref" in node and node["$ref"] not in defs:
        raise invalid(f"{path}: $ref {node['$ref']!r} is external, recursive or undefined; only "
                      "references to '#/$defs' are supported")  # fmt: skip
    values = node.get("enum", [None])
    if not values or any(isinstance(value, dict | list) for value in values):
        raise invalid(f"{path}: Enum must be a list of strings, numbers, booleans or nulls")
    if node.get("minItems", 0) not in (0, 1):
        raise invalid(f"{path}: For 'array' type, 'minItems' values other than 0 or 1 are not "
                      "supported")  # fmt: skip
    if "format" in node and node["format"] not in FORMATS:
        raise invalid(f"{path}: For 'string' type, format {node['format']!r} is not supported")
    if any("$ref" in part for part in node.get("allOf", ())):
        raise invalid(f"{path}: 'allOf' with '$ref' is not supported")
    if "object" in types:
        _check_object(node, path)
    for child in _children(node):
        _check_node(child, path, defs)


def _check_keywords(node: JsonObject, types: list[str], path: str) -> None:
    allowed = _ANYWHERE.union(*(_BY_TYPE.get(kind, set()) for kind in types))
    unknown = sorted(node.keys() - allowed)
    if unknown:
        where = f"For '{types[0]}' type, " if types else ""
        raise invalid(f"{path}: {where}properties {', '.join(unknown)} are not supported")


def _check_object(node: JsonObject, path: str) -> None:
    if node.get("additionalProperties") is not False:
        raise invalid(f"{path}: For 'object' type, 'additionalProperties' must be explicitly set "
                      "to false")  # fmt: skip
    missing = set(node.get("required", ())) - node.get("properties", {}).keys()
    if missing:
        raise invalid(f"{path}: Required properties {sorted(missing)} are not defined")


def _children(node: JsonObject) -> list[Any]:
    items = [node["items"]] if "items" in node else []
    parts = [*node.get("anyOf", ()), *node.get("allOf", ())]
    return [*node.get("properties", {}).values(), *items, *parts]


def _check_cycle(name: str, defs: JsonObject, above: tuple[str, ...], path: str) -> None:
    if name in above:
        raise invalid(f"{path}: Recursive schemas are not supported: {name}")
    for ref in _refs(defs[name]):
        _check_cycle(ref, defs, (*above, name), path)


def _refs(node: JsonObject) -> list[str]:
    own = [node["$ref"]] if "$ref" in node else []
    return own + [ref for child in _children(node) for ref in _refs(child)]
