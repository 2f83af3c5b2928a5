"""The gate: what a draft must hold before anyone reads it.

    every [n] resolves
    every paragraph of fact is cited, or a judge says that it follows from its part
    no sentence says more than what it cites, as a judge reads it
    every figure stands in a cited claim, in the question or in a declared calculation
    every contradiction shows all its sides, cited
    every gap that is not closed is named

`faults` lists what is broken in words that can be sent back to the writer; what the writer does not
mend, `report_repair` does.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from activities.evidence.draft import (
    CITATION,
    CONCLUSION,
    GAPS,
    SUMMARY,
    TITLE,
    Draft,
    Sentence,
    all_sentences,
    cited,
)
from activities.evidence.ledger import Ledger
from activities.evidence.quotes import fold
from activities.evidence.report_figures import check_calculation, unsupported_figures
from activities.evidence.text.sentences import sentences
from activities.evidence.text.terms import detect_language, terms, words
from workflows.contracts.evidence import Claim
from workflows.contracts.result import Calculation
from workflows.contracts.state import Gap

_LEAD = re.compile(r"^(?:[-*+] )?\*\*(?P<lead>[^*\n]+?):?\*\*:?\s*")
MATTERS = 0.6
"""The relevance from which on a summary must not pass a claim over."""
_NAMED = 0.7
_MOST_CLAIMS = 3


@dataclass(frozen=True)
class Evidence:
    """What a draft is held against."""

    ledger: Ledger
    gaps: tuple[Gap, ...]
    question: str = ""
    context: tuple[str, ...] = ()
    """What else the asker and the plan say: figures in it need no claim."""
    wants_conclusion: bool = False
    wants_table: bool = False


@dataclass(frozen=True)
class SentenceRuling:
    """What the judge says of a sentence."""

    holds: bool
    reason: str = ""
    claim_ids: tuple[str, ...] = ()
    """The claims that it should have said."""


@dataclass(frozen=True)
class Judged:
    """What the judge has said of a draft; nothing where it could not be asked."""

    rulings: Mapping[tuple[str, str], SentenceRuling] = field(default_factory=dict)
    """By the key of the sentence."""
    named_gaps: frozenset[str] = frozenset()


@dataclass(frozen=True)
class Fault:
    """One thing wrong, and where: a part, a facet's id or a contradiction's."""

    kind: str
    where: str
    text: str

    def __str__(self) -> str:
        return f"{self.where}: {self.text}"


NOT_JUDGED = Judged()


def faults(draft: Draft, evidence: Evidence, judged: Judged = NOT_JUDGED) -> list[Fault]:
    """Everything that keeps the draft from passing; empty where it may be read."""
    return Reading(draft, evidence, judged).faults()


def to_judge(draft: Draft, evidence: Evidence) -> tuple[list[Sentence], list[Gap]]:
    """The sentences that are no claim's own words, and the gaps that seem not to be named."""
    reading = Reading(draft, evidence, NOT_JUDGED)
    found = [s for s in reading.sentences if s.bare and not reading.support.is_verbatim(s)]
    return found, reading.unnamed_gaps(draft.gaps)


class Reading:
    """One draft beside its evidence."""

    def __init__(self, draft: Draft, evidence: Evidence, judged: Judged) -> None:
        self.draft, self.evidence, self.judged = draft, evidence, judged
        self.sentences = all_sentences(draft)
        self.support = Support(evidence)
        parts = draft.parts()
        self.language = detect_language(" ".join(parts.values()))
        self._cites = {where: cited(markdown) for where, markdown in parts.items()}
        whole = tuple(dict.fromkeys(n for cites in self._cites.values() for n in cites))
        # The summary and the conclusion speak of all facets.
        self._cites |= dict.fromkeys((SUMMARY, CONCLUSION, TITLE), whole)
        checked = [(one, self._find_mistake(one)) for one in draft.calculations]
        self.calculations = tuple(one for one, mistake in checked if not mistake)
        """Those that code comes to as well."""
        self._mistakes = [mistake for _, mistake in checked if mistake]

    def faults(self) -> list[Fault]:
        return [
            *(Fault("calculation", "derived", mistake) for mistake in self._mistakes),
            *(fault for sentence in self.sentences for fault in self.sentence_faults(sentence)),
            *self._part_faults(),
            *self._contradiction_faults(),
            *self._gap_faults(),
        ]

    def _find_mistake(self, calculation: Calculation) -> str | None:
        if calculation.by == "program":
            return None
        unknown = [n for n in calculation.cite if n not in self.support.numbers]
        if unknown:
            return f"[{unknown[0]}] of the calculation “{calculation.result}” names no source"
        known = [*self.support.texts(calculation.cite), *self.support.context]
        return check_calculation(calculation, known, self.language)

    def sentence_faults(self, sentence: Sentence) -> Iterator[Fault]:
        where, start = sentence.where, fold(sentence.text)[:90]
        for n in sentence.cites:
            if n not in self.support.numbers:
                yield Fault("unresolved", where, f"[{n}] names no source, in “{start}…”")
        ruling = self.judged.rulings.get(sentence.key)
        if sentence.kind in ("prose", "row") and not sentence.block_cites and ruling is None:
            yield Fault("uncited", where, f"a paragraph of fact has no citation: “{start}…”")
        for number in self._unsupported(sentence):
            text = f"{number} stands in no claim cited there and in no calculation, in “{start}…”"
            yield Fault("number", where, text)
        if ruling is not None and not ruling.holds:
            why = ruling.reason.rstrip(". ") or "it says more than what it cites"
            yield Fault("meaning", where, f"{why}: “{start}…”")

    def _unsupported(self, sentence: Sentence) -> list[str]:
        if sentence.kind == "remark":
            return []
        cites = sentence.block_cites or self._cites.get(sentence.where, ())
        if sentence.kind in ("heading", "title"):
            cites = self._cites.get(sentence.where, ()) or sentence.block_cites
        known = [
            *self.support.texts(cites),
            self.support.told.get(sentence.where, ""),
            *self.support.context,
            *(calculation.result for calculation in self.calculations),
        ]
        return unsupported_figures(sentence.uncited, known, self.language)

    def _part_faults(self) -> Iterator[Fault]:
        with_facts = {s.where for s in self.sentences if s.kind in ("prose", "row")}
        for where, markdown in self.draft.parts().items():
            has_facts = where in with_facts
            if where == CONCLUSION:
                if self.evidence.wants_conclusion and not has_facts:
                    yield Fault("missing", where, "say what the facets add up to, in `conclusion`")
                continue
            claims = claims_for(where, self.evidence.ledger)
            if where == SUMMARY and not has_facts:
                claims = [claim for claim in claims if claim.relevance >= MATTERS]
            if claims and not has_facts:
                yield Fault("empty", where, f"there are {len(claims)} claims, and nothing is said")
            elif claims and not cited(markdown):
                yield Fault("uncited", where, "nothing in this part is cited")
        if self.evidence.wants_table and not any(s.kind == "row" for s in self.sentences):
            yield Fault("missing", SUMMARY, "a comparison needs a table of what is compared")

    def _contradiction_faults(self) -> Iterator[Fault]:
        entries = {entry.contradiction_id: entry.markdown for entry in self.draft.contradictions}
        ledger = self.evidence.ledger
        for contradiction in ledger.contradictions:
            shown = cited(entries.get(contradiction.id, ""))
            for side in contradiction.sides:
                if set(shown).isdisjoint(ledger.cites(side.source_ids)):
                    text = f"this side is not shown and cited: {side.text}"
                    yield Fault("side", contradiction.id, text)
        for unknown in entries.keys() - {item.id for item in ledger.contradictions}:
            yield Fault("unknown", unknown, "no such contradiction in the ledger")

    def _gap_faults(self) -> Iterator[Fault]:
        for n in cited(self.draft.gaps):
            if n not in self.support.numbers:
                yield Fault("unresolved", GAPS, f"[{n}] names no source")
        for gap in self.unnamed_gaps(self.draft.gaps):
            yield Fault("gap", GAPS, f"this gap is not named: {gap.text}")

    def unnamed_gaps(self, markdown: str) -> list[Gap]:
        """The gaps whose words do not stand together in one paragraph or item of the text."""
        pieces = [set(words(piece)) for piece in split_pieces(markdown)]
        return [
            gap
            for gap in self.evidence.gaps
            if gap.status != "closed"
            and gap.id not in self.judged.named_gaps
            and not any(_holds_most(piece, set(words(gap.text))) for piece in pieces)
        ]


class Support:
    """What each citation number lets a sentence say."""

    def __init__(self, evidence: Evidence) -> None:
        ledger = evidence.ledger
        self.context = [evidence.question, *evidence.context]
        self.context += [f"{gap.text} {gap.question}" for gap in evidence.gaps]
        self._claims: dict[int, list[Claim]] = {}
        self._about: dict[int, str] = {}
        self._ledger = ledger
        for claim in ledger.citable():
            for n in ledger.cites(claim.source_ids):
                self._claims.setdefault(n, []).append(claim)
        self.numbers = self._claims.keys()
        for source_id, n in ledger.numbers.items():
            source = ledger.sources[source_id]
            self._about[n] = f"{source.title} {source.date or ''} {source.uri}"
        self.told: dict[str, str] = {}
        for contradiction in ledger.contradictions:
            told = [contradiction.about, contradiction.explanation]
            for side in contradiction.sides:
                known = " ".join(side.context.model_dump().values())
                told += [side.text, known]
                for n in ledger.cites(side.source_ids):
                    self._about[n] += f" {known}"
            self.told[contradiction.id] = " ".join(told)
        self._verbatim: dict[int, set[str]] = {}

    def texts(self, cites: Iterable[int]) -> list[str]:
        """What the cited sources and claims say, each within quotation marks: a number that opens a
        passage is part of what it says, not the number of a list item."""
        said: list[str] = []
        for n in cites:
            said.append(self._about.get(n, ""))
            for claim in self._claims.get(n, ()):
                said.append(claim.text)
                said += [text for quote in claim.quotes for text in (quote.section, quote.text)]
        return [f"“{fold(text)}”" for text in said]

    def claims_cited(self, cites: Iterable[int]) -> list[Claim]:
        found = {claim.id: claim for n in cites for claim in self._claims.get(n, ())}
        return list(found.values())

    def is_verbatim(self, sentence: Sentence) -> bool:
        """Whether the sentence is a cited claim's own: nothing is left to judge."""
        text = sentence.text
        if lead := _LEAD.match(text):
            named = " ".join(
                [*self.context, *(self._about.get(n, "") for n in sentence.block_cites)]
                + [quote.section for claim in self.claims_cited(sentence.block_cites)
                   for quote in claim.quotes]
            )  # fmt: skip
            if not set(words(lead["lead"])) <= set(words(named)):
                return False
            text = text[lead.end() :]
        said = " ".join(words(CITATION.sub(" ", text)))
        return any(said in self._own_sentences(n) for n in sentence.cites or sentence.block_cites)

    def _own_sentences(self, n: int) -> set[str]:
        if n not in self._verbatim:
            texts = [text for claim in self._claims.get(n, ())
                     for text in (claim.text, *(quote.text for quote in claim.quotes))]  # fmt: skip
            whole = [*texts, *(own for text in texts for own in sentences(text))]
            self._verbatim[n] = {" ".join(words(text)) for text in whole}
        return self._verbatim[n]

    def stood_for(self, sentence: Sentence, ruling: SentenceRuling | None) -> list[Claim]:
        """The claims that a failing sentence should have said."""
        own = claims_for(sentence.where, self._ledger)
        if ruling and ruling.claim_ids:
            named = [claim for claim in self._ledger.citable() if claim.id in ruling.claim_ids]
            if named:
                return named[:_MOST_CLAIMS]
        wanted = set(terms(sentence.bare))
        cites = [n for n in sentence.cites or sentence.block_cites if n in self.numbers]
        best = [_nearest(wanted, self._claims[n], own) for n in cites]
        if not best and sentence.cites:
            # All its citations lead nowhere: the nearest claim on the same facet, if one is near.
            near = [c for c in own if len(wanted & set(terms(c.text))) * 2 > len(wanted)]
            best = [_nearest(wanted, near, own)] if near else []
        return list({claim.id: claim for claim in best}.values())[:_MOST_CLAIMS]


def _nearest(wanted: set[str], claims: Sequence[Claim], own: Sequence[Claim]) -> Claim:
    """Of these claims the one with most of the words; one of the part's own where that is equal."""
    mine = {claim.id for claim in own}
    return max(claims, key=lambda c: (len(wanted & set(terms(c.text))), c.id in mine, c.relevance))


def claims_for(where: str, ledger: Ledger) -> list[Claim]:
    """The claims that a part is about, the most relevant first."""
    citable = sorted(ledger.citable(), key=lambda claim: -claim.relevance)
    if where in (SUMMARY, CONCLUSION, TITLE):
        return citable
    return [claim for claim in citable if claim.bears_on(where)]


def _holds_most(piece: set[str], wanted: set[str]) -> bool:
    return len(wanted & piece) >= _NAMED * len(wanted)


def split_pieces(markdown: str) -> list[str]:
    """Paragraphs and list items."""
    return [piece for piece in re.split(r"\n\s*\n|\n(?=\s*(?:[-*+]|\d+[.)])\s)", markdown) if piece]
