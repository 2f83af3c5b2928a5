"""Claims that may bear on each other, in groups for the judge; and what its answer means.

A claim is put beside the few claims of other documents that share most with it: names, measures,
terms of the claim, of its quotes and of its sources' titles. Each claim has a fixed number of
neighbours and a feature that very many claims share is not followed, so groups and work grow with
the number of claims. The mechanical finder of conflicts adds its candidates, with their sides.
"""

from __future__ import annotations

import hashlib
import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence

from activities.agent.schemas import GroupAnswer, RelationsAnswer, SideAnswer
from activities.evidence.conflicts.finder import Candidate
from activities.evidence.ledger import Ledger, SettledGroups, origins
from activities.evidence.quantities.amounts import read
from activities.evidence.text.names import names
from activities.evidence.text.terms import detect_language, terms
from workflows.contracts.activity_io import Group
from workflows.contracts.evidence import (
    Claim,
    Contradiction,
    Difference,
    Ruling,
    Rulings,
    Side,
    SideContext,
    Verdict,
)

BATCH = 36
"""Claims that one call of the judge reads, in their groups."""
NEIGHBOURS = 3
"""Claims that each claim is put beside."""
LARGEST = 12
"""Claims in a group."""
_CROWD = 60
"""A feature that more claims share than this tells nothing, and is not followed."""
_ALIKE = 0.06
"""Claims that share less than this are not put side by side."""
_OWN, _NAME, _MEASURE, _AROUND = 1.0, 1.4, 0.6, 0.45
"""What a term of the claim, a name, a measure, and a term of its quotes and titles weigh."""

Pair = tuple[str, str]


def group_claims(ledger: Ledger, candidates: Sequence[Candidate]) -> list[Group]:
    """Groups to judge: the finder's candidates, then neighbours that were not judged together."""
    groups = [Group.model_validate(found, from_attributes=True) for found in candidates]
    covered = SettledGroups((*ledger.settled, *(group.claim_ids for group in groups)))
    pairs = [pair for pair in find_neighbours(ledger) if not covered.cover(pair)]
    return groups + [Group(claim_ids=ids, kind="related", about="") for ids in _join_pairs(pairs)]


def batch_groups(groups: Sequence[Group]) -> tuple[tuple[Group, ...], ...]:
    batches: list[list[Group]] = []
    size = BATCH
    for group in groups:
        if size + len(group.claim_ids) > BATCH:
            batches.append([])
            size = 0
        batches[-1].append(group)
        size += len(group.claim_ids)
    return tuple(map(tuple, batches))


def find_neighbours(ledger: Ledger) -> list[Pair]:
    """Pairs of claims of different origins that share most, the closest first."""
    claims = ledger.citable()
    origin = origins(ledger)
    behind = [{origin.get(sid, sid) for sid in claim.source_ids} for claim in claims]
    vectors = _weigh([_read_features(claim, ledger) for claim in claims])
    where: dict[str, list[int]] = {}
    for place, vector in enumerate(vectors):
        for feature in vector:
            where.setdefault(feature, []).append(place)
    found: dict[tuple[int, int], float] = {}
    for place, vector in enumerate(vectors):
        near: dict[int, float] = {}
        for feature, weight in vector.items():
            if len(where[feature]) <= _CROWD:
                for other in where[feature]:
                    near[other] = near.get(other, 0.0) + weight * vectors[other][feature]
        best = sorted(
            ((score, other) for other, score in near.items()
             if score >= _ALIKE and behind[place].isdisjoint(behind[other])),
            key=lambda entry: (-entry[0], entry[1]),
        )  # fmt: skip
        for score, other in best[:NEIGHBOURS]:
            found[min(place, other), max(place, other)] = score
    ranked = sorted(found, key=lambda pair: (-found[pair], pair))
    return [(claims[a].id, claims[b].id) for a, b in ranked]


def _read_features(claim: Claim, ledger: Ledger) -> dict[str, float]:
    """What a claim can share with another, and how much that weighs."""
    around = " ".join(
        part
        for quote in claim.quotes
        for part in (quote.text, quote.section, ledger.sources[quote.source_id].title)
    )
    language = detect_language(f"{claim.text} {around}")
    features = dict.fromkeys((t for t in terms(around, language) if not t.isdigit()), _AROUND)
    features |= dict.fromkeys((t for t in terms(claim.text, language) if not t.isdigit()), _OWN)
    features |= {f"name {w}": _NAME for name in names(claim.text) for w in name.key}
    moments, amounts = read(claim.text)
    features |= {f"unit {amount.unit}": _MEASURE for amount in amounts}
    if moments:
        features["date"] = _MEASURE
    return features


def _weigh(features: Sequence[Mapping[str, float]]) -> list[dict[str, float]]:
    """Rarer features weigh more; every claim has the length 1."""
    counts = Counter(feature for own in features for feature in own)
    vectors = []
    for own in features:
        vector = {
            feature: weight * math.log(1 + len(features) / counts[feature])
            for feature, weight in own.items()
            if counts[feature] > 1
        }
        length = math.sqrt(sum(weight * weight for weight in vector.values())) or 1.0
        vectors.append({feature: weight / length for feature, weight in vector.items()})
    return vectors


def _join_pairs(pairs: Sequence[Pair]) -> Iterator[tuple[str, ...]]:
    """Groups that hold every pair: the closest pairs grow together, the rest go with a claim of
    theirs that has most of them."""
    home: dict[str, list[str]] = {}
    left: list[Pair] = []
    for a, b in pairs:
        one, other = home.setdefault(a, [a]), home.setdefault(b, [b])
        if one is other:
            continue
        if len(one) + len(other) > LARGEST:
            left.append((a, b))
            continue
        one += other
        home.update(dict.fromkeys(other, one))
    left = [(a, b) for a, b in left if home[a] is not home[b]]
    stars: dict[str, list[str]] = {}
    for a, b in left:
        centre, beside = (b, a) if b in stars and a not in stars else (a, b)
        stars.setdefault(centre, [centre]).append(beside)
    grown = {id(group): group for group in home.values() if len(group) > 1}
    for group in (*grown.values(), *stars.values()):
        for at in range(1, len(group), LARGEST - 1):
            yield tuple(sorted({group[0], *group[at : at + LARGEST - 1]}))


# --- the judge's answer --------------------------------------------------------------------------


def complain(answer: RelationsAnswer, groups: Mapping[str, Group]) -> list[str]:
    """What is missing from the judge's answer, in words that can be sent back.

    Every claim of a group that code found to differ has to be accounted for, and every claim of a
    difference has to be on one of its sides.
    """
    found: list[str] = []
    for name, group in groups.items():
        judged = [entry for entry in answer.groups if entry.group == name]
        named = {cid for entry in judged for cid in entry.claim_ids}
        if group.sides and (missing := sorted(set(group.claim_ids) - named)):
            found.append(f"{name}: say how these relate to the others: {', '.join(missing)}")
        for entry in judged:
            if foreign := sorted(set(entry.claim_ids) - set(group.claim_ids)):
                found.append(f"{name}: not among its claims: {', '.join(foreign)}")
            if entry.difference and entry.difference != "unclear":
                if unplaced := sorted(_unplaced(entry)):
                    found.append(f"{name}: put these on a side: {', '.join(unplaced)}")
                elif len(entry.sides) < 2:
                    found.append(f"{name}: a difference has at least two sides")
    found += [f"there is no group {e.group!r}" for e in answer.groups if e.group not in groups]
    return found


def rule(
    groups: Mapping[str, Group], answer: RelationsAnswer | None, why: str, ledger: Ledger
) -> Rulings:
    """The verdicts, contradictions and other differences of all groups."""
    rulings: list[Ruling] = []
    found: list[Difference] = []
    settled: list[tuple[str, ...]] = []
    for name, group in groups.items():
        if entries := _entries_of(name, group, answer):
            # Whether a claim stands at all is for those who judge it alone.
            given = [one for entry in entries for one in entry.rulings]
            rulings += [Ruling(**r.model_dump()) for r in given if r.verdict is not Verdict.FAILED]
            found += filter(None, (_difference(entry, group, ledger) for entry in entries))
        elif group.sides:
            reason = why or "the verifier gave no usable answer"
            rulings += _unchecked(group, reason, ledger)
            found.append(_unjudged(group, reason, ledger))
        elif answer is None:
            continue  # nothing is known of it, so that it is judged another time
        settled.append(tuple(sorted(group.claim_ids)))
    return Rulings(
        rulings=tuple(rulings),
        contradictions=tuple(
            Contradiction(**one.model_dump(exclude={"relation"}))
            for one in found
            if one.relation == "contradicts"
        ),
        differences=tuple(one for one in found if one.relation != "contradicts"),
        settled=tuple(settled),
    )


def _unchecked(group: Group, reason: str, ledger: Ledger) -> list[Ruling]:
    notes = f"could not be checked: {reason}"
    return [
        Ruling(claim_id=ledger.claim(cid).id, verdict=Verdict.UNVERIFIED, notes=notes)
        for cid in group.claim_ids
    ]


def _entries_of(name: str, group: Group, answer: RelationsAnswer | None) -> list[GroupAnswer]:
    judged = [entry for entry in answer.groups if entry.group == name] if answer else []
    return [kept for entry in judged if (kept := _known(entry, group))]


def _known(entry: GroupAnswer, group: Group) -> GroupAnswer | None:
    """The entry without claims that are not in its group; None where nothing is left."""
    ids = set(group.claim_ids)
    claims = [cid for cid in entry.claim_ids if cid in ids]
    if not claims:
        return None
    sides = [
        side.model_copy(update={"claim_ids": kept})
        for side in entry.sides
        if (kept := [cid for cid in side.claim_ids if cid in ids])
    ]
    rulings = [ruling for ruling in entry.rulings if ruling.claim_id in ids]
    return entry.model_copy(update={"claim_ids": claims, "sides": sides, "rulings": rulings})


def _unplaced(entry: GroupAnswer) -> set[str]:
    return set(entry.claim_ids) - {cid for side in entry.sides for cid in side.claim_ids}


def _difference(entry: GroupAnswer, group: Group, ledger: Ledger) -> Difference | None:
    """The difference with all its sides: a claim that the judge put nowhere is a side."""
    if entry.difference is None:
        return None
    placed = list(entry.sides)
    values = {cid: side for side in group.sides for cid in side.claim_ids}
    for cid in sorted(_unplaced(entry)):
        value = values[cid].value if cid in values else ""
        placed.append(SideAnswer(text="", claim_ids=[cid], value=value))
    sides = tuple(_side(side, ledger) for side in placed)
    # One source on both sides is no contradiction.
    if len(sides) < 2 or len({side.source_ids for side in sides}) < 2:
        return None
    return Difference(
        id=_difference_id(entry.claim_ids, ledger),
        about=entry.about or group.about or sides[0].text,
        sides=sides,
        cause=entry.cause,
        explanation=entry.explanation or "the sources give no reason",
        relation=entry.difference,
    )


def _side(answer: SideAnswer, ledger: Ledger) -> Side:
    claims = [ledger.claim(cid) for cid in answer.claim_ids]
    return Side(
        text=answer.text or claims[0].text,
        claim_ids=tuple(claim.id for claim in claims),
        source_ids=tuple(dict.fromkeys(sid for claim in claims for sid in claim.source_ids)),
        context=SideContext.model_validate(answer, from_attributes=True),
    )


def _unjudged(group: Group, why: str, ledger: Ledger) -> Difference:
    """The difference as code found it: a side per value."""
    sides = [SideAnswer(text="", **side.model_dump(mode="json")) for side in group.sides]
    return Difference(
        id=_difference_id(group.claim_ids, ledger),
        about=group.about,
        sides=tuple(_side(side, ledger) for side in sides),
        explanation=f"these seem to differ, and it could not be checked why: {why}",
        relation=group.relation,
    )


def _difference_id(claim_ids: Iterable[str], ledger: Ledger) -> str:
    ids = sorted({ledger.claim(cid).id for cid in claim_ids})
    return "x" + hashlib.sha256("|".join(ids).encode()).hexdigest()[:8]
