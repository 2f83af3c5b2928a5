"""Tries the endpoint that the environment names, feature by feature, and then with one small job.

The first thing to run with a new key or a new endpoint: `make test-live`. It costs some cents with
Claude. Each feature is asked for once, in a request of its own; the job uses the sample documents.
"""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from temporalio.exceptions import ApplicationError

from activities.llm.client import Models
from workflows.config.model_catalog import LOCAL, MEDIUM, MIXED, card
from workflows.config.settings import Settings
from workflows.contracts.request import OFFLINE

JsonObject = dict[str, Any]
Check = Callable[[Models, str], Awaitable[str]]
ROOT = Path(__file__).resolve().parents[2]
QUESTION = "How many passengers do the county ferries carry?"
SCHEMA: JsonObject = {
    "type": "object",
    "properties": {"capital": {"type": "string"}},
    "required": ["capital"],
    "additionalProperties": False,
}
TOOL: JsonObject = {
    "name": "lookup",
    "description": "Looks a country up. Call it to find a capital.",
    "input_schema": {
        "type": "object",
        "properties": {"country": {"type": "string"}},
        "required": ["country"],
    },
}
LONG = "This sentence fills the prompt so that it is long enough for the cache. " * 200


def ask(model: str, text: str, **more: Any) -> JsonObject:
    said = {"role": "user", "content": [{"type": "text", "text": text}]}
    return {"model": model, "max_tokens": 4000, "messages": [said], **more}


async def check_answer(models: Models, model: str) -> str:
    message = await models.ask(ask(model, "Say hello."))
    usage = message.get("usage") or {}
    return f"stop reason {message['stop_reason']}, {usage.get('output_tokens')} tokens"


async def check_structured_output(models: Models, model: str) -> str:
    wanted = {"format": {"type": "json_schema", "schema": SCHEMA}}
    message = await models.ask(ask(model, "The capital of France?", output_config=wanted))
    text = "".join(block["text"] for block in message["content"] if block["type"] == "text")
    try:
        capital = str(json.loads(text)["capital"])
    except (ValueError, KeyError, TypeError):
        raise RuntimeError(f"the answer does not follow the schema: {text[:60]!r}") from None
    lacks = "schema" in models._capabilities.missing(model)
    return capital + (" (through an answer tool)" if lacks else "")


async def check_tools(models: Models, model: str) -> str:
    message = await models.ask(ask(model, "Use the tool to look France up.", tools=[TOOL]))
    uses = [block for block in message["content"] if block["type"] == "tool_use"]
    if not uses:
        raise RuntimeError("the model called no tool")
    return f"{uses[0]['name']}({uses[0]['input']})"


async def check_thinking(models: Models, model: str) -> str:
    modes = card(model).thinking
    if not modes:
        return "not asked of this model"
    thinking = {"type": modes[0]}
    message = await models.ask(ask(model, "How many primes are below 50?", thinking=thinking))
    kinds = [block["type"] for block in message["content"]]
    return "thinking block" if "thinking" in kinds else f"no thinking block, only {kinds}"


async def check_caching(models: Models, model: str) -> str:
    system = [{"type": "text", "text": LONG, "cache_control": {"type": "ephemeral"}}]
    for _ in range(2):
        message = await models.ask(ask(model, "Say hello.", system=system))
    read = (message.get("usage") or {}).get("cache_read_input_tokens") or 0
    if not read:
        raise RuntimeError("the second request read nothing from the cache")
    return f"{read} tokens read from the cache"


async def check_web(models: Models, model: str) -> str:
    tool = {"type": "web_search_20260318", "name": "web_search", "max_uses": 1}
    message = await models.ask(ask(model, "Search the web for today's news.", tools=[tool]))
    kinds = [block["type"] for block in message["content"]]
    if "web_search_tool_result" not in kinds:
        raise RuntimeError("there was no web search")
    return "web search"


CHECKS: dict[str, Check] = {
    "answer": check_answer,
    "structured output": check_structured_output,
    "tools": check_tools,
    "thinking": check_thinking,
    "caching": check_caching,
    "web": check_web,
}


async def try_features(settings: Settings, model: str) -> bool:
    """Print what works; False where not even an answer comes."""
    models = Models(
        provider=settings.provider,
        context_window=settings.context_window,
        local_model=settings.local_model,
    )
    await models.wait_until_loaded()
    answers = True
    try:
        for name, check in CHECKS.items():
            try:
                print(f"  {name:18} works: {await check(models, model)}", flush=True)
            except (ApplicationError, RuntimeError) as error:
                print(f"  {name:18} does not work: {error}", flush=True)
                answers = answers and name != "answer"
    finally:
        await models.close()
    return answers


def run_job(model: str) -> int:
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, str(ROOT / "starter.py"), "run", QUESTION]
        sources = ["--corpus", str(ROOT / "sample_corpus" / "passengers"), "--no-web"]
        limits = ["--effort", "quick", "--max-facets", "1", "--max-passes", "0"]
        job = subprocess.run(
            [*command, *sources, *limits, "--model", model, "--out", folder],
            env=os.environ | {"RESEARCH_HOME": f"{folder}/state"},
            check=False,
        )
    return job.returncode


def main() -> int:
    settings = Settings.read(os.environ)
    name = os.environ.get("LIVE_MODEL") or settings.default_model
    if name == OFFLINE:
        print(
            "Skipped: set ANTHROPIC_API_KEY, ANTHROPIC_BASE_URL (with LIVE_MODEL) or"
            " RESEARCH_LOCAL_MODEL, and run this again."
        )
        return 0
    single = MEDIUM if name == MIXED else name
    place = settings.local_model if name == LOCAL else settings.base_url or settings.provider
    print(f"{single} at {place}:")
    if not asyncio.run(try_features(settings, single)):
        return 1
    code = run_job(name)
    print(f"  {'a small job':18} {'works' if code in (0, 4) else f'failed with code {code}'}")
    return 0 if code in (0, 4) else 1


if __name__ == "__main__":
    sys.exit(main())
