"""What is measured of every engine, alternately, so that a busy machine is as busy for all."""

from __future__ import annotations

import itertools
import json
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from statistics import median
from typing import Any

from benchmarks.engines import topology
from benchmarks.engines.engine import Engine, Traces
from benchmarks.engines.processes import cpu_seconds, peak_bytes, until

TURN = 0.2
IN_THE_MIDDLE = 10
"""Turns asked for when a worker is killed: some researchers have finished two."""
_numbers = itertools.count(1)


@dataclass
class Figures:
    """One engine's, gathered over the rounds."""

    overhead: list[float] = field(default_factory=list)
    """Seconds beyond the critical path, with a model that answers at once."""
    with_turns: list[float] = field(default_factory=list)
    """Seconds of a job whose turns take `TURN`."""
    rate: list[float] = field(default_factory=list)
    """Jobs a second, many at once."""
    cpu: list[dict[str, float]] = field(default_factory=list)
    """Seconds of processor per job under that load, by process."""
    peak: dict[str, int] = field(default_factory=dict)
    stored_per_job: float = 0.0
    traces: Traces = field(default_factory=Traces)
    turns: int = 0
    again: list[int] = field(default_factory=list)
    finished_again: list[int] = field(default_factory=list)
    progress: list[float] = field(default_factory=list)
    """Seconds from the start of another worker to the next turn."""

    def table(self, engine: Engine) -> dict[str, Any]:
        cpu = [sum(by.values()) for by in self.cpu]
        return {
            "engine": engine.name,
            "turns_in_a_row": engine.in_a_row,
            "turns": self.turns,
            "overhead_seconds": spread(self.overhead),
            "job_seconds_with_turns": spread(self.with_turns),
            "best_possible_with_turns": round(engine.in_a_row * TURN, 3),
            "jobs_per_second": spread(self.rate),
            "cpu_seconds_per_job": spread(cpu),
            "cpu_by_process": {
                name: round(median([by.get(name, 0.0) for by in self.cpu]), 4)
                for name in (self.cpu[0] if self.cpu else ())
            },
            "peak_megabytes": {name: round(size / 1e6) for name, size in self.peak.items()},
            "history_events": self.traces.events,
            "history_bytes": self.traces.history_bytes,
            "workflow_tasks": self.traces.workflow_tasks,
            "actions": self.traces.actions,
            "stored_bytes_per_job": round(self.stored_per_job),
            "turns_paid_twice": spread([float(n) for n in self.again]),
            "finished_turns_paid_twice": max(self.finished_again, default=0),
            "seconds_to_progress": spread(self.progress),
        }


def spread(values: list[float]) -> dict[str, float] | None:
    """The median, and from where to where."""
    if not values:
        return None
    return {k: round(f(values), 4) for k, f in (("median", median), ("min", min), ("max", max))}


def alone(engine: Engine, figures: Figures, jobs: int) -> None:
    for _ in range(jobs):
        figures.overhead += engine.jobs([_name("alone")], 0.0)
        name = _name("turns")
        figures.with_turns += engine.jobs([name], TURN)
    figures.traces = engine.traces(name)
    figures.turns = topology.bought(engine.log, name).turns


def at_once(engine: Engine, figures: Figures, jobs: int) -> None:
    before, kept = _cpu(engine), engine.stored()
    began = time.perf_counter()
    engine.jobs([_name("many") for _ in range(jobs)], 0.0)
    figures.rate.append(jobs / (time.perf_counter() - began))
    after = _cpu(engine)
    figures.cpu.append({name: (after[name] - before[name]) / jobs for name in after})
    figures.stored_per_job = (engine.stored() - kept) / jobs
    figures.peak = {name: peak_bytes(pid) for name, pid in engine.pids().items()}


def killed(engine: Engine, figures: Figures) -> None:
    """SIGKILL in the middle of research, another worker, and what was paid for again."""
    name = _name("killed")
    engine.begin(name, TURN)
    until(lambda: topology.asked(engine.log, name) >= IN_THE_MIDDLE, "research is under way")
    engine.kill_worker()
    seen = topology.asked(engine.log, name)
    began = time.perf_counter()
    engine.start_worker()
    until(lambda: topology.asked(engine.log, name) > seen, "the job goes on")
    figures.progress.append(time.perf_counter() - began)
    engine.finish(name)
    bought = topology.bought(engine.log, name)
    figures.again.append(bought.again)
    figures.finished_again.append(bought.finished_again)


def calibration() -> float:
    """Milliseconds of processor for a fixed piece of work: how slow this machine is right now."""
    thing = {"a": list(range(100)), "b": {str(k): k for k in range(50)}}
    took = []
    for _ in range(5):
        began = time.process_time()
        for _ in range(300):
            json.loads(json.dumps(thing))
        took.append(time.process_time() - began)
    return round(1000 * min(took), 2)


def _cpu(engine: Engine) -> Mapping[str, float]:
    return {name: cpu_seconds(pid) for name, pid in engine.pids().items()}


def _name(what: str) -> str:
    return f"{what}-{next(_numbers)}"
