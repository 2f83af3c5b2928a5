"""Two results of the same question compared, and the section of the report that tells of it.

A claim is the same when its words are, apart from white space, or when it says the same in other
words. One that says it with other figures, the opposite, or with another verdict has
changed. What has no partner is new, or gone. Compared the other way round, new and gone change
places; compared with itself, a result shows no change.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import product
from typing import Literal, TypeVar

from activities.evidence.conflicts.statements import is_negated
from activities.evidence.draft import marks, sentences_of
from activities.evidence.quantities.amounts import numbers_missing
from activities.evidence.quotes import fold
from activities.evidence.text.names import names
from activities.evidence.text.terms import terms
from workflows.contracts.changes import (
    AnswerChanged,
    Changes,
    ClaimChanged,
    ClaimSeen,
    ContradictionSeen,
    SourceChanged,
    SourceSeen,
)
from workflows.contracts.evidence import Contradiction, Verdict
from workflows.contracts.result import ClaimOut, ResearchResult, SourceOut
from workflows.rules.report_paging import summary_section

ALIKE = 0.75
"""The share of content words two statements have in common when they are about one thing."""
LISTED = 40
"""How many of a kind the report lists; the JSON holds all."""

CITED = re.compile(r"\s*\[\d{1,5}\]")
"""A citation with the blank before it."""

_CROWD = 10_000
_FIGURE = re.compile(r"\d+(?:[.,]\d+)*")
_UNREADABLE = """## What changed since the last run

_The last run's result was written by another version and cannot be read, so nothing is compared.
The next run compares with this one._"""
_FIRST_SECTION = re.compile(r"^## ", re.MULTILINE)

Item = TypeVar("Item")
Token = tuple[str, int]
Words = frozenset[Token]


def told(result: ResearchResult, changes: Changes | None) -> ResearchResult:
    """The result with what changed, as JSON and as the first section of its report.

    None stands for an earlier result that cannot be read any more: the report says so.
    """
    section = tell(changes) if changes else _UNREADABLE
    markdown = result.report_markdown
    found = _FIRST_SECTION.search(markdown)
    place = found.start() if found else len(markdown)
    parts = [part for part in (markdown[:place].rstrip(), section, markdown[place:]) if part]
    return result.model_copy(
        update={"changes": changes, "report_markdown": "\n\n".join(parts).rstrip() + "\n"}
    )


def tell(changes: Changes, heading: str = "") -> str:
    """The section, in Markdown. What is cited is cited by the numbers of this report."""
    heading = heading or f"## What changed since {changes.since[:10] or 'the last run'}"
    if changes.none and not changes.answer:
        return f"{heading}\n\n_Nothing: the same claims from the same sources._"
    parts = [heading]
    for title, lines in _list_changes(changes).items():
        if lines:
            shown = [f"- {line}" for line in lines[:LISTED]]
            if len(lines) > LISTED:
                shown.append(f"- … and {len(lines) - LISTED} more, in `report.json`")
            parts += [f"**{title}**", "\n".join(shown)]
    return "\n\n".join(parts)


def _list_changes(changes: Changes) -> dict[str, list[str]]:
    """The lines of the section, by their title."""
    said, unsaid = _reworded(changes.answer) if changes.answer else ([], [])
    return {
        "New in the answer": said,
        "No longer in the answer": [CITED.sub("", line) for line in unsaid],
        "New claims": [f"{fold(c.text)} {marks(c.cites)}".rstrip() for c in changes.new_claims],
        "Changed claims": [
            f"{fold(c.after.text)} {marks(c.after.cites)} {_formerly(c)}".replace("  ", " ")
            for c in changes.changed_claims
        ],
        "Claims that are gone": [f"{fold(c.text)}{_from(c)}" for c in changes.gone_claims],
        "New contradictions": [_sides(c) for c in changes.new_contradictions],
        "Contradictions that are gone": [_sides(c) for c in changes.gone_contradictions],
        "New sources": [f"{s.title}, `{s.uri}`" for s in changes.new_sources],
        "Sources whose text changed": [f"{s.title}, `{s.uri}`" for s in changes.changed_sources],
        "Sources no longer used": [f"{s.title}, `{s.uri}`" for s in changes.gone_sources],
        "New documents": [f"`{path}`" for path in changes.new_documents],
        "Changed documents": [f"`{path}`" for path in changes.changed_documents],
        "Documents that are gone": [f"`{path}`" for path in changes.gone_documents],
    }


def compare(before: ResearchResult, after: ResearchResult) -> Changes:
    """What `after` says that `before` did not, and the other way round."""
    pairs, gone, fresh = _partners(_claims(before), _claims(after), lambda claim: claim.text)
    earlier, later = _Shown(before), _Shown(after)
    changed = [
        ClaimChanged(
            before=earlier.claim(a),
            after=later.claim(b),
            what=what,
            verdict_before=a.verdict,
            verdict_after=b.verdict,
        )
        for a, b in pairs
        if (what := _difference(a, b))
    ]
    same, settled, disputed = _partners(before.contradictions, after.contradictions, _in_a_line)
    # A dispute about other figures is another dispute.
    moved = [(a, b) for a, b in same if _figures_differ(_in_a_line(a), _in_a_line(b))]
    past = {source.uri: source for source in before.sources}
    now = {source.uri: source for source in after.sources}
    return Changes(
        since=before.started_at,
        previous=before.id,
        new_claims=tuple(later.claim(claim) for claim in fresh),
        gone_claims=tuple(earlier.claim(claim) for claim in gone),
        changed_claims=tuple(changed),
        new_contradictions=tuple(_dispute(c) for c in [*disputed, *(b for _, b in moved)]),
        gone_contradictions=tuple(_dispute(c) for c in [*settled, *(a for a, _ in moved)]),
        new_sources=tuple(_source(s) for uri, s in now.items() if uri not in past),
        gone_sources=tuple(_source(s) for uri, s in past.items() if uri not in now),
        changed_sources=tuple(
            SourceChanged(uri=uri, title=s.title, before=past[uri].sha256, after=s.sha256)
            for uri, s in now.items()
            if uri in past and past[uri].sha256 != s.sha256
        ),
    )


def compare_answers(before: ResearchResult, after: ResearchResult) -> AnswerChanged | None:
    """The summaries of two reports; None where they differ in nothing but citations."""
    old, new = (summary_section(result.report_markdown) for result in (before, after))
    same = _folded(CITED.sub("", old)) == _folded(CITED.sub("", new))
    return None if same else AnswerChanged(before=old, after=new)


def _reworded(answer: AnswerChanged) -> tuple[list[str], list[str]]:
    """The sentences that only the later summary has, and those that only the earlier one has."""
    old, new = (
        {_folded(CITED.sub("", own.text)): own.text.strip() for own in sentences_of("", summary)}
        for summary in (answer.before, answer.after)
    )
    said = [text for own, text in new.items() if own not in old]
    return said, [text for own, text in old.items() if own not in new]


def _partners(
    old: Sequence[Item], new: Sequence[Item], text: Callable[[Item], str]
) -> tuple[list[tuple[Item, Item]], list[Item], list[Item]]:
    """Pairs of the same thing, and what is left on either side.

    The same words first, then the most alike. Ties are broken by the words of both, never by the
    order or the side they stand on, so both directions find the same pairs.
    """
    past = {_folded(text(item)): item for item in reversed(old)}
    now = {_folded(text(item)): item for item in reversed(new)}
    match = {key: key for key in past if key in now}
    left = [key for key in past if key not in now]
    right = [key for key in now if key not in past]
    taken: set[str] = set()
    for *_, a, b in sorted(_alike(left, right)):
        if a not in match and b not in taken:
            match[a] = b
            taken.add(b)
    pairs = [(item, now[match[key]]) for key, item in reversed(past.items()) if key in match]
    found = set(match.values())
    gone = [item for key, item in reversed(past.items()) if key not in match]
    return pairs, gone, [item for key, item in reversed(now.items()) if key not in found]


def _alike(
    left: Sequence[str], right: Sequence[str]
) -> Iterator[tuple[float, int, list[str], str, str]]:
    """Statements about one thing. Sorted, the most alike come first; among equals, those that have
    more figures in common: of two rows of a table, the one about the same year."""
    old, new = _by_words(left), _by_words(right)
    common = Counter(word for words in (*old, *new) for word in words)
    where: dict[Token, list[Words]] = {}
    for words in new:
        for word in _rarest(words, common):
            where.setdefault(word, []).append(words)
    for words in old:
        near = [other for word in _rarest(words, common) for other in where.get(word, ())]
        for other in dict.fromkeys(near):
            share = len(words & other) / len(words | other)
            # Hundreds of rows in the same words, all with new figures: a new table, not a change.
            if share >= ALIKE and len(old[words]) * len(new[other]) <= _CROWD:
                for one, two in product(old[words], new[other]):
                    if _names(one) == _names(two):
                        figures = len(_figures(one) & _figures(two))
                        yield -share, -figures, sorted((one, two)), one, two


def _by_words(texts: Iterable[str]) -> dict[Words, list[str]]:
    """The texts by their content words; a word that comes twice is two."""
    found: dict[Words, list[str]] = {}
    for text in texts:
        counted = Counter(term for term in terms(text) if not term[0].isdigit())
        words = frozenset((word, n) for word, times in counted.items() for n in range(times))
        if words:
            found.setdefault(words, []).append(text)
    return found


def _rarest(words: Words, common: Mapping[Token, int]) -> list[Token]:
    """So many of the rarest words that whoever is alike must share one of them."""
    enough = len(words) - math.ceil(ALIKE * len(words)) + 1
    return sorted(words, key=lambda word: (common[word], word))[:enough]


@lru_cache(maxsize=16384)
def _names(text: str) -> frozenset[frozenset[str]]:
    """Who or what it is about by name. A capital that opens the sentence need not be a name's."""
    return frozenset(name.key for name in names(text) if name.start > 0)


@lru_cache(maxsize=16384)
def _figures(text: str) -> frozenset[str]:
    return frozenset(_FIGURE.findall(text))


def _difference(
    before: ClaimOut, after: ClaimOut
) -> Literal["figures", "meaning", "verdict"] | None:
    if _folded(before.text) != _folded(after.text):
        if _figures_differ(before.text, after.text):
            return "figures"
        if is_negated(before.text) != is_negated(after.text):
            return "meaning"
    return "verdict" if before.verdict is not after.verdict else None


def _figures_differ(one: str, other: str) -> bool:
    return _folded(one) != _folded(other) and bool(
        numbers_missing(one, [other]) or numbers_missing(other, [one])
    )


def _folded(text: str) -> str:
    return fold(text).rstrip(" .")


def _claims(result: ResearchResult) -> list[ClaimOut]:
    """Those a report may rest on; one whose quote is not in its source was never said."""
    return [claim for claim in result.claims if claim.verdict is not Verdict.FAILED]


def _in_a_line(contradiction: Contradiction) -> str:
    """A contradiction in one line; the order of its sides does not matter."""
    return " / ".join(sorted(side.text for side in contradiction.sides))


class _Shown:
    """Claims as they stand in their report."""

    def __init__(self, result: ResearchResult) -> None:
        self._titles = {facet.id: facet.title for facet in result.plan.facets}
        self._sources = {source.id: source for source in result.sources}

    def claim(self, claim: ClaimOut) -> ClaimSeen:
        ids = dict.fromkeys(quote.source_id for quote in claim.quotes)
        known = [self._sources[sid] for sid in ids if sid in self._sources]
        return ClaimSeen(
            id=claim.id,
            text=claim.text,
            facet=self._titles.get(claim.facet_id, ""),
            sources=tuple(source.uri for source in known),
            cites=tuple(source.n for source in known if source.n is not None),
        )


def _dispute(contradiction: Contradiction) -> ContradictionSeen:
    return ContradictionSeen(
        id=contradiction.id,
        about=contradiction.about,
        sides=tuple(side.text for side in contradiction.sides),
    )


def _source(source: SourceOut) -> SourceSeen:
    return SourceSeen.model_validate(source, from_attributes=True)


def _formerly(change: ClaimChanged) -> str:
    if change.what == "verdict":
        return f"(judged {change.verdict_after}, before: {change.verdict_before})"
    return f"(before: {fold(change.before.text)})"


def _from(claim: ClaimSeen) -> str:
    return f" (from {', '.join(f'`{uri}`' for uri in claim.sources)})" if claim.sources else ""


def _sides(contradiction: ContradictionSeen) -> str:
    return " against ".join(f"“{fold(side)}”" for side in contradiction.sides)
