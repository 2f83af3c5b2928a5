"""The store as the front desk reads it: a job's checkpoints, with no server and no worker.

They lie at `checkpoints/JOB/RUN/NNN-NAME.json`, each the whole state of the job at that point, so
they can be listed and taken up when Temporal has long forgotten the run. Where there are keys they
are sealed, each bound to the key it lies under.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from urllib.parse import unquote

import obstore
from obstore.exceptions import BaseError
from obstore.store import LocalStore, ObjectStore, from_url
from pydantic import ValidationError

from activities.storage.encryption import EncryptionError, Keyring, decrypt_if_encrypted
from console.confidential import keyring
from console.faults import ConsoleError
from workflows.config.settings import Settings
from workflows.config.store_keys import checkpoints_folder
from workflows.contracts.state import ResearchState

_KEY = re.compile(r"(?P<run>[^/]+)/(?P<n>\d+)-(?P<name>[^/]+)\.json$")


@dataclass(frozen=True)
class Kept:
    """One checkpoint of one run."""

    key: str
    run_id: str
    n: int
    name: str
    at: datetime


class Checkpoints:
    """Those in one store."""

    def __init__(self, place: str, keyring: Keyring | None = None) -> None:
        self._place = place
        self._keyring = keyring
        self._store = open_store(place)

    @classmethod
    def open(cls, settings: Settings) -> Checkpoints:
        return cls(settings.store, keyring(settings))

    async def of(self, job_id: str) -> list[Kept]:
        """All of a job, oldest first, whichever run kept them."""
        found: list[Kept] = []
        try:
            async for page in obstore.list(self._store, prefix=checkpoints_folder(job_id)):
                for item in page:
                    if match := _KEY.search(item["path"]):
                        run, n, name = match["run"], int(match["n"]), unquote(match["name"])
                        found.append(Kept(item["path"], run, n, name, item["last_modified"]))
        except (BaseError, OSError) as error:
            raise self._unreadable(error) from error
        return sorted(found, key=lambda kept: (kept.at, kept.n))

    async def load(self, kept: Kept) -> ResearchState:
        try:
            found = await obstore.get_async(self._store, kept.key)
            state = decrypt_if_encrypted(
                bytes(await found.bytes_async()), self._keyring, kept.key.encode()
            )
            return ResearchState.model_validate_json(state)
        except EncryptionError as error:
            raise ConsoleError(f"The checkpoint {kept.key} cannot be read: {error}.") from error
        except ValidationError as error:
            raise ConsoleError(
                f"The checkpoint {kept.key} was written by another version and cannot be read:"
                f" choose another one with --from ({error.error_count()} fields differ)."
            ) from error
        except (BaseError, OSError) as error:
            raise self._unreadable(error) from error

    def _unreadable(self, error: Exception) -> ConsoleError:
        return ConsoleError(
            f"The store {self._place} cannot be read: set RESEARCH_STORE to the one the workers use"
            f" ({str(error).splitlines()[0][:200]})."
        )


def open_store(place: str) -> ObjectStore:
    """A folder, which is made, or a URL (s3://, gs://, az://, file://)."""
    if "://" not in place:
        return LocalStore(Path(place).resolve(), mkdir=True)
    if place.startswith("file://"):
        return LocalStore.from_url(place, mkdir=True)
    return from_url(place)
