"""DBOS: a workflow for the job, one for each researcher, a step for each turn.

On a SQLite file; on PostgreSQL too where `BENCH_POSTGRES` holds the DSN of an empty database.
"""

from __future__ import annotations

import os

from benchmarks.engines.foreign import Foreign

DSN = "BENCH_POSTGRES"


class Dbos(Foreign):
    name = "DBOS, SQLite (WAL)"
    package = "dbos"
    worker = ("dbos_worker",)

    def place(self) -> str:
        return f"sqlite:///{super().place()}"


class DbosPostgres(Dbos):
    name = "DBOS, PostgreSQL"

    @classmethod
    def lacks(cls) -> str:
        return super().lacks() or ("" if os.environ.get(DSN) else f"no server: set {DSN} to a DSN")

    def place(self) -> str:
        return os.environ[DSN]
