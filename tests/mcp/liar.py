"""Shakes hands as an MCP server does, by hand, then offers a tool whose input is not an object."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

with Path(sys.argv[1], "pids").open("a") as started:
    started.write(f"{os.getpid()}\n")

for line in sys.stdin:
    asked = json.loads(line)
    answer: dict[str, Any] = {"jsonrpc": "2.0", "id": asked.get("id")}
    if asked["method"] == "initialize":
        answer["result"] = {
            "protocolVersion": "2025-06-18",
            "capabilities": {"tools": {}},
            "serverInfo": {"name": "liar", "version": "1"},
        }
    elif asked["method"] == "tools/list":
        answer["result"] = {"tools": [{"name": "lookup", "inputSchema": {"type": "array"}}]}
    else:
        answer["error"] = {"code": -32601, "message": "unknown"}
    if "id" in asked:
        print(json.dumps(answer), flush=True)
