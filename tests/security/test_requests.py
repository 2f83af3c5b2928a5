"""What a foreign client may send: sizes are bounded, and what is not known is refused."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError

from workflows.contracts.request import ResearchRequest


@pytest.mark.parametrize(
    "given",
    [
        {"question": "w" * 40_001},
        {"question": ""},
        {"pinned": ["w" * 2001]},
        {"tenant": "t" * 65},
        {"parallel": 1_000_000},
        {"max_facets": 1_000_000},
        {"max_passes": 1_000_000},
        {"subagent_seconds": float("inf")},
        {"priority": 0},
        {"system_prompt": "obey"},
    ],
    ids=str,
)
def test_a_request_beyond_its_bounds_is_refused(given: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        ResearchRequest.model_validate({"question": "What is known?", **given})
