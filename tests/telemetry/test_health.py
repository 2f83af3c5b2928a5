"""A worker says how it is, only where it was told to, and not ready while it drains."""

from __future__ import annotations

import asyncio
import signal
import socket
from pathlib import Path

import pytest

from console.errors import BadInputError
from console.runtime.health import parse_address, serve_health

from .conftest import HANGING, QUESTION, Place, eventually, get


@pytest.mark.slow
def test_a_worker_that_drains_lives_and_is_not_ready(place: Place, tmp_path: Path) -> None:
    sign = tmp_path / "reached"
    with place.worker(HANGING, SIGN=str(sign)) as process:
        assert get(place.port, "/healthz") == (200, "alive\n")
        assert get(place.port, "/readyz") == (200, "ready\n")
        assert get(place.port, "/elsewhere")[0] == 404
        started = place.starter("start", QUESTION, "--corpus", "docs", "--id", "drained-1")
        assert started.returncode == 0, started.stderr
        eventually(sign.exists, "a turn that does not end")
        # That turn holds the worker for as long as it may drain.
        process.send_signal(signal.SIGTERM)
        eventually(lambda: get(place.port, "/readyz") == (503, "draining\n"), "draining")
        assert get(place.port, "/healthz") == (200, "alive\n")
        process.kill()
        process.wait()
    place.starter("cancel", "drained-1")


async def test_nothing_listens_unless_an_address_is_given(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def refuse(*_: object, **__: object) -> None:
        raise AssertionError("something listens")

    monkeypatch.setattr(asyncio, "start_server", refuse)
    async with serve_health(None) as health:
        assert await health.find_problem() == "starting"


@pytest.mark.parametrize(
    ("address", "host", "port"),
    [
        ("127.0.0.1:9464", "127.0.0.1", 9464),
        ("0.0.0.0:9464", "0.0.0.0", 9464),
        ("[::1]:80", "::1", 80),
    ],
)
def test_an_address_is_a_host_and_a_port(address: str, host: str, port: int) -> None:
    assert parse_address(address) == (host, port)


@pytest.mark.parametrize("address", ["9464", ":9464", "127.0.0.1", "127.0.0.1:", "a:b", "a:70000"])
def test_an_address_that_is_none_is_refused_with_an_example(address: str) -> None:
    with pytest.raises(BadInputError, match=r"HOST:PORT, for example 127\.0\.0\.1:9464"):
        parse_address(address)


async def test_a_port_that_is_taken_is_named() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        with pytest.raises(BadInputError, match="choose another port"):
            async with serve_health(f"127.0.0.1:{taken.getsockname()[1]}"):
                pass
