"""A history that is kept names neither a machine nor a person, and needs nothing beside it."""

from __future__ import annotations

import base64

import pytest
from temporalio.api.common.v1 import Payload
from temporalio.api.failure.v1 import Failure
from temporalio.api.history.v1 import HistoryEvent
from temporalio.client import WorkflowHistory

from tests.histories.scrubbing import clean, traces


def history(payload: Payload, *, identity: str = "recorder", trace: str = "") -> WorkflowHistory:
    event = HistoryEvent(event_id=1)
    failed = event.activity_task_failed_event_attributes
    failed.identity = identity
    failed.failure.CopyFrom(Failure(message="no", stack_trace=trace))
    failed.failure.application_failure_info.details.payloads.append(payload)
    return WorkflowHistory("job", [event])


def test_people_machines_and_places_are_taken_out_inside_payloads_as_well() -> None:
    payload = Payload(data=b'{"corpus": "/home/someone/documents", "by": "123@laptop.local"}')
    cleaned = clean(history(payload, identity="41@laptop", trace="File /home/a/b.py, line 1"))
    assert list(traces(cleaned)) == []
    failed = cleaned["events"][0]["activityTaskFailedEventAttributes"]
    assert failed["identity"] == "someone"
    [kept] = failed["failure"]["applicationFailureInfo"]["details"]["payloads"]
    assert base64.b64decode(kept["data"]) == b'{"corpus": "somewhere", "by": "someone"}'


def test_what_replay_looks_at_is_left_as_it_is() -> None:
    payload = Payload(metadata={"encoding": b"json/plain"}, data=b'{"n": 1}')
    before = history(payload)
    assert clean(before) == before.to_json_dict()


def test_a_payload_that_lies_in_the_store_is_refused() -> None:
    payload = Payload(metadata={"encoding": b"json/external-storage-reference"}, data=b"{}")
    with pytest.raises(ValueError, match="in the store"):
        clean(history(payload))
