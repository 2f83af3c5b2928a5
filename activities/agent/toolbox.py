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
from collections.abc import Mapping, MutableMapping, Sequence
from fnmatch import fnmatch
from typing import TYPE_CHECKING

from temporalio.exceptions import ApplicationError

from activities.agent.loop import Tools
from activities.agent.messages import JsonObject, Passage, show_passages, tool_error
from activities.agent.retrieval import DOCUMENTS, WEB, RetrievalLog
from activities.evidence.quotes import sketch
from activities.evidence.text.terms import detect_language, words
from activities.mcp.tool_format import PREFIX as MCP
from activities.sources.chunks import SECTION_MARK
from activities.sources.corpus_search import Corpus
from activities.sources.documents import DocumentMeta, Hit, UnknownDocument
from activities.sources.formats.lines import units
from activities.sources.web import Breakdown, Fetch, Ran, Search, ServerTools, Snapshots, Unquotable
from activities.sources.web import Hit as WebHit
from activities.storage.store import Store
from workflows.config.roles import Role
from workflows.contracts.evidence import MAX_CODE, MAX_OUTPUT, CodeRun, Source

if TYPE_CHECKING:
    from activities.mcp.servers import McpServers

READ_CHARACTERS = 6000
PER_DOCUMENT = 4
"""Passages of one document in one search, at least: a manual may hold all of the answer."""
_COUNTED = 40

log = logging.getLogger(__name__)


class Toolbox(Tools):
    """The tools of one subagent."""

    def __init__(
        self,
        role: Role,
        corpus: Corpus | None,
        store: Store,
        cycles: int,
        kept: MutableMapping[str, Source] | None = None,
        *,
        servers: McpServers | None = None,
        pages: Mapping[str, Source] | None = None,
        is_guided: bool = False,
    ) -> None:
        """`kept` are sources this worker has stored already, shared by its subagents.

        `pages` are stored web pages that `read` serves, beside those the subagent fetches itself.
        With `is_guided`, a search must score what came before it, and ends when there is enough.
        """
        super().__init__()
        self._role = role
        self._corpus = corpus
        self._store = store
        self._cycles = cycles
        self._kept = {} if kept is None else kept
        self._servers = servers
        self._server_tools = ServerTools()
        self._snapshots = Snapshots(store)
        self._pages = pages or {}
        self._is_guided = is_guided
        self._shown: set[tuple[str, int]] = set()
        self.log = RetrievalLog()
        self.code_runs: list[CodeRun] = []
        """What was calculated in the provider's sandbox."""

    async def run(self, name: str, tool_input: JsonObject, turn: int) -> JsonObject:
        if name.startswith(MCP) and self._servers is not None:
            return await self._servers.call(self._role.name, name, tool_input)
        if name not in self._role.tools or name not in ("search", "read"):
            return tool_error(f"the {self._role.name} has no tool {name!r}")
        try:
            if name == "read" and (page := self._page(str(tool_input["source_id"]))):
                return await self._read_page(page, tool_input)
            if self._corpus is None:
                return tool_error(f"{name}: this job has no documents, and this is no page it read")
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
            if self._corpus is not None:
                self._record_search(turn, tool_input, result, failed)
        elif name.startswith(MCP):
            query = {**tool_input, "query": f"{name} {json.dumps(tool_input, ensure_ascii=False)}"}
            self.log.add_search(turn, f"{MCP}{name.split('__')[1]}", query, failed)
            for source in result.get("sources", ()):
                self.log.add_read(source["id"])
            if failed:
                self.log.add_problem(_text_of(result))

    def _record_search(
        self, turn: int, tool_input: JsonObject, result: JsonObject, failed: bool
    ) -> None:
        if failed and result.get("is_objection"):
            return
        self.log.add_search(turn, DOCUMENTS, tool_input, failed)
        if failed:
            self.log.add_problem(f"a search of the documents failed: {_text_of(result)}")
            return
        report = json.loads(result["content"][0]["text"])
        ids = [source_id for source_id, _ in result.get("passages", ())]
        self.log.add_hits(turn, ids, report.get("terms") or {})

    async def observe(self, turn: int, message: JsonObject) -> None:
        """Record the results of the provider's own tools in a message."""
        log = self.log
        for event in self._server_tools.read(message):
            match event:
                case Search():
                    failed, found = bool(event.trouble), bool(event.hits)
                    log.add_search(turn, WEB, {"query": event.query}, failed, needs_opening=found)
                    for hit in event.hits:
                        self._snapshots.found(hit)
                case Fetch(trouble=""):
                    try:
                        source = await self._snapshots.keep(event)
                    except Unquotable as unquotable:
                        log.add_opened(WEB, failed=True)
                        log.add_problem(str(unquotable))
                    else:
                        log.add_opened(WEB, failed=False)
                        log.add_read(source.id)
                        self.sources[source.id] = source
                case Fetch():
                    log.add_opened(WEB, failed=True)
                case Ran():
                    run = CodeRun(code=event.code[:MAX_CODE], output=event.output[:MAX_OUTPUT])
                    if run not in self.code_runs:
                        self.code_runs.append(run)
                case Breakdown():
                    pass
            if event.trouble:
                log.add_problem(event.trouble)

    def start_over(self, *, is_new_attempt: bool) -> None:
        self._shown.clear()
        self.log.start_over(is_new_attempt)

    @property
    def candidates(self) -> tuple[WebHit, ...]:
        """Web pages that were found and never opened."""
        return self._snapshots.candidates()

    def resolve(self, source_id: str) -> str:
        """The id of a source as a model may have written it."""
        return source_id if source_id in self.sources else self._snapshots.resolve(source_id)

    async def _search(self, corpus: Corpus, tool_input: JsonObject, turn: int) -> JsonObject:
        cycle = self.log.number(turn)
        if cycle > self._cycles:
            return _object(f"all {self._cycles} search cycles are used up; answer now")
        if self._is_guided and (objection := self.log.objection(turn, tool_input)):
            return _object(objection)
        exclude = self.log.excluded(tool_input)
        # The first cycle is broad; later ones also follow the names that good hits lead to.
        found, counted = await asyncio.to_thread(
            _look, corpus, tool_input, self._role.hits, exclude, follows=cycle > 1
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
        return await self._result(corpus, report, [Hit(document, passage, 0.0)])

    async def _result(self, corpus: Corpus, report: JsonObject, found: list[Hit]) -> JsonObject:
        metas = {hit.document.id: hit.document for hit in found}
        kept = await asyncio.gather(*(self._keep(corpus, meta) for meta in metas.values()))
        sources = {source.id: source for source in kept}
        return show_passages(report, [_passage(sources[hit.document.id], hit) for hit in found])

    async def _keep(self, corpus: Corpus, meta: DocumentMeta) -> Source:
        # The labels of a document can change, and its text be the same.
        key = " ".join((meta.id, *meta.labels))
        known = self.sources.get(meta.id) or self._kept.get(key)
        if known:
            return known
        document = await asyncio.to_thread(corpus.document, meta.id)
        await self._store.keep_text(document.sha256, document.text)
        self._kept[key] = source = Source(
            id=meta.id,
            uri=meta.uri,
            title=meta.title,
            date=meta.date,
            kind=meta.kind,
            sha256=meta.sha256,
            sketch=await asyncio.to_thread(sketch, document.text),
            labels=meta.labels,
            recognised=meta.recognised,
        )
        return source

    def _page(self, source_id: str) -> Source | None:
        """A stored page or tool result by its id, however it is spelt."""
        known = self.sources.get(self.resolve(source_id)) or self._pages.get(source_id)
        is_page = known is not None and known.uri.startswith(("http:", "https:", "mcp:"))
        return known if is_page else None

    async def _read_page(self, page: Source, tool_input: JsonObject) -> JsonObject:
        text = await self._store.text(page.sha256) or ""
        start = max(0, int(tool_input.get("start") or 0))
        end = min(len(text), start + READ_CHARACTERS)
        report = {"start": start, "next": None if end >= len(text) else end}
        shown = Passage(page, start, page.title, split_blocks(text[start:end]))
        return show_passages(report, [shown])


def _object(why: str) -> JsonObject:
    """The answer to a search that is not made; it is no failure and uses up no cycle."""
    return {**tool_error(why), "is_objection": True}


def _text_of(result: JsonObject) -> str:
    return " ".join(str(block.get("text")) for block in result["content"])


def _look(
    corpus: Corpus, tool_input: JsonObject, limit: int, exclude: Sequence[str], follows: bool
) -> tuple[list[Hit], JsonObject]:
    """What was found, and how many documents there are and hold each of the query's words."""
    query = str(tool_input["query"])
    exclude = [*exclude, *_outside(corpus, tool_input)]
    per_document = max(PER_DOCUMENT, limit // max(1, len(corpus) - len(exclude)))
    hits = corpus.search(query, limit=limit, exclude=exclude, per_document=per_document)
    if follows:
        hits = corpus.follow(query, hits, limit, exclude=exclude)
    counted = list(dict.fromkeys(words(query)))[:_COUNTED]
    language = detect_language(query)
    return hits, {"documents": len(corpus), "terms": corpus.frequency(counted, language)}


def _outside(corpus: Corpus, tool_input: JsonObject) -> list[str]:
    """The documents whose paths the search does not want, by patterns such as `minutes/*.md`."""
    include = [str(pattern) for pattern in tool_input.get("include_paths") or ("*",)]
    exclude = [str(pattern) for pattern in tool_input.get("exclude_paths") or ()]
    if include == ["*"] and not exclude:
        return []

    def is_like(path: str, patterns: Sequence[str]) -> bool:
        return any(fnmatch(path, pattern) for pattern in patterns)

    return [
        meta.id
        for meta in corpus.documents()
        if not is_like(meta.uri, include) or is_like(meta.uri, exclude)
    ]


def _passage(source: Source, hit: Hit) -> Passage:
    """A hit with its blocks as the document writes them: headings, items and code with marks."""
    title = SECTION_MARK.join(filter(None, (source.title, hit.section)))
    return Passage(source, hit.passage.start, title, split_blocks(hit.passage.text))


def _fenced(code: str) -> str:
    """Code between fences, so that one line of it is told from prose."""
    return code if code.startswith(("```", "~~~")) else f"```\n{code}\n```"


def split_blocks(text: str) -> list[str]:
    """The units of a text, each from the start of its line on."""
    found = []
    for unit in units(text):
        line = text.rfind("\n", 0, unit.start) + 1
        block = text[line : unit.end].strip("\n")
        found.append(_fenced(block) if unit.kind == "code" else " ".join(block.split()))
    return [block for block in found if block]
