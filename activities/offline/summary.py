"""The summary: one strong sentence for each part of the question, short enough to be read.

Parts come in the order of the question. A part whose headline figure is contested is told with
that figure and what the others say; the rest of what is uncertain is one remark at the end.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache

from activities.evidence.report_gate import CITATION
from activities.offline.appendix import ABSENT, ANSWERED, listed, remark
from activities.offline.conversation import JsonObject
from activities.offline.cues import advises
from activities.offline.disputes import Disputes, in_order
from activities.offline.gist import Gist
from activities.offline.language import capitalised, content_terms, sentences, similarity
from activities.offline.leaning import leans
from activities.offline.passages import figures, is_labelled, is_row, substance
from activities.offline.prose import Cited, clean, headline, opened, speaks_as_we, told
from activities.offline.relevance import measured, wanted

_FIRST_WORDS, _WORDS_EACH, _MOST_WORDS = 45, 22, 170
"""A summary grows with the parts of its question, up to what is read at one go."""
_LONG = 32
_ENOUGH = 4
_FEW = 3
_REPEATED = 0.6
_WEAK, _POOR = 0.68, 0.55
"""Of the best sentence's worth: what is worth less has no place in the summary, or, where the
question names its part, hardly one."""
_NEAR, _NEARER, _AS_GOOD = 0.25, 0.5, 0.75
"""Of the most that a sentence tells of the question."""


def summary(brief: JsonObject, claims: Sequence[Cited], disputes: Disputes, gist: Gist) -> str:
    chosen = _leading(brief, claims, disputes, gist)
    sources: dict[int, Mapping[str, object]] = {int(s["n"]): s for s in brief.get("sources", ())}
    named: set[str] = set()
    lines: list[str] = []
    size = 0
    most = min(_FIRST_WORDS + _WORDS_EACH * len(chosen), _MOST_WORDS)
    for claim in chosen:
        line = told(claim, sources, named)
        if disputes.of(claim):
            line = _with_others(line, disputes.others(claim))
        size += len(CITATION.sub("", line).split())
        if lines and size > most:
            break
        lines.append(line)
    told_of = [dispute["id"] for c in chosen[: len(lines)] if (dispute := disputes.of(c))]
    remarks = _remarks(brief, told_of)
    blocks = [" ".join(lines), remark(" ".join(remarks)) if remarks else ""]
    return "\n\n".join(b for b in blocks if b) or remark("Nothing that can be cited was found.")


def _with_others(line: str, others: str) -> str:
    return f"{line[:-1]}, though {others}." if line.endswith(".") else f"{line} Though {others}."


def _remarks(brief: JsonObject, told_of: Sequence[str]) -> list[str]:
    remarks = []
    # What the sentences above have told of is not told again.
    untold = [
        f"“{headline(c['about']).rstrip('. ')}”" for c in in_order(brief) if c["id"] not in told_of
    ]
    if untold:
        disputed = len(brief["contradictions"])
        points = listed(untold) if len(untold) < _FEW else f"{disputed} points"
        remarks.append(f"The sources disagree on {points}; each side is set out below.")
    absent = [f["title"] for f in brief["facets"] if f["status"] in ABSENT]
    if absent:
        remarks.append(f"The documents hold nothing on {listed(_inside(absent))}.")
    lost = [f["title"] for f in brief["facets"] if f["status"] not in ANSWERED | ABSENT]
    if lost:
        remarks.append(f"Not researched to the end: {listed(lost)}.")
    return remarks


def _inside(titles: Sequence[str]) -> list[str]:
    """Titles as they stand within a sentence."""
    return [f"“{title}”" if " " in title else title for title in titles]


def _leading(
    brief: JsonObject, claims: Sequence[Cited], disputes: Disputes, gist: Gist
) -> list[Cited]:
    """For each part of the question the sentence that answers it best, in the question's order."""
    order = {f["id"]: f for f in brief["facets"]}
    question = str(brief["question"])
    titles = {int(s["n"]): str(s.get("title", "")) for s in brief.get("sources", ())}
    ranked: list[tuple[float, Cited]] = []
    for claim in claims:
        if is_row(claim.text):
            continue
        facet = order.get(claim.facet_id, {})
        asked = f"{facet.get('title', '')} {facet.get('question', '')}"
        line = _one_sentence(claim, frozenset(content_terms(f"{asked} {question}")))
        short = Cited(**{**claim.__dict__, "text": line})
        ranked.append((worth(short, asked, gist, disputes, titles), short))
    answering = [pair for pair in ranked if _answers(pair[1], order, question)]
    ranked = answering or ranked
    told = {c.id: gist.share(c.text, titles.get(c.cite[0], "")) for _, c in ranked}
    most = max(told.values(), default=0.0)
    asked_for = set(content_terms(question))
    ranked = [
        (value, c)
        for value, c in ranked
        # A part that the question does not name speaks in the summary only of the question.
        if told[c.id] >= most * (_NEAR if _named(order.get(c.facet_id), asked_for) else _NEARER)
    ]
    ranked.sort(key=lambda pair: (-pair[0], pair[1].id))
    chosen: list[Cited] = []
    for facet_id in order:
        own = ((w, c) for w, c in ranked if c.facet_id == facet_id and _new(c, chosen, disputes))
        value, best = next(own, (0.0, None))
        floor = _POOR if _named(order[facet_id], asked_for) else _WEAK
        if best and value >= floor * ranked[0][0]:
            chosen.append(best)
    for value, claim in ranked:
        if len(order) == 1 and told[claim.id] < _AS_GOOD * told[ranked[0][1].id]:
            continue  # the answer to one narrow question needs no company
        if len(chosen) >= min(_ENOUGH, 2 * len(order)) or value < _WEAK * ranked[0][0]:
            break
        if claim not in chosen and _new(claim, chosen, disputes):
            chosen.append(claim)
    place = {facet_id: i for i, facet_id in enumerate(order)}
    return sorted(chosen, key=lambda c: place.get(c.facet_id, len(place)))


def _named(facet: JsonObject | None, asked_for: set[str]) -> bool:
    """Whether the question itself asks for a part."""
    return bool(facet and set(content_terms(facet["title"])) & asked_for)


def _one_sentence(claim: Cited, asked: frozenset[str]) -> str:
    """The sentence that says most of what is asked and can stand alone."""
    parts = sentences(clean(claim.text))
    alone = [p for i, p in enumerate(parts) if i == 0 or not leans(p)] or parts
    best = max(
        alone,
        key=lambda p: (len(asked & set(content_terms(p))) + 3 * min(figures(p), 2),
                       -alone.index(p)),
    )  # fmt: skip
    return opened(best)


def worth(
    claim: Cited, asked: str, gist: Gist, disputes: Disputes, titles: Mapping[int, str]
) -> float:
    """How well a claim opens a part: near what is asked, checkable, short, nobody's "we"."""
    text = opened(claim.text)
    value = claim.strength + 0.6 * similarity(text, asked)
    value += 0.9 * gist.share(text, titles.get(claim.cite[0], ""))
    value += substance(text) if measured(gist.question) else 0.0
    value += 0.6 * to_the_point(text, f"{asked} {gist.question}")
    value += 0.5 * ("advice" in wanted(asked) and advises(text))
    dispute = disputes.of(claim)
    if dispute and set(content_terms(dispute["about"])) & set(content_terms(asked)):
        # What is asked for and contested is what a reader must know first.
        value += 0.6
    value -= 0.8 * speaks_as_we(text) + 0.4 * is_labelled(text) + 0.5 * leans(text)
    return value - 0.02 * max(0, len(text.split()) - _LONG)


def _answers(claim: Cited, facets: Mapping[str, JsonObject], question: str) -> bool:
    facet = facets.get(claim.facet_id, {})
    return to_the_point(claim.text, f"{facet.get('title', '')} {question}") > 0


def to_the_point(text: str, asked: str) -> float:
    """The share of what is asked, names apart, that a text holds: a name alone answers nothing."""
    point = _point(asked)
    return len(point & set(content_terms(text))) / len(point) if point else 1.0


@lru_cache(maxsize=2_000)
def _point(asked: str) -> frozenset[str]:
    names = {term for name in capitalised(asked) for term in content_terms(name.text)}
    return frozenset(content_terms(asked)) - names


def _new(claim: Cited, chosen: Sequence[Cited], disputes: Disputes) -> bool:
    """Whether it says something else than what is chosen, and is not the other side of it."""
    dispute = disputes.of(claim)
    return all(
        similarity(claim.text, c.text) < _REPEATED
        and (dispute is None or disputes.of(c) is not dispute)
        for c in chosen
    )
