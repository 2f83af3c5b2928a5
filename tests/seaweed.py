"""An S3 server on loopback: SeaweedFS from its wheel, in a folder of a test's own."""

from __future__ import annotations

import asyncio
import json
import shutil
import subprocess
import sysconfig
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from obstore.exceptions import BaseError
from obstore.store import S3Store

from console.devserver import ports

_SERVICES = ("master", "volume", "filer", "s3")
_ACCESS_KEY, _SECRET_KEY = "reader", "writer"
_IDENTITIES = {
    "identities": [
        {
            "name": "research",
            "credentials": [{"accessKey": _ACCESS_KEY, "secretKey": _SECRET_KEY}],
            "actions": ["Admin", "Read", "Write", "List"],
        }
    ]
}


def find_program() -> str | None:
    found = Path(sysconfig.get_path("scripts"), "weed")
    return str(found) if found.is_file() else shutil.which("weed")


@contextmanager
def run_server(program: str, folder: Path) -> Iterator[dict[str, str]]:
    """Run the server while the body does; yields the environment its clients need."""
    (folder / "identities.json").write_text(json.dumps(_IDENTITIES))
    chosen = ports.choose(2 * len(_SERVICES))
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen(
            [program, *_options(folder, chosen)], cwd=folder, stdout=log, stderr=log
        )
    environment = {
        "AWS_ENDPOINT_URL": f"http://127.0.0.1:{chosen[2 * _SERVICES.index('s3')]}",
        "AWS_ALLOW_HTTP": "true",
        "AWS_ACCESS_KEY_ID": _ACCESS_KEY,
        "AWS_SECRET_ACCESS_KEY": _SECRET_KEY,
        "AWS_REGION": "us-east-1",
    }
    try:
        ready = asyncio.run(_accepts_objects(process, environment))
        assert ready, (folder / "log").read_text("utf-8", "replace")[-2000:]
        yield environment
    finally:
        process.kill()
        process.wait()
        for port in chosen:
            for left in Path("/tmp").glob(f"seaweedfs-*-{port}.sock"):
                left.unlink()


def _options(folder: Path, chosen: list[int]) -> list[str]:
    options = ["server", f"-dir={folder}", "-ip=127.0.0.1", "-ip.bind=127.0.0.1", "-filer", "-s3"]
    for n, service in enumerate(_SERVICES):
        options += [f"-{service}.port={chosen[2 * n]}", f"-{service}.port.grpc={chosen[2 * n + 1]}"]
    options += ["-s3.config=identities.json", "-s3.autoCreateBucket", "-s3.iam=false"]
    options += ["-s3.port.iceberg=0", "-s3.port.lance=0", "-master.telemetry=false"]
    return [
        *options,
        "-volume.max=20",
        "-master.volumeSizeLimitMB=64",
        "-master.electionTimeout=1s",
    ]


async def _accepts_objects(process: subprocess.Popen[bytes], environment: dict[str, str]) -> bool:
    """True once an object can be put into a bucket."""
    bucket = S3Store(
        "research",
        endpoint=environment["AWS_ENDPOINT_URL"],
        access_key_id=_ACCESS_KEY,
        secret_access_key=_SECRET_KEY,
        region=environment["AWS_REGION"],
        client_options={"allow_http": True},
        retry_config={"max_retries": 0},
    )
    deadline = time.monotonic() + 60
    while process.poll() is None and time.monotonic() < deadline:
        try:
            await bucket.put_async("ready", b"a bucket is created with its first object")
            return True
        except (BaseError, OSError):
            await asyncio.sleep(0.1)
    return False
