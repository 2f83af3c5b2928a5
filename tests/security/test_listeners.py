"""What the product starts listens on this machine only, unless somebody writes an address out."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from console.devserver import ports, server
from console.runtime.keys_file import create_file

ROOT = Path(__file__).resolve().parents[2]
LISTENING = "0A"
_FOREIGN = ("TEMPORAL_", "ANTHROPIC_", "RESEARCH_", "OTEL_")

pytestmark = pytest.mark.skipif(
    not Path("/proc/net/tcp").exists(), reason="listeners are read off /proc"
)


def addresses(pid: int) -> set[tuple[str, int]]:
    """Where the process listens, IPv4 and IPv6."""
    own: set[str] = set()
    for entry in Path(f"/proc/{pid}/fd").iterdir():
        try:
            own.add(os.readlink(entry))
        except OSError:
            continue  # closed in this moment
    found: set[tuple[str, int]] = set()
    for table, family in (("tcp", socket.AF_INET), ("tcp6", socket.AF_INET6)):
        for line in Path(f"/proc/net/{table}").read_text().splitlines()[1:]:
            row = line.split()
            if row[3] == LISTENING and f"socket:[{row[9]}]" in own:
                host, port = row[1].split(":")
                words = [bytes.fromhex(host[n : n + 8])[::-1] for n in range(0, len(host), 8)]
                found.add((socket.inet_ntop(family, b"".join(words)), int(port, 16)))
    return found


def beyond(pid: int) -> set[tuple[str, int]]:
    here = ("127.0.0.1", "::1", "::ffff:127.0.0.1")
    return {at for at in addresses(pid) if at[0] not in here}


@contextmanager
def started(*command: str, **env: str) -> Iterator[int]:
    kept = {name: v for name, v in os.environ.items() if not name.startswith(_FOREIGN)}
    process = subprocess.Popen(
        [sys.executable, *command], cwd=ROOT, env=kept | env,
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    try:
        yield process.pid
    finally:
        process.kill()
        process.wait()


def listens_soon(pid: int, port: int) -> None:
    deadline = time.monotonic() + 60
    while port not in {at[1] for at in addresses(pid)}:
        assert time.monotonic() < deadline, "it does not listen"
        time.sleep(0.1)


def test_the_probe_sees_who_listens_everywhere() -> None:
    with socket.socket() as everywhere:
        everywhere.bind(("0.0.0.0", 0))
        everywhere.listen()
        assert ("0.0.0.0", everywhere.getsockname()[1]) in beyond(os.getpid())


def test_the_embedded_server_a_worker_and_the_console_listen_on_loopback_only(
    tmp_path: Path,
) -> None:
    port, console = ports.choose(2)
    with server.run_dev_server(tmp_path / "state") as running:
        record = server._read(tmp_path / "state")
        assert record
        assert len(addresses(record["child"])) >= 2, "the server and its web page"
        assert beyond(record["child"]) == set()
        assert addresses(record["supervisor"]) == set()
        env = {
            "TEMPORAL_ADDRESS": running.address,
            "RESEARCH_HOME": str(tmp_path / "home"),
            "RESEARCH_HEALTH": f"127.0.0.1:{port}",
        }
        with started("worker.py", **env) as pid:
            listens_soon(pid, port)
            assert addresses(pid) == {("127.0.0.1", port)}
        with started("starter.py", "serve", "--port", str(console), **env) as pid:
            listens_soon(pid, console)
            assert addresses(pid) == {("127.0.0.1", console)}


def test_the_codec_server_listens_on_loopback_only(tmp_path: Path) -> None:
    [port] = ports.choose(1)
    create_file(tmp_path / "keys.json")
    env = {"RESEARCH_KEYS": str(tmp_path / "keys.json"), "RESEARCH_HOME": str(tmp_path)}
    with started("-m", "console.runtime.codec_server", "--port", str(port), **env) as pid:
        listens_soon(pid, port)
        assert addresses(pid) == {("127.0.0.1", port)}
