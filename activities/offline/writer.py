"""The report as passages: the best first, then a handful for each facet, grouped by section.

`write` answers `DraftAnswer`. Every sentence of fact is a source's own; what the writer adds is
order, the document and headings a passage stands under, and remarks in italics on what was not
found. Sent back by the gate, it leaves out what the gate names.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from activities.offline.key_sentences import Claim, KeySentence, Lead, read_claim
from activities.offline.markdown import bare, cited, marks, passage, plain, remark
from activities.offline.passages import ROW
from activities.offline.question import Question
from activities.offline.request import Conversation, JsonObject, Reply

SUMMARY_WORDS = 120
_MOST_LEADS = 3
_WORTH = 0.75
"""The share of the best claim's relevance from which on a claim may stand in the summary."""
_ANSWERED = frozenset({"answered", "contested", "found", "partial"})
_ABSENT = frozenset({"absent", "no_results"})
# A heading's number is no figure.
_NUMBERING = re.compile(r"^\d+(?:\.\d+)*[.)]? +")
_CLOSEST = "These are the passages closest to the question."
_NOTHING = "No passage could be cited for this question."
_FAULT = re.compile(r"in “(?P<start>[^”]+?)…?”\s*$", re.M)


def write(conversation: Conversation) -> Reply:
    brief = conversation.brief
    refused = [
        " ".join(found["start"].split())
        for complaint in conversation.complaints
        for found in _FAULT.finditer(complaint)
    ]
    writer = _Writer(brief)
    return Reply(
        {
            "title": _title(str(brief["question"])),
            "summary": _without(writer.summary(), refused)
            or remark(_CLOSEST if brief["claims"] else _NOTHING),
            "sections": [
                {"facet_id": facet["id"], "markdown": _without(writer.section(facet), refused)}
                for facet in brief["facets"]
                if not brief.get("revise") or facet["id"] in brief["revise"]
            ],
            "contradictions": [
                {"contradiction_id": c["id"], "markdown": _contradiction(c)}
                for c in brief["contradictions"]
            ],
            "gaps": _gaps(brief),
        }
    )


class _Writer:
    def __init__(self, brief: JsonObject) -> None:
        self._question = str(brief["question"])
        self._facets: list[JsonObject] = brief["facets"]
        self._contradictions: list[JsonObject] = brief["contradictions"]
        self._titles = {int(s["n"]): str(s["title"]) for s in brief.get("sources", ())}
        self._claims = [
            read_claim(claim, order)
            for order, claim in enumerate(brief["claims"])
            if claim["cite"] and claim["verdict"] != "failed"
        ]
        self._answered = [facet for facet in self._facets if _is_answered(facet)]
        # Labels say what is answered: where nothing is, the best passage stands without one.
        self._opening = self._leads(self._answered or self._facets[:1])
        self._shown = self._share_out()

    def summary(self) -> str:
        """The best passage or fact first, then the best sentences of others; one a facet. A facet
        that nothing answers has a remark, unless that is so of all: then one stands at the end."""
        lines: list[str] = []
        room = SUMMARY_WORDS
        for n, lead in enumerate(self._opening):
            sides = self._sides(lead)
            text = "\n- ".join(sides) or lead.markdown()
            if any(text in line for line in lines):
                continue
            size = len(text.split())
            # Of several facets each has its line; more of one facet only where there is room.
            if n == 0 and not lead.label and not sides:
                lines += [text, ""]
            elif lead.label or sides or size <= room:
                lines.append(f"- {text}")
            else:
                continue
            room -= size
        if self._answered:
            lines += [f"- {remark(_lack(f))}" for f in self._facets if f not in self._answered]
        elif lines:
            lines += ["", remark(_CLOSEST)]
        disputed = [lead.label for lead in self._opening if self._sides(lead)]
        about = ", ".join(f"“{label}”" for label in disputed if label)
        said = remark(f"The sources disagree{about and f' on {about}'}: see below.")
        text = "\n".join([*lines, *(["", said] if disputed else [])])
        return re.sub(r"\n{3,}", "\n\n", text).strip()

    def _sides(self, lead: Lead) -> list[str]:
        """The sides of a contradiction that the line is one side of, the newest first, each with
        its document, its date, and the sentence behind it that says what is counted."""
        told = (list(contradiction["sides"]) for contradiction in self._contradictions)
        sides = next((s for s in told if any(o["text"].rstrip(".") in lead.text for o in s)), [])
        sides.sort(key=lambda side: str(side.get("date") or ""), reverse=True)
        return [self._side(side, lead.label) for side in sides]

    def _side(self, side: JsonObject, label: str) -> str:
        source = ", ".join(filter(None, (self._titles.get(side["cite"][0]), side.get("date"))))
        text = f"{side['text'].rstrip('.')}."
        counted = f"{text} {side.get('definition') or ''}"
        if any(counted in claim.text for claim in self._claims):
            text = f"{counted.strip().rstrip('.')}."
        lead = f"{label} ({source})" if label and source else label or source
        return f"**{bare(lead)}:** {cited(plain(text), side['cite'])}"

    def _leads(self, facets: Sequence[JsonObject]) -> list[Lead]:
        """What the summary may say, in order; nothing that stands in another facet's lead."""
        if str(facets[0]["question"]) == self._question:
            # What sets compared things side by side says more than a line on each.
            facets = facets[:1]
        several = len(facets) > 1
        leads: dict[str, Lead] = {}
        for facet in facets:
            found = self._facet_leads(facet, several)
            new = [lead for lead in found if not any(lead.text in told for told in leads)]
            if several:
                # A line of a summary is a sentence; a row of a table only where there is none.
                new = sorted(new, key=lambda lead: ROW.match(lead.text) is not None)[:1]
            leads |= {lead.text: lead for lead in new[:_MOST_LEADS]}
        return list(leads.values())

    def _facet_leads(self, facet: JsonObject, several: bool) -> list[Lead]:
        title = str(facet["title"])
        key = KeySentence(Question(title, str(facet["question"])), self._claims)
        own = self._of(facet)
        worth = [claim for claim in own if claim.relevance >= _WORTH * own[0].relevance]
        if several or not worth:
            return [Lead(key.of(claim), title, claim) for claim in worth]
        first = Lead(worth[0].text, "", worth[0], self._place(worth[0]))
        others = [Lead(key.of(claim), "", claim) for claim in worth[1:] if key.is_fact]
        return [first, *(lead for lead in others if key.answers(lead.text))]

    def section(self, facet: JsonObject) -> str:
        """A facet's passages by section."""
        claims = self._shown[facet["id"]]
        if not claims:
            return _empty(facet)
        said = _shortfall(facet, is_part=len(self._facets) > 1)
        blocks = [remark(said)] if said else []
        told = ""
        for claim in self._by_place(claims):
            place = self._place(claim)
            blocks.append(passage(claim.parts, claim.cite, place if place != told else ""))
            told = place
        return "\n\n".join(blocks)

    def _by_place(self, ranked: Sequence[Claim]) -> list[Claim]:
        """By section, that of the passage that opens the report first, then those with the best
        claims; within a section as they stand there."""
        opened = [lead.claim for lead in self._opening if lead.place]
        sections = list(dict.fromkeys(claim.home for claim in (*opened, *ranked)))
        return sorted(ranked, key=lambda c: (sections.index(c.home), c.start, c.order))

    def _place(self, claim: Claim) -> str:
        """Document and headings; a first heading that repeats the title is told once."""
        title = self._titles.get(claim.cite[0], "")
        path = [_NUMBERING.sub("", part) for part in claim.sections[0].split(" › ") if part]
        if path and path[0].casefold() == _NUMBERING.sub("", title).casefold():
            path = path[1:]
        # A lead in bold ends at the next asterisk.
        return " › ".join([title, *path]).replace("*", "")

    def _of(self, facet: JsonObject) -> list[Claim]:
        """The facet's claims by relevance; that of a claim of several facets is for its first."""
        own = [claim for claim in self._claims if facet["id"] in claim.facet_ids]
        return sorted(own, key=lambda c: (-c.relevance, c.facet_ids[0] != facet["id"], c.order))

    def _share_out(self) -> dict[str, list[Claim]]:
        """What each facet's section shows: what stands in no section before it, nor opens the
        report; its best passage again where it has no other."""
        opened = [lead.claim for lead in self._opening if lead.place]
        told = {(claim.cite[0], part) for claim in opened for part in claim.parts}
        shared: dict[str, list[Claim]] = {}
        for facet in self._facets:
            ranked = self._of(facet)
            shared[facet["id"]] = new = []
            for claim in ranked:
                parts = tuple(part for part in claim.parts if (claim.cite[0], part) not in told)
                told |= {(claim.cite[0], part) for part in parts}
                new += [replace(claim, parts=parts)] if parts else []
            new += ranked[: not new]
        return shared


def _is_answered(facet: JsonObject) -> bool:
    """Whether its passages are more than related: nothing but words of it is missing."""
    is_short = len(_absent_words(facet)) < len(facet.get("missing", ()))
    return facet["status"] not in _ABSENT and not is_short


def _absent_words(facet: JsonObject) -> list[str]:
    """What is missing and stands in the question itself: words that no document holds."""
    asked = f"{facet['title']} {facet['question']}".lower()
    return [str(point) for point in facet.get("missing", ()) if str(point).lower() in asked]


def _lack(facet: JsonObject) -> str:
    """What a summary says of a facet that has no answer."""
    if facet["status"] in _ABSENT:
        return f"{facet['title']}: the documents were searched and hold nothing on this."
    return f"{facet['title']}: the closest passages stand below."


def _shortfall(facet: JsonObject, *, is_part: bool) -> str:
    """What is missing; that all is only close to it, the summary of a whole question has said."""
    absent = ", ".join(f"“{word}”" for word in _absent_words(facet))
    said = [f"In no document: {absent}."] if absent else []
    if is_part and not _is_answered(facet):
        said.append("These are the passages closest to this part.")
    return " ".join(said)


def _empty(facet: JsonObject) -> str:
    if facet["status"] in _ANSWERED:
        return remark("What was found on this stands under the other headings.")
    if facet["status"] in _ABSENT:
        return remark("The documents were searched and hold nothing on this.")
    return remark(
        f"This part has no findings: {str(facet.get('reason') or facet['status']).rstrip('. ')}."
    )


def _contradiction(contradiction: JsonObject) -> str:
    """Both sides in their own words, what is known of each, and the likely reason."""
    sides = contradiction["sides"]
    every = tuple(dict.fromkeys(n for side in sides for n in side["cite"]))
    about = bare(str(contradiction["about"])).strip(" .")
    lines = [f"**{about[:1].upper()}{about[1:]}** {marks(every)}", ""]
    for side in sides:
        known = [f"dated {side['date']}"] if side.get("date") else []
        known += [str(side[k]) for k in ("definition", "population") if side.get(k)]
        extra = f" ({'; '.join(known)})" if known else ""
        lines.append(f"- {plain(side['text']).rstrip('.')}{bare(extra)} {marks(side['cite'])}.")
    reason = str(contradiction.get("explanation") or "the sources give no reason").rstrip(". ")
    lines.append(f"- Likely reason: {bare(reason)} {marks(every)}.")
    return "\n".join(lines)


def _gaps(brief: JsonObject) -> str:
    """What stays open, absent or failed, each in its own words."""
    labels = {"absent": "Searched and absent", "partly": "Answered in part", "failed": "Failed"}
    lines = []
    for gap in brief["gaps"]:
        label = "Left out" if gap["kind"] == "left_out" else labels.get(gap["status"], "Open")
        lines.append(f"- **{label}**: {bare(gap['text']).rstrip('. ')}.")
    lines += [
        f"- **Unreadable file**: {bare(file['uri'])} ({bare(file['reason'])})."
        for file in brief.get("unreadable", ())[:5]
    ]
    return "\n".join(dict.fromkeys(lines)) or remark("No gap is known.")


def _without(markdown: str, refused: Sequence[str]) -> str:
    """The blocks that the gate did not refuse."""
    kept = []
    for block in markdown.split("\n\n"):
        folded = " ".join(block.split())
        if not any(start[:60] in folded for start in refused):
            kept.append(block)
    return "\n\n".join(kept)


def _title(question: str) -> str:
    title = " ".join(question.split()).rstrip("?. ")
    return title if len(title) <= 140 else title[:140].rpartition(" ")[0] + " …"
