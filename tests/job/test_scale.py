"""One job of sixty facets, three thousand claims and six passes stays far from Temporal's limits.

Every number is held against a tenth of the limit it counts towards. The corpus is made for it:
every town has a document of its own, every sentence a thing of its own, and two towns disagree
about the bridge they share.
"""

from __future__ import annotations

import asyncio
import json
import re
import time
from collections import Counter
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from google.protobuf.message import Message
from temporalio.api.common.v1 import Payload
from temporalio.api.enums.v1 import EventType
from temporalio.client import Client, WorkflowHistory

from console.client.jobs import fetch_report
from tests.activities.scripted import JsonObject, message, text, use
from tests.job.conftest import UNREVIEWED, Handle, Office, Rule, Wire, brief, planned
from workflows.contracts.messages import AddNote, Steer
from workflows.coordinator import ResearchWorkflow

FACETS, CLAIMS, PASSES = 60, 50, 6
GAPS = 8
"""New ones in every judgement."""

EVENTS = 51_200 // 10
BYTES = 50_000_000 // 10
PAYLOAD = 2_000_000 // 10
PENDING = 2_000 // 10
UPDATES = 2_000 // 10

TOWNS = tuple(
    first + last
    for first in ("Ald", "Brax", "Corl", "Dun", "Elver", "Fenn", "Gris", "Hollow", "Ilm", "Jast")
    for last in ("mere", "stead", "wick", "ford", "gate", "burgh")
)
THINGS = """\
library lends|books a year; ferry carries|passengers a week; school teaches|pupils; market
rents out|stalls; orchard grows|apple trees; archive keeps|parish registers; theatre seats|guests;
bakery sells|loaves a day; museum shows|clocks; hospital staffs|beds; foundry casts|bells a decade;
tannery cures|hides a month; brewery fills|casks a season; quarry cuts|blocks of slate; mill
grinds|sacks of rye; lighthouse logs|ships a night; stadium holds|spectators; swimming pool
admits|bathers a summer; zoo houses|reptiles; cemetery tends|graves; tram depot services|cars;
post office sorts|parcels a shift; laundry presses|shirts an hour; vineyard bottles|magnums;
fire brigade drives|engines; orchestra employs|violinists; printing house binds|atlases; bank
insures|mortgages; dairy churns|pounds of butter; observatory tracks|comets; shipyard
launches|dinghies; pharmacy blends|ointments; kennel boards|greyhounds; forge shoes|horses;
greenhouse raises|orchids; weaver finishes|carpets; pottery fires|jugs; sawmill planes|oak planks;
reservoir supplies|households; choir rehearses|motets; harbour office berths|trawlers; prison
detains|inmates; court hears|appeals; hostel lodges|hikers; abbey copies|psalters; fishery
smokes|herring; glassworks blows|goblets; mint strikes|medals; toll house counts|wagons; nursery
plants|saplings; cinema screens|films; gymnasium trains|fencers; stable breeds|ponies; apiary
harvests|jars of honey; ropewalk twists|fathoms of cable; saltern dries|tons of salt; chapel
repairs|windows; cannery tins|sardines; windmill pumps|gallons; workshop carves|chess pieces"""
KNOWN = [" ".join(part.split()).split("|") for part in THINGS.split(";")]
BRIDGE = ("5,200", "6,900")


def sentence(town: int, n: int) -> str:
    subject, what = KNOWN[n]
    if n == 0 and town < len(BRIDGE):
        return f"The Quarrel bridge carries {BRIDGE[town]} vehicles a day."
    return f"The {TOWNS[town]} {subject} {1000 + 61 * town + 977 * n:,} {what}."


def write_corpus(folder: Path) -> Path:
    folder.mkdir(parents=True)
    for n, town in enumerate(TOWNS):
        said = [sentence(n, k) for k in range(len(KNOWN))]
        body = "\n\n".join(" ".join(said[i : i + 6]) for i in range(0, len(said), 6))
        words = f"# Town records of {town}\n\nDate: 2025-02-03\n\n{body}\n"
        (folder / f"{town.lower()}.md").write_text(words, "utf-8")
    return folder


def facets() -> list[JsonObject]:
    """As long as a model words them."""
    return [
        {
            "id": f"town-{n:02}",
            "title": f"Trades and public services of {town}",
            "question": f"Which trades and public services are recorded for {town}, how large is"
            " each of them in the unit the town's own records use, and since when is it counted?",
            "boundary": f"Only {town} itself. Its neighbours have facets of their own; regional"
            " totals and comparisons between towns are left to the summary.",
            "prefer": "the town's own records, then county statistics, then newspapers",
            "reason": f"{town} is one of the towns the question asks about and keeps its own books",
        }
        for n, town in enumerate(TOWNS)
    ]


# --- the model at the wire ------------------------------------------------------------------------


def answered(**answer: Any) -> JsonObject:
    return message(text(json.dumps(answer)))


def research(body: JsonObject) -> JsonObject:
    """Searches once, then claims fifty sentences, or the one a follow-up asks for."""
    asked = brief(body)
    town = next(n for n, name in enumerate(TOWNS) if asked["facet"]["title"].endswith(name))
    if len(body["messages"]) == 1:
        return message(use("search", query=f"Town records of {TOWNS[town]}", aim="the records"),
                       stop="tool_use")  # fmt: skip
    shown = json.dumps(body["messages"][2]["content"]).replace('\\"', '"')
    found = re.search(rf'"source_id": "([^"]+)", "title": "Town records of {TOWNS[town]}"', shown)
    assert found, f"{TOWNS[town]} did not come into sight: {shown[:800]}"
    extra = re.search(r"record number (\d+)", asked["ask"])
    numbers = [int(extra[1])] if extra else range(CLAIMS)
    return answered(
        summary=f"{TOWNS[town]} keeps records of {len(numbers)} trades and services. " * 8,
        claims=[
            {
                "text": sentence(town, n),
                "quotes": [{"source_id": found[1], "text": sentence(town, n)}],
                "confidence": 0.9,
                "relevance": 0.9,
            }
            for n in numbers
        ],
        scores=[{"source_id": found[1], "score": 0.9, "reason": "the town's own records"}],
        exhausted=True,
    )


def write(body: JsonObject) -> JsonObject:
    """Two cited sentences for each facet; contradictions and gaps are left to the gate to mend."""
    asked = brief(body)
    told: dict[str, list[str]] = {}
    for claim in asked["claims"]:
        marks = "".join(f"[{n}]" for n in claim["cite"])
        told.setdefault(claim["facet_id"], []).append(f"{claim['text']} {marks}")
    sections = [
        {"facet_id": facet, "markdown": "\n\n".join((said[0], said[-1]))}
        for facet, said in told.items()
    ]
    return answered(
        title="Town records",
        summary=sections[0]["markdown"],
        sections=sections,
        contradictions=[
            {
                "contradiction_id": one["id"],
                "markdown": "\n".join(
                    f"- {side['text']} {''.join(f'[{n}]' for n in side['cite'])}"
                    for side in one["sides"]
                ),
            }
            for one in asked["contradictions"]
        ],
        gaps="\n".join(f"- {gap['text']}" for gap in asked["gaps"]),
    )


def judge(body: JsonObject) -> JsonObject:
    """Eight new gaps in every pass."""
    n = brief(body)["pass"]
    new = [
        {
            "facet_id": f"town-{town:02}",
            "kind": "thin",
            "text": f"The report says too little about {TOWNS[town]}: number {CLAIMS + n} is out.",
            "question": f"What does record number {CLAIMS + n} of {TOWNS[town]} say?",
        }
        for town in range(n * GAPS, (n + 1) * GAPS)
    ]
    return answered(judgements=[], gaps=new if n < PASSES else [])


def wire() -> Wire:
    return Wire(
        planned(*facets()),
        UNREVIEWED,
        Rule("ResearchAnswer", research),
        Rule("DraftAnswer", write),
        Rule("EvaluationAnswer", judge),
    )


# --- what is counted ------------------------------------------------------------------------------


@dataclass
class Pending:
    """The most that was open at once, as seen from outside."""

    activities: int = 0
    children: int = 0

    async def watch(self, job: Handle) -> None:
        while True:
            seen = (await job.describe()).raw_description
            self.activities = max(self.activities, len(seen.pending_activities))
            self.children = max(self.children, len(seen.pending_children))
            await asyncio.sleep(0.1)


@dataclass
class Size:
    """One run's history."""

    name: str
    events: int
    bytes: int
    largest: int
    updates: int
    by_kind: Counter[str] = field(default_factory=Counter)

    @classmethod
    def of(cls, name: str, history: WorkflowHistory) -> Size:
        sizes = cls(name, len(history.events), 0, 0, 0)
        scheduled: dict[int, str] = {}
        for event in history.events:
            sizes.bytes += event.ByteSize()
            begun = event.activity_task_scheduled_event_attributes
            if event.HasField("activity_task_scheduled_event_attributes"):
                scheduled[event.event_id] = begun.activity_type.name
            done = event.activity_task_completed_event_attributes.scheduled_event_id
            kind = EventType.Name(event.event_type).removeprefix("EVENT_TYPE_").lower()
            what = scheduled.get(event.event_id) or scheduled.get(done, "")
            sizes.by_kind[f"{kind} {what}".strip()] += event.ByteSize()
            sizes.largest = max([sizes.largest, *(p.ByteSize() for p in payloads(event))])
            sizes.updates += (
                event.event_type == EventType.EVENT_TYPE_WORKFLOW_EXECUTION_UPDATE_ACCEPTED
            )
        return sizes

    def __str__(self) -> str:
        most = ", ".join(f"{kind} {n / 1000:,.0f} KB" for kind, n in self.by_kind.most_common(4))
        return (
            f"{self.name}: {self.events} events, {self.bytes / 1000:,.0f} KB, largest payload"
            f" {self.largest / 1000:,.0f} KB, {self.updates} updates; most: {most}"
        )


def payloads(part: Message) -> Iterator[Payload]:
    if isinstance(part, Payload):
        yield part
        return
    for kind, value in part.ListFields():
        if kind.message_type is None:
            continue
        if kind.message_type.GetOptions().map_entry:
            values = [v for v in value.values() if isinstance(v, Message)]
        else:
            values = list(value) if kind.is_repeated else [value]
        for one in values:
            yield from payloads(one)


async def sizes(client: Client, job: str) -> list[Size]:
    """Of every run of the job and of its passes."""
    query = f'WorkflowId = "{job}" OR WorkflowId STARTS_WITH "{job}/"'
    runs = [run async for run in client.list_workflows(query)]
    return [
        Size.of(
            run.id.removeprefix(job) or "coordinator",
            await client.get_workflow_handle(run.id, run_id=run.run_id).fetch_history(),
        )
        for run in sorted(runs, key=lambda run: run.start_time)
    ]


@asynccontextmanager
async def watched(job: Handle) -> AsyncIterator[Pending]:
    pending = Pending()
    watching = asyncio.create_task(pending.watch(job))
    try:
        yield pending
    finally:
        watching.cancel()
        await asyncio.gather(watching, return_exceptions=True)


@pytest.mark.slow
@pytest.mark.timeout(900)
async def test_a_very_large_job_stays_below_a_tenth_of_every_limit(
    office: Office, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    office.corpus = await asyncio.to_thread(write_corpus, tmp_path / "towns")
    began = time.monotonic()
    async with office.working(wire()):
        job = await office.start(
            question="Which trades and public services do the sixty towns record?",
            max_facets=FACETS,
            max_claims=CLAIMS,
            max_passes=PASSES,
            parallel=50,
        )
        async with watched(job) as pending:
            for n in range(10):
                note = AddNote(text=f"Remark {n}: round no figure.")
                await job.execute_update(ResearchWorkflow.steer, Steer(changes=(note,)))
            result = await fetch_report(job)
    seconds = time.monotonic() - began
    found = await sizes(office.client, job.id)
    with capsys.disabled():
        print(f"\n{len(result.claims)} claims, {len(result.contradictions)} contradictions,"
              f" {len(result.passes)} rounds in {seconds:.0f} s; at once {pending}")  # fmt: skip
        print(*found, sep="\n")

    assert len(result.plan.facets) == FACETS
    assert len(result.claims) >= FACETS * CLAIMS
    assert [p.n for p in result.passes] == list(range(PASSES + 1))
    assert all(c.status in ("answered", "contested") for c in result.coverage)
    assert 1 <= len(result.contradictions) <= 10
    assert len(found) >= 1 + PASSES
    for size in found:
        assert size.events < EVENTS, size
        assert size.bytes < BYTES, size
        assert size.largest < PAYLOAD, size
        assert size.updates < UPDATES, size
    assert 0 < pending.activities < PENDING
    assert pending.children < PENDING
