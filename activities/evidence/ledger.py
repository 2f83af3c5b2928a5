"""The ledger: every claim with its quotes and verdict, every source, every contradiction.

Ledgers join: a facet's own, verified as soon as the facet returns, is later pooled with the others,
and a pass's with what was known before. Joining never drops a quote or a contradiction's side.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Self, TypeVar

from pydantic import Field

from activities.evidence.conflicts.agreement import groups_of_agreement
from activities.evidence.conflicts.finder import Candidate, candidates
from activities.evidence.conflicts.statements import Document
from activities.evidence.conflicts.value_relations import calls_itself_superseded, edition
from activities.evidence.quantities.amounts import numbers_missing
from activities.evidence.quotes import StoredText, fold, likeness
from workflows.contracts.evidence import (
    Claim,
    Contradiction,
    Difference,
    DroppedClaim,
    Findings,
    Quote,
    Record,
    Ruling,
    Rulings,
    Source,
    Verdict,
)

SAME_ORIGIN = 0.4
BEARS_ON = 0.5
"""From this relevance on a claim counts for a facet that is not its own."""
_COPIED_WORDS = 12
_OPENING = 600
"""Characters at the head of a document in which it may call itself out of date."""

Apart = TypeVar("Apart", bound=Contradiction)


class Ledger(Record):
    """What is known. `numbers` gives each source the [n] it is cited by, for good."""

    sources: dict[str, Source] = Field(default_factory=dict)
    claims: tuple[Claim, ...] = ()
    contradictions: tuple[Contradiction, ...] = ()
    differences: tuple[Difference, ...] = ()
    superseded: tuple[str, ...] = ()
    """Sources that call themselves out of date."""
    numbers: dict[str, int] = Field(default_factory=dict)
    settled: tuple[tuple[str, ...], ...] = ()
    aliases: dict[str, str] = Field(default_factory=dict)
    """Claims that were joined: the id they had, the id that speaks for them now."""
    dropped: tuple[DroppedClaim, ...] = ()
    """What researchers claimed beside: over their limit, or with a quote that was not found."""

    @classmethod
    def checked(cls, findings: Findings, texts: Mapping[str, StoredText]) -> Self:
        """A facet's findings after the mechanical check (D1)."""
        sources = {source.id: source for source in findings.sources}
        claims = tuple(_with_origin(check(claim, texts), sources) for claim in findings.claims)
        old = tuple(
            source.id
            for source in findings.sources
            if (text := texts.get(source.id))
            and calls_itself_superseded(source.title, text.text[:_OPENING])
        )
        return cls(
            sources=sources,
            claims=claims,
            superseded=old,
            numbers=_number({}, claims),
            dropped=findings.dropped,
        )

    def claim(self, claim_id: str) -> Claim:
        wanted = self.aliases.get(claim_id, claim_id)
        return next(claim for claim in self.claims if claim.id == wanted)

    def citable(self) -> tuple[Claim, ...]:
        return tuple(claim for claim in self.claims if claim.citable)

    def all_dropped(self) -> tuple[DroppedClaim, ...]:
        """Every claim that no report may use, with the reason."""
        refuted = (
            DroppedClaim(
                facet_id=claim.facet_id,
                text=claim.text,
                cause="unsupported" if claim.entailment else "quote_not_found",
                reason=claim.notes,
            )
            for claim in self.claims
            if not claim.citable
        )
        return (*self.dropped, *refuted)

    def cites(self, source_ids: Iterable[str]) -> tuple[int, ...]:
        return tuple(sorted({self.numbers[sid] for sid in source_ids if sid in self.numbers}))


def check(claim: Claim, texts: Mapping[str, StoredText]) -> Claim:
    """Every quote must stand in its source; numbers in the claim must stand in the quotes."""
    placed = _place(claim.quotes, texts)
    if not placed:
        named = {quote.source_id: texts.get(quote.source_id) for quote in claim.quotes}
        absent = [source_id for source_id, text in named.items() if text]
        unread = [source_id for source_id, text in named.items() if not text]
        if unread and not absent:
            # A check that could not run is no refutation.
            return _ruled(claim, Verdict.UNVERIFIED, "the stored copy could not be read")
        return _ruled(claim, Verdict.FAILED, f"the quote does not stand in {', '.join(absent)}")
    claim = claim.model_copy(update={"quotes": tuple(placed)})
    missing = numbers_missing(claim.text, [quote.text for quote in placed])
    if missing:
        note = f"not in the quotes: {', '.join(missing)}"
        return _ruled(claim, Verdict.UNVERIFIED, note)
    return _ruled(claim, Verdict.SUPPORTED, claim.notes)


def _place(quotes: Sequence[Quote], texts: Mapping[str, StoredText]) -> list[Quote]:
    """The quotes that stand in their sources. A short one, such as "Usage:", may stand there often:
    meant is the place nearest to the longest quote of the same source."""
    found: dict[int, Quote] = {}
    anchors: dict[str, int] = {}
    for n, quote in sorted(enumerate(quotes), key=lambda each: -len(each[1].text)):
        text = texts.get(quote.source_id)
        placed = text.find(quote, anchors.get(quote.source_id, 0)) if text else None
        if placed:
            found[n] = placed
            anchors.setdefault(quote.source_id, placed.start or 0)
    return [found[n] for n in sorted(found)]


def join(ledgers: Sequence[Ledger], rulings: Iterable[Rulings] = ()) -> Ledger:
    """One ledger of many: claims that agree become one, rulings are applied to what they name."""
    if not ledgers:
        return Ledger()
    ruled = list(rulings)
    parts: list[Ledger | Rulings] = [*ledgers, *ruled]
    contradictions = [c for part in parts for c in part.contradictions]
    differences = [d for part in parts for d in part.differences]
    claims, aliases = _join_claims(ledgers, ruled, [*contradictions, *differences])
    return Ledger(
        sources=_join_sources(ledgers, ruled),
        claims=claims,
        contradictions=_distinct(contradictions, aliases),
        differences=_distinct(differences, aliases),
        superseded=tuple(sorted({sid for ledger in ledgers for sid in ledger.superseded})),
        numbers=_number(ledgers[0].numbers, claims),
        settled=tuple(sorted({_ids(group, aliases) for part in parts for group in part.settled})),
        aliases=aliases,
        dropped=tuple(dict.fromkeys(d for ledger in ledgers for d in ledger.dropped)),
    )


def _join_sources(ledgers: Iterable[Ledger], ruled: Iterable[Rulings]) -> dict[str, Source]:
    """Every source as the last ledger has it; what was once called weak stays weak."""
    sources: dict[str, Source] = {}
    for ledger in ledgers:
        for source in ledger.sources.values():
            known = sources.get(source.id)
            weakness = source.weakness or (known.weakness if known else "")
            sources[source.id] = source.model_copy(update={"weakness": weakness})
    for source_id, why in (weak for batch in ruled for weak in batch.weak_sources.items()):
        if source_id in sources:
            sources[source_id] = sources[source_id].model_copy(update={"weakness": why})
    return sources


def _join_claims(
    ledgers: Iterable[Ledger], ruled: Iterable[Rulings], apart: Sequence[Contradiction]
) -> tuple[tuple[Claim, ...], dict[str, str]]:
    """The claims after all rulings, those that agree as one, and the aliases of those joined."""
    claims: dict[str, Claim] = {}
    aliases: dict[str, str] = {}
    for ledger in ledgers:
        aliases.update(ledger.aliases)
        for claim in ledger.claims:
            claims.setdefault(claim.id, claim)
    for ruling in (ruling for batch in ruled for ruling in batch.rulings):
        current = claims.get(aliases.get(ruling.claim_id, ruling.claim_id))
        # What the mechanical check refuted stays refuted, whatever a model says of it.
        if current and current.citable:
            claims[current.id] = _apply(ruling, current)
    joined, new_aliases = _join_agreeing(list(claims.values()), apart)
    known = {old: new_aliases.get(kept, kept) for old, kept in aliases.items()}
    return joined, known | new_aliases


def open_candidates(ledger: Ledger, questions: Mapping[str, str]) -> tuple[Candidate, ...]:
    """Claims that differ about one thing and have not been looked at together yet."""
    settled = SettledGroups(ledger.settled)
    dates = {source.id: source.date for source in ledger.sources.values()}
    copied = origins(ledger)
    documents = {
        source.id: Document(
            title=source.title,
            edition=edition(source.uri),
            origin=copied[source.id],
            superseded=source.id in ledger.superseded,
        )
        for source in ledger.sources.values()
    }
    found = candidates(ledger.citable(), questions=questions, dates=dates, documents=documents)
    return tuple(candidate for candidate in found if not settled.cover(candidate.claim_ids))


def origins(ledger: Ledger) -> dict[str, str]:
    """Each source's independent origin: copies of one text share the id of the first of them."""
    result: dict[str, str] = {}
    firsts: list[Source] = []
    for source in ledger.sources.values():
        twin = next((f for f in firsts if likeness(f.sketch, source.sketch) >= SAME_ORIGIN), None)
        if twin is None:
            firsts.append(source)
        result[source.id] = twin.id if twin else source.id
    return result


def origin_count(claim: Claim, origin: Mapping[str, str]) -> int:
    """Independent origins behind a claim; a long sentence printed twice is one origin too."""
    seen: dict[str, str] = {}
    for quote in claim.quotes:
        words = fold(quote.text).lower()
        copied = words if len(words.split()) >= _COPIED_WORDS else quote.source_id
        seen.setdefault(copied, origin.get(quote.source_id, quote.source_id))
    return len(set(seen.values()))


def _join_agreeing(
    claims: list[Claim], contradictions: Sequence[Contradiction]
) -> tuple[tuple[Claim, ...], dict[str, str]]:
    sides = {cid: (c.id, i) for c in contradictions for i, s in enumerate(c.sides)
             for cid in s.claim_ids}  # fmt: skip
    kept: dict[str, Claim] = {}
    aliases: dict[str, str] = {}
    for group in groups_of_agreement(claims):
        best: list[Claim] = []
        for claim in (claims[i] for i in group):
            # Claims on different sides of one contradiction never become one.
            twin = next((b for b in best if _joinable(b, claim, sides)), None)
            if twin is None:
                best.append(claim)
                kept[claim.id] = claim
            else:
                aliases[claim.id] = twin.id
                kept[twin.id] = _absorb(kept[twin.id], claim)
    order = [claim.id for claim in claims if claim.id in kept]
    return tuple(kept[cid] for cid in order), aliases


def _joinable(one: Claim, other: Claim, sides: Mapping[str, tuple[str, int]]) -> bool:
    a, b = sides.get(one.id), sides.get(other.id)
    apart = a is not None and b is not None and a[0] == b[0] and a[1] != b[1]
    return one.citable == other.citable and not apart


def _absorb(claim: Claim, other: Claim) -> Claim:
    """One claim with the quotes of both; it belongs to the facet it matters to more."""
    quotes: dict[tuple[str, str], Quote] = {}
    for quote in (*claim.quotes, *other.quotes):
        quotes.setdefault((quote.source_id, fold(quote.text)), quote)
    home = max(claim, other, key=lambda c: c.relevance).facet_id
    near = [c.facet_id for c in (claim, other) if c.relevance >= BEARS_ON]
    facets = dict.fromkeys((*near, *claim.also_for, *other.also_for))
    return claim.model_copy(
        update={
            "quotes": tuple(quotes.values()),
            "facet_id": home,
            "also_for": tuple(facet for facet in facets if facet != home),
            "confidence": max(claim.confidence, other.confidence),
            "uncertain": _both(claim.uncertain, other.uncertain),
            "not_to_overstate": _both(claim.not_to_overstate, other.not_to_overstate),
            "relevance": max(claim.relevance, other.relevance),
        }
    )


def _both(one: str, other: str) -> str:
    """Two remarks as one; what stands in the other already is not repeated."""
    if other in one:
        return one
    return other if one in other else f"{one}; {other}"


def _distinct(found: Iterable[Apart], aliases: Mapping[str, str]) -> tuple[Apart, ...]:
    """The widest account of each: one whose claims all stand in another's says nothing more."""
    kept: list[Apart] = []
    told = SettledGroups()
    renamed = []
    for one in found:
        sides = (s.model_copy(update={"claim_ids": _ids(s.claim_ids, aliases)}) for s in one.sides)
        renamed.append(one.model_copy(update={"sides": tuple(sides)}))
    for one in sorted(renamed, key=lambda c: (-len(set(c.claim_ids)), c.id)):
        if not told.cover(one.claim_ids):
            told.add(one.claim_ids)
            kept.append(one)
    return tuple(sorted(kept, key=lambda c: c.id))


class SettledGroups:
    """Groups of claims, found by any one of them: there may be hundreds."""

    def __init__(self, groups: Iterable[Iterable[str]] = ()) -> None:
        self._by_claim: dict[str, list[frozenset[str]]] = {}
        for group in groups:
            self.add(group)

    def add(self, claim_ids: Iterable[str]) -> None:
        group = frozenset(claim_ids)
        for claim_id in group:
            self._by_claim.setdefault(claim_id, []).append(group)

    def cover(self, claim_ids: Sequence[str]) -> bool:
        """Whether one of the groups holds all of these."""
        wanted = frozenset(claim_ids)
        return any(wanted <= group for group in self._by_claim.get(claim_ids[0], ()))


def _ids(group: Iterable[str], aliases: Mapping[str, str]) -> tuple[str, ...]:
    return tuple(sorted({aliases.get(cid, cid) for cid in group}))


def _number(known: Mapping[str, int], claims: Iterable[Claim]) -> dict[str, int]:
    """Numbers of the sources that claims are cited from; a known source keeps its number."""
    cited = dict.fromkeys(sid for claim in claims if claim.citable for sid in claim.source_ids)
    numbers = {sid: n for sid, n in known.items() if sid in cited}
    following = max(numbers.values(), default=0) + 1
    for source_id in cited:
        if source_id not in numbers:
            numbers[source_id] = following
            following += 1
    return numbers


def _with_origin(claim: Claim, sources: Mapping[str, Source]) -> Claim:
    """The claim with confidence and date on each quote, which joining it with others keeps."""
    quotes = tuple(
        quote.model_copy(
            update={"confidence": claim.confidence, "date": sources[quote.source_id].date}
        )
        for quote in claim.quotes
    )
    return claim.model_copy(update={"quotes": quotes})


def _apply(ruling: Ruling, claim: Claim) -> Claim:
    """The claim after a ruling; only a judge of the claim itself can call an unverified one
    supported."""
    if (
        claim.verdict is Verdict.UNVERIFIED
        and ruling.verdict is Verdict.SUPPORTED
        and ruling.entailment is None
    ):
        return claim
    claim = _ruled(claim, ruling.verdict, ruling.notes or claim.notes)
    update: dict[str, object] = {}
    if ruling.confidence is not None:
        update["confidence"] = ruling.confidence
    if ruling.entailment:
        update["entailment"] = ruling.entailment
    if ruling.correction:
        update |= {"text": ruling.correction, "stated": claim.text}
    return claim.model_copy(update=update)


def _ruled(claim: Claim, verdict: Verdict, notes: str) -> Claim:
    return claim.model_copy(update={"verdict": verdict, "notes": notes})
