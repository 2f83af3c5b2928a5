"""Runs `search` and `read` for a subagent, over one corpus, and remembers what was seen.

Every document that comes into a subagent's sight is stored under its hash there and then, so its
quotes can be checked on any worker, years later. Documents are named by id only. A tool that
crashes is an error the model is told of, not the end of the conversation.
"""

from __future__ import annotations

import asyncio
import json
import logging
import re
from collections.abc import Iterable
from contextlib import suppress
from typing import Any

from pydantic import ValidationError

from activities.answers import SourceScore
from activities.roles import Role
from activities.sources.corpus import Corpus
from activities.sources.documents import DocumentMeta, Passage, UnknownDocument
from activities.store import Store
from workflows.evidence import Cycle, Source
from workflows.quotes import sketch

JsonObject = dict[str, Any]
READ_CHARACTERS = 6000
PER_DOCUMENT = 2
"""Passages of one document in one search: the second often holds the figure."""
_WORD = re.compile(r"\w{3,}")
_COUNTED = 40

log = logging.getLogger(__name__)


class Toolbox:
    """The tools of one subagent."""

    def __init__(
        self,
        role: Role,
        corpus: Corpus | None,
        store: Store,
        cycles: int,
        kept: dict[str, Source] | None = None,
    ) -> None:
        """`kept` are sources this worker has stored already, shared by its subagents."""
        self._role = role
        self._corpus = corpus
        self._store = store
        self._cycles = cycles
        self._kept = {} if kept is None else kept
        self._turns: list[int] = []
        self._log: dict[int, _CycleLog] = {}
        self._shown: set[tuple[str, int]] = set()
        self.sources: dict[str, Source] = {}
        self.searched = 0
        """Searches that gave an answer, were it an empty one."""

    async def run(self, name: str, tool_input: JsonObject, turn: int) -> JsonObject:
        if name not in self._role.tools:
            return _error(f"the {self._role.name} has no tool {name!r}")
        if self._corpus is None:
            return _error("there are no documents to search in this job")
        try:
            if name == "search":
                return await self._search(self._corpus, tool_input, turn)
            return await self._read(self._corpus, tool_input)
        except UnknownDocument as unknown:
            return _error(str(unknown))
        except (KeyError, TypeError, ValueError) as wrong:
            return _error(f"{name} was called wrongly: {wrong}")
        except Exception as crash:
            # The subagent can still answer from what it has; its report says what broke.
            log.exception("the tool %s crashed", name)
            return _error(f"{name} failed: {type(crash).__name__}")

    def seen(self, turn: int, name: str, tool_input: JsonObject, result: JsonObject) -> None:
        for source in result.get("sources", ()):
            known = Source.model_validate(source)
            self.sources[known.id] = known
        self._shown.update((sid, start) for sid, start in result.get("passages", ()))
        if name == "search":
            entry = self._log.setdefault(turn, _CycleLog())
            entry.note(tool_input)
            self.searched += not result.get("is_error")

    def cycles(self, final_scores: Iterable[tuple[str, float, str]] = ()) -> tuple[Cycle, ...]:
        """What each cycle asked, and how its hits were scored in the turn after it."""
        entries = list(self._log.values())
        scores: list[list[tuple[str, float, str]]] = [e.scores for e in entries[1:]]
        scores.append(list(final_scores))
        return tuple(
            Cycle(
                queries=tuple(entry.queries),
                scores={sid: min(1.0, max(0.0, score)) for sid, score, _ in scored},
                reasons={sid: reason[:200] for sid, _, reason in scored},
                missing=tuple(entry.aims),
                excluded=tuple(dict.fromkeys(entry.excluded)),
            )
            for entry, scored in zip(entries, scores, strict=False)
        )

    def queries(self) -> tuple[str, ...]:
        return tuple(q for entry in self._log.values() for q in entry.queries)

    async def _search(self, corpus: Corpus, tool_input: JsonObject, turn: int) -> JsonObject:
        cycle = self._cycle(turn)
        if cycle > self._cycles:
            return _error(f"all {self._cycles} search cycles are used up; answer now")
        query = str(tool_input["query"])
        exclude = [str(sid) for sid in tool_input.get("exclude") or ()]
        hits = await asyncio.to_thread(
            corpus.search,
            query,
            limit=self._role.hits,
            exclude=exclude,
            per_document=PER_DOCUMENT,
        )
        if 1 < cycle < self._cycles:
            # The middle of a search follows names; the start is broad and the end checks.
            hits = await asyncio.to_thread(
                corpus.follow, query, hits, self._role.hits, exclude=exclude
            )
        words = dict.fromkeys(_WORD.findall(query.lower()))
        terms = await asyncio.to_thread(corpus.frequency, list(words)[:_COUNTED])
        report = {
            "cycle": cycle,
            "cycles_left": self._cycles - cycle,
            "documents": len(corpus),
            "terms": terms,
        }
        # What a subagent was shown in an earlier turn is not sent, and paid for, again. Searches of
        # one turn run side by side: what each returns must not hang on which is faster.
        new = [h for h in hits if (h.document.id, h.passage.start) not in self._shown]
        report["shown_before"] = len(hits) - len(new)
        return await self._result(corpus, report, [(h.document, h.passage) for h in new])

    async def _read(self, corpus: Corpus, tool_input: JsonObject) -> JsonObject:
        start = int(tool_input.get("start") or 0)
        document_id = str(tool_input["source_id"])
        passage = await asyncio.to_thread(corpus.read, document_id, start, READ_CHARACTERS)
        document = await asyncio.to_thread(corpus.document, document_id)
        ended = passage.end >= len(document.text)
        report = {"start": passage.start, "next": None if ended else passage.end}
        return await self._result(corpus, report, [(document.meta, passage)])

    async def _result(
        self, corpus: Corpus, report: JsonObject, found: list[tuple[DocumentMeta, Passage]]
    ) -> JsonObject:
        metas = {meta.id: meta for meta, _ in found}
        kept = await asyncio.gather(*(self._keep(corpus, meta) for meta in metas.values()))
        sources = {source.id: source for source in kept}
        report["hits"] = [
            {"source_id": s.id, "title": s.title, "date": s.date, "kind": s.kind, "uri": s.uri}
            for s in kept
        ]
        blocks = [_passage(sources[meta.id], passage) for meta, passage in found]
        return {
            "content": [
                {"type": "text", "text": json.dumps(report, ensure_ascii=False)},
                *(block for block in blocks if block["content"]),
            ],
            "sources": [source.model_dump(mode="json") for source in kept],
            "passages": [(meta.id, passage.start) for meta, passage in found],
        }

    async def _keep(self, corpus: Corpus, meta: DocumentMeta) -> Source:
        known = self.sources.get(meta.id) or self._kept.get(meta.id)
        if known:
            return known
        document = await asyncio.to_thread(corpus.document, meta.id)
        await self._store.keep_text(document.sha256, document.text)
        self._kept[meta.id] = Source(
            id=meta.id,
            uri=meta.uri,
            title=meta.title,
            date=meta.date,
            kind=meta.kind,
            sha256=meta.sha256,
            sketch=await asyncio.to_thread(sketch, document.text),
        )
        return self._kept[meta.id]

    def _cycle(self, turn: int) -> int:
        """All searches of one turn are one cycle."""
        if turn not in self._turns:
            self._turns = sorted({*self._log, *self._turns, turn})
        return self._turns.index(turn) + 1


class _CycleLog:
    def __init__(self) -> None:
        self.queries: list[str] = []
        self.aims: list[str] = []
        self.excluded: list[str] = []
        self.scores: list[tuple[str, float, str]] = []

    def note(self, tool_input: JsonObject) -> None:
        self.queries.append(str(tool_input.get("query", ""))[:300])
        if aim := str(tool_input.get("aim", ""))[:300]:
            self.aims.append(aim)
        self.excluded += [str(sid) for sid in tool_input.get("exclude") or ()]
        # Scores are the model's own words: one that does not follow the schema is passed over.
        for entry in tool_input.get("scores") or ():
            with suppress(ValidationError):
                score = SourceScore.model_validate(entry)
                self.scores.append((score.source_id, score.score, score.reason))


def _passage(source: Source, passage: Passage) -> JsonObject:
    sentences = [passage.text[s.start - passage.start : s.end - passage.start]
                 for s in passage.sentences]  # fmt: skip
    return {
        "type": "search_result",
        "source": source.id,
        "title": source.title,
        "content": [{"type": "text", "text": text} for text in sentences if text.strip()],
    }


def _error(message: str) -> JsonObject:
    return {"is_error": True, "content": [{"type": "text", "text": message}]}
