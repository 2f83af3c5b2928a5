"""The command: `python -m benchmarks.quality [SET …] [options]`.

python -m benchmarks.quality                            all sets, offline
python -m benchmarks.quality retrieval conflicts        some of them
python -m benchmarks.quality jobs --questions FILE      your own questions and documents
python -m benchmarks.quality --data DIR                 other files of the same kinds
python -m benchmarks.quality jobs --model claude        with a model; it also judges
python -m benchmarks.quality --compare before after     two runs, paired
python -m benchmarks.quality jobs --compare effort=quick effort=deep
                                                        two settings, run and paired
python -m benchmarks.quality answers --without FAMILY   with one family of offline rules off
python -m benchmarks.quality answers --ablate           which figures fall without each family
python -m benchmarks.quality --record                   add the figures to the trend
python -m benchmarks.quality --check                    fail where a figure fell
"""

from __future__ import annotations

import argparse
import asyncio
import json
import logging
import os
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from benchmarks.quality import trend
from benchmarks.quality.ablation import VARIABLE, ablate, check_family
from benchmarks.quality.jobs import QuestionsError
from benchmarks.quality.results import (
    EVERYTHING,
    RUNS,
    Figure,
    Result,
    Results,
    UnknownRun,
    compute_figures,
    find_run,
    fingerprint,
    pool_precision,
    write_figures,
)
from benchmarks.quality.rubric import choose_judge
from benchmarks.quality.running import run
from benchmarks.quality.sets import MissingData, Options, find_data, list_sets
from benchmarks.quality.tables import render_comparison, render_table
from console.errors import exit_process

LATEST = "latest"


def main(arguments: Sequence[str] | None = None) -> int:
    given = _parser().parse_args(arguments)
    try:
        options = _options(given)
        if given.ablate:
            passed = sys.argv[1:] if arguments is None else arguments
            return ablate(passed, given.sets, given.out, given.run)
        if options.without:
            os.environ[VARIABLE] = options.without
        if given.compare:
            return _compare(given, options)
        found, failed = asyncio.run(_measure(given, options, given.run))
    except (QuestionsError, UnknownRun, ValueError) as wrong:
        print(f"error: {wrong}", file=sys.stderr)
        return 2
    return _trend(given, options, [f for each in found.values() for f in each]) or int(failed)


async def _measure(
    given: argparse.Namespace, options: Options, run_name: str
) -> tuple[dict[str, list[Figure]], bool]:
    """Run the sets that were asked for, print their tables, keep the figures."""
    found: dict[str, list[Figure]] = {}
    everything: list[Result] = []
    failed = False
    for name, kind in list_sets().items():
        if given.sets and name not in given.sets:
            continue
        measured = kind(options)
        try:
            cases = measured.cases(given.limit, given.seed)
        except MissingData as missing:
            print(f"{name}: skipped, {missing}\n")
            continue
        results = Results(given.out / run_name / name, fingerprint(options))
        if given.fresh:
            results.clear()
        ran = await run(measured, cases, results, options.parallel)
        found[name] = compute_figures(measured, ran.results)
        everything += ran.results
        if found[name]:
            await asyncio.to_thread(write_figures, found[name], options, given.out / run_name)
        print("\n".join(render_table(found[name])))
        kept = f", {ran.kept} of them from before" if ran.kept else ""
        print(f"  {len(ran.results)} cases{kept}, {ran.seconds:.1f} s")
        if options.judge is None and any(m.name.startswith("rubric") for m in kind.measures):
            print("  rubric: not judged: no model; the checks above are mechanical")
        unjudged = [
            r.notes["rubric"] for r in ran.results if isinstance(r.notes.get("rubric"), str)
        ]
        if options.judge and unjudged:
            print(f"  rubric: {len(unjudged)} reports {unjudged[0]}")
        for each in ran.failed:
            failed = True
            print(f"  failed: {each}")
        print(flush=True)
    if pooled := pool_precision(everything):
        found[EVERYTHING] = pooled
        await asyncio.to_thread(write_figures, pooled, options, given.out / run_name)
        print("\n".join(render_table(pooled)) + "\n")
    print(f"kept: {given.out / run_name}/, the figures of each set and every case")
    return found, failed


def _trend(given: argparse.Namespace, options: Options, found: list[Figure]) -> int:
    if given.limit is not None or options.request or options.without:
        return 0
    complaints, compared = trend.find_falls(found, options.model, given.trend)
    for each in complaints:
        print(f"fell: {each}")
    if compared:
        print(f"trend: {compared} figures compared with the last recorded, {len(complaints)} fell")
    else:
        print("trend: nothing recorded over these cases yet; --record does")
    if given.record:
        print(f"trend: {trend.record(found, options.model, given.trend)} lines added")
    return 1 if complaints and given.check else 0


def _compare(given: argparse.Namespace, options: Options) -> int:
    folders = []
    for label, wanted in zip("AB", given.compare, strict=True):
        if "=" in wanted:
            changed = _settings(wanted)
            model = changed.pop("model", options.model)
            chosen = replace(options, model=model, judge=choose_judge(model, given.judge),
                             request={**options.request, **changed})  # fmt: skip
            name = f"{given.run}-{wanted.replace('=', '-').replace(',', '-')}"
            print(f"{label}: {wanted}\n")
            _, failed = asyncio.run(_measure(given, chosen, name))
            if failed:
                return 1
            folders.append(given.out / name)
        else:
            folders.append(find_run(wanted, given.out))
        print(f"{label}: {folders[-1]}\n")
    for name, kind in list_sets().items():
        before, after = (Results(folder / name).read_all() for folder in folders)
        if (given.sets and name not in given.sets) or not (before and after):
            continue
        print("\n".join(render_comparison(kind, before, after)) + "\n")
    return 0


def _options(given: argparse.Namespace) -> Options:
    if unknown := sorted(set(given.sets) - set(list_sets())):
        raise ValueError(f"there is no set {unknown[0]!r}; choose from {', '.join(list_sets())}")
    changed: dict[str, Any] = {}
    for each in given.set or ():
        changed |= _settings(each)
    model = changed.pop("model", given.model)
    return Options(
        data=find_data(given.data),
        model=model,
        judge=choose_judge(model, given.judge),
        request=changed,
        questions=given.questions,
        parallel=given.parallel,
        size=given.size,
        without=check_family(given.without) if given.without else "",
    )


def _settings(text: str) -> dict[str, Any]:
    """`effort=deep,max_passes=1` as fields of a request; numbers are numbers."""
    found: dict[str, Any] = {}
    for part in text.split(","):
        name, equals, value = part.partition("=")
        if not equals or not name or not value:
            raise ValueError(f"{part!r} is no setting; write NAME=VALUE, such as effort=deep")
        try:
            found[name] = json.loads(value)
        except ValueError:
            found[name] = value
    return found


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.quality",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add = parser.add_argument
    add("sets", nargs="*", metavar="SET",
        help=f"what to measure: {', '.join(list_sets())}; all unless named")  # fmt: skip
    add("--model", default="offline", help="the jobs' model: offline, claude, or any by its name")
    add("--judge", metavar="MODEL", help="the model that judges reports; else the jobs' model")
    add("--set", action="append", metavar="NAME=VALUE", help="a further field of each request")
    add("--questions", type=Path, metavar="FILE", help="JSON or JSONL for the set `jobs`")
    add("--data", metavar="DIR", help="the folder of public sets; else RESEARCH_BENCH_DATA")
    add("--limit", type=int, metavar="N", help="at most N cases of each group, drawn by --seed")
    add("--seed", type=int, default=7)
    add("--size", type=int, default=100_000, metavar="N", help="documents of the set `scale`")
    add("--parallel", type=int, default=2, metavar="N", help="cases under way at once")
    add("--run", default=LATEST, metavar="NAME", help="what the results are kept under")
    add("--fresh", action="store_true", help="run every case again")
    add("--compare", nargs=2, metavar=("A", "B"),
        help="two runs, by name or folder, or two settings as NAME=VALUE[,…]")  # fmt: skip
    add("--without", metavar="FAMILY", help="a family of the offline engine's rules to switch off")
    add("--ablate", action="store_true", help="which figures fall without each of the families")
    add("--record", action="store_true", help="append the figures to the trend")
    add("--check", action="store_true", help="fail where a figure fell below its last interval")
    add("--out", type=Path, default=RUNS, help=argparse.SUPPRESS)
    add("--trend", type=Path, default=trend.TREND, help=argparse.SUPPRESS)
    return parser


if __name__ == "__main__":
    # A step that a busy machine made Temporal try again is no news here: what fails is counted.
    logging.disable(logging.WARNING)
    # Temporal's core may abort the interpreter at exit (temporalio/sdk-python#300).
    exit_process(main())
