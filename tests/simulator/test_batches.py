"""Batches and models, as the SDK asks for them."""

from __future__ import annotations

import anthropic
import pytest
from anthropic.types.messages.batch_create_params import Request

from tests.simulator.asking import HAIKU, OPUS, asking_in_batch, client_of, user
from tests.simulator.simulator import Settings, Simulator
from tests.simulator.test_cache import Clock


async def test_a_batch_is_answered_after_its_delay() -> None:
    clock = Clock()
    simulator = Simulator(settings=Settings(batch_delay=60), clock=clock)
    batches = client_of(simulator).messages.batches
    batch = await batches.create(
        requests=[
            Request(custom_id="good", params=asking_in_batch(user("tea"))),
            Request(custom_id="bad", params=asking_in_batch(user(""))),
        ]
    )
    assert batch.processing_status == "in_progress"
    assert batch.request_counts.processing == 2
    with pytest.raises(anthropic.AnthropicError, match="results_url"):
        await batches.results(batch.id)
    assert simulator.records == []
    clock.now += 60
    batch = await batches.retrieve(batch.id)
    assert batch.processing_status == "ended"
    assert (batch.request_counts.succeeded, batch.request_counts.errored) == (1, 1)
    results = {line.custom_id: line.result async for line in await batches.results(batch.id)}
    good, bad = results["good"], results["bad"]
    assert good.type == "succeeded"
    assert good.message.content[-1].text == "You said: tea"  # type: ignore[union-attr]
    assert good.message.usage.service_tier == "batch"
    assert bad.type == "errored"
    assert bad.error.error.type == "invalid_request_error"
    assert [(r.path, r.custom_id) for r in simulator.records] == [
        ("batch", "good"), ("batch", "bad"),
    ]  # fmt: skip


async def test_a_cancelled_batch_answers_nothing() -> None:
    simulator = Simulator(settings=Settings(batch_delay=60))
    batches = client_of(simulator).messages.batches
    batch = await batches.create(requests=[Request(custom_id="a", params=asking_in_batch())])
    assert (await batches.cancel(batch.id)).processing_status == "canceling"
    results = [line.result.type async for line in await batches.results(batch.id)]
    assert results == ["canceled"]


@pytest.mark.parametrize("ids", [[], ["a", "a"], ["not an id"]])
async def test_a_batch_that_makes_no_sense_is_refused(ids: list[str]) -> None:
    requests = [Request(custom_id=each, params=asking_in_batch()) for each in ids]
    with pytest.raises(anthropic.BadRequestError):
        await client_of(Simulator()).messages.batches.create(requests=requests)


async def test_models_say_what_they_can() -> None:
    models = client_of(Simulator()).models
    opus, haiku = await models.retrieve(OPUS), await models.retrieve(HAIKU)
    assert (opus.max_tokens, opus.max_input_tokens) == (128_000, 1_000_000)
    assert opus.capabilities
    assert haiku.capabilities
    assert not opus.capabilities.thinking.types.disabled.supported
    assert haiku.capabilities.thinking.types.disabled.supported
    assert OPUS in [model.id async for model in models.list()]
    with pytest.raises(anthropic.NotFoundError):
        await models.retrieve("claude-none")
