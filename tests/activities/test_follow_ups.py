"""The same subagent is asked on: its transcript continues, or a fresh one knows what it had."""

from __future__ import annotations

import asyncio
import json
import shutil
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

import httpx2
import pytest
from temporalio.testing import ActivityEnvironment

from activities.agent.conversation import Answered
from activities.context import ActivityContext
from activities.llm.client import Models
from activities.offline.transport import SKILLS, OfflineTransport
from activities.storage.store import Store
from activities.subagents.researching import Researching
from tests.activities.scripted import (
    GOOD,
    JsonObject,
    ScriptedTransport,
    Setting,
    message,
    plain,
    reviewed,
    searching,
    text,
    use,
    words,
)
from tests.corpora import in_a_thread, publish_index
from workflows.config.store_keys import control_key
from workflows.contracts.activity_io import Job, Known, ResearchBrief, Researched
from workflows.contracts.evidence import Findings
from workflows.contracts.facets import Facet
from workflows.contracts.messages import ControlMessages
from workflows.contracts.outcomes import Found, Partial, TimedOut
from workflows.contracts.spend import Allowance

DOCUMENTS = {
    "report.md": "# Harbour line report\n\nThe harbour line carried 412,000 passengers in 2024. "
    "Ticket sales are counted at the gates of the harbour line.\n",
    "power.md": "# Power supply\n\nThe batteries of the boats are replaced after ten years. "
    "Replacing the batteries cost 1.2 million euros.\n",
}
FOLLOW_UP = "Find what you named as missing: after how many years batteries are replaced."


async def test_a_follow_up_continues_the_transcript_after_the_answer(tmp_path: Path) -> None:
    setting = Setting(tmp_path, [searching("a"), GOOD, searching("b"), reviewed("new")])
    first = await setting.talk()
    assert isinstance(first, Answered)
    spoken = await setting.talk(follow_ups=("and the trains?",))
    assert isinstance(spoken, Answered)
    assert len(setting.wire.requests) == 4, "what was answered is replayed"
    for shorter, longer in pairwise(plain(r["messages"]) for r in setting.wire.requests):
        assert longer[: len(shorter)] == shorter
    assert "<follow-up>\nand the trains?\n</follow-up>" in words(setting.wire.requests[2])
    assert [len(answer.changes) for answer in spoken.answers] == [0, 1]
    assert (first.spend.turns, spoken.spend.turns) == (2, 2), "each is counted where it was asked"
    assert setting.tools.told[-1] == (2, "b"), "turns are numbered on"


async def test_follow_ups_are_asked_in_their_order(tmp_path: Path) -> None:
    setting = Setting(tmp_path, [GOOD, reviewed("one"), reviewed("two")])
    await setting.talk()
    await setting.talk(follow_ups=("one?",))
    spoken = await setting.talk(follow_ups=("one?", "two?"))
    assert isinstance(spoken, Answered)
    assert [len(answer.changes) for answer in spoken.answers] == [0, 1, 1]
    assert spoken.spend.turns == 1
    assert len(setting.wire.requests) == 3


async def test_a_follow_up_that_fails_leaves_the_answer_before_it(tmp_path: Path) -> None:
    refusal = {**GOOD, "stop_reason": "refusal", "content": []}
    setting = Setting(tmp_path, [reviewed("kept"), refusal])
    spoken = await setting.talk(follow_ups=("more?",))
    assert isinstance(spoken, Answered)
    assert spoken.cut_short == "the model declined"
    assert spoken.answer.changes[0].reason == "kept"


async def test_a_subagent_called_off_can_still_be_asked_on(tmp_path: Path) -> None:
    setting = Setting(tmp_path, [searching("a"), reviewed("part"), reviewed("rest")])
    part = await setting.talk(Allowance(tokens=100))
    assert isinstance(part, Answered)
    assert part.cut_short
    spoken = await setting.talk(Allowance(tokens=1000), follow_ups=("and the rest?",))
    assert isinstance(spoken, Answered)
    assert not spoken.cut_short
    assert spoken.answer.changes[0].reason == "rest"


# --- the research activity, with the offline model behind the wire --------------------------------


class Listening(httpx2.AsyncBaseTransport):
    """The offline model; remembers every request."""

    def __init__(self) -> None:
        self.requests: list[JsonObject] = []
        self._offline = OfflineTransport(SKILLS)

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        self.requests.append(json.loads(await request.aread()))
        return await self._offline.handle_async_request(request)


class Office:
    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.wire = Listening()
        self.store = Store.open(str(folder / "store"))
        indexed = publish_index(self.store, folder / "corpus", folder / "indexes")
        self.corpus = in_a_thread(indexed).ref
        self.connect(self.wire)

    def connect(self, wire: httpx2.AsyncBaseTransport) -> None:
        context = ActivityContext(self.store, Models(wire), self.folder / "indexes")
        self.researching = Researching(context)

    def brief(self, **more: object) -> ResearchBrief:
        facet = Facet(
            id="f", title="Passengers", reason="asked", boundary="the rest", prefer="reports",
            question="How many passengers did the harbour line carry?",
        )  # fmt: skip
        job = Job(id="job", journal="job", model="offline", question="What of the harbour line?",
                  today="2026-01-01", corpus=self.corpus)  # fmt: skip
        brief = ResearchBrief(job=job, facet=facet, ask=facet.question, task="f", cycles=2,
                              max_claims=8, allowance=Allowance(), seconds=120)  # fmt: skip
        return brief.model_copy(update=more)

    async def research(self, brief: ResearchBrief) -> Researched:
        found: Researched = await ActivityEnvironment().run(self.researching.research, brief)
        return found

    async def findings(self, researched: Researched) -> Findings:
        outcome = researched.outcome
        assert isinstance(outcome, Found | Partial)
        return await self.store.load(outcome.findings.key, Findings)


@pytest.fixture
def office(tmp_path: Path) -> Office:
    for name, content in DOCUMENTS.items():
        path = tmp_path / "corpus" / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(content, "utf-8")
    return Office(tmp_path)


async def test_a_research_subagent_adds_what_a_follow_up_brings(office: Office) -> None:
    first = await office.research(office.brief())
    asked = len(office.wire.requests)
    # What others have found meanwhile does not change who this subagent is.
    known = (Known(facet="Fares", summary="They rose."),)
    again = await office.research(office.brief(follow_ups=(FOLLOW_UP,), known=known))
    one, both = await office.findings(first), await office.findings(again)
    assert both.claims[: len(one.claims)] == one.claims, "claims keep their place and their id"
    assert any("ten years" in claim.text for claim in both.claims[len(one.claims) :])
    assert len({claim.id for claim in both.claims}) == len(both.claims)
    opening = plain(office.wire.requests[0]["messages"])[0]
    assert all(plain(r["messages"])[0] == opening for r in office.wire.requests)
    assert again.spend.turns == len(office.wire.requests) - asked
    assert first.spend.turns == asked
    queries = [q for cycle in both.cycles for q in cycle.queries]
    assert any("batteries" in query for query in queries), "it searched for what was asked next"


async def test_an_outcome_says_enough_to_decide_on(office: Office) -> None:
    outcome = (await office.research(office.brief())).outcome
    assert isinstance(outcome, Found | Partial)
    found = await office.store.load(outcome.findings.key, Findings)
    assert outcome.searched
    assert outcome.findings.claims == len(found.claims)


async def test_where_the_transcript_is_gone_a_fresh_one_knows_what_was_found(
    office: Office,
) -> None:
    first = await office.research(office.brief())
    asked = len(office.wire.requests)
    await asyncio.to_thread(shutil.rmtree, office.folder / "store" / "journal")
    again = await office.research(office.brief(follow_ups=(FOLLOW_UP,)))
    brief = words({"messages": office.wire.requests[asked]["messages"][:1]})
    told = json.loads(brief.removeprefix("<brief>").removesuffix("</brief>"))
    one, both = await office.findings(first), await office.findings(again)
    assert told["ask"] == FOLLOW_UP
    assert [found["text"] for found in told["found_so_far"]] == [claim.text for claim in one.claims]
    assert told["facet"]["title"] == "Passengers"
    assert both.claims[: len(one.claims)] == one.claims, "nothing found is lost"
    assert any("transcript was lost" in remark for remark in both.uncertain)
    assert again.spend.turns == len(office.wire.requests) - asked


async def test_a_release_that_rewords_a_prompt_buys_nothing_again(
    office: Office, monkeypatch: pytest.MonkeyPatch
) -> None:
    await office.research(office.brief())
    asked = len(office.wire.requests)
    monkeypatch.setattr("activities.agent.request_template.prompt", lambda role: "other words")
    await office.research(office.brief())
    assert len(office.wire.requests) == asked


async def test_a_job_that_is_to_finish_keeps_the_part_that_was_found(office: Office) -> None:
    ask = office.wire.handle_async_request

    async def finish_after_one(request: httpx2.Request) -> httpx2.Response:
        orders = ControlMessages(finishing=True).model_dump_json().encode()
        await office.store.replace(control_key("job"), orders)
        return await ask(request)

    office.wire.handle_async_request = finish_after_one  # type: ignore[method-assign]
    outcome = (await office.research(office.brief())).outcome
    assert isinstance(outcome, Partial)
    assert "the job was told to finish" in outcome.missing
    assert len(office.wire.requests) == 2
    found = await office.store.load(outcome.findings.key, Findings)
    assert any("412,000" in claim.text for claim in found.claims)


def claiming(quote: str, *missing: str) -> Callable[[JsonObject], JsonObject]:
    """An answer with one claim, quoted from whichever source was shown to hold it."""

    def answer(body: JsonObject) -> JsonObject:
        results = [b for m in body["messages"] for b in m["content"] if b["type"] == "tool_result"]
        hits = [b for r in results for b in r["content"] if b["type"] == "search_result"]
        source = next((h["source"] for h in hits if quote in str(h["content"])), "unknown")
        claim = {"text": quote, "quotes": [{"source_id": source, "text": quote}],
                 "confidence": 0.8, "relevance": 1.0}  # fmt: skip
        return message(text(json.dumps({"summary": quote, "claims": [claim], "missing": missing})))

    return answer


def looking(query: str, tokens: int) -> JsonObject:
    seek = use("search", f"toolu_{query}", query=query, aim="to know")
    return message(seek, stop="tool_use", usage={"input_tokens": tokens, "output_tokens": 1})


PASSENGERS = "The harbour line carried 412,000 passengers in 2024."
BATTERIES = "The batteries of the boats are replaced after ten years."


@pytest.fixture
def small_window(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Models, "context_window", lambda self, model: 1000)


@pytest.mark.usefixtures("small_window")
async def test_what_a_long_search_found_is_handed_over_and_kept(office: Office) -> None:
    wire = ScriptedTransport([
        looking("passengers", 900), claiming(PASSENGERS, "the batteries"),
        looking("batteries", 100), claiming(BATTERIES),
    ])  # fmt: skip
    office.connect(wire)
    researched = await office.research(office.brief())
    assert isinstance(researched.outcome, Found)
    found = await office.findings(researched)
    assert [claim.text for claim in found.claims] == [PASSENGERS, BATTERIES]
    assert [claim.id for claim in found.claims] == ["f-1", "f-2"]
    clean = wire.requests[2]["messages"]
    assert len(clean) == 1
    told = json.loads(words({"messages": clean}).removeprefix("<brief>").removesuffix("</brief>"))
    assert told["handed_over"]["open"] == ["the batteries"]
    assert told["handed_over"]["claims"][0]["quotes"][0]["text"] == PASSENGERS


@pytest.mark.usefixtures("small_window")
async def test_a_subagent_that_times_out_keeps_what_it_had_answered(office: Office) -> None:
    async def hang(_: JsonObject) -> JsonObject:
        await asyncio.sleep(600)
        raise AssertionError("the deadline should have come first")

    office.connect(
        ScriptedTransport([looking("passengers", 900), claiming(PASSENGERS, "the batteries"), hang])
    )
    outcome = (await office.research(office.brief(seconds=4.0))).outcome
    assert isinstance(outcome, TimedOut)
    assert outcome.findings is not None
    assert outcome.findings.missing == ("the batteries",)
    found = await office.store.load(outcome.findings.key, Findings)
    assert [claim.text for claim in found.claims] == [PASSENGERS]


async def test_with_the_budget_spent_the_part_that_was_found_is_kept(office: Office) -> None:
    office.connect(ScriptedTransport([looking("passengers", 900), claiming(PASSENGERS)]))
    outcome = (await office.research(office.brief(allowance=Allowance(tokens=500)))).outcome
    assert isinstance(outcome, Partial)
    assert outcome.missing == ("the budget was reached",)


async def test_a_quote_that_stands_nowhere_is_not_kept_beside_one_that_does(
    office: Office,
) -> None:
    def half(body: JsonObject) -> JsonObject:
        answer = claiming(PASSENGERS)(body)
        told = json.loads(answer["content"][0]["text"])
        told["claims"][0]["quotes"].append({"source_id": "nobody", "text": "It flies."})
        return message(text(json.dumps(told)))

    office.connect(ScriptedTransport([looking("passengers", 9), half, half, half]))
    found = await office.findings(await office.research(office.brief()))
    assert [quote.text for quote in found.claims[0].quotes] == [PASSENGERS]
