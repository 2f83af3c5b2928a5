"""The simulator inside the client's own process, in place of the network."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import httpx2

from tests.simulator.delivery import Reply
from tests.simulator.errors import ConnectionDropped
from tests.simulator.simulator import Call, Simulator


class SimulatorTransport(httpx2.AsyncBaseTransport):
    """Give it to `DefaultAsyncHttpxClient(transport=…)`. Read timeouts hold as on a network."""

    def __init__(self, simulator: Simulator) -> None:
        self.simulator = simulator

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        patience = request.extensions.get("timeout", {}).get("read")
        call = Call(
            method=request.method,
            path=request.url.path,
            headers={name.lower(): value for name, value in request.headers.items()},
            body=await request.aread(),
            base=f"{request.url.scheme}://{request.url.netloc.decode()}",
        )
        try:
            async with asyncio.timeout(patience):
                reply = await self.simulator.handle(call)
        except TimeoutError as late:
            raise httpx2.ReadTimeout("the simulator did not answer", request=request) from late
        except ConnectionDropped as gone:
            message = "Server disconnected without sending a response."
            raise httpx2.RemoteProtocolError(message, request=request) from gone
        return httpx2.Response(
            reply.status, headers=reply.headers, stream=_Body(reply, patience, request)
        )


class _Body(httpx2.AsyncByteStream):
    def __init__(self, reply: Reply, patience: float | None, request: httpx2.Request) -> None:
        self._reply = reply
        self._patience = patience
        self._request = request

    async def __aiter__(self) -> AsyncIterator[bytes]:
        while True:
            try:
                async with asyncio.timeout(self._patience):
                    part = await anext(self._reply.parts)
            except StopAsyncIteration:
                await self._reply.end(sent=True)
                return
            except TimeoutError as late:
                raise httpx2.ReadTimeout("no more came", request=self._request) from late
            except ConnectionDropped as gone:
                raise httpx2.ReadError("connection dropped", request=self._request) from gone
            yield part

    async def aclose(self) -> None:
        await self._reply.end(sent=False)
