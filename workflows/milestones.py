"""Where a job stands and came from: its phase, its checkpoints, what it waits for."""

from __future__ import annotations

from enum import StrEnum
from typing import Literal

from workflows.evidence import Record


class Phase(StrEnum):
    STARTING = "starting"
    PLANNING = "planning"
    REVIEWING = "reviewing"
    APPROVING = "approving"
    RESEARCHING = "researching"
    WRITING = "writing"
    EVALUATING = "evaluating"
    REFINING = "refining"
    FINISHED = "finished"


class Checkpoint(Record):
    """A point the job can be taken up from: the whole state, stored under `key`."""

    name: str
    phase: Phase
    at: str
    turns: int
    usd: float
    key: str = ""


class Parent(Record):
    """Which run a job was taken up from, and where."""

    id: str
    run_id: str = ""
    checkpoint: str
    how: Literal["restart", "fork"]


class Blocked(Record):
    """Why a job waits for an operator, and what would let it go on."""

    step: str
    reason: str
    remedy: str
    since: str


class UnreadableFile(Record):
    uri: str
    reason: str
