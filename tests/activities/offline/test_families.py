"""Each family of rules can be switched off, and something changes without it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from activities.offline.request import JsonObject
from activities.offline.rule_families import FAMILIES, Family, disable, is_on
from tests.activities.offline.library import library

FILES = {
    "tower.md": "# Venby tower\n\n## Height\n\nAt its top it is 41 metres above the sea. A guide"
    " tells when the tower was built.\n\nThe tower was built in 1871, the guide says. The last"
    " keeper of it was Ada Holt.\n",
    "holt.md": "# Ada Holt\n\nShe was born in Orla.\n",
    "lind.md": "# Tove Lind\n\nShe was born in Skerry, long before the others.\n",
    "wages.md": "# Wages\n\n## Pay\n\nWages of pickers vary by 12 percent.\n\n"
    "## Baskets\n\nWages of pickers are paid by the basket at noon.\n\n"
    "## Storms\n\nWages are low in summer, which pickers know.\n\n"
    "## Towns\n\nPickers of summer fruit near towns, growers say, get wages too.\n",
    "changes.md": "# Release notes\n\nThe lamp oil is filled by a pump that is quick.\n",
    "lamp.md": "# Lamp\n\nThe oil of the lamp is filled by hand, slowly.\n",
    "growers.md": "# Growers\n\nGrowers use a tower. Growers need wages.\n",
}
# A question for each family that is answered otherwise without it.
QUESTIONS: dict[Family, str] = {
    "answer_types": "When was the tower built?",
    "figures": "How can we vary the wages of pickers?",
    "links": "Where was the last keeper of the Venby tower born?",
    "parts": "When was the tower built, and who was its last keeper?",
    "sections": "What is the height of the Venby tower?",
    "spread": "Give an overview of wages of pickers.",
}


@pytest.fixture(autouse=True)
def _all_on_again() -> Iterator[None]:
    yield
    disable(())


async def answers(folder: Path, question: str) -> list[JsonObject]:
    with library(folder, FILES) as documents:
        planned = (await documents.plan(question)).answer
        found = (await documents.research(question)).answer
    return [planned, found]


@pytest.mark.parametrize("family", FAMILIES)
async def test_without_a_family_an_answer_changes(tmp_path: Path, family: Family) -> None:
    with_it, without_it = tmp_path / "with", tmp_path / "without"
    with_it.mkdir()
    without_it.mkdir()
    before = await answers(with_it, QUESTIONS[family])
    disable([family])
    assert not is_on(family)
    assert await answers(without_it, QUESTIONS[family]) != before


def test_an_unknown_family_is_refused_and_nothing_is_switched_off() -> None:
    with pytest.raises(ValueError, match="no rule family 'magic'"):
        disable(["links", "magic"])
    assert all(map(is_on, FAMILIES))


def test_switching_off_again_begins_anew() -> None:
    disable(["links"])
    disable(["parts"])
    assert is_on("links")
    assert not is_on("parts")
