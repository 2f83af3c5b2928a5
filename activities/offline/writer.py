"""The report written from checked claims alone, in the parts the gate puts together.

`write` answers `DraftAnswer`. Every sentence of fact is a claim's own words with its citations;
what the writer adds is order, who says it, and plain remarks in italics on what is contested,
absent, failed or open. Sent back with complaints, it mends exactly what they name.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from activities.offline.appendix import ABSENT, ANSWERED, entry, gaps_told, listed, remark
from activities.offline.conversation import Conversation, JsonObject
from activities.offline.language import content_terms, similarity
from activities.offline.mending import mended
from activities.offline.passages import is_labelled, is_row, substance
from activities.offline.prose import (
    Cited,
    cited,
    clean,
    headline,
    key_sentence,
    marks,
    row,
    speaks_as_we,
    told,
)
from activities.offline.transport import Reply

_SUMMARY_MOST, _SUMMARY_LEAST = 7, 4
_PARAGRAPH_WORDS, _PARAGRAPH_CLAIMS = 110, 4
_TITLE = 190
_REPEATED = 0.85
_LEADING = 0.75
"""A facet's best claim opens the report only if it comes this near the best of all."""
_ASKING = re.compile(
    r"^(?:please\s+)?(?:(?:what|which)\s+(?:is|are|was|were)\s+|(?:describe|explain|analy[sz]e|"
    r"discuss|summari[sz]e|outline|assess|evaluate|examine|investigate|research|review|report on|"
    r"give (?:me )?an overview of|"
    r"write (?:me )?an? (?:\w+ )?(?:report|memo|overview) (?:on|about))\s+)",
    re.I,
)
_PREAMBLE = re.compile(
    r"^(?:in|by|given|based on|for|with|under|after|according to|as|considering)\b[^,]{8,140},\s+"
    r"(?=(?:how|what|which|why|who|when|where|should|can|does|do|is|are)\b)",
    re.I,
)


def write(conversation: Conversation) -> Reply:
    brief = conversation.brief
    if conversation.complaints and conversation.last_answer:
        return Reply(
            mended(conversation.last_answer, conversation.complaints[-1], brief, _draft(brief))
        )
    return Reply(_draft(brief))


def _draft(brief: JsonObject) -> JsonObject:
    claims = _claims(brief)
    facets: list[JsonObject] = brief["facets"]
    wanted = set(brief.get("revise") or ()) or {f["id"] for f in facets}
    said: list[str] = []
    sections = []
    for facet in facets:
        own = [c for c in claims if c.facet_id == facet["id"]]
        markdown = _section(facet, own, brief, said)
        if facet["id"] in wanted:
            sections.append({"facet_id": facet["id"], "markdown": markdown})
    return {
        "title": _title(brief["question"]),
        "summary": _summary(brief, claims),
        "sections": sections,
        "contradictions": [
            {"contradiction_id": c["id"], "markdown": entry(c)} for c in brief["contradictions"]
        ],
        "gaps": gaps_told(brief),
    }


def _claims(brief: JsonObject) -> list[Cited]:
    found = [
        Cited(
            id=c["id"],
            facet_id=c["facet_id"],
            text=c["text"],
            cite=tuple(c["cite"]),
            verdict=c["verdict"],
            confidence=float(c.get("confidence", 0.5)),
            relevance=float(c.get("relevance", 0.5)),
            origins=int(c.get("origins") or 1),
            uncertain=c.get("uncertain", ""),
            limits=c.get("not_to_overstate", ""),
        )
        for c in brief["claims"]
    ]
    usable = [c for c in found if c.verdict != "failed" and c.cite]
    return sorted(usable, key=lambda c: (-c.strength, c.id))


def _sources(brief: JsonObject) -> dict[int, Mapping[str, object]]:
    return {int(s["n"]): s for s in brief.get("sources", ())}


# --- title and summary --------------------------------------------------------------------------


def _title(question: str) -> str:
    first = re.split(r"(?<=[?.!])\s+", " ".join(question.split()))[0]
    bare = _ASKING.sub("", first)
    if bare != first:
        first = bare.rstrip("?. ")
    if len(first) > _TITLE:
        first = _PREAMBLE.sub("", first).partition(":")[0]
    if len(first) > _TITLE:
        first = first[:_TITLE].rsplit(" ", 1)[0].rstrip(",;:") + "…"
    return first[:1].upper() + first[1:]


def _summary(brief: JsonObject, claims: list[Cited]) -> str:
    chosen = _leading(brief, claims)
    asked = frozenset(content_terms(brief["question"]))
    sources = _sources(brief)
    told_of: list[str] = []
    named: set[str] = set()
    for claim in chosen:
        short = _shortened(claim, key_sentence(claim, asked))
        told_of.append(told(short, sources, named) + _contested(claim, brief))
    blocks = [" ".join(told_of[:4]), " ".join(told_of[4:])]
    remarks = []
    if brief["contradictions"]:
        points = [headline(c["about"]) for c in brief["contradictions"]]
        more = f"{len(points)} points, among them " if len(points) > 4 else ""
        remarks.append(
            f"The sources disagree on {more}{listed(points[:4])}; each side is set out below."
        )
    absent = [f["title"] for f in brief["facets"] if f["status"] in ABSENT]
    if absent:
        remarks.append(f"The documents hold nothing on {listed(absent)}.")
    lost = [f["title"] for f in brief["facets"] if f["status"] not in ANSWERED]
    lost = [title for title in lost if title not in absent]
    if lost:
        remarks.append(f"Not researched to the end: {listed(lost)}.")
    blocks += [remark(" ".join(remarks))] if remarks else []
    return "\n\n".join(b for b in blocks if b) or remark("Nothing that can be cited was found.")


def _leading(brief: JsonObject, claims: list[Cited]) -> list[Cited]:
    """The strongest claims: one for each facet that has a strong one, then the best of the rest."""
    order = {f["id"]: i for i, f in enumerate(brief["facets"])}
    worth = {c.id: _opening_worth(c, brief["question"]) for c in claims}
    ranked = sorted((c for c in claims if not is_row(c.text)), key=lambda c: (-worth[c.id], c.id))
    ranked = ranked or list(claims)
    chosen: list[Cited] = []
    for facet_id in order:
        best = next((c for c in ranked if c.facet_id == facet_id and _new(c, chosen)), None)
        strong = best is not None and worth[best.id] >= _LEADING * worth[ranked[0].id]
        if best and strong and len(chosen) < _SUMMARY_MOST:
            chosen.append(best)
    for claim in ranked:
        if len(chosen) >= max(_SUMMARY_LEAST, min(_SUMMARY_MOST, len(order) + 1)):
            break
        if claim not in chosen and _new(claim, chosen):
            chosen.append(claim)
    return sorted(chosen, key=lambda c: (order.get(c.facet_id, len(order)), -c.strength, c.id))


def _opening_worth(claim: Cited, question: str) -> float:
    """How well a claim opens a report: near the question, checkable, in the third person."""
    worth = claim.strength + 0.9 * similarity(claim.text, question) + 0.6 * substance(claim.text)
    return worth - 0.15 * speaks_as_we(claim.text) - 0.4 * is_labelled(claim.text)


def _new(claim: Cited, chosen: Sequence[Cited]) -> bool:
    return all(similarity(claim.text, c.text) < 0.6 for c in chosen)


def _shortened(claim: Cited, text: str) -> Cited:
    return Cited(**{**claim.__dict__, "text": text})


# --- sections -----------------------------------------------------------------------------------


def _section(facet: JsonObject, claims: list[Cited], brief: JsonObject, said: list[str]) -> str:
    fresh: list[Cited] = []
    for claim in claims:
        if not any(similarity(claim.text, text) >= _REPEATED for text in said):
            fresh.append(claim)
            said.append(claim.text)
    if not fresh:
        return _empty(facet, bool(claims))
    sources = _sources(brief)
    named: set[str] = set()
    blocks = [_paragraph(group, sources, brief, named) for group in _grouped(fresh)]
    blocks += _tables([c for c in fresh if is_row(c.text)], sources)
    if facet.get("missing"):
        blocks.append(remark(f"Looked for and not found here: {listed(facet['missing'])}."))
    return "\n\n".join(blocks)


def _empty(facet: JsonObject, repeated: bool) -> str:
    looked = f"; looked for: {listed(facet['missing'])}" if facet.get("missing") else ""
    if repeated or facet["status"] in ANSWERED:
        # Claims that agree are one claim, told where it was found first.
        absent = f" Looked for and not found: {listed(facet['missing'])}." if looked else ""
        return remark(f"What was found on this is told under the other headings.{absent}")
    if facet["status"] in ABSENT:
        return remark(f"The documents were searched and hold nothing on this{looked}.")
    reason = str(facet.get("reason") or facet["status"]).rstrip(". ")
    return remark(f"This part has no findings: {reason}{looked}.")


def _grouped(claims: list[Cited]) -> list[list[Cited]]:
    """Paragraphs: the strongest claim left opens one, what is closest to it follows."""
    left = [c for c in claims if not is_row(c.text)]
    groups: list[list[Cited]] = []
    while left:
        group = [left.pop(0)]
        size = len(group[0].text.split())
        while left and len(group) < _PARAGRAPH_CLAIMS:
            nearest = max(left, key=lambda c: (_closeness(group, c), c.strength, c.id))
            size += len(nearest.text.split())
            if size > _PARAGRAPH_WORDS or _closeness(group, nearest) < 0.12:
                break
            left.remove(nearest)
            group.append(nearest)
        groups.append(group)
    # A lone short claim reads better at the end of the paragraph before it.
    joined: list[list[Cited]] = []
    for group in groups:
        short = len(group) == 1 and len(group[0].text.split()) < 35
        if joined and short and len(joined[-1]) < _PARAGRAPH_CLAIMS:
            joined[-1] = joined[-1] + group
        else:
            joined.append(group)
    return joined


def _closeness(group: Sequence[Cited], claim: Cited) -> float:
    likeness = max(similarity(c.text, claim.text) for c in group)
    return likeness + 0.15 * (group[-1].cite[0] == claim.cite[0])


def _paragraph(
    group: list[Cited],
    sources: Mapping[int, Mapping[str, object]],
    brief: JsonObject,
    named: set[str],
) -> str:
    # What one source says stays together, so that its title is named once.
    order = {c.cite[0]: i for i, c in reversed(list(enumerate(group)))}
    return " ".join(
        told(claim, sources, named) + _caveat(claim) + _contested(claim, brief)
        for claim in sorted(group, key=lambda c: order[c.cite[0]])
    )


def _caveat(claim: Cited) -> str:
    """What the reader must know and the words themselves do not say."""
    notes = []
    if claim.verdict == "unverified":
        notes.append("This could not be verified")
    if claim.limits and claim.limits.lower() not in claim.text.lower():
        notes.append(f"This holds for {claim.limits}")
    if claim.origins > 1 and len(claim.cite) > 1 and claim.verdict == "supported":
        notes.append("Independent sources agree on this")
    return "".join(f" {note} {claim.marks}." for note in notes)


def _contested(claim: Cited, brief: JsonObject) -> str:
    for contradiction in brief["contradictions"]:
        for side in contradiction["sides"]:
            if set(side["cite"]) & set(claim.cite) and (
                similarity(side["text"], claim.text) >= 0.6
                or clean(side["text"]).rstrip(".") in clean(claim.text)
            ):
                return f" (Contested, see “{headline(contradiction['about'])}”.)"
    return ""


def _tables(rows: list[Cited], sources: Mapping[int, Mapping[str, object]]) -> list[str]:
    """Rows of one table as a list of comparable figures."""
    blocks = []
    for n in dict.fromkeys(c.cite[0] for c in rows):
        own = [c for c in rows if c.cite[0] == n]
        title = headline(str(sources.get(n, {}).get("title", "")))
        if len(own) == 1:
            blocks.append(f"“{title}” has for {cited(row(clean(own[0].text)), own[0].marks)}")
            continue
        lines = [f"- {cited(row(clean(c.text)), c.marks)}" for c in own]
        blocks.append("\n".join([f"“{title}” gives these figures {marks([n])}:", "", *lines]))
    return blocks
