"""A scripted Messages API and a web of fixed pages, with the provider's accounting.

The script: five facets with clearly different questions. A researcher's first
answer to any message of ours is one paused response with 4 searches (8 results of 2,400 characters)
and 4 fetches (pages of about 7,000 tokens), as far as the tools' `max_uses` allows; its second
answers with 8 claims quoted from the newest four pages, names two things as missing, and does not
call its sources exhausted. The evaluator finds three facets thin in passes 0 and 1. No sentence of
a draft is objected to. The offline engine answers what is left: writing, and judging claims.

Tokens are characters / 4. A response with server tools is one pass per call: each pass reads what
was sent before it from the cache and writes its result once. Thinking adds output tokens by role.
"""

from __future__ import annotations

import hashlib
import json
import random
from dataclasses import dataclass, field
from typing import Any

import httpx2

from activities.offline.transport import SKILLS, OfflineTransport
from workflows.config.model_catalog import card

JsonObject = dict[str, Any]

SEARCHES, RESULTS, RESULT_CHARACTERS = 4, 8, 2_400
FETCHES, PAGE_CHARACTERS = 4, 28_000
CLAIMS, LOOKBACK = 8, 20
THINKING = {
    "PlanDraft": 2_500,
    "PlanReview": 1_500,
    "ResearchAnswer": 1_200,
    "DraftAnswer": 3_000,
    "EvaluationAnswer": 3_000,
}
VERIFIER_THINKING = 2_500
QUESTION = "What should a town know before it buys electric buses?"
FACETS = {
    "batteries": "How long do traction batteries of city buses last in daily service?",
    "charging": "Which charging equipment do depots install, and who approves the grid connection?",
    "tenders": "How do public purchasers write tenders for vehicles and their upkeep?",
    "drivers": "What training do drivers and mechanics receive when fleets change over?",
    "winter": "How does cold weather change heating demand and range on hilly routes?",
}


def invent_page(url: str, topic: str) -> str:
    """A page of about 7,000 tokens, always the same, in words of its facet and invented ones."""
    chance = random.Random(url)
    known = [word for word in FACETS[topic].rstrip("?").split() if len(word) > 4]

    def word() -> str:
        return "".join(
            chance.choice("bcdfgklmnprstvz") + chance.choice("aeiou")
            for _ in range(chance.randint(2, 4))
        )

    sentences: list[str] = []
    while sum(len(sentence) + 1 for sentence in sentences) < PAGE_CHARACTERS:
        own = [*chance.sample(known, 4), *(word() for _ in range(10))]
        sentences.append(f"{word().title()} {' '.join(own)}.")
    return " ".join(sentences)[:PAGE_CHARACTERS]


# --- the script ---------------------------------------------------------------------------------


def brief_of(body: JsonObject) -> JsonObject:
    words = body["messages"][0]["content"][0]["text"]
    found: JsonObject = json.loads(words.partition("<brief>")[2].partition("</brief>")[0])
    return found


def said(answer: JsonObject) -> list[JsonObject]:
    return [{"type": "text", "text": json.dumps(answer, ensure_ascii=False)}]


def plan(_: JsonObject) -> list[JsonObject]:
    facets = [
        {"id": name, "title": name.title(), "question": question,
         "boundary": "what the other facets ask", "prefer": "reports of operators and authorities",
         "reason": "a purchase turns on it"}
        for name, question in FACETS.items()
    ]  # fmt: skip
    return said({"kind": "overview", "facets": facets})


def evaluate(body: JsonObject) -> list[JsonObject]:
    number = int(brief_of(body)["pass"])
    thin = list(FACETS)[:3] if number < 2 else []
    gaps = [
        {"facet_id": name, "kind": "thin", "text": f"{name.title()} rests on few operators.",
         "question": f"Which further operators report on {name} in year {number + 1} of service?"}
        for name in thin
    ]  # fmt: skip
    judged = [
        {"facet_id": name, "addressed": True, "depth": "thin" if name in thin else "adequate",
         "reason": "judged by the number of operators"}
        for name in FACETS
    ]  # fmt: skip
    return said({"judgements": judged, "gaps": gaps})


def browse(body: JsonObject) -> list[JsonObject]:
    """The server tool calls of a paused response, and their results."""
    at = hashlib.sha256(json.dumps(body["messages"]).encode()).hexdigest()[:8]
    topic = brief_of(body)["facet"]["title"].lower()
    allowed = {tool["name"]: tool.get("max_uses") or 99 for tool in body.get("tools") or ()}
    blocks: list[JsonObject] = []

    def call(name: str, given: JsonObject, result: object) -> None:
        tool_use = f"srvtoolu_{at}{len(blocks)}"
        blocks.append({"type": "server_tool_use", "id": tool_use, "name": name, "input": given})
        blocks.append({"type": f"{name}_tool_result", "tool_use_id": tool_use, "content": result})

    def refuse(name: str, given: JsonObject) -> None:
        code = "max_uses_exceeded"
        call(name, given, {"type": f"{name}_tool_result_error", "error_code": code})

    for n in range(SEARCHES if "web_search" in allowed else 0):
        query = {"query": f"{topic} electric buses {n}"}
        if n >= allowed["web_search"]:
            refuse("web_search", query)
            continue
        hits = [_hit(f"https://{topic}.example/{at}/{n}-{i}") for i in range(RESULTS)]
        call("web_search", query, hits)
    for n in range(FETCHES if "web_fetch" in allowed else 0):
        url = f"https://{topic}.example/{at}/{n}-0"
        if n >= allowed["web_fetch"]:
            refuse("web_fetch", {"url": url})
            continue
        source = {"type": "text", "media_type": "text/plain", "data": invent_page(url, topic)}
        document = {"type": "document", "title": f"{topic} {n}", "source": source}
        call("web_fetch", {"url": url}, {"type": "web_fetch_result", "url": url,
                                         "content": document})  # fmt: skip
    return blocks


def _hit(url: str) -> JsonObject:
    sealed = "x" * RESULT_CHARACTERS
    return {"type": "web_search_result", "url": url, "title": url, "encrypted_content": sealed}


def report_findings(body: JsonObject) -> list[JsonObject]:
    """Eight claims, two from each of the newest four pages."""
    pages = [
        block["content"]
        for message in body["messages"]
        for block in message["content"]
        if block["type"] == "web_fetch_tool_result" and "error_code" not in block["content"]
    ][-FETCHES:]
    claims = []
    for n in range(CLAIMS if pages else 0):
        page = pages[n % len(pages)]
        sentence = page["content"]["source"]["data"].split(". ")[n] + "."
        claims.append(
            {"text": sentence, "quotes": [{"source_id": page["url"], "text": sentence}],
             "confidence": 0.8, "relevance": 0.8}
        )  # fmt: skip
    # Each answer lacks something else: what is asked for again and again is not asked.
    rounds = sum(message["role"] == "user" for message in body["messages"])
    missing = [f"what small operators report, part {rounds}", f"later changes, part {rounds}"]
    return said(
        {"summary": f"On {brief_of(body)['facet']['title']}: what the pages say.",
         "claims": claims, "missing": missing, "exhausted": False,
         "next_step": "ask the operators' association"}
    )  # fmt: skip


def research(body: JsonObject) -> list[JsonObject]:
    last = body["messages"][-1]
    words = "".join(b.get("text", "") for b in last["content"] if b["type"] == "text")
    if last["role"] == "user" and "<last-call>" not in words:
        return browse(body)
    return report_findings(body)


def accept_draft(body: JsonObject) -> list[JsonObject]:
    asked = brief_of(body)
    verdicts = [{"id": own["id"], "verdict": "entailed"} for own in asked["sentences"]]
    return said({"verdicts": verdicts, "named_gaps": [gap["id"] for gap in asked["unnamed_gaps"]]})


SCRIPT = {
    "PlanDraft": plan,
    "PlanReview": lambda _: said({"changes": []}),
    "ResearchAnswer": research,
    "EvaluationAnswer": evaluate,
    "DraftJudgement": accept_draft,
}


# --- the wire, with the provider's accounting ---------------------------------------------------


@dataclass
class Call:
    """One request as it is paid for."""

    title: str
    model: str
    is_first: bool
    """The first of its conversation."""
    plain: int = 0
    written: int = 0
    read: int = 0
    output: int = 0
    searches: int = 0

    @property
    def input(self) -> int:
        return self.plain + self.written + self.read

    @property
    def usd(self) -> float:
        return card(self.model).cost(
            self.plain, self.output, self.read, self.written, web_searches=self.searches
        )


@dataclass
class ScriptedApi(httpx2.AsyncBaseTransport):
    calls: list[Call] = field(default_factory=list)
    _cached: set[str] = field(default_factory=set)
    _offline: OfflineTransport = field(default_factory=lambda: OfflineTransport(SKILLS))

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        body = json.loads(await request.aread())
        title = body["output_config"]["format"]["schema"]["title"]
        content = await self._answer(title, body)
        call = self._account(title, body, content)
        self.calls.append(call)
        usage = {"input_tokens": call.plain, "cache_creation_input_tokens": call.written,
                 "cache_read_input_tokens": call.read, "output_tokens": call.output,
                 "server_tool_use": {"web_search_requests": call.searches}}  # fmt: skip
        paused = any(block["type"] == "server_tool_use" for block in content)
        message = {
            "id": f"msg_{len(self.calls):06d}", "type": "message", "role": "assistant",
            "model": body["model"], "content": content, "stop_sequence": None,
            "stop_reason": "pause_turn" if paused else "end_turn", "usage": usage,
        }  # fmt: skip
        return httpx2.Response(200, json=message)

    async def _answer(self, title: str, body: JsonObject) -> list[JsonObject]:
        if title in SCRIPT:
            return SCRIPT[title](body)
        plain = {key: value for key, value in body.items() if key != "stream"}
        request = httpx2.Request("POST", "http://offline.invalid/v1/messages", json=plain)
        response = await self._offline.handle_async_request(request)
        content: list[JsonObject] = json.loads(await response.aread())["content"]
        if title == "DraftAnswer" and content[-1]["type"] == "text":
            # A model also says what the facets add up to; the engine cannot, and is not asked to.
            draft = json.loads(content[-1]["text"])
            return said({**draft, "conclusion": draft["summary"]})
        return content

    def _account(self, title: str, body: JsonObject, content: list[JsonObject]) -> Call:
        blocks = [*(body.get("tools") or ()), *body["system"]]
        blocks += [block for message in body["messages"] for block in message["content"]]
        digest, length = body["model"], 0
        prefixes: list[tuple[str, int]] = []
        for block in blocks:
            length += _characters(block)
            digest = _extend(digest, block)
            prefixes.append((digest, length // 4))
        marks = [n for n, block in enumerate(blocks) if "cache_control" in block]
        hits = [
            n
            for mark in marks
            for n in range(mark, max(-1, mark - LOOKBACK), -1)
            if prefixes[n][0] in self._cached
        ]
        read = prefixes[max(hits)][1] if hits else 0
        marked = prefixes[marks[-1]][1] if marks else 0
        total = prefixes[-1][1]
        call = Call(title, body["model"], len(body["messages"]) == 1)
        call.read, call.written = read, max(0, marked - read)
        call.plain = total - call.read - call.written
        self._cached |= {prefixes[n][0] for n in marks}
        call.output = THINKING.get(title, VERIFIER_THINKING)
        for block in content:
            if block["type"].endswith("_tool_result"):
                # Another pass follows: it writes this result and reads all that came before.
                call.written += _characters(block) // 4
                call.read += total
                total += _characters(block) // 4
                call.searches += isinstance(block["content"], list)
            else:
                call.output += _characters(block) // 4
            digest = _extend(digest, block)
            if block["type"].endswith("_tool_result"):
                self._cached.add(digest)
        return call


def _bare(block: JsonObject) -> str:
    content = {key: value for key, value in block.items() if key != "cache_control"}
    return json.dumps(content, sort_keys=True, ensure_ascii=False)


def _characters(block: JsonObject) -> int:
    return len(block["text"]) if block.get("type") == "text" else len(_bare(block))


def _extend(digest: str, block: JsonObject) -> str:
    return hashlib.sha256((digest + _bare(block)).encode()).hexdigest()
