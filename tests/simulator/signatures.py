"""Signed thinking: a block is only valid after exactly what it was written after.

A digest runs over system, tools and every block of the conversation. A thinking block is signed
with the digest that stood before it, so a client that rewrites, drops or reorders anything earlier
is caught when the block comes back. Nothing is remembered: a simulator started anew with the same
key knows its own words. Messages that follow each other in one role count as one.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
from typing import Any

from tests.simulator.blocks import as_blocks, exact
from tests.simulator.errors import invalid

JsonObject = dict[str, Any]


def opening(body: JsonObject) -> bytes:
    """The digest of what comes before the first message."""
    fixed = [as_blocks(body.get("system")), body.get("tools") or []]
    return hashlib.sha256(exact(fixed).encode()).digest()


def after(before: bytes, role: str, block: JsonObject) -> bytes:
    return hashlib.sha256(before + role.encode() + b"\0" + exact(block).encode()).digest()


def digest_of(body: JsonObject) -> bytes:
    """The digest of the whole request, which the next answer is written after."""
    digest = opening(body)
    for message in body["messages"]:
        for block in as_blocks(message["content"]):
            digest = after(digest, message["role"], block)
    return digest


class Signer:
    def __init__(self, key: bytes) -> None:
        self._key = key

    def thinking(self, before: bytes, thought: str) -> str:
        seal = self._mac(b"thought", thought.encode()) + self._mac(b"place", before)
        return base64.b64encode(seal).decode()

    def server_tool_id(self, before: bytes) -> str:
        return f"srvtoolu_{self._mac(b'server tool', before).hex()[:24]}"

    def tool_id(self, before: bytes) -> str:
        return f"toolu_{self._mac(b'tool', before).hex()[:24]}"

    def check(self, body: JsonObject) -> list[bool]:
        """Raises for a thinking block that is not in its place.

        Returns, for every message, whether it holds a server tool use of this simulator's own.
        """
        digest = opening(body)
        own: list[bool] = []
        for m, message in enumerate(body["messages"]):
            own.append(False)
            for b, block in enumerate(as_blocks(message["content"])):
                if block["type"] == "thinking":
                    self._check_thinking(block, digest, f"messages.{m}.content.{b}")
                elif block["type"] == "redacted_thinking":
                    raise invalid(f"messages.{m}.content.{b}: Invalid `data` in "
                                  "`redacted_thinking` block")  # fmt: skip
                elif block["type"] == "server_tool_use":
                    own[m] |= block["id"] == self.server_tool_id(digest)
                digest = after(digest, message["role"], block)
        return own

    def seal(self, body: JsonObject, content: list[JsonObject]) -> list[JsonObject]:
        """The answer's blocks with their signatures and ids, in their place after the request."""
        digest = digest_of(body)
        renamed: dict[str, str] = {}
        sealed: list[JsonObject] = []
        for given in content:
            block = dict(given)
            if block["type"] == "thinking":
                block["signature"] = self.thinking(digest, block["thinking"])
            elif block["type"] == "server_tool_use":
                renamed[block.get("id", "")] = block["id"] = self.server_tool_id(digest)
            elif block["type"] == "tool_use":
                block.setdefault("id", self.tool_id(digest))
            elif block.get("tool_use_id") in renamed:
                block["tool_use_id"] = renamed[block["tool_use_id"]]
            sealed.append(block)
            digest = after(digest, "assistant", block)
        return sealed

    def _check_thinking(self, block: JsonObject, before: bytes, path: str) -> None:
        given = block["signature"].encode()
        expected = self.thinking(before, block["thinking"]).encode()
        if hmac.compare_digest(given, expected):
            return
        own = self.thinking(b"", block["thinking"]).encode()
        half = 40  # characters of base64 that depend on the thought alone
        if given[:half] == own[:half]:
            raise invalid(f"{path}: `thinking` blocks are valid only while `system`, `tools` and "
                          "all earlier messages are unchanged; something before this block is "
                          "not as it was in the original request")  # fmt: skip
        raise invalid(f"{path}: Invalid `signature` in `thinking` block")

    def _mac(self, purpose: bytes, what: bytes) -> bytes:
        return hmac.new(self._key, purpose + b"\0" + what, hashlib.sha256).digest()
