"""Webhooks: signed, retried without holding up the job, and never sent into our own network."""

from __future__ import annotations

import asyncio
import base64
import hashlib
import hmac
import json
import socket
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from ipaddress import ip_network
from typing import Any

import pytest
from pydantic import ValidationError
from temporalio.client import WorkflowExecutionStatus, WorkflowFailureError
from temporalio.exceptions import ApplicationError
from temporalio.testing import ActivityEnvironment

from activities.webhooks import SECRET_VARIABLE, Webhooks
from console.client.job_list import wait_for_deliveries
from tests.job.conftest import NO_GAPS, PASSENGERS, QUESTION, UNREVIEWED, Office, Wire, planned
from tests.triggers.conftest import Held, eventually, unique
from workflows.contracts.messages import WEBHOOK_ID, CheckpointReached, Delivery
from workflows.contracts.request import ResearchRequest
from workflows.side_workflows import REFUSED

pytestmark = pytest.mark.sandbox

SECRET = "whsec_" + base64.b64encode(b"a secret of this deployment").decode()
LOOPBACK = ip_network("127.0.0.0/8")


class Receiver:
    """A real HTTP server that answers with the given statuses, then with 204."""

    def __init__(self) -> None:
        self.statuses: list[int] = []
        self.received: list[tuple[dict[str, str], bytes]] = []
        receiver = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["content-length"]))
                receiver.received.append(({k.lower(): v for k, v in self.headers.items()}, body))
                status = receiver.statuses.pop(0) if receiver.statuses else 204
                self.send_response(status)
                if status == 302:
                    self.send_header("location", f"{receiver.url}/elsewhere")
                self.send_header("content-length", "0")
                self.end_headers()

            def log_message(self, *_: Any) -> None:
                return

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_port}/hook"
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)
        self._thread.start()

    @property
    def events(self) -> list[str]:
        """What was accepted, in the order of arrival, once each."""
        messages = {headers["webhook-id"]: json.loads(body) for headers, body in self.received}
        return [message["data"]["checkpoint"] for message in messages.values()]

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    running = Receiver()
    yield running
    running.close()


@pytest.fixture
def sending(office: Office, monkeypatch: pytest.MonkeyPatch) -> Office:
    """The office, with workers that have a secret and may send to this machine."""
    monkeypatch.setenv(SECRET_VARIABLE, SECRET)
    settings = office.settings.model_copy(update={"webhook_networks": (LOOPBACK,)})
    return Office(office.client, settings, office.corpus)


def wire(*rules: Any) -> Wire:
    return Wire(planned(PASSENGERS), UNREVIEWED, NO_GAPS, *rules)


def delivery(url: str) -> Delivery:
    event = CheckpointReached(
        job_id="x1", run_id="r", checkpoint="planned", phase="planning", at="2026-01-01T00:00:00Z"
    )
    return Delivery(id=unique("message"), url=url, event=event)


async def deliver(webhooks: Webhooks, url: str) -> int:
    return await ActivityEnvironment().run(webhooks.deliver, delivery(url))


async def test_a_receiver_that_fails_twice_gets_every_event_signed_and_none_lost(
    sending: Office, receiver: Receiver
) -> None:
    receiver.statuses = [500, 503]
    async with sending.working(wire()):
        handle = await sending.start(webhook=receiver.url)
        await handle.result()
        assert await wait_for_deliveries(sending.client, handle.id, 60)
        query = f'WorkflowId = "{handle.id}" OR WorkflowId STARTS_WITH "{handle.id}{WEBHOOK_ID}"'
        histories = [
            (await sending.client.get_workflow_handle(run.id).fetch_history()).to_json()
            async for run in sending.client.list_workflows(query)
        ]
    assert set(receiver.events) == {
        "opened", "planned", "researched", "drafted", "evaluated", "finished",
    }  # fmt: skip
    ids = [headers["webhook-id"] for headers, _ in receiver.received]
    assert len(ids) == len(set(ids)) + 2, "two attempts failed and were repeated with their id"
    for headers, body in receiver.received:
        signed = f"{headers['webhook-id']}.{headers['webhook-timestamp']}.".encode() + body
        digest = hmac.digest(b"a secret of this deployment", signed, hashlib.sha256)
        assert headers["webhook-signature"] == f"v1,{base64.b64encode(digest).decode()}"
    assert {json.loads(body)["type"] for _, body in receiver.received} == {
        "job.checkpoint",
        "job.finished",
    }
    assert len(histories) == 1 + len(set(ids))
    encoded = base64.b64encode(SECRET.encode()).decode().rstrip("=")
    assert not any(SECRET in text or encoded in text for text in histories)


async def test_a_receiver_that_is_gone_neither_holds_up_nor_fails_the_job(sending: Office) -> None:
    with socket.create_server(("127.0.0.1", 0)) as closed:
        port = closed.getsockname()[1]
    async with sending.working(wire()):
        handle = await sending.start(webhook=f"http://127.0.0.1:{port}/hook")
        summary = await asyncio.wait_for(handle.result(), 60)
        assert summary.status == "complete"
        assert not await wait_for_deliveries(sending.client, handle.id, 0)
        query = f'WorkflowId STARTS_WITH "{handle.id}{WEBHOOK_ID}"'
        async for open_delivery in sending.client.list_workflows(query):
            await sending.client.get_workflow_handle(open_delivery.id).terminate()


async def test_a_job_that_is_cancelled_says_so(sending: Office, receiver: Receiver) -> None:
    held = Held("Passengers")
    async with sending.working(wire(held.rule)):
        handle = await sending.start(webhook=receiver.url)
        await asyncio.wait_for(held.asked.wait(), 60)
        await handle.cancel()
        with pytest.raises(WorkflowFailureError):
            await handle.result()
        description = await handle.describe()

        async def told() -> bool:
            return "cancelled" in receiver.events

        await eventually(told)
    assert description.status is WorkflowExecutionStatus.CANCELED
    assert json.loads(receiver.received[-1][1])["type"] == "job.cancelled"


@pytest.mark.parametrize(
    "host",
    ["127.0.0.1", "localhost", "10.1.2.3", "192.168.0.1", "169.254.169.254", "100.64.0.1",
     "0.0.0.0", "224.0.0.1", "[::1]", "[fe80::1]", "[fd00::1]", "[::ffff:127.0.0.1]",
     "[2002:7f00:1::]", "[64:ff9b::7f00:1]", "2130706433", "0x7f.1"],
)  # fmt: skip
async def test_nothing_is_sent_into_a_network_that_is_not_public(host: str) -> None:
    with pytest.raises(ApplicationError) as refused:
        await deliver(Webhooks(SECRET), f"http://{host}:9/hook")
    assert (refused.value.type, refused.value.non_retryable) == (REFUSED, True)


async def test_a_name_with_one_address_of_ours_is_refused_and_the_checked_address_is_used(
    receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    """DNS rebinding: a second look at the name would find another address."""
    port = int(receiver.url.split(":")[2].split("/")[0])
    answers = [["127.0.0.1"], ["127.0.0.2", "10.0.0.1"]]
    asked: list[str] = []

    async def getaddrinfo(_self: Any, host: str, port: int, **_: Any) -> list[Any]:
        asked.append(host)
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (ip, port)) for ip in answers.pop(0)]

    webhooks = Webhooks(SECRET, [LOOPBACK])
    loop = asyncio.get_running_loop()
    with monkeypatch.context() as patched:
        patched.setattr(type(loop), "getaddrinfo", getaddrinfo)
        assert await deliver(webhooks, f"http://receiver.example:{port}/hook") == 204
        assert receiver.received[0][0]["host"] == f"receiver.example:{port}"
        with pytest.raises(ApplicationError, match=r"10\.0\.0\.1"):
            await deliver(webhooks, f"http://receiver.example:{port}/hook")
    assert asked == ["receiver.example", "receiver.example"], "the name is resolved once each"
    assert len(receiver.received) == 1


async def test_a_redirect_is_a_failure_and_not_followed(receiver: Receiver) -> None:
    receiver.statuses = [302]
    with pytest.raises(ApplicationError, match="answers 302"):
        await deliver(Webhooks(SECRET, [LOOPBACK]), receiver.url)
    assert len(receiver.received) == 1


async def test_nothing_is_sent_unsigned_and_a_receiver_can_end_it(receiver: Receiver) -> None:
    with pytest.raises(ApplicationError) as unsigned:
        await deliver(Webhooks("", [LOOPBACK]), receiver.url)
    assert unsigned.value.non_retryable
    assert not receiver.received
    receiver.statuses = [410]
    with pytest.raises(ApplicationError) as gone:
        await deliver(Webhooks(SECRET, [LOOPBACK]), receiver.url)
    assert gone.value.non_retryable


@pytest.mark.parametrize(
    "url", ["ftp://example.org/", "https://me:secret@example.org/", "https://", "https://a b/"]
)
def test_an_address_that_is_none_or_has_a_password_is_refused(url: str) -> None:
    with pytest.raises(ValidationError):
        ResearchRequest(question=QUESTION, webhook=url)
