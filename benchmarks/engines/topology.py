"""The job every engine runs, and the model's stand-in: turns that take a fixed time.

    plan → 5 researchers of 3 turns each → 4 verifications → write → evaluate
         → one pass: a researcher of 3 turns → verification → write → evaluate

That is 13 turns one after another and 28 in all. Every turn that is asked for is a line in a file
before it is answered, and another when it is, so that what a killed process paid for is known.
"""

from __future__ import annotations

import asyncio
import os
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

RESEARCHERS = 5
RESEARCH_TURNS = 3
VERIFIED = 4
"""Researchers whose findings hold a conflict."""
IN_A_ROW = 13
IN_ALL = 28


class TurnLog:
    """What was bought, in a file that outlives whoever buys."""

    def __init__(self, file: Path) -> None:
        self._out = os.open(file, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)

    async def turn(self, job: str, turn: str, seconds: float) -> None:
        """A turn of the model: put down, waited for, put down as answered."""
        os.write(self._out, f"asked {job} {turn}\n".encode())
        if seconds:
            await asyncio.sleep(seconds)
        os.write(self._out, f"answered {job} {turn}\n".encode())

    def ended(self, job: str, seconds: float) -> None:
        os.write(self._out, f"ended {job} {seconds}\n".encode())


@dataclass(frozen=True)
class Bought:
    """One job's purchases."""

    turns: int
    """Different turns that were asked for."""
    again: int
    """How often one was asked for that had been asked for before."""
    finished_again: int
    """And had been answered before."""


def asked(file: Path, job: str) -> int:
    """How many turns of a job were asked for so far."""
    return sum(line.startswith(f"asked {job} ") for line in _lines(file))


def bought(file: Path, job: str) -> Bought:
    times: Counter[str] = Counter()
    answered: set[str] = set()
    finished_again = 0
    for line in _lines(file):
        event, whose, turn = line.split(" ", 2)
        if whose != job:
            continue
        if event == "answered":
            answered.add(turn)
        elif event == "asked":
            finished_again += turn in answered
            times[turn] += 1
    return Bought(len(times), sum(times.values()) - len(times), finished_again)


def _lines(file: Path) -> list[str]:
    return file.read_text("utf-8").splitlines() if file.exists() else []
