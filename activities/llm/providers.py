"""Creates the client of a provider from the environment, and that of the offline engine.

Every client makes one attempt (Temporal retries), sends no trace headers to the provider, and gives
up on a connection that is silent for a while. What is missing to create one (a package, a region, a
resource) is bad input, with the remedy.
"""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Callable
from typing import Any

import httpx2

from activities.llm.errors import bad_input, to_activity_error
from activities.llm.lazy_sdk import anthropic
from workflows.config.settings import Provider

_CONNECT_SECONDS = 20.0

# Of each provider: the package of its extra, and the variables it needs.
_NEEDS: dict[Provider, tuple[str, str]] = {
    "anthropic": ("anthropic", "ANTHROPIC_API_KEY or ANTHROPIC_BASE_URL"),
    "bedrock": ("boto3", "AWS_REGION, and AWS credentials or AWS_BEARER_TOKEN_BEDROCK"),
    "vertex": ("google.auth", "CLOUD_ML_REGION, ANTHROPIC_VERTEX_PROJECT_ID and Google"
               " credentials"),
    "foundry": ("anthropic", "ANTHROPIC_FOUNDRY_API_KEY, and ANTHROPIC_FOUNDRY_RESOURCE or"
                " ANTHROPIC_FOUNDRY_BASE_URL"),
}  # fmt: skip


def provider_client(
    provider: Provider, transport: httpx2.AsyncBaseTransport | None, idle_seconds: float
) -> anthropic.AsyncAnthropic:
    """The client of this provider; `transport` replaces the network."""
    package, variables = _NEEDS[provider]
    if not _installed(package):
        raise bad_input(
            f"the provider {provider} needs another package:"
            f' pip install "anthropic[{provider}]" where the workers run'
        )
    # The same Messages API with other credentials; the SDK has no common type for them.
    makers: dict[Provider, Callable[..., Any]] = {
        "anthropic": anthropic.AsyncAnthropic,
        # This variable says that the account is still on the older runtime.
        "bedrock": anthropic.AsyncAnthropicBedrock
        if "ANTHROPIC_BEDROCK_BASE_URL" in os.environ
        else anthropic.AsyncAnthropicBedrockMantle,
        "vertex": anthropic.AsyncAnthropicVertex,
        "foundry": anthropic.AsyncAnthropicFoundry,
    }
    try:
        client: anthropic.AsyncAnthropic = makers[provider](
            **_common_options(transport, idle_seconds)
        )
    except anthropic.CredentialsError as error:
        raise to_activity_error(error) from None
    except (anthropic.AnthropicError, ValueError, httpx2.InvalidURL, ImportError) as error:
        raise bad_input(f"set {variables} for the provider {provider}: {error}") from None
    return client


def offline_client(
    transport: httpx2.AsyncBaseTransport | None, idle_seconds: float
) -> anthropic.AsyncAnthropic:
    """The offline engine behind the same client."""
    from activities.offline.rule_families import disable
    from activities.offline.transport import SKILLS, OfflineTransport

    # A benchmark measures the engine without one of its families of rules.
    disable(os.environ.get("RESEARCH_OFFLINE_WITHOUT", "").split())
    return anthropic.AsyncAnthropic(
        api_key="none-needed",
        base_url="http://offline.invalid",
        **_common_options(transport or OfflineTransport(SKILLS), idle_seconds),
    )


def endpoint_client(address: str, idle_seconds: float) -> anthropic.AsyncAnthropic:
    """The client of a server of ours that needs no key."""
    return anthropic.AsyncAnthropic(
        api_key="none-needed", base_url=address, **_common_options(None, idle_seconds)
    )


def _common_options(
    transport: httpx2.AsyncBaseTransport | None, idle_seconds: float
) -> dict[str, Any]:
    return {
        "max_retries": 0,
        # Turns have spans of our own.
        "open_telemetry": {"traces": False, "propagation": False},
        "timeout": httpx2.Timeout(idle_seconds, connect=_CONNECT_SECONDS),
        "http_client": anthropic.DefaultAsyncHttpxClient(transport=transport)
        if transport
        else None,
    }


def _installed(package: str) -> bool:
    try:
        return importlib.util.find_spec(package) is not None
    except ModuleNotFoundError:
        return False
