"""Jobs on a Temporal server: start, query, update, watch. Nothing in this package prints.

After `from console import client`, a module such as `client.jobs` is imported at its first use:
`--help` and shell completion start fast, because they need neither pydantic nor Temporal.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from console.client import asking as asking
    from console.client import audit as audit
    from console.client import checkpoints as checkpoints
    from console.client import corpora as corpora
    from console.client import deletion as deletion
    from console.client import job_list as job_list
    from console.client import jobs as jobs
    from console.client import progress as progress
    from console.client import research_request as research_request
    from console.client import runs as runs
    from console.client import schedules as schedules
    from console.client import session as session
    from console.client import validation as validation
else:

    def __getattr__(name):
        try:
            return import_module(f"{__name__}.{name}")
        except ModuleNotFoundError as error:
            if error.name != f"{__name__}.{name}":
                raise
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}") from error
