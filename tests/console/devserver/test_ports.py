"""The embedded server is never mistaken for somebody else's, nor somebody else's for it."""

from __future__ import annotations

import os
import socket
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest

from console.devserver import ports, server


@pytest.fixture
def stranger() -> Iterator[int]:
    """The port of another program's HTTP/1.1 server."""
    with HTTPServer((ports.HOST, ports.choose(1)[0]), BaseHTTPRequestHandler) as server:
        serving = threading.Thread(target=server.serve_forever, daemon=True)
        serving.start()
        yield server.server_port
        server.shutdown()
        serving.join()


@pytest.mark.parametrize(
    ("ephemeral", "chosen"),
    [
        ((32768, 60999), (20000, 32768)),
        (None, (20000, 32000)),
        ((10000, 65535), (8000, 10000)),
        ((1024, 40000), (40001, 65536)),
        ((1024, 65535), (20000, 32000)),
    ],
)
def test_ports_are_chosen_beside_those_given_to_anybody(
    ephemeral: tuple[int, int] | None, chosen: tuple[int, int]
) -> None:
    assert ports.port_range(ephemeral) == chosen


def test_chosen_ports_differ_and_are_free(stranger: int) -> None:
    chosen = ports.choose(50)
    assert len(set(chosen)) == 50
    assert stranger not in chosen
    assert not ports.is_free(stranger)


def test_a_listener_that_speaks_something_else_is_not_taken_for_a_server(stranger: int) -> None:
    assert not ports.speaks_http2(stranger)
    assert not ports.speaks_http2(ports.choose(1)[0])
    with socket.create_server((ports.HOST, 0)) as silent:
        assert not ports.speaks_http2(silent.getsockname()[1], seconds=0.1)


def test_the_listening_process_is_known(stranger: int) -> None:
    assert ports.is_listening(os.getpid(), stranger)
    assert not ports.is_listening(os.getppid(), stranger)
    assert not ports.is_listening(os.getpid(), ports.choose(1)[0])


def test_a_port_taken_in_the_last_moment_is_given_up_for_another(
    tmp_path: Path, stranger: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    choices = [[stranger, *ports.choose(1)], ports.choose(2)]
    last = choices[-1][0]
    monkeypatch.setattr(ports, "choose", lambda _: choices.pop(0))
    with server.run_dev_server(tmp_path) as running:
        assert running.address == f"{ports.HOST}:{last}"
        assert ports.speaks_http2(last)
    assert not choices
