"""What other packages and teams rely on: the activity interfaces, and the imports of contracts."""

from __future__ import annotations

import ast
import inspect
import sys
from pathlib import Path

import pytest
from temporalio import activity

import worker
from workflows.stages import activity_interfaces

CONTRACTS = Path(__file__).parents[2] / "workflows" / "contracts"
INTERFACES = [
    value
    for value in vars(activity_interfaces).values()
    if inspect.isclass(value) and value.__module__ == activity_interfaces.__name__
]


@pytest.mark.parametrize("interface", INTERFACES, ids=lambda interface: interface.__name__)
def test_every_activity_is_implemented_under_its_name(interface: type[object]) -> None:
    (implementation,) = interface.__subclasses__()
    assert implementation.__name__ in vars(worker), "the worker registers it"
    for name, method in vars(interface).items():
        if declared := activity._Definition.from_callable(method) if callable(method) else None:
            implemented = activity._Definition.from_callable(vars(implementation)[name])
            assert implemented is not None
            assert implemented.name == declared.name == name


@pytest.mark.parametrize("path", sorted(CONTRACTS.glob("*.py")), ids=lambda path: path.name)
def test_contracts_import_pydantic_and_each_other_only(path: Path) -> None:
    allowed = {"pydantic", *sys.stdlib_module_names}
    if path.name == "nexus.py":
        allowed.add("nexusrpc")
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            assert {alias.name.split(".")[0] for alias in node.names} <= allowed
        elif isinstance(node, ast.ImportFrom) and node.level == 0:
            assert (node.module or "").split(".")[0] in allowed
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 1
