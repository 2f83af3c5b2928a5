"""Register the custom search attributes of the jobs.

The embedded server is started with them. On any other server, a worker adds the missing ones when
it starts: a workflow task that sets an unknown attribute fails.
"""

from __future__ import annotations

import asyncio

from temporalio.api.enums.v1 import IndexedValueType
from temporalio.api.operatorservice.v1 import (
    AddSearchAttributesRequest,
    ListSearchAttributesRequest,
)
from temporalio.client import Client
from temporalio.service import RPCError, RPCStatusCode

from console.devserver.server import SEARCH_ATTRIBUTES
from console.errors import ConsoleError

FRESH_SERVER_SECONDS = 3.0
"""How long a fresh embedded server may take to know its own attributes; usually milliseconds."""


async def find_missing(client: Client, patience: float = 0.0) -> list[str]:
    """The attributes the server still does not have after `patience` seconds."""
    request = ListSearchAttributesRequest(namespace=client.namespace)
    deadline = asyncio.get_running_loop().time() + patience
    while True:
        known = await client.operator_service.list_search_attributes(request, retry=True)
        names = [name for name in SEARCH_ATTRIBUTES if name not in known.custom_attributes]
        if not names or asyncio.get_running_loop().time() >= deadline:
            return names
        await asyncio.sleep(0.01)


async def register(client: Client, patience: float = 0.0) -> None:
    """Add the missing attributes to the server."""
    try:
        if names := await find_missing(client, patience):
            keyword = IndexedValueType.INDEXED_VALUE_TYPE_KEYWORD
            await client.operator_service.add_search_attributes(
                AddSearchAttributesRequest(
                    namespace=client.namespace,
                    search_attributes=dict.fromkeys(names, keyword),
                )
            )
    except RPCError as error:
        if error.status is RPCStatusCode.ALREADY_EXISTS:
            return  # another worker, or the embedded server itself, added them first
        wanted = ", ".join(SEARCH_ATTRIBUTES)
        raise ConsoleError(
            f"The server's search attributes cannot be read or added: ask its operator to add the"
            f" keywords {wanted} to the namespace {client.namespace} ({error.message})."
        ) from error
