"""What stands beside the findings: contradictions side by side, gaps, failures, unreadable files.

A contradiction's entry cites every side and picks none. The account of gaps repeats each gap's own
words, so that a reader, and the gate, find it. Remarks about the research are set in italics.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from activities.offline.conversation import JsonObject
from activities.offline.prose import cited, clean, headline, marks

ANSWERED = frozenset({"answered", "contested", "found", "partial"})
_WORDS = 30
_MANY = 3
ABSENT = frozenset({"absent", "no_results"})


def entry(contradiction: JsonObject) -> str:
    sides = contradiction["sides"]
    values = [f"{s['value']} {marks(s['cite'])}" for s in sides if s.get("value")]
    about = headline(contradiction["about"]).rstrip(". ")
    all_cites = marks(dict.fromkeys(n for side in sides for n in side["cite"]))
    valued = len(values) == len(sides)
    told = " against ".join(values) if valued else f"told both ways {all_cites}"
    lines = [f"{about[:1].upper()}{about[1:]}: {told}.\n"]
    for side in sides:
        details = [f"dated {side['date']}"] if side.get("date") else []
        details += _explained(side)
        extra = f" ({'; '.join(details)})" if details else ""
        lines.append(f"- {clean(side['text']).rstrip('.')}{extra} {marks(side['cite'])}.")
    reason = str(contradiction.get("explanation") or "the sources give no reason").rstrip(". ")
    lines.append(f"- Likely reason: {reason} {all_cites}.")
    return "\n".join(lines)


def _explained(side: JsonObject) -> list[str]:
    """What the source says of its value: whole statements, not the crumbs of one."""
    said = [
        str(side[key])
        for key in ("definition", "population")
        if side.get(key) and side[key].lower() not in side["text"].lower()
    ]
    telling = [text for text in said if len(text.split()) > 1]
    return [
        f"“{_within(text)}”"
        for i, text in enumerate(telling)
        if not any(text.lower() in other.lower() for other in telling[:i])
    ]


def _within(text: str) -> str:
    """At most thirty words, cut at a word."""
    words = text.replace("“", "‘").replace("”", "’").replace('"', "’").split()
    return " ".join(words) if len(words) <= _WORDS else " ".join(words[:_WORDS]).rstrip(",;:") + "…"


def gaps_told(brief: JsonObject) -> str:
    titles = {f["id"]: f["title"] for f in brief["facets"]}
    lines = [_gap_line(gap, titles) for gap in brief["gaps"] if gap["status"] != "closed"]
    told_of = " ".join(lines).lower()
    for facet in brief["facets"]:
        unsaid = [m for m in facet.get("missing", ()) if m.lower() not in told_of]
        if unsaid:
            lines.append(f"- **Searched and absent**, {facet['title']}: {listed(unsaid)}.")
        if facet["status"] not in ANSWERED and facet["title"].lower() not in told_of:
            label = "Searched and absent" if facet["status"] in ABSENT else "Failed"
            reason = str(facet.get("reason") or facet["status"]).partition("; searched ")[0]
            reason = reason.rstrip(". ")
            lines.append(f"- **{label}**, {facet['title']}: {bare(reason)}.")
    files = list(brief.get("unreadable", ()))
    if len(files) > _MANY:
        # Each is named with its reason in the account of the research.
        lines.append(f"- **Unreadable files**: {len(files)}, listed at the end of this report.")
        files = []
    for file in files:
        lines.append(f"- **Unreadable file**: {bare(file['uri'])} ({bare(file['reason'])}).")
    return "\n".join(dict.fromkeys(lines)) or remark("No gap is known.")


def _gap_line(gap: JsonObject, titles: Mapping[str, str]) -> str:
    label = {
        "open": "Left out" if gap["kind"] == "left_out" else "Open",
        "absent": "Searched and absent",
        "failed": "Failed",
    }.get(gap["status"], "Open")
    title = titles.get(gap["facet_id"], "")
    where = f", {title}" if title and title.lower() not in gap["text"].lower() else ""
    # Which words were searched for is told with the method; here it is what came of it.
    reason = str(gap.get("reason", "")).partition("; searched ")[0].rstrip(". ")
    if "absent from the sources" in gap["text"] or gap["text"].startswith("Nothing was found"):
        reason = reason.removeprefix("the sources hold nothing on it").lstrip("; ")
    why = f" ({bare(reason)})" if reason and reason.lower() not in gap["text"].lower() else ""
    return f"- **{label}**{bare(where)}: {bare(gap['text']).rstrip('. ')}{why}."


def bare(text: str) -> str:
    """No square brackets: a number in them would read as a citation."""
    return text.replace("[", "(").replace("]", ")")


def remark(text: str) -> str:
    return f"_{bare(text.replace('_', ' '))}_"


def listed(items: Iterable[str]) -> str:
    parts = [str(item).strip().rstrip(".") for item in items]
    return parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} and {parts[-1]}"


def plain_entry(contradiction: JsonObject) -> str:
    """Both sides in the claims' own words and nothing beside."""
    lines = [f"- {cited(clean(s['text']), marks(s['cite']))}" for s in contradiction["sides"]]
    cites = marks(dict.fromkeys(n for s in contradiction["sides"] for n in s["cite"]))
    reason = str(contradiction.get("explanation") or "the sources give no reason").rstrip(". ")
    return "\n".join([*lines, f"- Likely reason: {reason} {cites}."])
