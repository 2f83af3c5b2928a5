"""Choose ports for the embedded server, and check that it is the one that listens there.

The system may give a port of the ephemeral range to any outgoing connection between the check and
the server's bind; ports below that range are only taken on purpose. The server is ready when its
port speaks HTTP/2, as gRPC does, and the listening socket belongs to its process.
"""

from __future__ import annotations

import os
import random
import socket
from itertools import islice
from pathlib import Path

HOST = "127.0.0.1"

_RANGE = Path("/proc/sys/net/ipv4/ip_local_port_range")
_LOW, _HIGH = 20_000, 32_000
_ROOM = 2_000
_PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
_SETTINGS = 0x04
_EMPTY_SETTINGS = bytes([0, 0, 0, _SETTINGS, 0, 0, 0, 0, 0])
_LISTENING = "0A"


def choose(count: int) -> list[int]:
    """Random free ports outside the ephemeral range."""
    low, high = port_range(_ephemeral())
    return list(islice(filter(is_free, random.sample(range(low, high), high - low)), count))


def port_range(ephemeral: tuple[int, int] | None) -> tuple[int, int]:
    """A half-open range below the ephemeral one, or above it if there is no room below."""
    if ephemeral is None:
        return _LOW, _HIGH
    first, last = ephemeral
    below, above = (max(1024, min(_LOW, first - _ROOM)), first), (last + 1, 65536)
    return next((b for b in (below, above) if b[1] - b[0] >= _ROOM), (_LOW, _HIGH))


def is_free(port: int) -> bool:
    with socket.socket() as probe:
        # As the server does; otherwise a port in TIME_WAIT counts as taken.
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((HOST, port))
        except OSError:
            return False
    return True


def speaks_http2(port: int, seconds: float = 1.0) -> bool:
    """True if the answer to a connection preface is a SETTINGS frame."""
    try:
        with socket.create_connection((HOST, port), seconds) as connection:
            connection.settimeout(seconds)
            connection.sendall(_PREFACE + _EMPTY_SETTINGS)
            header = b""
            while len(header) < 9 and (more := connection.recv(9 - len(header))):
                header += more
    except OSError:
        return False
    return len(header) == 9 and header[3] == _SETTINGS and header[5:] == bytes(4)


def is_listening(pid: int, port: int) -> bool:
    """True if the process listens on the port, or if the system does not show that."""
    try:
        table = Path("/proc/net/tcp").read_text().splitlines()[1:]
        own = {os.readlink(e) for e in Path(f"/proc/{pid}/fd").iterdir() if e.is_symlink()}
    except OSError:
        return not Path("/proc/net/tcp").exists()
    rows = [line.split() for line in table]
    sockets = {
        f"socket:[{row[9]}]"
        for row in rows
        if row[3] == _LISTENING and int(row[1].rpartition(":")[2], 16) == port
    }
    return bool(sockets & own)


def _ephemeral() -> tuple[int, int] | None:
    try:
        first, last = _RANGE.read_text().split()
    except (OSError, ValueError):
        return None
    return int(first), int(last)
