"""Runs the tools of a subagent, and records what it has seen through them.

`search` and `read` run here, over one corpus; `mcp__` tools run at their servers; the provider's
own tools have run already when their results are observed. Every document that the subagent sees is
stored under its hash at once, so that its quotes can be checked on any worker, years later. The
documents of a corpus are named by id, web pages by address. A tool that crashes returns an error to
the model; the conversation goes on.
"""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pydantic import ValidationError
from temporalio.exceptions import ApplicationError

from activities.agent.messages import tool_error
from activities.agent.schemas import SourceScore
from activities.evidence.quotes import sketch
from activities.evidence.text.stopwords import detect_language
from activities.evidence.text.terms import words
from activities.mcp.tool_format import PREFIX as MCP
from activities.sources.chunks import SECTION_MARK
from activities.sources.corpus import Corpus
from activities.sources.documents import DocumentMeta, Hit, UnknownDocument
from activities.sources.formats.lines import units
from activities.sources.snapshots import Snapshots, Unquotable
from activities.sources.web import Breakdown, Fetch, Search, ServerTools
from activities.sources.web import Hit as WebHit
from activities.storage.store import Store
from workflows.config.roles import Role
from workflows.contracts.evidence import Cycle, Source

if TYPE_CHECKING:
    from activities.mcp.servers import McpServers

JsonObject = dict[str, Any]
READ_CHARACTERS = 6000
PER_DOCUMENT = 4
"""Passages of one document in one search, at least: a manual may hold all of the answer."""
_COUNTED = 40
_LONGEST_PROBLEM = 400

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
        *,
        servers: McpServers | None = None,
    ) -> None:
        """`kept` are sources this worker has stored already, shared by its subagents."""
        self._role = role
        self._corpus = corpus
        self._store = store
        self._cycles = cycles
        self._kept = {} if kept is None else kept
        self._servers = servers
        self._server_tools = ServerTools()
        self._snapshots = Snapshots(store)
        self._places: dict[str, _Place] = {}
        self._searching: set[int] = set()
        self._log: dict[int, _CycleLog] = {}
        self._shown: set[tuple[str, int]] = set()
        self.sources: dict[str, Source] = {}
        self.problems: list[str] = []
        """What could not be looked at, and why."""

    @property
    def searched(self) -> int:
        """How many searches returned, also without hits.

        0 where one of the places never returned: it may hold what the others lack, so nothing can
        be called absent.
        """
        places = self._places.values()
        return 0 if any(p.closed for p in places) else sum(p.answered for p in places)

    async def run(self, name: str, tool_input: JsonObject, turn: int) -> JsonObject:
        if name.startswith(MCP) and self._servers is not None:
            return await self._servers.call(self._role.name, name, tool_input)
        if name not in self._role.tools or name not in ("search", "read"):
            return tool_error(f"the {self._role.name} has no tool {name!r}")
        if self._corpus is None:
            return tool_error("there are no documents to search in this job")
        try:
            if name == "search":
                return await self._search(self._corpus, tool_input, turn)
            return await self._read(self._corpus, tool_input)
        except UnknownDocument as unknown:
            return tool_error(str(unknown))
        except (KeyError, TypeError, ValueError) as wrong:
            return tool_error(f"{name} was called with wrong arguments: {wrong}")
        except ApplicationError:
            # The model cannot repair the store: Temporal retries the activity.
            raise
        except Exception as crash:
            # The subagent can still answer from what it has; its report says what broke.
            log.exception("the tool %s crashed", name)
            return tool_error(f"{name} failed: {type(crash).__name__}")

    def record(self, turn: int, name: str, tool_input: JsonObject, result: JsonObject) -> None:
        for source in result.get("sources", ()):
            known = Source.model_validate(source)
            self.sources[known.id] = known
        self._shown.update((sid, start) for sid, start in result.get("passages", ()))
        failed = bool(result.get("is_error"))
        if name == "search":
            self._searching.add(turn)
            self._note(turn, tool_input)
            if self._corpus is not None:
                self._place("documents").answer(failed)
        elif name.startswith(MCP):
            self._note(turn, {"query": f"{name} {json.dumps(tool_input, ensure_ascii=False)}"})
            self._place(f"{MCP}{name.split('__')[1]}").answer(failed)
            if failed:
                self._problem(" ".join(str(block.get("text")) for block in result["content"]))

    async def observe(self, turn: int, message: JsonObject) -> None:
        """Record the results of the provider's own tools in a message."""
        web = self._place("web")
        for event in self._server_tools.read(message):
            match event:
                case Search():
                    self._note(turn, {"query": event.query})
                    web.answer(bool(event.trouble), opened=not event.hits)
                    for hit in event.hits:
                        self._snapshots.found(hit)
                case Fetch(trouble=""):
                    try:
                        source = await self._snapshots.keep(event)
                    except Unquotable as unquotable:
                        web.open(failed=True)
                        self._problem(str(unquotable))
                    else:
                        web.open(failed=False)
                        self.sources[source.id] = source
                case Fetch():
                    web.open(failed=True)
                case Breakdown():
                    pass
            if event.trouble:
                self._problem(event.trouble)

    def forget(self) -> None:
        """A new conversation starts, in which nothing has been shown yet."""
        self._shown.clear()

    def start_over(self) -> None:
        """A new attempt starts, which may search as much as the one before."""
        self._shown.clear()
        self._searching.clear()

    @property
    def candidates(self) -> tuple[WebHit, ...]:
        """Web pages that were found and never opened."""
        return self._snapshots.candidates()

    def resolve(self, source_id: str) -> str:
        """The id of a source as a model may have written it."""
        return source_id if source_id in self.sources else self._snapshots.resolve(source_id)

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
            return tool_error(f"all {self._cycles} search cycles are used up; answer now")
        query = str(tool_input["query"])
        exclude = [str(sid) for sid in tool_input.get("exclude") or ()]
        # The first cycle is broad; later ones also follow the names that good hits lead to.
        follows = cycle > 1
        found, counted = await asyncio.to_thread(
            _look, corpus, query, self._role.hits, exclude, follows
        )
        report = {"cycle": cycle, "cycles_left": self._cycles - cycle, **counted}
        # What a subagent was shown in an earlier turn is not sent, and paid for, again. Searches of
        # one turn run side by side: what each returns must not hang on which is faster.
        new = [hit for hit in found if (hit.document.id, hit.passage.start) not in self._shown]
        report["shown_before"] = len(found) - len(new)
        return await self._result(corpus, report, new)

    async def _read(self, corpus: Corpus, tool_input: JsonObject) -> JsonObject:
        start = int(tool_input.get("start") or 0)
        document_id = str(tool_input["source_id"])
        passage = await asyncio.to_thread(corpus.read, document_id, start, READ_CHARACTERS)
        document = await asyncio.to_thread(corpus.document, document_id)
        ended = passage.end >= len(document.text)
        report = {"start": passage.start, "next": None if ended else passage.end}
        return await self._result(corpus, report, [Hit(document.meta, passage, 0.0)])

    async def _result(self, corpus: Corpus, report: JsonObject, found: list[Hit]) -> JsonObject:
        metas = {hit.document.id: hit.document for hit in found}
        kept = await asyncio.gather(*(self._keep(corpus, meta) for meta in metas.values()))
        sources = {source.id: source for source in kept}
        report["hits"] = [
            {"source_id": s.id, "title": s.title, "date": s.date, "kind": s.kind, "uri": s.uri}
            for s in kept
        ]
        blocks = [_passage(sources[hit.document.id], hit) for hit in found]
        return {
            "content": [
                {"type": "text", "text": json.dumps(report, ensure_ascii=False)},
                *(block for block in blocks if block["content"]),
            ],
            "sources": [source.model_dump(mode="json") for source in kept],
            "passages": [(hit.document.id, hit.passage.start) for hit in found],
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
        """All searches of the corpus in one turn are one cycle; the web's have their own limit."""
        self._searching.add(turn)
        return sorted(self._searching).index(turn) + 1

    def _note(self, turn: int, tool_input: JsonObject) -> None:
        self._log.setdefault(turn, _CycleLog()).note(tool_input)

    def _place(self, name: str) -> _Place:
        return self._places.setdefault(name, _Place())

    def _problem(self, problem: str) -> None:
        if (problem := problem[:_LONGEST_PROBLEM]) not in self.problems:
            self.problems.append(problem)


@dataclass
class _Place:
    """A place that is searched: the documents, the web, an MCP server."""

    answered: int = 0
    failed: int = 0
    unread: int = 0
    """Searches whose hits have to be opened to be read."""
    opened: int = 0
    unopened: int = 0

    def answer(self, failed: bool, opened: bool = True) -> None:
        self.failed += failed
        self.answered += not failed
        self.unread += not (failed or opened)

    def open(self, failed: bool) -> None:
        self.unopened += failed
        self.opened += not failed

    @property
    def closed(self) -> bool:
        """True where no search returned, or no hit could be opened."""
        no_hit_opened = self.unread > 0 and self.unopened > 0 and not self.opened
        return no_hit_opened or (self.failed > 0 and not self.answered)


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


def _look(
    corpus: Corpus, query: str, limit: int, exclude: Sequence[str], follows: bool
) -> tuple[list[Hit], JsonObject]:
    """What was found, and how many documents there are and hold each of the query's words."""
    per_document = max(PER_DOCUMENT, limit // max(1, len(corpus)))
    hits = corpus.search(query, limit=limit, exclude=exclude, per_document=per_document)
    if follows:
        hits = corpus.follow(query, hits, limit, exclude=exclude)
    counted = list(dict.fromkeys(words(query)))[:_COUNTED]
    language = detect_language(query)
    return hits, {"documents": len(corpus), "terms": corpus.frequency(counted, language)}


def _passage(source: Source, hit: Hit) -> JsonObject:
    """A hit with its blocks as the document writes them: headings, items and code with marks."""
    return {
        "type": "search_result",
        "source": source.id,
        "title": SECTION_MARK.join(filter(None, (source.title, hit.section))),
        "content": [{"type": "text", "text": text} for text in _blocks(hit.passage.text)],
    }


def _fenced(code: str) -> str:
    """Code between fences, so that one line of it is told from prose."""
    return code if code.startswith(("```", "~~~")) else f"```\n{code}\n```"


def _blocks(text: str) -> list[str]:
    """The units of a text, each from the start of its line on."""
    found = []
    for unit in units(text):
        line = text.rfind("\n", 0, unit.start) + 1
        block = text[line : unit.end].strip("\n")
        found.append(_fenced(block) if unit.kind == "code" else " ".join(block.split()))
    return [block for block in found if block]
