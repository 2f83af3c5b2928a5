"""How many product files and functions one offline question passes through.

python -m benchmarks.traced_path [--list] [--json FILE]

`starter.py run` is started with a profile hook in its environment. Python imports the hook before
anything else, in the command, its worker and the worker's parser processes; each writes at its end
which functions it has called. The supervisor runs isolated, so its own process is not traced.
Module bodies do not count: a file is passed if one of its functions or methods was called.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).parent.parent
PRODUCT = ("workflows", "activities", "console", "worker.py", "starter.py")
QUESTION = "What do battery-electric ferries cost, and who pays for them?"

# Processes end by `os._exit` after their exit handlers; parser processes are killed, so they
# write after every 50th new function as well.
_HOOK = """
import atexit, os, sys, threading

_folder, _root = os.environ["TRACED_PATH_OUT"], os.environ["TRACED_PATH_ROOT"]
_seen, _known = set(), {}

def _write():
    draft = os.path.join(_folder, f".{os.getpid()}")
    with open(draft, "w") as file:
        file.writelines(f"{name}\\n" for name in sorted(_seen.copy()))
    os.replace(draft, os.path.join(_folder, f"{os.getpid()}.txt"))

def _profile(frame, event, argument):
    if event != "call":
        return
    code = frame.f_code
    if code in _known:
        return
    _known[code] = True
    if code.co_filename.startswith(_root) and not code.co_name.startswith("<"):
        _seen.add(f"{code.co_filename[len(_root):]}:{code.co_qualname}")
        if len(_seen) % 50 == 0:
            _write()

atexit.register(_write)
threading.setprofile(_profile)
sys.setprofile(_profile)
"""


def trace(folder: Path) -> set[tuple[str, str]]:
    """Run one question; the file and the name of every product function that was called."""
    hook, out = folder / "hook", folder / "calls"
    hook.mkdir()
    out.mkdir()
    (hook / "sitecustomize.py").write_text(_HOOK)
    kept = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("RESEARCH_", "TEMPORAL_", "ANTHROPIC_", "OTEL_"))
    }
    env = kept | {
        "PYTHONPATH": str(hook),
        "TRACED_PATH_OUT": str(out),
        "TRACED_PATH_ROOT": f"{ROOT}/",
        "RESEARCH_HOME": str(folder / "state"),
    }
    command = [sys.executable, "starter.py", "run", QUESTION, "--corpus", "sample_corpus"]
    command += ["--model", "offline", "--out", str(folder / "report")]
    done = subprocess.run(command, cwd=ROOT, env=env, capture_output=True, text=True, timeout=300)
    if done.returncode != 0:
        raise SystemExit(f"The question failed with code {done.returncode}:\n{done.stderr}")
    lines = {line for file in out.glob("*.txt") for line in file.read_text().splitlines()}
    calls = {(file, name) for file, _, name in (line.partition(":") for line in lines)}
    # The body of a class is a code object too; it is not a function.
    return {
        (file, name)
        for file, name in calls
        if file.endswith(".py")
        and file.startswith(PRODUCT)
        and not name.rpartition(".")[2][:1].isupper()
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--list", action="store_true", help="list the files with their functions")
    parser.add_argument("--json", type=Path, help="also write the numbers to this file")
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        calls = trace(Path(folder))
    by_file = Counter(file for file, _ in calls)
    by_package = Counter(file.partition("/")[0] for file in by_file)
    if chosen.list:
        for file, count in sorted(by_file.items()):
            print(f"{count:5} {file}")
    packages = ", ".join(f"{name} {count}" for name, count in sorted(by_package.items()))
    print(f"{len(by_file)} files ({packages}), {len(calls)} functions")
    if chosen.json:
        numbers = {"files": len(by_file), "functions": len(calls), "by_package": by_package}
        chosen.json.write_text(json.dumps(numbers, indent=2))


if __name__ == "__main__":
    main()
