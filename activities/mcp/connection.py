"""One open connection to one MCP server, alive in a task of its own until it is retired.

The protocol's streams must be entered and left by the same task, so a connection has its own; calls
come from any task. A retired connection takes no new calls and ends with the last one under way:
one slow call does not tear down those of other subagents. Every failure is a `Trouble` in words.
"""

from __future__ import annotations

import asyncio
import contextvars
import logging
import os
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager, suppress
from importlib import import_module
from typing import TYPE_CHECKING, Any, TextIO, TypeVar

from activities.mcp.server_settings import ServerSettings, with_secrets

if TYPE_CHECKING:
    from mcp import Client, Tool
    from mcp.types import CallToolResult

PAGES = 20
"""Of a tool list; a server whose list never ends does not keep a worker."""
_LAST_WORDS_SECONDS = 1.0
T = TypeVar("T")

log = logging.getLogger(__name__)


class Trouble(Exception):
    """What became of a call or a connection, in words a subagent can report."""


class Connection:
    def __init__(self, name: str, settings: ServerSettings, environment: Mapping[str, str]) -> None:
        self._name = name
        self._settings = settings
        self._environment = environment
        self._holders = 0
        self._garbage = 0
        self._tools: dict[str, Tool] | None = None
        self._stop = asyncio.Event()
        self._opened: asyncio.Future[Client] = asyncio.get_running_loop().create_future()
        # An empty context: the connection outlives the activity whose call happened to open it.
        self._task = asyncio.create_task(self._live(), context=contextvars.Context())
        self.retired = False

    @contextmanager
    def held(self) -> Iterator[None]:
        """While it is held, a connection that is retired stays open."""
        self._holders += 1
        try:
            yield
        finally:
            self._holders -= 1
            if self.retired and not self._holders:
                self._end()

    async def client(self) -> Client:
        return await asyncio.shield(self._opened)

    async def tools(self) -> dict[str, Tool]:
        """What the server offers, by name; asked again where it said that its list has changed."""
        client = await self.client()
        if self._tools is None:
            self._tools = await self._bounded(_listed(client), "the request for its tools")
        return self._tools

    async def call(self, tool: str, arguments: dict[str, Any]) -> CallToolResult:
        client = await self.client()
        return await self._bounded(client.call_tool(tool, arguments), f"the call of {tool!r}")

    def when_gone(self, told: Callable[[Connection], None]) -> None:
        self._task.add_done_callback(lambda _: told(self))

    def retire(self) -> None:
        self.retired = True
        if not self._holders:
            self._end()

    async def closed(self) -> None:
        """Ends what is under way; when this returns, the server's process is gone."""
        self.retired = True
        self._end()
        await asyncio.wait({self._task})

    def _end(self, why: str = "was closed before it was ready") -> None:
        if self._opened.done():
            self._stop.set()
        else:
            self._settle(Trouble(why))
            self._task.cancel()

    def _too_late(self) -> None:
        if not self._opened.done():
            seconds = self._settings.start_seconds
            self._end(f"was not ready within {seconds:g} seconds{self._noise()}")

    def _settle(self, trouble: Trouble) -> None:
        self.retired = True
        if not self._opened.done():
            self._opened.set_exception(trouble)
            self._opened.exception()  # seen: there may be nobody left who waits for it

    async def _bounded(self, answer: Awaitable[T], what: str) -> T:
        from mcp import MCPError
        from mcp.types import CONNECTION_CLOSED

        seconds = self._settings.timeout_seconds
        try:
            async with asyncio.timeout(seconds):
                return await answer
        except TimeoutError:
            self.retired = True
            raise Trouble(
                f"did not answer {what} within {seconds:g} seconds{self._noise()}"
            ) from None
        except MCPError as refused:
            if refused.code == CONNECTION_CLOSED:
                self.retired = True
                raise Trouble(f"ended the connection during {what}{self._noise()}") from None
            # A process that refuses a call is well; a URL may have forgotten the conversation.
            self.retired = self.retired or self._settings.url is not None
            raise Trouble(f"refused {what}: {_words(refused)}") from None
        except Exception as odd:
            # A wrong answer was at least an answer; all else is a broken connection.
            self.retired = self.retired or not isinstance(odd, (RuntimeError, ValueError))
            raise Trouble(
                f"gave an answer to {what} that breaks its own word or the protocol: {_words(odd)}"
            ) from None

    async def _live(self) -> None:
        limit: asyncio.TimerHandle | None = None
        try:
            # A second of work: in a thread, so that heartbeats go on.
            await asyncio.to_thread(import_module, "anthropic.lib.tools.mcp")
            from mcp import Client

            limit = asyncio.get_running_loop().call_later(
                self._settings.start_seconds, self._too_late
            )
            transport = self._to_url() if self._settings.url else self._to_process()
            async with Client(transport, cache=None, message_handler=self._heard) as client:
                if not self._opened.done():
                    self._opened.set_result(client)
                    await self._stop.wait()
        except Exception as ended:
            first = _first(ended)
            if self._opened.done():
                log.info("the MCP server %s was left with %s", self._name, type(first).__name__)
            self._settle(Trouble(f"could not be started or reached: {_words(first)}"))
        finally:
            if limit:
                limit.cancel()
            self._settle(Trouble("was left before it was ready"))

    async def _heard(self, message: object) -> None:
        from mcp.types import ToolListChangedNotification

        if isinstance(message, ToolListChangedNotification):
            self._tools = None
        elif isinstance(message, Exception):
            self._garbage += 1

    def _noise(self) -> str:
        return f"; lines it wrote that are not MCP: {self._garbage}" if self._garbage else ""

    @asynccontextmanager
    async def _to_process(self) -> AsyncIterator[Any]:
        from mcp import StdioServerParameters, stdio_client

        # To this the SDK adds its own list of harmless names (PATH, HOME, USER and the like), and
        # nothing else of the worker's environment: no key of ours reaches a server unnamed.
        env = {"LANG": self._environment.get("LANG", "C.UTF-8")}
        started = StdioServerParameters(
            command=self._settings.command or "",
            args=list(self._settings.args),
            env=env | with_secrets(self._settings.env, self._environment),
            cwd=self._settings.cwd,
            encoding_error_handler="replace",
        )
        async with _to_log(self._name) as errors, stdio_client(started, errors) as (read, write):
            yield _Watched(read, self.retire), write

    @asynccontextmanager
    async def _to_url(self) -> AsyncIterator[Any]:
        import httpx2
        from mcp.client.streamable_http import streamable_http_client

        headers = with_secrets(self._settings.headers, self._environment)
        # Silence is allowed here: every call has its own limit.
        timeout = httpx2.Timeout(self._settings.timeout_seconds, read=None)
        async with (
            httpx2.AsyncClient(headers=headers, timeout=timeout) as http,
            streamable_http_client(self._settings.url or "", http_client=http) as streams,
        ):
            yield streams


class _Watched:
    """A read stream that tells when it ends: a server that died while idle is not asked again."""

    def __init__(self, stream: Any, ended: Callable[[], None]) -> None:
        self._stream = stream
        self._ended = ended

    def __aiter__(self) -> _Watched:
        return self

    async def __anext__(self) -> Any:
        try:
            return await self._stream.__anext__()
        except BaseException:
            self._ended()
            raise

    async def receive(self) -> Any:
        return await self._stream.receive()

    async def aclose(self) -> None:
        await self._stream.aclose()

    async def __aenter__(self) -> _Watched:
        await self._stream.__aenter__()
        return self

    async def __aexit__(self, *exc_info: Any) -> bool | None:
        left: bool | None = await self._stream.__aexit__(*exc_info)
        return left


@asynccontextmanager
async def _to_log(name: str) -> AsyncIterator[TextIO]:
    """What a server writes to its stderr goes to the worker's log, not over a live view."""
    loop = asyncio.get_running_loop()
    reading, writing = os.pipe()
    lines = asyncio.StreamReader()
    pipe, _ = await loop.connect_read_pipe(
        lambda: asyncio.StreamReaderProtocol(lines), os.fdopen(reading, "rb", buffering=0)
    )

    async def follow() -> None:
        while said := await lines.read(1 << 16):
            log.info("the MCP server %s says: %s", name, said.decode(errors="replace").rstrip())

    following = asyncio.create_task(follow())
    try:
        with os.fdopen(writing, "w") as errors:
            yield errors
    finally:
        # A process the server left behind may hold the pipe open: do not wait for it for long.
        with suppress(TimeoutError):
            await asyncio.wait_for(following, _LAST_WORDS_SECONDS)
        pipe.close()


async def _listed(client: Client) -> dict[str, Tool]:
    found: dict[str, Tool] = {}
    cursor: str | None = None
    for _ in range(PAGES):
        page = await client.list_tools(cursor=cursor)
        for tool in page.tools:
            found.setdefault(tool.name, tool)
        cursor = page.next_cursor
        if not cursor:
            break
    return found


def _first(ended: BaseException) -> BaseException:
    """Task groups wrap what went wrong; the first leaf is what is worth saying."""
    while isinstance(ended, BaseExceptionGroup):
        ended = ended.exceptions[0]
    return ended


def _words(wrong: BaseException) -> str:
    said = (wrong.strerror or "") if isinstance(wrong, OSError) else str(wrong)
    first = said.strip().split("\n")[0][:300]
    return f"{type(wrong).__name__}: {first}" if first else type(wrong).__name__
