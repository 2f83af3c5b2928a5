"""The citations that readers of a console called wrong, counted, and one by one.

    python -m benchmarks.quality.feedback [FILE]

FILE is `feedback.jsonl` in the state folder, by default that of `RESEARCH_HOME`. A line is a case
for `bench-quality`: the claim, the quote it cites, and what a person found wrong with it.
"""

from __future__ import annotations

import os
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from console.client.audit import FeedbackLog, JsonLines
from console.formatting import count
from workflows.config.settings import Settings


def describe_feedback(cases: Sequence[dict[str, Any]]) -> Iterator[str]:
    """The counts and the cases, as lines of text."""
    citations = {(case["job"], case["version"], case["claim"], case["source"]) for case in cases}
    jobs = {case["job"] for case in cases}
    yield (
        f"{count(len(citations), 'citation')} called wrong, {count(len(cases), 'time')}, in"
        f" {count(len(jobs), 'job')}"
    )
    for name in ("model", "job", "uri"):
        for value, times in Counter(case[name] for case in cases).most_common(20):
            yield f"  {times:4}  {name} {value}"
    for case in cases:
        yield f"\n{case['job']}@{case['version']} [{case['source']}] {case['uri']}"
        for name in ("claim", "text", "quote", "reason"):
            yield f"  {name:7}{case[name]}"
        yield f"  by     {case['who']}, {case['time']}"


def main(arguments: Sequence[str]) -> None:
    log = JsonLines(Path(arguments[0])) if arguments else FeedbackLog(Settings.read(os.environ))
    if not log.file.exists():
        sys.exit(f"There is no feedback in {log.file}: name the file of a console.")
    print("\n".join(describe_feedback(list(log.read()))))


if __name__ == "__main__":
    main(sys.argv[1:])
