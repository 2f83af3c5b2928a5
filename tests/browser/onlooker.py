"""Somebody who watches a job on a terminal of 80 columns while others watch it in a browser.

The view is the one of `run` and `watch`, and it is fed with what they see. It looks more often than
they do, since an offline job is over soon, and keeps the moment that has most to show.
"""

from __future__ import annotations

import asyncio
import io
import re
import threading

from rich.console import Console as Terminal

from console.client import jobs
from console.client.progress import Progress, ProgressPoller
from console.live.table import TableView
from console.runtime.connection import connect
from workflows.config.settings import Settings

from .serving import Console

COLUMNS = 80
_LOOK_SECONDS = 0.15


class Onlooker(TableView):
    """Watches from its beginning to the job's end, in a thread of its own."""

    def __init__(self, console: Console, job_id: str) -> None:
        super().__init__(io.StringIO())
        self._at = console
        self._job_id = job_id
        self._most = (-1, -1)
        self._thread = threading.Thread(target=lambda: asyncio.run(self._watch()))
        self.drawn = ""
        """The best moment, as SVG."""

    def __enter__(self) -> Onlooker:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._thread.join()

    def show(self, seen: Progress) -> None:
        super().show(seen)
        done = sum(facet.status not in ("waiting", "running") for facet in seen.status.facets)
        working = sum(one.facet_id is not None for one in seen.pending)
        told = (len(self._gaps), min(done, working))
        if told < self._most or not (done and working):
            return
        self._most = told
        shown = Terminal(record=True, width=COLUMNS, file=io.StringIO(), highlight=False)
        shown.print(self._draw())
        svg = shown.export_svg(title="python starter.py run")
        # Letters come from this machine, never from the network.
        self.drawn = re.sub(r"@font-face \{.*?\}", "", svg, flags=re.DOTALL)

    async def _watch(self) -> None:
        settings = Settings.read({"RESEARCH_HOME": str(self._at.folder / "state")})
        client = await connect(settings, self._at.server)
        job, _ = await jobs.find(client, self._job_id)
        look = ProgressPoller(job)
        seen = await look.poll()
        while seen.ended is None:
            self.show(seen)
            await asyncio.sleep(_LOOK_SECONDS)
            seen = await look.poll()
