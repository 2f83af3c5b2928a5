"""A job's checkpoints in the store; neither a server nor a worker is needed.

The key of a checkpoint is `checkpoints/JOB/RUN/NNN-NAME.json`, and its content is the whole state
of the job, so a job can be restarted after Temporal has deleted its history. With encryption keys
configured the content is encrypted and bound to its key in the store.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any
from urllib.parse import unquote

from pydantic import ValidationError

from activities.storage.backends import open_backend
from activities.storage.store import Store
from console.client.job_list import format_time
from console.errors import ConsoleError
from console.formatting import count
from console.runtime.data_converter import explain_store_errors, load_keyring
from workflows.config.settings import Settings
from workflows.config.store_keys import checkpoints_folder
from workflows.contracts.state import ResearchState
from workflows.rules.gaps import open_gaps

_KEY = re.compile(r"(?P<run>[^/]+)/(?P<n>\d+)-(?P<name>[^/]+)\.json$")


@dataclass(frozen=True)
class StoredCheckpoint:
    key: str
    run_id: str
    n: int
    name: str
    at: float
    """When it was written, in seconds since the epoch."""


class CheckpointStore:
    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self._backend = open_backend(settings.store)
        self.store = Store(self._backend, settings.store, load_keyring(settings))
        self._unusable = (
            f"The store {settings.store} cannot be used: set RESEARCH_STORE to the one the workers"
            " use, and check its credentials"
        )

    async def identify(self) -> str:
        """The id of the store. Raises `ConsoleError` if the store cannot be used."""
        with explain_store_errors(self._unusable):
            return await self.store.identify()

    async def find(self, job_id: str) -> list[StoredCheckpoint]:
        """The checkpoints of all runs of a job, oldest first."""
        with explain_store_errors(self._unusable):
            written = await self._backend.list(checkpoints_folder(job_id))
        found = [
            StoredCheckpoint(path, key["run"], int(key["n"]), unquote(key["name"]), found.at)
            for path, found in written.items()
            if (key := _KEY.search(path))
        ]
        return sorted(found, key=lambda checkpoint: (checkpoint.at, checkpoint.n))

    async def load(self, checkpoint: StoredCheckpoint) -> ResearchState:
        try:
            with explain_store_errors("The checkpoint cannot be read"):
                return await self.store.load(checkpoint.key, ResearchState)
        except ValidationError as error:
            raise ConsoleError(
                f"The checkpoint {checkpoint.key} was written by another version and cannot be"
                f" read: choose another one with --from ({error.error_count()} fields differ)."
            ) from error

    async def load_all(
        self, job_id: str
    ) -> tuple[list[tuple[StoredCheckpoint, ResearchState]], list[str]]:
        """The checkpoints that can be read, oldest first, and what is wrong with the others."""
        found = await self.find(job_id)
        loaded = await asyncio.gather(*map(self.load, found), return_exceptions=True)
        readable: list[tuple[StoredCheckpoint, ResearchState]] = []
        faults: list[str] = []
        for checkpoint, state in zip(found, loaded, strict=True):
            if isinstance(state, ResearchState):
                readable.append((checkpoint, state))
            elif isinstance(state, ConsoleError):
                faults.append(str(state))
            else:
                raise state
        return readable, faults

    async def load_newest(
        self, checkpoints: Sequence[StoredCheckpoint]
    ) -> tuple[StoredCheckpoint, ResearchState, list[str]] | None:
        """The newest of these that can be read, and what is wrong with newer ones.

        Raises ConsoleError where none of them can be read.
        """
        faults: list[str] = []
        for checkpoint in reversed(checkpoints):
            try:
                return checkpoint, await self.load(checkpoint), faults
            except ConsoleError as error:
                faults.append(str(error))
        if faults:
            raise ConsoleError(faults[0])
        return None

    async def load_last(self, job_id: str) -> tuple[StoredCheckpoint, ResearchState] | None:
        newest = await self.load_newest(await self.find(job_id))
        return newest[:2] if newest else None


def summarize_checkpoint(checkpoint: StoredCheckpoint, state: ResearchState) -> dict[str, Any]:
    """A checkpoint as one row of a table; `holds` is the content in words."""
    counts = {
        "facets": len(state.plan.facets) if state.plan else 0,
        "outcomes": len(state.outcomes),
        "claims": sum(o.findings.claims for o in state.outcomes.values() if o.findings),
        "gaps open": len(open_gaps(state.gaps)),
        "passes": sum(done.n > 0 for done in state.passes),
    }
    singular = ("facet", "outcome", "claim", "gap open", "pass")
    words = [
        count(n, one, many) for one, (many, n) in zip(singular, counts.items(), strict=True) if n
    ]
    return {
        "name": checkpoint.name,
        "run_id": checkpoint.run_id,
        "n": checkpoint.n,
        "at": format_time(datetime.fromtimestamp(checkpoint.at, UTC)),
        "phase": state.phase.value,
        "usd": state.spend.usd,
        "turns": state.spend.turns,
        "draft": state.draft is not None,
        **{name.replace(" ", "_"): number for name, number in counts.items()},
        "holds": ", ".join([*words, *(["a draft"] if state.draft else [])]),
    }
