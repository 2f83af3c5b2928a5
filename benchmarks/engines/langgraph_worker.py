"""The topology as a LangGraph graph; runs in the engines' own environment.

python -m benchmarks.engines.langgraph_worker TURN_LOG SQLITE_FILE node|task
"""

from __future__ import annotations

import asyncio
import operator
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Annotated, Any, TypedDict

from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver  # type: ignore[import-not-found]
from langgraph.func import task  # type: ignore[import-not-found]
from langgraph.graph import END, START, StateGraph  # type: ignore[import-not-found]
from langgraph.types import Send  # type: ignore[import-not-found]

from benchmarks.engines import topology
from benchmarks.engines.orders import serve
from benchmarks.engines.topology import TurnLog


class State(TypedDict):
    job: str
    seconds: float
    round: int
    notes: Annotated[list[str], operator.add]


class Facet(TypedDict):
    job: str
    seconds: float
    name: str
    verified: bool


Turn = Callable[[str, str, float], Awaitable[str]]


def graph(turn: Turn) -> Any:
    async def plan(state: State) -> dict[str, Any]:
        return {"notes": [await turn(state["job"], "plan", state["seconds"])], "round": 0}

    def facets(state: State) -> list[Any]:
        return [
            Send("research", Facet(job=state["job"], seconds=state["seconds"], name=f"facet-{n}",
                                   verified=n < topology.VERIFIED))
            for n in range(topology.RESEARCHERS)
        ]  # fmt: skip

    async def research(facet: Facet) -> dict[str, Any]:
        found = ""
        for n in range(topology.RESEARCH_TURNS):
            found = await turn(facet["job"], f"{facet['name']}-{n}", facet["seconds"])
        if facet["verified"]:
            found = await turn(facet["job"], f"{facet['name']}-verify", facet["seconds"])
        return {"notes": [found]}

    async def write(state: State) -> dict[str, Any]:
        said = await turn(state["job"], f"write-{state['round']}", state["seconds"])
        return {"notes": [said]}

    async def evaluate(state: State) -> dict[str, Any]:
        said = await turn(state["job"], f"evaluate-{state['round']}", state["seconds"])
        return {"notes": [said], "round": state["round"] + 1}

    def gap(state: State) -> Any:
        if state["round"] > 1:
            return END
        return [Send("research", Facet(job=state["job"], seconds=state["seconds"], name="gap",
                                       verified=True))]  # fmt: skip

    built = StateGraph(State)
    for name, node in (("plan", plan), ("research", research), ("write", write)):
        built.add_node(name, node)
    built.add_node("evaluate", evaluate)
    built.add_edge(START, "plan")
    built.add_conditional_edges("plan", facets, ["research"])
    built.add_edge("research", "write")
    built.add_edge("write", "evaluate")
    built.add_conditional_edges("evaluate", gap, ["research", END])
    return built


async def main(file: Path, kept: str, way: str) -> None:
    log = TurnLog(file)

    async def turn(job: str, which: str, seconds: float) -> str:
        await log.turn(job, which, seconds)
        return f"what {which} said"

    async with AsyncSqliteSaver.from_conn_string(kept) as saver:
        # It sets WAL itself; as for every engine here, no wait for the disk at every commit.
        await saver.setup()
        await saver.conn.execute("PRAGMA synchronous=NORMAL")
        compiled = graph(task(turn) if way == "task" else turn).compile(checkpointer=saver)

        async def run(name: str, seconds: float, again: bool) -> None:
            config = {"configurable": {"thread_id": name}}
            begun = again and (await compiled.aget_state(config)).next
            start = None if begun else State(job=name, seconds=seconds, round=0, notes=[])
            await compiled.ainvoke(start, config, durability="sync")

        await serve(log, run)


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1]), sys.argv[2], sys.argv[3]))
