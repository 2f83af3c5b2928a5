"""The nodes of a Temporal cluster: two of each service on one database, and a proxy before them."""

from __future__ import annotations

import asyncio
import itertools
import json
import subprocess
import time
from collections.abc import Awaitable, Callable
from contextlib import suppress
from pathlib import Path

from console.devserver import ports
from console.devserver.server import find_binary
from tests.cluster.database import USER
from tests.durability.processes import ROOT, Process

SERVICES = {"frontend": 2, "history": 2, "matching": 2, "worker": 1}
HISTORY_SHARDS = 64
"""The same for every node, for as long as the database lives."""
_CHUNK = 1 << 16


class Node:
    """One process of one service. It is replaced under its own ports, as a node in a rack is."""

    def __init__(self, folder: Path, program: Path, service: str, n: int, database: int) -> None:
        self.name = f"{service}-{n}"
        self._folder, self._program, self._service = folder, program, service
        self.port, membership, metrics, http = ports.choose(4)
        self._config = folder / f"{self.name}.yaml"
        config = _configure(service, self.port, membership, metrics, http, database)
        # JSON is YAML.
        self._config.write_text(json.dumps(config, indent=1))
        self._process: Process | None = None

    def start(self) -> None:
        command = [str(self._program), "--config-file", str(self._config), "--allow-no-auth",
                   "start", "--service", self._service]  # fmt: skip
        log = self._folder / f"{self.name}.log"
        self._process = Process(self.name, command, log)

    def replace(self) -> None:
        """SIGKILL, start it again, wait until it serves."""
        self.process.kill()
        self.start()
        deadline = time.monotonic() + 90
        while not self.is_serving:
            assert time.monotonic() < deadline, f"{self.name} does not come back"
            time.sleep(0.05)

    @property
    def process(self) -> Process:
        assert self._process is not None, f"{self.name} was not started"
        return self._process

    @property
    def is_serving(self) -> bool:
        assert self.process.alive, f"{self.name} ended: {self.process.said()}"
        return ports.is_listening(self.process.pid, self.port)


class Proxy:
    """TCP connections, spread over the frontends that accept them."""

    def __init__(self, targets: list[int]) -> None:
        self._targets = itertools.cycle(targets)
        self._count = len(targets)
        self._server: asyncio.Server | None = None

    async def start(self) -> int:
        self._server = await asyncio.start_server(self._connect, "127.0.0.1", 0)
        port: int = self._server.sockets[0].getsockname()[1]
        return port

    def close(self) -> None:
        if self._server:
            self._server.close()

    async def _connect(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        for _ in range(self._count):
            with suppress(OSError):
                there = await asyncio.open_connection("127.0.0.1", next(self._targets))
                await asyncio.gather(_copy(reader, there[1]), _copy(there[0], writer))
                return
        writer.close()


async def _copy(source: asyncio.StreamReader, target: asyncio.StreamWriter) -> None:
    # Cancelled when the cluster is closed.
    with suppress(OSError, asyncio.CancelledError):
        while data := await source.read(_CHUNK):
            target.write(data)
            await target.drain()
    target.close()


class Cluster:
    """All nodes, with a namespace."""

    def __init__(self, folder: Path, program: Path, database_port: int) -> None:
        self.nodes = {
            node.name: node
            for service, count in SERVICES.items()
            for n in range(count)
            for node in [Node(folder, program, service, n, database_port)]
        }
        frontends = [node.port for name, node in self.nodes.items() if name.startswith("frontend")]
        self._proxy = Proxy(frontends)
        self.address = ""

    async def open(self, until: Callable[[Callable[[], bool], str], Awaitable[object]]) -> None:
        first, *others = self.nodes.values()
        # The first node writes the cluster's metadata; two that write it at once fail.
        first.start()
        await until(lambda: first.is_serving, "the first node serves")
        for node in others:
            node.start()
        await until(lambda: all(node.is_serving for node in others), "all nodes serve")
        self.address = f"127.0.0.1:{await self._proxy.start()}"
        deadline = asyncio.get_running_loop().time() + 90
        while not await self._create_namespace():
            assert asyncio.get_running_loop().time() < deadline, "the namespace cannot be created"
            await asyncio.sleep(1)

    def close(self) -> None:
        self._proxy.close()
        for node in self.nodes.values():
            node.process.kill()

    async def _create_namespace(self) -> bool:
        command = [str(find_binary()), "operator", "namespace", "create", "--namespace", "default",
                   "--retention", "72h", "--address", self.address]  # fmt: skip
        created = await asyncio.to_thread(
            subprocess.run, command, check=False, capture_output=True, text=True, timeout=30
        )
        return created.returncode == 0 or "already exists" in created.stderr


def _configure(
    service: str, port: int, membership: int, metrics: int, http: int, database: int
) -> dict[str, object]:
    rpc = {"grpcPort": port, "membershipPort": membership, "bindOnLocalHost": True}
    if service == "frontend":
        rpc["httpPort"] = http
    # A node finds the others of every service that its file names; their ports it learns from them.
    elsewhere = {"grpcPort": 1, "membershipPort": 1, "bindOnLocalHost": True}
    return {
        "log": {"stdout": True, "level": "warn"},
        "persistence": {
            "defaultStore": "default",
            "visibilityStore": "visibility",
            "numHistoryShards": HISTORY_SHARDS,
            "datastores": {
                "default": {"sql": _sql("temporal", database, 20)},
                "visibility": {"sql": _sql("temporal_visibility", database, 5)},
            },
        },
        "global": {
            "membership": {"maxJoinDuration": "30s", "broadcastAddress": "127.0.0.1"},
            "metrics": {
                "prometheus": {"timerType": "histogram", "listenAddress": f"127.0.0.1:{metrics}"}
            },
        },
        "services": {name: {"rpc": rpc if name == service else elsewhere} for name in SERVICES},
        "clusterMetadata": {
            "enableGlobalNamespace": False,
            "failoverVersionIncrement": 10,
            "masterClusterName": "active",
            "currentClusterName": "active",
            "clusterInformation": {
                "active": {
                    "enabled": True,
                    "initialFailoverVersion": 1,
                    "rpcName": "frontend",
                    "rpcAddress": "127.0.0.1:7233",
                }
            },
        },
        "dcRedirectionPolicy": {"policy": "noop"},
        "dynamicConfigClient": {
            "filepath": str(ROOT / "deploy" / "temporal" / "dynamicconfig.yaml"),
            "pollInterval": "10s",
        },
    }


def _sql(database: str, port: int, connections: int) -> dict[str, object]:
    return {
        "pluginName": "postgres12",
        "databaseName": database,
        "connectAddr": f"127.0.0.1:{port}",
        "connectProtocol": "tcp",
        "user": USER,
        "password": "",
        "maxConns": connections,
        "maxIdleConns": connections,
        "maxConnLifetime": "1h",
    }
