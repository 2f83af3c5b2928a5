"""A language model of the user's own: llama.cpp's server on loopback, in a process of ours.

python -m activities.llm.local_server FILE.gguf TOKENS     (needs the extra `local`)

The process prints its address and ends when its standard input is closed: also when the worker that
started it is killed. It answers one request at a time, so the worker sends one at a time.
"""

from __future__ import annotations

import asyncio
import importlib.util
import os
import sys
from pathlib import Path
from typing import Any

from activities.llm.errors import bad_input

CONTEXT_WINDOW = 32_768
"""Tokens, unless it is set otherwise: memory grows with it."""
_PACKAGE = "xllamacpp"
_ROOT = Path(__file__).resolve().parents[2]
_START_SECONDS = 300.0
"""Large files take long to load."""


class LocalServer:
    """Started with the first request; one that died is started again with the next."""

    def __init__(self, file: str, context_window: int = 0) -> None:
        self.context_window = context_window or CONTEXT_WINDOW
        self.turn = asyncio.Lock()
        """Held for one request."""
        self._file = file
        self._starting = asyncio.Lock()
        self._process: asyncio.subprocess.Process | None = None
        self._address = ""

    async def address(self) -> str:
        """The base URL. Raises ApplicationError where the server cannot be started."""
        async with self._starting:
            if self._process is None or self._process.returncode is not None:
                self._check()
                self._process = await asyncio.create_subprocess_exec(
                    sys.executable, "-m", "activities.llm.local_server", self._file,
                    str(self.context_window),
                    stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE,
                    cwd=_ROOT,
                )  # fmt: skip
                self._address = await self._read_address(self._process)
            return self._address

    async def close(self) -> None:
        if self._process is not None and self._process.stdin is not None:
            self._process.stdin.close()
            await self._process.wait()

    def _check(self) -> None:
        if not Path(self._file).is_file():
            raise bad_input(f"there is no model file {self._file}: correct --local-model")
        if importlib.util.find_spec(_PACKAGE) is None:
            raise bad_input(
                f"a local model needs the package {_PACKAGE}: pip install"
                ' "durable-research[local]" where the workers run'
            )

    async def _read_address(self, process: asyncio.subprocess.Process) -> str:
        if process.stdout is None:
            raise RuntimeError("the server was started without a pipe")
        try:
            line = await asyncio.wait_for(process.stdout.readline(), _START_SECONDS)
        except TimeoutError:
            process.kill()
            raise bad_input(f"the model {self._file} took too long to load") from None
        if not line:
            raise bad_input(
                f"llama.cpp could not load the model {self._file}: look at the worker's log"
            )
        return line.decode().strip()


def main(file: str, context_window: int) -> None:
    # llama.cpp writes its log to standard output: it goes to the worker's log instead.
    address = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    llama: Any = importlib.import_module(_PACKAGE)
    params = llama.CommonParams()
    params.model.path = file
    params.n_ctx = context_window
    params.use_jinja = True
    # Its threads spin while they wait; one core is left for the worker.
    threads = max(1, (os.cpu_count() or 2) - 1)
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = threads
    server = llama.Server(params)
    print(server.listening_address, file=address, flush=True)
    sys.stdin.read()
    # The server's threads do not end by themselves.
    os._exit(0)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
