"""Ports for a server of our own: chosen where nobody else's will be, and known to be its own.

A port out of the ephemeral range may be given to any program's outgoing connection or test server
between our looking and our server's taking it; below that range only those sit who chose to. What
answers there is ours when it speaks HTTP/2, as gRPC does, and our process is the one that listens.
"""

from __future__ import annotations

import os
import random
import socket
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
    """So many different free ports below the ephemeral range, at random."""
    low, high = bounds(_ephemeral())
    chosen: list[int] = []
    for port in random.sample(range(low, high), high - low):
        if len(chosen) == count:
            break
        if free(port):
            chosen.append(port)
    return chosen


def bounds(ephemeral: tuple[int, int] | None) -> tuple[int, int]:
    """Where to choose from, half-open: below the ephemeral range, or above it where that is all."""
    if ephemeral is None:
        return _LOW, _HIGH
    first, last = ephemeral
    below, above = (max(1024, min(_LOW, first - _ROOM)), first), (last + 1, 65536)
    return next((b for b in (below, above) if b[1] - b[0] >= _ROOM), (_LOW, _HIGH))


def free(port: int) -> bool:
    with socket.socket() as probe:
        # As the server itself does; without it a port just given back counts as taken.
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((HOST, port))
        except OSError:
            return False
    return True


def speaks_http2(port: int, seconds: float = 1.0) -> bool:
    """True where a client's greeting is met with a SETTINGS frame, as every HTTP/2 server must."""
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


def listens(pid: int, port: int) -> bool:
    """True where the process is the one that listens there, or where that cannot be seen."""
    try:
        table = Path("/proc/net/tcp").read_text().splitlines()[1:]
        own = {os.readlink(entry) for entry in _descriptors(pid)}
    except OSError:
        return not Path("/proc/net/tcp").exists()
    rows = [line.split() for line in table]
    sockets = {
        f"socket:[{row[9]}]"
        for row in rows
        if row[3] == _LISTENING and int(row[1].rpartition(":")[2], 16) == port
    }
    return bool(sockets & own)


def _descriptors(pid: int) -> list[Path]:
    return [entry for entry in Path(f"/proc/{pid}/fd").iterdir() if entry.is_symlink()]


def _ephemeral() -> tuple[int, int] | None:
    try:
        first, last = _RANGE.read_text().split()
    except (OSError, ValueError):
        return None
    return int(first), int(last)
