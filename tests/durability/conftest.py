"""A site for every test, and the report that every job must come to, worked out once."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.durability.campaign import undisturbed
from tests.durability.jobs import JsonObject
from tests.durability.site import Site, a_site
from tests.durability.steps import Extent

_undisturbed: list[tuple[JsonObject, Extent]] = []


@pytest.fixture
async def site(tmp_path: Path) -> AsyncIterator[Site]:
    async with a_site(tmp_path / "site") as site:
        yield site


@pytest.fixture
async def extent(site: Site) -> Extent:
    return (await _known(site))[1]


@pytest.fixture
async def reference(site: Site) -> JsonObject:
    return (await _known(site))[0]


async def _known(site: Site) -> tuple[JsonObject, Extent]:
    if not _undisturbed:
        job, report = await undisturbed(site)
        _undisturbed.append((report, await Extent.of(job)))
    return _undisturbed[0]
