"""The one way to a Temporal server, for the console and for workers alike.

Both ends must agree on how data is written, so both come through here: pydantic JSON, sealed where
there are keys, large payloads in the store, traces when a collector is configured.
"""

from __future__ import annotations

import asyncio
import dataclasses
import time
from typing import ClassVar

from temporalio.client import Client
from temporalio.contrib.pydantic import PydanticPayloadConverter, pydantic_data_converter
from temporalio.converter import (
    DataConverter,
    DefaultFailureConverter,
    DefaultFailureConverterWithEncodedAttributes,
)
from temporalio.envconfig import ClientConfig, ClientConnectConfig
from temporalio.service import GrpcCompression

from console.confidential import Codec, keyring
from console.faults import ConsoleError
from console.payloads import external_storage
from workflows.config.settings import Settings


class SharedConverter(PydanticPayloadConverter):
    """One for all payloads.

    Temporal makes a converter for every payload that may go to the store, and each would have to
    learn every type anew.
    """

    _one: ClassVar[SharedConverter | None] = None

    def __new__(cls) -> SharedConverter:
        if cls._one is None:
            cls._one = super().__new__(cls)
        return cls._one

    def __init__(self) -> None:
        if not hasattr(self, "converters"):
            super().__init__()


async def connect(
    settings: Settings, address: str | None = None, *, patience: float = 15.0
) -> Client:
    """A client of the server at `address`, or of the one Temporal's own variables and profile name.

    A server that is still starting gets `patience` seconds to answer.
    """
    target = ClientConnectConfig(target_host=address) if address else _configured()
    plugins, runtime = [], None
    if settings.telemetry:
        from console.telemetry import telemetry

        plugins, runtime = [telemetry().plugin], telemetry().runtime
    deadline = time.monotonic() + patience
    while True:
        try:
            return await Client.connect(
                **target,
                data_converter=data_converter(settings),
                plugins=plugins,
                runtime=runtime,
                grpc_compression=_packing(target.get("target_host", "")),
            )
        except RuntimeError as error:
            if time.monotonic() > deadline:
                host = target.get("target_host")
                raise ConsoleError(
                    f"No Temporal server answers at {host}: start it, correct TEMPORAL_ADDRESS, or"
                    f" unset it to use the embedded one ({_cause(error)})."
                ) from error
        await asyncio.sleep(0.05)


def data_converter(settings: Settings) -> DataConverter:
    """How payloads are written: the same for clients, workers and replay.

    With keys, a failure's message and trace are payloads too, and are sealed with the rest.
    """
    keys = keyring(settings)
    return dataclasses.replace(
        pydantic_data_converter,
        payload_converter_class=SharedConverter,
        payload_codec=Codec(keys),
        failure_converter_class=(
            DefaultFailureConverterWithEncodedAttributes if keys else DefaultFailureConverter
        ),
        external_storage=external_storage(settings.store),
    )


def _packing(host: str) -> GrpcCompression:
    """Within one machine packing costs more than it spares."""
    here = host.rpartition(":")[0] in ("127.0.0.1", "localhost", "[::1]")
    return GrpcCompression.NONE if here else GrpcCompression.GZIP


def _configured() -> ClientConnectConfig:
    try:
        return ClientConfig.load_client_connect_config()
    except RuntimeError as error:
        raise ConsoleError(
            f"Temporal's settings cannot be read: correct TEMPORAL_CONFIG_FILE or TEMPORAL_PROFILE"
            f" ({_cause(error)})."
        ) from error


def _cause(error: RuntimeError) -> str:
    return str(error).splitlines()[0][:200]
