"""LangGraph with checkpoints in a SQLite file, written before a step is followed by the next.

Twice: a node for each subagent, and, as its guide to durable execution asks for, a task for each
turn within the nodes.
"""

from __future__ import annotations

from benchmarks.engines.foreign import Foreign


class LangGraph(Foreign):
    name = "LangGraph, SQLite checkpoints"
    package = "langgraph"
    worker = ("langgraph_worker", "node")


class LangGraphTasks(LangGraph):
    name = "LangGraph, one task per turn"
    worker = ("langgraph_worker", "task")
