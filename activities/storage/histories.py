"""What workflows refer to: the hashes in their histories, and in the payloads of these."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from google.protobuf.message import Message
from temporalio.api.common.v1 import Payload
from temporalio.client import Client

from activities.storage.references import find_hashes, find_names


@dataclass
class Mentioned:
    """Hashes that occur in histories: of payloads and texts, and of records and versions."""

    hashes: set[str] = field(default_factory=set)
    names: set[str] = field(default_factory=set)


async def find_open(client: Client) -> dict[str, float]:
    """When each open workflow was started, by its id."""
    found = client.list_workflows('ExecutionStatus="Running"')
    return {run.id: run.start_time.timestamp() async for run in found}


async def find_mentioned(client: Client, runs: Iterable[tuple[str, str | None]]) -> Mentioned:
    """What the histories of some runs refer to, by workflow id and run id."""
    found = Mentioned()
    for workflow_id, run_id in runs:
        handle = client.get_workflow_handle(workflow_id, run_id=run_id)
        async for event in handle.fetch_history_events():
            # As the server has it: a reference to a payload in the store is not encrypted.
            found.hashes |= find_hashes(event.SerializeToString())
            for payload in _find_payloads(event):
                data = await _decode(client, payload)
                found.hashes |= find_hashes(data)
                found.names |= find_names(data)
    return found


async def _decode(client: Client, payload: Payload) -> bytes:
    try:
        [value] = await client.data_converter.decode([payload])
    except Exception:
        return b""
    return repr(value).encode("utf-8", "surrogatepass")


def _find_payloads(message: Message) -> Iterator[Payload]:
    if isinstance(message, Payload):
        yield message
        return
    for descriptor, value in message.ListFields():
        if descriptor.message_type is None:
            continue
        if descriptor.message_type.GetOptions().map_entry:
            values = list(value.values())
        else:
            values = list(value) if descriptor.is_repeated else [value]
        for each in values:
            if isinstance(each, Message):
                yield from _find_payloads(each)
