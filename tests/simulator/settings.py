"""What a simulator is set to, and what a call to it holds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from tests.simulator.models import MODELS, ModelProfile


@dataclass(frozen=True)
class Settings:
    api_keys: frozenset[str] | None = None
    """None accepts any key that is not empty."""
    models: Mapping[str, ModelProfile] = field(default_factory=lambda: MODELS)
    latency: float = 0.0
    batch_delay: float = 0.0
    max_bytes: int = 32 * 1024 * 1024
    signing_key: bytes = b"simulator"
    ignores_output_format: bool = False
    """An endpoint that takes `output_config.format` and does nothing with it."""
    novelties: bool = False
    """Answers come with blocks, events and deltas that no client knows."""


@dataclass(frozen=True)
class Call:
    """An HTTP request. Header names are lower case; `base` is the address results are found at."""

    method: str
    path: str
    headers: Mapping[str, str]
    body: bytes
    base: str = "http://simulator.invalid"
