"""The embedded server is shared, survives, and leaves no process behind, however its users end."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from console.devserver import server
from console.errors import ConsoleError
from tests.console.conftest import ROOT, eventually, processes

USER = """
import sys
from pathlib import Path
from console.devserver.server import run_dev_server
with run_dev_server(Path(sys.argv[1])) as running:
    print(running.address, running.fresh, flush=True)
    sys.stdin.read()
"""


def answers(address: str) -> bool:
    host, port = address.split(":")
    try:
        socket.create_connection((host, int(port)), 1).close()
    except OSError:
        return False
    return True


class User:
    """Another process that uses the folder's server until it is told otherwise."""

    def __init__(self, place: Path) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-c", USER, str(place)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            cwd=ROOT,
        )
        assert self.process.stdout is not None
        self.address, fresh = self.process.stdout.readline().split()
        self.fresh = fresh == "True"

    def leave(self) -> int:
        self.process.communicate(timeout=60)
        return self.process.returncode

    def send(self, number: int) -> int:
        self.process.send_signal(number)
        self.process.communicate(timeout=60)
        return self.process.returncode


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Path]:
    yield tmp_path / "state with spaces, é"
    assert eventually(lambda: not processes(tmp_path)), processes(tmp_path)


def test_a_server_starts_answers_and_is_gone_afterwards(place: Path) -> None:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    with server.run_dev_server(place, port) as running:
        assert answers(running.address)
        assert running.address == f"127.0.0.1:{port}"
        assert running.fresh
        assert (place / "temporal.sqlite").exists()
    assert not answers(running.address)
    assert not processes(place)


def test_the_address_is_told_before_the_server_answers_and_told_anew_where_the_port_is_lost(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    told: list[tuple[str, bool]] = []

    def expected(address: str) -> None:
        told.append((address, answers(address)))

    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        chosen = iter([(port, port + 1)])
        choose = server._choose_ports
        monkeypatch.setattr(
            server, "_choose_ports", lambda given: next(chosen, None) or choose(given)
        )
        with server.run_dev_server(place, on_address=expected) as running:
            assert [address for address, _ in told] == [f"127.0.0.1:{port}", running.address]
            assert told[-1] == (running.address, False)
            with server.run_dev_server(place, on_address=expected) as joined:
                assert told[2:] == [(joined.address, True)]
                assert joined.address == running.address


def test_users_share_one_server_and_the_last_one_out_stops_it(place: Path) -> None:
    first, second, third = User(place), User(place), User(place)
    assert (first.fresh, second.fresh, third.fresh) == (True, False, False)
    assert first.address == second.address == third.address

    assert first.leave() == 0
    assert answers(second.address), "it was stopped under its other users"
    second.send(signal.SIGKILL)
    assert answers(third.address)
    assert third.leave() == 0, "one who was killed still counted"
    assert not processes(place)


def test_a_killed_user_leaves_no_process_either(place: Path) -> None:
    user = User(place)
    assert user.send(signal.SIGKILL) == -signal.SIGKILL
    assert eventually(lambda: not processes(place)), processes(place)


def test_a_killed_keeper_takes_the_server_along_and_the_next_user_starts_anew(place: Path) -> None:
    first = User(place)
    os.kill(json.loads((place / "server.json").read_text())["supervisor"], signal.SIGKILL)
    second = User(place)
    assert second.fresh
    assert answers(second.address)
    assert first.leave() == 0
    assert answers(second.address)
    assert second.leave() == 0


def test_a_server_that_is_killed_under_its_users_comes_back(place: Path) -> None:
    user = User(place)
    time.sleep(2.1)  # one that ends in its first two seconds is given up, not restarted

    def child() -> int:
        return int(json.loads((place / "server.json").read_text())["child"])

    before = child()
    os.kill(before, signal.SIGKILL)
    # On a quiet machine it is back before anybody sees that it was gone.
    assert eventually(lambda: child() != before)
    assert eventually(lambda: answers(user.address))
    assert user.leave() == 0
    assert not processes(place)


def test_a_server_that_cannot_start_shows_the_end_of_its_log(place: Path) -> None:
    (place / "temporal.sqlite").mkdir(parents=True)
    refused = pytest.raises(ConsoleError, match="did not start; its log")
    with refused as raised, server.run_dev_server(place):
        pass
    assert "temporal.log" in str(raised.value)
    assert "to start without data" in str(raised.value)
