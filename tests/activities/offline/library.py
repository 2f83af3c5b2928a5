"""A small folder of documents with the real search over it, and the offline model that uses it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from activities.agent.toolbox import Toolbox
from activities.offline.request import JsonObject, Reply, read_request
from activities.offline.transport import SKILLS
from activities.sources.corpus_search import Corpus
from activities.storage.store import Store
from tests.corpora import index_folder
from workflows.config.roles import PLANNER, RESEARCHER

_MOST_TURNS = 6


@dataclass
class Dialogue:
    """A conversation with the offline model: what was searched for and what it answered."""

    schema: str
    messages: list[JsonObject]
    tools: Toolbox | None
    searches: list[JsonObject] = field(default_factory=list)
    reports: list[JsonObject] = field(default_factory=list)
    answer: JsonObject = field(default_factory=dict)

    async def run(self) -> Dialogue:
        """Turns until the model answers; raises AssertionError where it never does."""
        for turn in range(_MOST_TURNS):
            step = SKILLS[self.schema](read_request(self._body()))
            if isinstance(step, Reply):
                self.answer = step.answer
                self.messages.append(_message("assistant", json.dumps(step.answer)))
                return self
            assert self.tools is not None
            uses, results, turn_number = [], [], len(self.searches)
            for number, (name, given) in enumerate(step.calls):
                use_id = f"use-{turn}-{number}"
                result = await self.tools.run(name, given, turn_number)
                self.tools.record(turn_number, name, given, result)
                self.searches.append(given)
                self.reports.append(json.loads(result["content"][0]["text"]))
                uses.append({"type": "tool_use", "id": use_id, "name": name, "input": given})
                results.append(
                    {"type": "tool_result", "tool_use_id": use_id, "content": result["content"]}
                )
            self.messages.append({"role": "assistant", "content": uses})
            self.messages.append({"role": "user", "content": results})
        raise AssertionError("the offline model never answered")

    async def reply(self, text: str) -> Dialogue:
        """Say something to the last answer, and run on."""
        self.messages.append(_message("user", text))
        return await self.run()

    def _body(self) -> JsonObject:
        return {
            "model": "offline",
            "output_config": {"format": {"schema": {"title": self.schema}}},
            "messages": self.messages,
            "tools": [{"name": "search"}] if self.tools else [],
        }


class Library:
    """Documents that can be searched."""

    def __init__(self, corpus: Corpus, store: Store) -> None:
        self._corpus = corpus
        self._store = store

    async def research(self, question: str, *, cycles: int = 3, **brief: Any) -> Dialogue:
        tools = Toolbox(RESEARCHER, self._corpus, self._store, cycles)
        return await start("ResearchAnswer", research_brief(question, **brief), tools).run()

    async def plan(self, question: str, **brief: Any) -> Dialogue:
        tools = Toolbox(PLANNER, self._corpus, self._store, 3)
        return await start("PlanDraft", {"question": question, "pinned": [], **brief}, tools).run()

    def title(self, source_id: str) -> str:
        return self._corpus.document(source_id).title

    def text(self, source_id: str) -> str:
        return self._corpus.document(source_id).text


@contextmanager
def library(folder: Path, files: dict[str, str]) -> Iterator[Library]:
    """The files, by name, as a searchable folder."""
    documents = folder / "documents"
    documents.mkdir(parents=True)
    for name, text in files.items():
        (documents / name).write_text(text, "utf-8")
    corpus = index_folder(documents, folder / "index")
    yield Library(corpus, Store.open(str(folder / "store")))


def start(schema: str, brief: JsonObject, tools: Toolbox | None = None) -> Dialogue:
    return Dialogue(schema, [_message("user", f"<brief>{json.dumps(brief)}</brief>")], tools)


def research_brief(question: str, **changes: Any) -> JsonObject:
    """A brief for a researcher whose facet is the question itself."""
    return {
        "question": question,
        "pinned": [],
        "today": "2026-01-05",
        "facet": {"title": question.rstrip("?"), "question": question, "boundary": "Only this."},
        "ask": question,
        "known": [],
        "known_claims": [],
        "approach": "first",
        "max_claims": 16,
        **changes,
    }


def _message(role: str, text: str) -> JsonObject:
    return {"role": role, "content": [{"type": "text", "text": text}]}
