"""Whole topics, from the question to the report: what is lost between the subagents.

Each topic is a folder of small documents, invented for this benchmark and written when it runs: an
industry with five sub-domains, health care in four, and surveys whose figures lie far apart. Each
is researched twice: by the offline engine, and at the wire as by Claude, where a script plans one
facet per sub-domain and the offline engine answers the rest. In both, the first request for each
facet times out.

    gaps                     share of the sub-domains that the report does not answer: their figure
                             is in no section, or their facet is neither answered nor contested
    time-outs as empty       share of the facets with a time-out that are called absent
    contradictions preserved share of the pairs of figures that differ of which both stand in the
                             report, cited
    pairs told               share of them that are told as a contradiction or another difference
    calls between subagents  tools in the requests that lead anywhere but to sources
"""

from __future__ import annotations

import asyncio
import json
import os
import tempfile
from collections import defaultdict
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from itertools import combinations
from pathlib import Path

import httpx2

from activities.offline.conversation import Conversation, Reply
from activities.offline.transport import SKILLS, OfflineTransport
from benchmarks.quality.gold import contains
from benchmarks.quality.intervals import Pair
from benchmarks.quality.job_runner import JobRunner, start_runner
from benchmarks.quality.report_text import drop_sources
from benchmarks.quality.sets import Case, JsonObject, Measure, Options, Outcome, Run, draw_cases
from workflows.contracts.result import ResearchResult

OFFLINE, WIRE = "offline", "wire"
_SOURCES = frozenset({"search", "read", "web_search", "web_fetch", "code_execution"})
_RESEARCH = "ResearchAnswer"


@dataclass(frozen=True)
class Topic:
    """A question, its sub-domains, and the documents."""

    question: str
    parts: dict[str, tuple[str, str]]
    """The question of each sub-domain, and the figure that answers it."""
    documents: dict[str, str]
    pairs: tuple[tuple[str, str], ...] = ()
    """Figures that differ, by the documents that hold them."""
    figures: dict[str, str] = field(default_factory=dict)
    """The figure of each document in `pairs`."""


TOPICS = {
    "industry": Topic(
        "What do turbines, foundations, cables, ships and maintenance cost in the offshore wind"
        " industry of Norvik?",
        {
            "turbines": ("What does a turbine cost at Norvik?", "9.4"),
            "foundations": ("What does a foundation cost at Norvik?", "3.1"),
            "cables": ("What do export cables cost?", "1.7"),
            "ships": ("What does the charter of ships cost a day?", "240"),
            "maintenance": ("What does maintenance cost per megawatt?", "88"),
        },
        {
            "turbines.md": "# Turbines\n\nA turbine for the offshore wind farms of Norvik costs 9.4"
            " million crowns. Two makers deliver turbines.",
            "foundations.md": "# Foundations\n\nA foundation for an offshore turbine costs 3.1"
            " million crowns at Norvik. Steel is the larger part of it.",
            "cables.md": "# Cables\n\nExport cables cost 1.7 million crowns per kilometre at"
            " Norvik. Cables to the shore are buried two metres deep.",
            "ships.md": "# Ships\n\nThe charter of installation ships costs 240,000 crowns a day."
            " Norvik's offshore wind farms share three ships.",
            "maintenance.md": "# Maintenance\n\nMaintenance costs 88,000 crowns per megawatt and"
            " year in the offshore wind industry of Norvik.",
        },
    ),
    "health care": Topic(
        "How long are waiting times, how many nurses leave, how high is vaccination coverage and"
        " what do beds cost in the hospitals of Salten?",
        {
            "waiting times": ("How long is the wait for a knee operation?", "14"),
            "nurses": ("How many nurses leave?", "17"),
            "vaccination": ("How high is vaccination coverage?", "91"),
            "beds": ("What does a bed cost a day?", "5,600"),
        },
        {
            "waiting-register.md": "# Waiting times\n\nThe mean waiting time for a knee operation"
            " in the hospitals of Salten was 14 weeks in 2024, the register counts.",
            "waiting-audit.md": "# Audit of waiting times\n\nThe mean waiting time for a knee"
            " operation in the hospitals of Salten was 23 weeks in 2024, the auditors found.",
            "nurses.md": "# Nurses\n\nOf the nurses in the hospitals of Salten 17 % leave within"
            " two years. Night shifts are the reason most of them give.",
            "vaccination.md": "# Vaccination\n\nVaccination coverage among children reached 91 %"
            " in Salten. The hospitals vaccinate on Saturdays.",
            "beds.md": "# Beds\n\nA bed in the hospitals of Salten costs 5,600 crowns a day.",
        },
        (("waiting-register.md", "waiting-audit.md"),),
        {"waiting-register.md": "14", "waiting-audit.md": "23"},
    ),
    "surveys": Topic(
        "How many creative workers use AI?",
        {"use of AI": ("How many creative workers use AI?", "45")},
        {
            "guild.md": "# Survey of the writers' guild\n\n45 % of creative workers use AI, the"
            " guild's survey of 2,100 members found in 2025.",
            "union.md": "# Survey of the designers' union\n\nAsked in 2025 how they work with AI,"
            " 12 % of creative workers use it daily, according to the union.",
            "studios.md": "# Studios\n\nStudios hire creative workers by the project. Their"
            " contracts seldom mention AI.",
        },
        (("guild.md", "union.md"),),
        {"guild.md": "45", "union.md": "12"},
    ),
}  # fmt: skip


class Topics:
    name = "topics"
    pooled = False
    measures: tuple[Measure, ...] = (
        Measure("gaps", "lower", wanted=0.0),
        Measure("time-outs as empty", "lower", wanted=0.0),
        Measure("contradictions preserved", wanted=1.0),
        Measure("pairs told"),
        Measure("calls between subagents", "lower", wanted=0.0, share=False),
    )

    def __init__(self, options: Options) -> None:
        self._options = options

    def cases(self, limit: int | None, seed: int) -> list[Case]:
        found = [Case(f"{way}-{name}", way, name) for way in (OFFLINE, WIRE) for name in TOPICS]
        return draw_cases(found, limit, seed)

    @asynccontextmanager
    async def start(self) -> AsyncIterator[Run]:
        os.environ.setdefault("ANTHROPIC_API_KEY", "sk-ant-scripted")
        wire = ScriptedWire()
        with tempfile.TemporaryDirectory() as place:
            async with start_runner(self._options, wire) as runner:

                async def run(case: Case) -> Outcome:
                    topic = TOPICS[case.content]
                    folder = Path(place, case.content.replace(" ", "-"))
                    await asyncio.to_thread(_write, folder, topic)
                    return await _research(runner, wire, case, topic, folder)

                yield run


async def _research(
    runner: JobRunner, wire: ScriptedWire, case: Case, topic: Topic, folder: Path
) -> Outcome:
    model = "offline" if case.group == OFFLINE else "claude"
    result = await runner.research(topic.question, str(folder), {"model": model})
    measures = count(result, topic)
    late = wire.timed_out[model == "offline", topic.question]
    absent = {one.title for one in result.coverage if one.status == "absent"}
    measures["time-outs as empty"] = (len(late & absent), len(late))
    measures["calls between subagents"] = (len(wire.tools - _SOURCES), 1)
    notes = {"question": topic.question, "report": result.report_markdown, "tools":
             sorted(wire.tools)}  # fmt: skip
    return Outcome(measures, notes)


def count(result: ResearchResult, topic: Topic) -> dict[str, Pair]:
    """What of a topic came through to the report."""
    report = drop_sources(result.report_markdown)
    unanswered = [one for one in result.coverage if one.status not in ("answered", "contested")]
    silent = [part for part, (_, figure) in topic.parts.items() if not contains(report, [figure])]
    gaps = min(len(topic.parts), max(len(silent), len(unanswered)))
    cited = {source.uri for source in result.sources if source.n is not None}
    preserved = [
        pair
        for pair in topic.pairs
        if all(name in cited and contains(report, [topic.figures[name]]) for name in pair)
    ]
    names = {source.id: source.uri for source in result.sources}
    told = {
        frozenset((names[x], names[y]))
        for relation in (*result.contradictions, *result.differences)
        for one, other in combinations(relation.sides, 2)
        for x in one.source_ids
        for y in other.source_ids
    }
    measures: dict[str, Pair] = {"gaps": (gaps, len(topic.parts))}
    if topic.pairs:
        measures["contradictions preserved"] = (len(preserved), len(topic.pairs))
        held = sum(frozenset(pair) in told for pair in topic.pairs)
        measures["pairs told"] = (held, len(topic.pairs))
    return measures


class ScriptedWire(httpx2.AsyncBaseTransport):
    """The Messages API as the script has it; keeps which facets timed out and the tools offered."""

    def __init__(self) -> None:
        self._offline = OfflineTransport(SKILLS)
        self._scripted = OfflineTransport({**SKILLS, "PlanDraft": _plan})
        self.timed_out: defaultdict[tuple[bool, str], set[str]] = defaultdict(set)
        """The facets by whether the model is offline and by the question."""
        self.tools: set[str] = set()

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        body = json.loads(await request.aread())
        is_offline = body["model"] == "offline"
        self.tools |= {tool["name"] for tool in body.get("tools") or ()}
        if body["output_config"]["format"]["schema"]["title"] == _RESEARCH:
            brief = _brief(body)
            late = self.timed_out[is_offline, brief["question"]]
            if (title := brief["facet"]["title"]) not in late:
                late.add(title)
                raise httpx2.ReadTimeout("the script's first request of a facet", request=request)
        model = self._offline if is_offline else self._scripted
        return await model.handle_async_request(request)


def _plan(conversation: Conversation) -> Reply:
    """One facet for each sub-domain."""
    question = conversation.brief["question"]
    topic = next(topic for topic in TOPICS.values() if topic.question == question)
    facets = [
        {"id": part.replace(" ", "-"), "title": part.capitalize(),
         "question": asked,
         "boundary": "what the other facets ask", "prefer": "registers", "reason": "it is asked"}
        for part, (asked, _) in topic.parts.items()
    ]  # fmt: skip
    return Reply({"kind": "overview", "facets": facets})


def _brief(body: JsonObject) -> JsonObject:
    words = body["messages"][0]["content"][0]["text"]
    found: JsonObject = json.loads(words.partition("<brief>")[2].partition("</brief>")[0])
    return found


def _write(folder: Path, topic: Topic) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in topic.documents.items():
        (folder / name).write_text(f"{text}\n\nInvented for a benchmark.\n", "utf-8")
