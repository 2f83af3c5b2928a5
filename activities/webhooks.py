"""Sends the events of jobs to the webhooks of their requests.

A message follows the Standard Webhooks specification: `webhook-signature` is the HMAC-SHA256 of
`webhook-id`, `webhook-timestamp` and the body, joined by dots. The address comes from a client, so
it must not lead into the worker's own network: the name is resolved once, every address it has must
be public or allowed, and the connection is made to the address that was checked. No redirect is
followed and no proxy asked.
"""

from __future__ import annotations

import asyncio
import base64
import hashlib
import hmac
import json
import socket
import ssl
import time
from collections.abc import Sequence
from functools import cache
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address

import httpx2
from temporalio import activity
from temporalio.exceptions import ApplicationError

from workflows.contracts.messages import CANCELLED, FAILED, FINISHED, Delivery
from workflows.side_workflows import REFUSED
from workflows.stages.activity_interfaces import WebhookActivities

SECRET_VARIABLE = "RESEARCH_WEBHOOK_SECRET"  # noqa: S105
_TIMEOUT = httpx2.Timeout(10.0)
_PORTS = {"http": 80, "https": 443}
_NAT64 = IPv6Network("64:ff9b::/96")

Address = IPv4Address | IPv6Address
Network = IPv4Network | IPv6Network


class Webhooks(WebhookActivities):
    def __init__(self, secrets: str, networks: Sequence[Network] = ()) -> None:
        """`secrets` are separated by spaces: while one is replaced, both sign."""
        self._secrets = secrets.split()
        self._networks = tuple(networks)

    @activity.defn
    async def deliver(self, delivery: Delivery) -> int:
        """The HTTP status of the answer. Raises where it is not one of success."""
        if not self._secrets:
            raise _refuse(f"set {SECRET_VARIABLE} for the workers: nothing is sent unsigned")
        try:
            status = await self._send(delivery)
        except (httpx2.HTTPError, httpx2.InvalidURL, OSError, UnicodeError) as error:
            # In our words: the library's message may quote the address with what is in it.
            raise ApplicationError(
                f"{delivery.host} does not answer ({type(error).__name__})", type="webhook_failed"
            ) from None
        if status == 410:
            raise _refuse(f"{delivery.host} wants no more of these messages (410)")
        if not 200 <= status < 300:
            raise ApplicationError(f"{delivery.host} answers {status}", type="webhook_failed")
        return status

    async def _send(self, delivery: Delivery) -> int:
        url, body, stamp = httpx2.URL(delivery.url), build_body(delivery), str(int(time.time()))
        address = await self._resolve(url.host, url.port or _PORTS[url.scheme])
        headers = {
            "host": url.netloc.decode("ascii"),
            "content-type": "application/json",
            "webhook-id": delivery.id,
            "webhook-timestamp": stamp,
            "webhook-signature": sign(self._secrets, delivery.id, stamp, body),
        }
        async with (
            httpx2.AsyncClient(
                verify=_trusted_certificates(), timeout=_TIMEOUT, trust_env=False
            ) as client,
            client.stream(
                "POST",
                url.copy_with(host=str(address)),
                content=body,
                headers=headers,
                # The certificate is that of the name, not of the address.
                extensions={"sni_hostname": url.host},
            ) as answer,
        ):
            # The body of the answer is not read.
            return answer.status_code

    async def _resolve(self, host: str, port: int) -> Address:
        """An address of the host; refused if any of them is in a network of ours."""
        loop = asyncio.get_running_loop()
        found = await loop.getaddrinfo(host, port, type=socket.SOCK_STREAM)
        addresses = [ip_address(str(info[4][0]).partition("%")[0]) for info in found]
        for address in addresses:
            if not self._is_allowed(address):
                raise _refuse(
                    f"{host} is at {address}, which is not a public address: allow its network"
                    " with RESEARCH_WEBHOOK_NETWORKS of the workers, or use another receiver"
                )
        return addresses[0]

    def _is_allowed(self, address: Address) -> bool:
        if isinstance(address, IPv6Address):
            # What an address of another family is wrapped in is not looked into any further.
            if address.ipv4_mapped:
                return self._is_allowed(address.ipv4_mapped)
            if address.sixtofour or address.teredo or address in _NAT64:
                return False
        if any(address in network for network in self._networks):
            return True
        return address.is_global and not address.is_multicast


def build_body(delivery: Delivery) -> bytes:
    """The same bytes in every attempt."""
    event = delivery.event
    ended = event.checkpoint in (FINISHED, FAILED, CANCELLED)
    kind = f"job.{event.checkpoint}" if ended else "job.checkpoint"
    message = {"type": kind, "timestamp": event.at, "data": event.model_dump(mode="json")}
    return json.dumps(message).encode()


def sign(secrets: Sequence[str], message_id: str, stamp: str, body: bytes) -> str:
    signed = f"{message_id}.{stamp}.".encode() + body
    return " ".join(
        "v1," + base64.b64encode(hmac.digest(_key(secret), signed, hashlib.sha256)).decode()
        for secret in secrets
    )


def _key(secret: str) -> bytes:
    """`whsec_BASE64`, as the specification writes it; any other text is the key itself."""
    if secret.startswith("whsec_"):
        return base64.b64decode(secret.removeprefix("whsec_"))
    return secret.encode()


@cache
def _trusted_certificates() -> ssl.SSLContext:
    """Those of the machine, so that a receiver may have a certificate of one's own authority."""
    return ssl.create_default_context()


def _refuse(reason: str) -> ApplicationError:
    return ApplicationError(reason, type=REFUSED, non_retryable=True)
