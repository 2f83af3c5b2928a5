"""A draft that the gate sent back, with exactly the named faults taken out.

A complaint reads `where: what is wrong, in “the paragraph's start…”`. A citation that names no
source goes, a sentence with an unsupported number goes, a paragraph without a citation goes, a
contradiction that lacks a side is told anew, a gap that is not named is named.
"""

from __future__ import annotations

import re

from activities.offline.appendix import bare, plain_entry, remark
from activities.offline.conversation import JsonObject

_FAULT = re.compile(r"^[-*\s]*(?P<where>[^:\n]{1,80}): (?P<text>.+)$", re.M)
_QUOTED = re.compile(r"“(?P<start>[^”]+?)…?”\s*$")


def mended(answer: JsonObject, complaint: str, brief: JsonObject, fresh: JsonObject) -> JsonObject:
    """The last draft with the named faults taken out; where that leaves nothing, written anew."""
    draft: JsonObject = {**fresh, **{k: v for k, v in answer.items() if v}}
    parts = {"summary": str(draft["summary"])} | {
        s["facet_id"]: str(s["markdown"]) for s in draft["sections"]
    }
    entries = {c["contradiction_id"]: str(c["markdown"]) for c in draft["contradictions"]}
    known = {c["id"]: c for c in brief["contradictions"]}
    gaps = str(draft.get("gaps", ""))
    for fault in _FAULT.finditer(complaint):
        where, text = fault["where"].strip(), fault["text"].strip()
        if where == "gaps" and "not named: " in text:
            gaps += f"\n- **Open**: {bare(text.split('not named: ', 1)[1])}"
        elif where in known:
            entries[where] = plain_entry(known[where])
        elif where in entries:
            del entries[where]
        elif where in parts:
            parts[where] = _without(parts[where], text)
    return {
        **draft,
        "summary": parts["summary"] or fresh["summary"],
        "sections": [
            {"facet_id": s["facet_id"], "markdown": parts[s["facet_id"]] or remark(
                "Nothing that can be cited was found for this part.")}
            for s in draft["sections"]
        ],
        "contradictions": [
            {"contradiction_id": cid, "markdown": entries.get(cid) or plain_entry(known[cid])}
            for cid in known
        ],
        "gaps": gaps.strip(),
    }  # fmt: skip


def _without(markdown: str, fault: str) -> str:
    """The part without what a fault names: a citation, a sentence's number, or a paragraph."""
    unresolved = re.match(r"\[(\d+)\] names no source", fault)
    if unresolved:
        return markdown.replace(f"[{unresolved.group(1)}]", "")
    quoted = _QUOTED.search(fault)
    start = " ".join(quoted["start"].split()) if quoted else ""
    kept = []
    for block in markdown.split("\n\n"):
        lines = block.split("\n")
        hit = [i for i, line in enumerate(lines) if start and " ".join(line.split())[:60]
               == start[:60]]  # fmt: skip
        if not hit:
            kept.append(block)
            continue
        number = fault.split(" stands in no claim", 1)
        if len(number) == 2:
            sentences = re.split(r"(?<=[.!?…”])\s+(?=[^\s\[])", lines[hit[0]])
            lines[hit[0]] = " ".join(s for s in sentences if number[0] not in s)
        else:
            del lines[hit[0]]
        if any(line.strip() for line in lines):
            kept.append("\n".join(lines))
    return "\n\n".join(kept).strip()
