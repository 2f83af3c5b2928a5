"""Sources scored 0–1 for one ask, each with its reason, and what all of them leave uncovered.

A source counts by its best windows: how much of the ask's distinctive weight they hold, whether
they measure anything, and the standing of the document. A second look follows names: a document
about a thing that a good window names takes part in what that window covers, so that an answer in
two steps is found.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from activities.offline.conversation import JsonObject
from activities.offline.cues import addresses_machine, denies_relation, periods
from activities.offline.language import capitalised, content_terms
from activities.offline.passages import Document, Window, figures, windows
from activities.offline.relevance import Aim
from workflows.contracts.evidence import AUTHORITY

GOOD, USELESS = 0.7, 0.2
_LENT = 0.7
"""What a term counts that a document has only through a name it shares."""

# The share of the distinctive weight that a window, and its whole document, must hold, by the
# number of distinctive terms: "union negotiations" are not found in a document that negotiates
# and names no union.
_WINDOW = {0: 1.0, 1: 0.5, 2: 0.42, 3: 0.33, 4: 0.28}
_WHOLE = {0: 1.0, 1: 0.5, 2: 0.75, 3: 0.62, 4: 0.5}

_LOOSE = 0.5
"""What is left of a window's worth where its document has nothing of the question's subject."""

_ADRIFT = 0.6
"""What a passage loses that has nothing of the question's own subject."""
_BESIDE = 0.25
"""What is left of a statement that itself says it has nothing to do with the matter."""
_TIMELY = 0.3
_DEVOTED = 0.6
"""A title that holds this much of what is distinctive is that of a document on the matter."""
_BARE = 4
"""Words: a reference or a date alone is no statement."""
_APART, _FULL_QUESTION = 0.4, 5
"""Below this share a document is on another subject; a question of few words tells less."""
_ANSWERS, _BY_ITSELF = 0.7, 0.45
"""A sentence that holds this much of a follow-up's ask ties its document to it."""
_ALIEN, _HARDLY = 0.6, 0.2
"""Where no document holds so much of a question's weight, or the best so little, none is on it."""
_TIED = 0.9
"""A document is wholly on the subject from this share of the best document's hold on it."""

_EVEN = 10
"""How little the very first places of two rankings outweigh those behind them."""

Bridges = Mapping[str, Mapping[str, float]]
_NONE: Bridges = MappingProxyType({})


@dataclass(frozen=True)
class Scored:
    """A source with how well it serves the ask, and why."""

    document: Document
    score: float
    reason: str
    best: tuple[tuple[float, Window], ...]
    """Its windows that are on topic, best first."""
    linked: bool = False
    """Whether it is a document on a thing that the ask, or a good window, names."""


def score(documents: list[Document], aim: Aim) -> list[Scored]:
    """Best first."""
    about = {d.source_id: aim.about(" ".join([d.title, *d.sentences])) for d in documents}
    most = max(about.values(), default=0.0) or 1.0
    if aim.unheard_of() >= _ALIEN or most < _HARDLY:
        reason = "no document holds what the question is about"
        return _sorted(Scored(d, 0.0, reason, ()) for d in documents)
    # A facet's words in a document on another subject are another subject's.
    tied = {source_id: min(1.0, share / most / _TIED) for source_id, share in about.items()}
    first = _sorted(
        _scored(d, aim, _NONE, tied[d.source_id], about[d.source_id]) for d in documents
    )
    bridges = _bridges(first, aim)
    if not bridges:
        return first
    return _sorted(
        _scored(d, aim, bridges, tied[d.source_id], about[d.source_id]) for d in documents
    )


def _sorted(scored: Iterator[Scored]) -> list[Scored]:
    return sorted(scored, key=lambda s: (-s.score, s.document.source_id))


def _scored(document: Document, aim: Aim, bridges: Bridges, tied: float, about: float) -> Scored:
    authority = AUTHORITY.get(document.kind, 0.5)
    lent = _lent(document.title, bridges)
    linked = bool(lent) or aim.titled(document.title) or aim.speaks_of(_said(document))
    tied = 1.0 if linked else tied
    # A follow-up asks for one thing; where that stands, the rest of the question need not.
    if not aim.title and any(aim.coverage(text) >= _ANSWERS for text in document.sentences):
        tied = max(tied, _BY_ITSELF)
    apart = tied < (_APART if len(aim.subject) >= _FULL_QUESTION else _APART / 2)
    ranked = (
        []
        if apart
        else [
            (round(window.quality * worth * (_LOOSE + (1 - _LOOSE) * tied), 4), window)
            for window, worth in _on_topic(document, aim, authority, lent, about)
        ]
    )
    # Of a table's rows that serve alike, the latest come first.
    ranked.sort(key=lambda pair: pair[1].sentences)
    ranked.sort(key=lambda pair: (pair[0], max(periods(pair[1].text), default="")), reverse=True)
    spread = aim.coverage(" ".join(document.sentences), document.title, lent=lent)
    top = max((aim.coverage(w.text, document.title, lent=lent) for _, w in ranked[:5]), default=0.0)
    measured = any(figures(w.text) for _, w in ranked[:3])
    ordered = any(addresses_machine(s) for s in document.sentences)
    worth = 0.5 * top + 0.25 * spread + 0.1 * measured + 0.05 * bool(document.date)
    worth += 0.2 * authority
    worth *= 0.7 + 0.3 * tied
    if not ranked:
        worth = min(worth, 0.35 if spread >= 0.3 else 0.19)
    if ordered:
        worth *= 0.5
    reason = _reason(document, aim, bool(ranked), measured, ordered)
    return Scored(document, round(min(worth, 1.0), 3), reason, tuple(ranked), linked)


def _said(document: Document) -> str:
    return " ".join([document.title, *document.sentences])


def _on_topic(
    document: Document, aim: Aim, authority: float, lent: Mapping[str, float], about: float
) -> Iterator[tuple[Window, float]]:
    """The windows that hold enough of what is distinctive, each with its worth."""
    whole = " ".join(document.sentences)
    titled = aim.titled(document.title)
    named = titled or aim.speaks_of(_said(document))
    parts = [
        part
        for part in aim.parts
        if named
        or aim.span
        or aim.coverage(whole, document.title, part, lent) >= _WHOLE.get(len(part), 0.4)
    ]
    if not parts:
        return
    devoted = 1.0 if titled else aim.coverage(document.title, only=aim.core, lent=lent)
    asked = periods(aim.ask)
    # Who asks for a name, a reason or what to do is not answered by a figure beside it.
    told = aim.narrow or "advice" in aim.wants
    measures = 0.05 if told and aim.wants and "number" not in aim.wants else 0.16
    # Whom a question is about is not what it asks of them.
    point = set(aim.core) - aim.named
    counted = named and "number" in aim.wants
    spoken_of = " ".join(aim.names) if counted else ""
    for window in windows(document):
        if aim.span and not _within(aim.span, window.text, document.date):
            continue
        # Where a number is asked of a thing, a document that names it speaks of it throughout.
        around = f"{document.title} {window.heading} {spoken_of}"
        related = named or any(
            aim.coverage(window.text, around, part, lent) >= _WINDOW.get(len(part), 0.24)
            for part in parts
        )
        # In a document about the ask, a figure near one of its words is on topic.
        related = related or (devoted >= 0.5 and figures(window.text) > 0)
        # A period asks for whatever the question asks for, in its years.
        timely = aim.span is not None and aim.about(window.text) >= _TIMELY
        related = related or timely
        said = aim.matches(window.text).keys()
        # What a document on the very matter measures is on it, whatever its words.
        stated = len(window.text.split()) > _BARE
        own = (devoted >= _DEVOTED or counted) and stated and figures(window.text) > 0
        own = own or timely
        if not related or not (own or said - (lent if not devoted else ())):
            continue
        if (
            point
            and not titled
            and not own
            and not point & (said | aim.matches(around).keys() | lent.keys())
        ):
            continue
        worth = (
            0.5 * aim.coverage(window.text, around, lent=lent)
            + 0.12 * devoted
            + measures * min(figures(window.text), 2) / 2
            + 0.08 * aim.direct(window.text)
            + 0.14 * authority
            + 0.03 * len(periods(window.text) & asked)
            + 0.1 * any(name in f"{around} {window.text}".lower() for name in aim.names)
        )
        if not (named or lent):
            worth *= 1 - _ADRIFT * aim.strays(f"{around} {window.text}", about)
        yield window, worth * (_BESIDE if denies_relation(window.text, aim.ask) else 1.0)


def _within(span: tuple[int, int], text: str, date: str | None) -> bool:
    """Whether a text speaks of years of a period, or, where it names none, was written in it."""
    years = [int(year) for year in periods(text) if year.isdigit()]
    years = years or ([int(date[:4])] if date and date[:4].isdigit() else [])
    return not years or any(span[0] <= year <= span[1] for year in years)


def _reason(document: Document, aim: Aim, usable: bool, measured: bool, ordered: bool) -> str:
    held = aim.matches(" ".join([document.title, *document.sentences]))
    names = [aim.surface.get(t, t) for t in aim.core if held.get(t, 0) >= 0.6][:4]
    parts = [f"names {listed(names)} of the question" if names else "none of the question's terms"]
    if measured:
        parts.append("gives figures")
    if not usable and names:
        parts.append("says nothing usable on the point")
    if document.date:
        parts.append(f"dated {document.date}")
    authority = AUTHORITY.get(document.kind, 0.5)
    standing = "authoritative" if authority >= 0.8 else "popular" if authority < 0.4 else ""
    parts.append(f"{document.kind}{', ' + standing if standing else ''}")
    if ordered:
        parts.append("holds orders to its reader, which are not followed")
    return "; ".join(parts)


# --- names that lead on -------------------------------------------------------------------------


def entities(aim: Aim, scored: list[Scored]) -> list[str]:
    """Named things that stand beside the ask's words in the best documents, likeliest first."""
    found: Counter[str] = Counter()
    for source in scored[:4]:
        for worth, window in source.best[:4]:
            for name in dict.fromkeys(_names(window.text, aim)):
                # A lone capitalised word is as often a nationality as a thing.
                found[name] += round(1000 * worth * (1 if " " in name else 0.4))
    return sorted(found, key=lambda name: (-found[name], name))


def _names(text: str, aim: Aim) -> Iterator[str]:
    for name in capitalised(text):
        terms = set(content_terms(name.text))
        dated = periods(name.text) or len(name.text) < 3
        if terms and not dated and not terms <= set(aim.weights) and len(terms) < 6:
            yield name.text


def _bridges(scored: list[Scored], aim: Aim) -> Bridges:
    """Names in the best windows that are titles of other documents, and the terms they lend."""
    titles = {_title_key(s.document.title): s.document.source_id for s in scored}
    found: dict[str, dict[str, float]] = {}
    for source in scored[:4]:
        for _, window in source.best[:4]:
            matched = aim.matches(f"{window.text} {source.document.title}")
            for name in _names(window.text, aim):
                home = titles.get(_title_key(name))
                if home is not None and home != source.document.source_id:
                    terms = found.setdefault(_title_key(name), {})
                    for term, near in matched.items():
                        terms[term] = max(terms.get(term, 0.0), _LENT * near)
    return found


def _lent(title: str, bridges: Bridges) -> Mapping[str, float]:
    return bridges.get(_title_key(title), {})


def _title_key(title: str) -> str:
    """A title without what stands in brackets behind it."""
    return " ".join(content_terms(title.split(" (", 1)[0]))


# --- what is left -------------------------------------------------------------------------------


def uncovered(aim: Aim, scored: list[Scored]) -> list[str]:
    """Distinctive terms that no serviceable source covers, heaviest first."""
    held: dict[str, float] = {}
    for source in scored:
        if source.score < 0.45:
            continue
        for _, window in source.best[:12]:
            for term, near in aim.matches(f"{window.text} {window.heading}").items():
                held[term] = max(held.get(term, 0.0), near)
    return [t for t in aim.core if held.get(t, 0.0) < 0.6]


def in_reading_order(scored: list[Scored], searches: Iterable[Sequence[str]]) -> list[Scored]:
    """What serves the ask and what a search put first come before what only one of them favours."""
    ranks: dict[str, int] = {}
    for found in searches:
        for rank, source_id in enumerate(dict.fromkeys(found)):
            ranks[source_id] = min(rank, ranks.get(source_id, rank))
    weights = {
        source.document.source_id: 1 / (_EVEN + place)
        + 1 / (_EVEN + ranks.get(source.document.source_id, len(scored)))
        for place, source in enumerate(scored)
    }
    return sorted(scored, key=lambda source: -weights[source.document.source_id])


def told(scored: list[Scored]) -> list[JsonObject]:
    """The scores as the tools and the answer want them."""
    return [
        {"source_id": s.document.source_id, "score": s.score, "reason": s.reason} for s in scored
    ]


def listed(items: list[str]) -> str:
    return items[0] if len(items) == 1 else f"{', '.join(items[:-1])} and {items[-1]}"
