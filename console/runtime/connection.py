"""Connect to a Temporal server: shared by the console and the workers.

Both need the same data converter: pydantic JSON, encrypted if keys are set, large payloads in the
store. Traces are sent if a collector is configured.
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

from console.errors import ConsoleError
from console.runtime.codec import EncryptionCodec, load_keyring
from console.runtime.external_storage import external_storage
from workflows.config.settings import Settings


class SharedConverter(PydanticPayloadConverter):
    """A singleton, because Temporal creates a converter for every payload that may go to the store,
    and each new one would build the pydantic adapters of all types again.
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
    """A client of the server at `address`, or of the one in Temporal's environment or profile.

    A server that is still starting has `patience` seconds to answer.
    """
    target = ClientConnectConfig(target_host=address) if address else _load_profile()
    plugins, runtime = [], None
    if settings.telemetry:
        from console.runtime.telemetry import set_up_telemetry

        telemetry = set_up_telemetry()
        plugins, runtime = [telemetry.plugin], telemetry.runtime
    deadline = time.monotonic() + patience
    while True:
        try:
            return await Client.connect(
                **target,
                data_converter=data_converter(settings),
                plugins=plugins,
                runtime=runtime,
                grpc_compression=_choose_compression(target.get("target_host", "")),
            )
        except RuntimeError as error:
            if time.monotonic() > deadline:
                host = target.get("target_host")
                raise ConsoleError(
                    f"No Temporal server answers at {host}: start it, correct TEMPORAL_ADDRESS, or"
                    f" unset it to use the embedded one ({_first_line(error)})."
                ) from error
        await asyncio.sleep(0.05)


def data_converter(settings: Settings) -> DataConverter:
    """The data converter of clients, workers and replay.

    With keys, the messages and traces of failures are encrypted too.
    """
    keys = load_keyring(settings)
    return dataclasses.replace(
        pydantic_data_converter,
        payload_converter_class=SharedConverter,
        payload_codec=EncryptionCodec(keys),
        failure_converter_class=(
            DefaultFailureConverterWithEncodedAttributes if keys else DefaultFailureConverter
        ),
        external_storage=external_storage(settings.store, keys),
    )


def _choose_compression(host: str) -> GrpcCompression:
    """On one machine, compression costs more than it saves."""
    here = host.rpartition(":")[0] in ("127.0.0.1", "localhost", "[::1]")
    return GrpcCompression.NONE if here else GrpcCompression.GZIP


def _load_profile() -> ClientConnectConfig:
    try:
        return ClientConfig.load_client_connect_config()
    except RuntimeError as error:
        raise ConsoleError(
            f"Temporal's settings cannot be read: correct TEMPORAL_CONFIG_FILE or TEMPORAL_PROFILE"
            f" ({_first_line(error)})."
        ) from error


def _first_line(error: RuntimeError) -> str:
    return str(error).splitlines()[0][:200]
