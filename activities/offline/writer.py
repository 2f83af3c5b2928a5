"""The report as passages: the best first, then a handful for each facet, grouped by document.

`write` answers `DraftAnswer`. Every sentence of fact is a source's own; what the writer adds is
order, the document and headings a passage stands under, and remarks in italics on what was not
found. Sent back by the gate, it leaves out what the gate names.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from activities.evidence.text.sentences import sentences
from activities.evidence.text.terms import words
from activities.offline.answer_types import holds_answer
from activities.offline.markdown import bare, cited, fenced, marks, passage, plain, remark
from activities.offline.passages import ROW, announces, leans
from activities.offline.question import Question, Wants
from activities.offline.request import Conversation, JsonObject, Reply

SUMMARY_WORDS = 120
_SENTENCE_WORDS = 45
_MOST_LEADS = 3
_LEAD_WORDS = 70
_NEARLY_BEST, _ON_TOPIC = 0.8, 0.5
_WORTH = 0.6
"""The share of the best claim's relevance from which on a claim may stand in the summary."""
_SHORT, _FEWEST = 10, 5
_ANSWERED = frozenset({"answered", "contested", "found", "partial"})
_ABSENT = frozenset({"absent", "no_results"})
# A heading's number is no figure.
_NUMBERING = re.compile(r"^\d+(?:\.\d+)*[.)]? +")
_FACTS = frozenset({Wants.DATE, Wants.NUMBER, Wants.PERSON, Wants.PLACE})
_EXPLAINED = frozenset({Wants.INSTRUCTION, Wants.REASON, Wants.RULE})
_CLOSEST = "No passage answers this question directly; the closest stand below."
_NOTHING = "No passage could be cited for this question."
_FAULT = re.compile(r"in “(?P<start>[^”]+?)…?”\s*$", re.M)


@dataclass(frozen=True)
class _Claim:
    facet_ids: tuple[str, ...]
    """The facet it belongs to, and those it was found for as well."""
    parts: tuple[str, ...]
    sections: tuple[str, ...]
    cite: tuple[int, ...]
    relevance: float
    order: int
    start: int
    """Where it stands in its document."""

    @property
    def text(self) -> str:
        return " ".join(self.parts)


@dataclass(frozen=True)
class _Lead:
    """A line of the summary."""

    text: str
    label: str
    claim: _Claim

    @property
    def code(self) -> str:
        """The code block that follows the line in its source, as Markdown."""
        for part, after in pairwise(self.claim.parts):
            if self.text.endswith(part[-30:]) and "\n" in after:
                return fenced(after)
        return ""

    @property
    def reads_alone(self) -> bool:
        """Whether it needs nothing that stands before it or after it."""
        is_led = self.text.endswith(":") and not self.code
        return len(self.text.split()) >= _FEWEST and not is_led and not leans(self.text)

    def markdown(self, sides: Sequence[JsonObject]) -> str:
        """The line; the sides of a contradiction instead where it is one of them, newest first."""
        label = f"**{bare(self.label)}:** " if self.label else ""
        newest = sorted(sides, key=lambda side: str(side.get("date") or ""), reverse=True)
        text = " ".join(cited(f"{plain(s['text']).rstrip('.')}.", s["cite"]) for s in newest)
        return f"{label}{text or cited(plain(self.text), self.claim.cite)}"


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
        self._facets: list[JsonObject] = brief["facets"]
        self._contradictions: list[JsonObject] = brief["contradictions"]
        self._titles = {int(s["n"]): str(s["title"]) for s in brief.get("sources", ())}
        self._claims = [
            _read_claim(claim, order)
            for order, claim in enumerate(brief["claims"])
            if claim["cite"] and claim["verdict"] != "failed"
        ]

    def summary(self) -> str:
        """The best passage or fact first, then the best sentences of others; one a facet."""
        leads = self._leads()
        lines: list[str] = []
        room = SUMMARY_WORDS
        for n, lead in enumerate(leads):
            text = lead.markdown(self._sides(lead))
            if any(text in line for line in lines):
                continue
            size = len(text.split())
            # Of several facets each has its line; more of one facet only where there is room.
            if n == 0 and not lead.label:
                lines += [text, *(["", lead.code] if lead.code else []), ""]
            elif lead.label or (lead.reads_alone and not lead.text.endswith(":") and size <= room):
                lines.append(f"- {text}")
            else:
                continue
            room -= size
        return "\n".join([*lines, *self._disputed(leads)]).rstrip()

    def _sides(self, lead: _Lead) -> list[JsonObject]:
        """The sides of a contradiction that the line is one side of."""
        told = (list(contradiction["sides"]) for contradiction in self._contradictions)
        return next((s for s in told if any(o["text"].rstrip(".") in lead.text for o in s)), [])

    def _disputed(self, leads: Sequence[_Lead]) -> list[str]:
        """A remark where a line is one side of a contradiction that the report tells."""
        disputed = [lead for lead in leads if self._sides(lead)]
        about = ", ".join(f"“{lead.label}”" for lead in disputed if lead.label)
        said = remark(f"The sources disagree{about and f' on {about}'}: see below.")
        return ["", said] if disputed else []

    def _leads(self) -> list[_Lead]:
        """What the summary may say, in order; nothing that stands in another facet's lead."""
        several = len(self._facets) > 1
        leads: dict[str, _Lead] = {}
        for facet in self._facets:
            found = self._facet_leads(facet, several)
            new = [lead for lead in found if not any(lead.text in told for told in leads)]
            if several:
                # A line of a summary is a sentence; a row of a table only where there is none.
                new = sorted(new, key=lambda lead: ROW.match(lead.text) is not None)[:1]
            leads |= {lead.text: lead for lead in new[:_MOST_LEADS]}
        return list(leads.values())

    def _facet_leads(self, facet: JsonObject, several: bool) -> list[_Lead]:
        title = str(facet["title"])
        key = _KeySentence(Question(title, str(facet["question"])), self._claims)
        worth = [claim for claim in self._of(facet) if claim.relevance >= _WORTH]
        if several or not worth:
            return [_Lead(key.of(claim), title, claim) for claim in worth]
        first = key.opening(worth)
        others = [_Lead(key.of(claim), "", claim) for claim in worth if claim is not first.claim]
        return [first, *(lead for lead in others if key.speaks_of_it(lead.text))]

    def section(self, facet: JsonObject) -> str:
        """A facet's passages by document and section, those with the best passage first."""
        claims = self._shown(facet)
        if not claims:
            return _empty(facet)
        blocks = [remark(text)] if (text := _shortfall(facet)) else []
        for number in dict.fromkeys(claim.cite[0] for claim in claims):
            told = ""
            for claim in _by_section([claim for claim in claims if claim.cite[0] == number]):
                place = _place(self._titles.get(number, ""), claim.sections[0])
                blocks.append(passage(claim.parts, claim.cite, place if place != told else ""))
                told = place
        return "\n\n".join(blocks)

    def _of(self, facet: JsonObject) -> list[_Claim]:
        """The facet's own claims by relevance, then those whose relevance is for another facet."""
        own = [claim for claim in self._claims if facet["id"] in claim.facet_ids]
        return sorted(own, key=lambda c: (c.facet_ids[0] != facet["id"], -c.relevance, c.order))

    def _shown(self, facet: JsonObject) -> list[_Claim]:
        """What a facet's section shows: its best, and what no other section is the place for."""
        ranked = self._of(facet)
        return [c for n, c in enumerate(ranked) if n == 0 or c.facet_ids[0] == facet["id"]]


def _by_section(ranked: Sequence[_Claim]) -> list[_Claim]:
    """A document's claims section by section as they stand there, the best section first."""
    sections = list(dict.fromkeys(claim.sections[0] for claim in ranked))
    return sorted(
        ranked, key=lambda claim: (sections.index(claim.sections[0]), claim.start, claim.order)
    )


def _place(title: str, section: str) -> str:
    """Document and headings; a first heading that repeats the title is told once."""
    path = [_NUMBERING.sub("", part) for part in section.split(" › ") if part]
    if path and path[0].casefold() == _NUMBERING.sub("", title).casefold():
        path = path[1:]
    return " › ".join([title, *path])


def _read_claim(claim: JsonObject, order: int) -> _Claim:
    """A claim with its parts: its quotes where it is made of them, else its text."""
    quotes = [" ".join(text.split()) if "\n" not in text else text for text in claim["quotes"]]
    whole = " ".join(claim["text"].split())
    parts = quotes if words(" ".join(quotes)) == words(whole) else [whole]
    return _Claim(
        facet_ids=(claim["facet_id"], *claim.get("also_for", ())),
        parts=tuple(parts),
        sections=tuple(claim.get("sections") or ("",)),
        cite=tuple(claim["cite"]),
        relevance=float(claim.get("relevance", 0.5)),
        order=order,
        start=int(claim.get("start") or 0),
    )


class _KeySentence:
    """Finds the sentence of a claim that says most on a question; rare terms count for more."""

    def __init__(self, question: Question, claims: Sequence[_Claim]) -> None:
        self._question = question
        held = [question.terms_of(claim.text) for claim in claims]
        self._weights = {
            own: weight * math.log(1 + len(held) / (1 + sum(own in terms for terms in held)))
            for own, weight in question.terms.items()
        }
        self._answer = max(self._weights.values(), default=1.0)
        # The first words of a document may be the answer where no fact is asked for.
        self._may_open = question.wants not in _FACTS
        # A section begins with an explanation; others are a phrase that may stand anywhere in it.
        self._is_explained = question.wants in _EXPLAINED

    def opening(self, ranked: Sequence[_Claim]) -> _Lead:
        """The line a report opens with: where no fact is asked for, how the best section begins.
        What needs another text beside it, or is no answer of the kind asked for, comes last."""
        top = ranked[0]
        good = [c for c in ranked if c.relevance >= _NEARLY_BEST * top.relevance]
        if self._may_open:
            good.sort(key=lambda c: (c.cite[0] != top.cite[0], c.sections != top.sections, c.start))
        leads = [_Lead(self._lead(claim), "", claim) for claim in good]
        return max(leads, key=lambda own: (own.reads_alone, self._decides(own)))

    def _decides(self, lead: _Lead) -> bool:
        return bool(lead.code) or holds_answer(lead.text, self._question)

    def _lead(self, claim: _Claim) -> str:
        """What a summary opens with: the fact that is asked for, else how the passage opens."""
        opening, key = sentences(claim.parts[0]), self.of(claim)
        if not self._may_open or not opening or "\n" in claim.parts[0]:
            return key
        if not self._is_explained:
            is_short = len(claim.parts[0].split()) <= _LEAD_WORDS
            return claim.parts[0] if is_short and key in claim.parts[0] else key
        if self._covered(opening[0]) < _NEARLY_BEST * self._covered(key):
            return key
        text = opening[0]
        for sentence in opening[1:]:
            if len(text.split()) + len(sentence.split()) > _LEAD_WORDS:
                break
            text = f"{text} {sentence}"
        return text if text in claim.parts[0] else key

    def speaks_of_it(self, text: str) -> bool:
        """Whether a line holds enough of the question to be read without its passage."""
        least = _ON_TOPIC * sum(self._weights.values())
        return not self._is_explained or self._covered(text) >= least

    def of(self, claim: _Claim) -> str:
        """The sentence, with a neighbour that it needs."""
        prose = [part for part in claim.parts if "\n" not in part]
        given = [s for part in prose for s in sentences(part)] or [claim.text]
        shown = self._lines_to_code(claim)
        best = max(range(len(given)), key=lambda i: (self._worth(given[i], given[i] in shown), -i))
        sentence = given[best]
        is_cut = len(sentence.split()) < _SHORT or sentence.endswith(":")
        if is_cut and sentence not in shown:
            sentence = " ".join(given[best : best + 2])
        while best and leans(sentence) and not announces(given[best - 1]):
            best -= 1
            sentence = f"{given[best]} {sentence}"
        return sentence

    def _lines_to_code(self, claim: _Claim) -> set[str]:
        """The sentences that code follows, which show how to do what is asked."""
        if self._question.wants is not Wants.INSTRUCTION:
            return set()
        return {sentences(part)[-1] for part, after in pairwise(claim.parts)
                if "\n" in after and "\n" not in part and sentences(part)}  # fmt: skip

    def _worth(self, sentence: str, leads_to_code: bool) -> tuple[bool, bool, float]:
        """First that it reads well, then that it holds a fact that is asked for, then the terms."""
        is_short = len(sentence.split()) <= _SENTENCE_WORDS
        reads_well = is_short and (leads_to_code or not announces(sentence))
        answers = leads_to_code or holds_answer(sentence, self._question)
        is_fact = self._question.wants in _FACTS
        return reads_well, answers and is_fact, self._covered(sentence) + self._answer * answers

    def _covered(self, sentence: str) -> float:
        held = self._question.terms_of(sentence)
        return sum(weight for own, weight in self._weights.items() if own in held)


def _shortfall(facet: JsonObject) -> str:
    missing = [str(point) for point in facet.get("missing", ())]
    asked = f"{facet['title']} {facet['question']}".lower()
    absent = [f"“{point}”" for point in missing if point.lower() in asked]
    said = [f"In no document: {', '.join(absent)}."] if absent else []
    if len(absent) < len(missing):
        said.append("No passage answers this directly; these are the closest.")
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
