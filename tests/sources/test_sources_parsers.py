"""Parser processes: bounded, without secrets, and gone with whatever they worked for."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from activities.sources.parser_processes import PARSED, Parsers
from tests.security.test_bombs import nested_forms

ROOT = Path(__file__).parents[2]
SECONDS = 30.0
SCRIPT = """
import asyncio, sys
from pathlib import Path
from activities.sources.parser_processes import Parsers
asyncio.run(Parsers(1).parse([(Path(sys.argv[1]), "bomb.pdf")]))
"""

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")


def parsers_of(pid: int) -> list[int]:
    """The parser processes that were started by a process, whoever their parent is now."""
    found = []
    for place in Path("/proc").iterdir():
        if place.name.isdigit():
            try:
                words = (place / "cmdline").read_bytes().split(b"\0")
                state = (place / "stat").read_text().rpartition(")")[2].split()[0]
            except OSError:
                continue
            if b"activities.sources.parser_processes" in words and str(pid).encode() in words:
                found += [int(place.name)] if state != "Z" else []
    return found


def wait_for(condition: Callable[[], bool], what: str) -> float:
    begun = time.monotonic()
    while not condition():
        assert time.monotonic() - begun < SECONDS, what
        time.sleep(0.02)
    return time.monotonic() - begun


def is_working(pid: int) -> bool:
    """Whether a process has begun to parse: it has computed for more than its own start."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return False
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK") > 1.5


@pytest.fixture
def bomb(tmp_path: Path) -> Path:
    """A file that takes a minute."""
    path = tmp_path / "bomb.pdf"
    path.write_bytes(nested_forms())
    return path


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
def test_a_parser_dies_with_its_worker_whatever_ends_that(bomb: Path, number: int) -> None:
    worker = subprocess.Popen(
        [sys.executable, "-c", SCRIPT, str(bomb)], cwd=ROOT, stderr=subprocess.DEVNULL
    )
    try:
        wait_for(lambda: any(map(is_working, parsers_of(worker.pid))), "a parser works")
        worker.send_signal(number)
        worker.wait(SECONDS)
        assert wait_for(lambda: not parsers_of(worker.pid), "the parser is gone") < 5.0
    finally:
        worker.kill()
        worker.wait(SECONDS)


async def test_a_cancelled_parse_ends_its_process(bomb: Path) -> None:
    parsers = Parsers(1)
    work = asyncio.ensure_future(parsers.parse([(bomb, "bomb.pdf")]))
    await asyncio.to_thread(wait_for, lambda: bool(parsers_of(os.getpid())), "a parser works")
    work.cancel()
    with pytest.raises(asyncio.CancelledError):
        await work
    assert parsers_of(os.getpid()) == []


async def test_a_file_that_kills_its_parser_is_unreadable_and_the_next_is_read(
    bomb: Path, tmp_path: Path
) -> None:
    (tmp_path / "a.md").write_text("# A\n\nThe ferry sails.")
    parsers = Parsers(1)
    work = asyncio.ensure_future(parsers.parse([(bomb, "bomb.pdf"), (tmp_path / "a.md", "a.md")]))
    await asyncio.to_thread(wait_for, lambda: bool(parsers_of(os.getpid())), "a parser works")
    [pid] = parsers_of(os.getpid())
    os.kill(pid, signal.SIGKILL)
    lost, found = map(PARSED.validate_json, await work)
    assert (lost.documents, lost.unreadable[0].uri) == ((), "bomb.pdf")
    assert "crashes its parser" in lost.unreadable[0].reason
    assert [document.text for document in found.documents] == ["# A\n\nThe ferry sails."]
    await parsers.close()
    assert parsers_of(os.getpid()) == []


async def test_processes_are_few_and_get_no_secrets(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-secret")
    for number in range(12):
        (tmp_path / f"{number}.md").write_text(f"# Title {number}\n\nText.")
    parsers = Parsers(2)
    parsed = await asyncio.gather(
        *(parsers.parse([(tmp_path / f"{n}.md", f"{n}.md")]) for n in range(12))
    )
    assert [PARSED.validate_json(each).documents[0].title for [each] in parsed] == [
        f"Title {number}" for number in range(12)
    ]
    started = parsers_of(os.getpid())
    assert 1 <= len(started) <= 2
    assert not any(b"sk-secret" in _environment(pid) for pid in started)
    await parsers.close()


def _environment(pid: int) -> bytes:
    return Path(f"/proc/{pid}/environ").read_bytes()
