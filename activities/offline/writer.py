"""The report written from checked claims alone, in the parts the gate puts together.

`write` answers `DraftAnswer`. Every sentence of fact is a claim's own words with its citations;
what the writer adds is order, who says it, and plain remarks in italics on what is contested,
absent, failed or open. Sent back with complaints, it mends exactly what they name.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace

from activities.evidence.report_gate import CITATION
from activities.offline.appendix import ABSENT, ANSWERED, entry, gaps_told, listed, remark
from activities.offline.conversation import Conversation, JsonObject
from activities.offline.disputes import Disputes, in_order
from activities.offline.gist import Gist
from activities.offline.homes import settled
from activities.offline.language import in_a_sentence, sentences, similarity
from activities.offline.leaning import leans
from activities.offline.mending import mended
from activities.offline.passages import figures, is_row
from activities.offline.prose import Cited, cited, clean, headline, marks, row, told
from activities.offline.summary import summary, worth
from activities.offline.title import title
from activities.offline.transport import Reply

_PARAGRAPH_WORDS, _PARAGRAPH_CLAIMS = 110, 4
_YEAR = re.compile(r"\b(?:1[5-9]|20)\d\d\b")
_REPEATED = 0.85
_SAID = 0.95


def write(conversation: Conversation) -> Reply:
    brief = conversation.brief
    if conversation.complaints and conversation.last_answer:
        return Reply(
            mended(conversation.last_answer, conversation.complaints[-1], brief, _draft(brief))
        )
    return Reply(_draft(brief))


def _draft(brief: JsonObject) -> JsonObject:
    facets: list[JsonObject] = brief["facets"]
    claims = settled(_claims(brief), facets)
    wanted = set(brief.get("revise") or ()) or {f["id"] for f in facets}
    titles = {int(s["n"]): str(s.get("title", "")) for s in brief.get("sources", ())}
    gist = Gist(brief["question"], [claim.text for claim in claims])
    # Weighed before the sections mark what is contested.
    opening = summary(brief, claims, Disputes(brief), gist)
    disputes = Disputes(brief)
    said = _Said()
    sections = []
    for kept in (brief.get("previous") or {}).get("sections", ()):
        if kept["facet_id"] not in wanted:
            said.heard(kept["markdown"])
    for claim in claims:
        if said.has_all(claim):
            disputes.mark(claim)
    for facet in facets:
        if facet["id"] not in wanted:
            continue
        own = [c for c in claims if c.facet_id == facet["id"]]
        asked = f"{facet['title']} {facet['question']}"
        own.sort(key=lambda c: (-worth(c, asked, gist, disputes, titles), c.id))
        markdown = _section(facet, own, brief, said, disputes)
        sections.append({"facet_id": facet["id"], "markdown": markdown})
    return {
        "title": title(brief["question"]),
        "summary": opening,
        "sections": sections,
        "contradictions": [
            {"contradiction_id": c["id"], "markdown": entry(c)} for c in in_order(brief)
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


# --- sections -----------------------------------------------------------------------------------


class _Said:
    """What the report has told so far, by the sentence: nothing is told twice."""

    def __init__(self) -> None:
        self._claims: list[str] = []
        self._sentences: list[str] = []

    def fresh(self, claim: Cited) -> Cited | None:
        """The claim without sentences told before; None where nothing new is left to stand."""
        if any(similarity(claim.text, text) >= _REPEATED for text in self._claims):
            return None
        parts = [claim.text] if is_row(claim.text) else sentences(claim.text)
        new = [part for part in parts if not self._has(part)]
        if not new or (len(new) < len(parts) and leans(new[0])):
            return None
        self._claims.append(claim.text)
        self._sentences += new
        return replace(claim, text=" ".join(new))

    def heard(self, markdown: str) -> None:
        """A section that stays as it is."""
        self._sentences += sentences(CITATION.sub("", markdown))

    def has_all(self, claim: Cited) -> bool:
        return all(self._has(part) for part in sentences(clean(claim.text)))

    def _has(self, sentence: str) -> bool:
        return any(
            similarity(sentence, told) >= _SAID and figures(sentence) == figures(told)
            for told in self._sentences
        )


def _section(
    facet: JsonObject, claims: list[Cited], brief: JsonObject, said: _Said, disputes: Disputes
) -> str:
    fresh: list[Cited] = []
    marks_of: dict[str, str] = {}
    for claim in claims:
        if disputes.is_told(claim):
            continue
        if new := said.fresh(claim):
            fresh.append(new)
            marks_of[claim.id] = disputes.mark(claim)
    if not fresh:
        return _empty(facet, bool(claims))
    sources: dict[int, Mapping[str, object]] = {int(s["n"]): s for s in brief.get("sources", ())}
    named: set[str] = set()
    groups = _grouped(fresh)
    if brief.get("kind") == "timeline":
        fresh.sort(key=lambda c: _when(c, sources))
        groups = _in_turn(fresh)
        marks_of = {c.id: _dated(c, sources) + marks_of[c.id] for c in fresh}
    blocks = [_paragraph(group, sources, marks_of, named) for group in groups]
    blocks += _tables([c for c in fresh if is_row(c.text)], sources)
    if facet.get("missing"):
        wording = f"{brief['question']} {facet.get('question', '')}"
        lacking = [in_a_sentence(point, wording) for point in facet["missing"]]
        blocks.append(remark(f"On {listed(lacking)} the sources say nothing here."))
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


def _when(claim: Cited, sources: Mapping[int, Mapping[str, object]]) -> str:
    """The first year a claim names, else the day of its source; what has neither comes last."""
    named = _YEAR.search(claim.text)
    return named.group() if named else str(sources.get(claim.cite[0], {}).get("date") or "9999")


def _dated(claim: Cited, sources: Mapping[int, Mapping[str, object]]) -> str:
    """The day of the source, where a history would else not say when."""
    date = sources.get(claim.cite[0], {}).get("date")
    return f" (Dated {date}.)" if date and not _YEAR.search(claim.text) else ""


def _in_turn(claims: list[Cited]) -> list[list[Cited]]:
    """Paragraphs of claims one after the other, as a history tells them."""
    groups: list[list[Cited]] = []
    for claim in (c for c in claims if not is_row(c.text)):
        size = sum(len(c.text.split()) for c in groups[-1]) if groups else _PARAGRAPH_WORDS
        if size + len(claim.text.split()) > _PARAGRAPH_WORDS:
            groups.append([])
        groups[-1].append(claim)
    return groups


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
    marks_of: Mapping[str, str],
    named: set[str],
) -> str:
    # What one source says stays together, so that its title is named once.
    order = {c.cite[0]: i for i, c in reversed(list(enumerate(group)))}
    return " ".join(
        _with_caveats(claim, told(claim, sources, named)) + marks_of.get(claim.id, "")
        for claim in sorted(group, key=lambda c: order[c.cite[0]])
    )


def _with_caveats(claim: Cited, line: str) -> str:
    """What the reader must know and the words themselves do not say."""
    if claim.verdict == "unverified":
        # Beside its citation: a section of such claims would else say it in a dozen sentences.
        line = f"{line[:-1]} (unverified)." if line.endswith(".") else f"{line} (unverified)"
    if claim.limits and claim.limits.lower() not in claim.text.lower():
        line += f" This holds for {claim.limits} {claim.marks}."
    return line


def _tables(rows: list[Cited], sources: Mapping[int, Mapping[str, object]]) -> list[str]:
    """Rows of one table as a list of comparable figures."""
    blocks = []
    for n in dict.fromkeys(c.cite[0] for c in rows):
        own = [c for c in rows if c.cite[0] == n]
        name = headline(str(sources.get(n, {}).get("title", "")))
        if len(own) == 1:
            blocks.append(f"“{name}” lists {cited(row(clean(own[0].text)), own[0].marks)}")
            continue
        lines = [f"- {cited(row(clean(c.text)), c.marks)}" for c in own]
        blocks.append("\n".join([f"“{name}” gives these figures {marks([n])}:", "", *lines]))
    return blocks
