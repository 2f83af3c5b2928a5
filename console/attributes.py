"""The search attributes jobs are found by, and making sure a server knows them.

The embedded server is started with them. On any other, a worker adds what is missing when it
starts: a workflow that sets an attribute its server does not know cannot go on.
"""

from __future__ import annotations

from temporalio.api.enums.v1 import IndexedValueType
from temporalio.api.operatorservice.v1 import (
    AddSearchAttributesRequest,
    ListSearchAttributesRequest,
)
from temporalio.client import Client
from temporalio.service import RPCError, RPCStatusCode

from console.embedded import SEARCH_ATTRIBUTES
from console.faults import ConsoleError


async def register(client: Client) -> None:
    """Add the attributes the server does not have yet."""
    operator = client.operator_service
    try:
        known = await operator.list_search_attributes(
            ListSearchAttributesRequest(namespace=client.namespace)
        )
        missing = [name for name in SEARCH_ATTRIBUTES if name not in known.custom_attributes]
        if missing:
            keyword = IndexedValueType.INDEXED_VALUE_TYPE_KEYWORD
            await operator.add_search_attributes(
                AddSearchAttributesRequest(
                    namespace=client.namespace,
                    search_attributes=dict.fromkeys(missing, keyword),
                )
            )
    except RPCError as error:
        if error.status is RPCStatusCode.ALREADY_EXISTS:
            return  # another worker, or the embedded server itself, was faster
        names = ", ".join(SEARCH_ATTRIBUTES)
        raise ConsoleError(
            f"The server's search attributes cannot be read or added: ask its operator to add the"
            f" keywords {names} to the namespace {client.namespace} ({error.message})."
        ) from error
