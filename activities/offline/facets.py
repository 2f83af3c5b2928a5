"""From what a plan wants covered to facets a researcher can work from.

A draft says what; a facet says it so that it stands alone: a natural question that names the
subject and the facet's own terms, a boundary that names its neighbours, and why it is there.
`as_facets` also keeps facets apart: two questions built alike would read as one to the plan's
rules, so the wording varies and shared words give way to distinctive ones.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from activities.offline.headings import asked
from activities.offline.language import content_terms
from activities.offline.questions import Question, listing
from workflows.contracts.facets import Facet, QuestionKind
from workflows.rules.plan import twins

_FORMS = (
    "What is known about {a} with regard to {s}{p}?",
    "How do things stand with {a} in {s}{p}?",
    "What is there on {a} concerning {s}{p}?",
    "Which findings are there about {a} for {s}{p}?",
    "What is said of {a} around {s}{p}?",
)
_SIDES = (
    "What is known about {a} as to {s}{p}?",
    "What can be said of {a} on {s}{p}?",
    "How do things stand with {a} on {s}{p}?",
    "Which findings are there about {a} concerning {s}{p}?",
)
_ALONE = (
    "What is known about {a}{p}?",
    "How do things stand with {a}{p}?",
    "Which findings are there on {a}{p}?",
)


@dataclass(frozen=True)
class Draft:
    """Something the plan wants covered."""

    title: str
    about: str
    """A phrase that fits after "about"; the title's own words where they read so."""
    reason: str
    prefer: str
    named: bool = False
    """The question names it, so it is kept whatever the documents hold."""
    phrases: tuple[str, ...] = ()
    asks: str = ""
    """The question's own wording where the part is a question of its own."""
    follows: bool = False
    side: bool = False
    """One of the things compared."""
    weight: float = 0.0
    passages: frozenset[int] = frozenset()


def as_facets(drafts: Sequence[Draft], question: Question) -> list[Facet]:
    facets: list[Facet] = []
    for draft in drafts:
        earlier = [f.id for f in facets]
        facets.append(
            Facet(
                id=_slug(draft.title, earlier),
                title=draft.title[:160],
                question="-",
                boundary=_boundary(draft, drafts, question),
                prefer=draft.prefer[:300],
                reason=draft.reason[:600],
                # A part that asks what the others mean needs their findings; three are enough.
                depends_on=tuple(earlier[:3]) if draft.follows else (),
            )
        )
    facets = _worded(facets, [_wordings(draft, question) for draft in drafts])
    named = {facet.id for facet, draft in zip(facets, drafts, strict=True) if draft.named}
    # Found in the documents and still not to be told from another: it is the other's.
    while pair := next((p for p in twins(facets) if {p[0].id, p[1].id} - named), None):
        facets.remove(pair[1] if pair[1].id not in named else pair[0])
    left = {facet.id for facet in facets}
    return [
        f.model_copy(update={"depends_on": tuple(d for d in f.depends_on if d in left)})
        for f in facets
    ]


def _worded(facets: Sequence[Facet], wordings: Sequence[Sequence[str]]) -> list[Facet]:
    """The facets with their plainest wording, another where two would read as one."""
    turn = [0] * len(facets)

    def put() -> list[Facet]:
        return [
            facet.model_copy(update={"question": texts[turn[i]][:1200]})
            for i, (facet, texts) in enumerate(zip(facets, wordings, strict=True))
        ]

    ids = [facet.id for facet in facets]
    while alike := twins(put()):
        places = [ids.index(facet.id) for pair in alike for facet in reversed(pair)]
        free = next((i for i in places if turn[i] + 1 < len(wordings[i])), None)
        if free is None:
            break
        turn[free] += 1
    return put()


def _wordings(draft: Draft, question: Question) -> list[str]:
    """Ways to ask for a draft, the plainest first."""
    about = set(content_terms(draft.about))
    spans = [s for s in question.spans if not about & set(content_terms(s))]
    subject = listing(spans)
    if draft.side:
        subject = listing([a.text for a in question.aspects if not a.asks][:5]) or subject
    held = set(content_terms(f"{draft.about} {subject}"))
    own = [p for p in draft.phrases if not set(content_terms(p)) <= held][:2]
    particular = f", in particular {listing(own)}" if own else ""
    if draft.asks:
        return list(dict.fromkeys(f"{_asking(draft, question)}{p}?" for p in (particular, "")))
    covered = not subject or set(content_terms(subject)) <= set(content_terms(draft.about))
    forms = _ALONE if covered else (_SIDES if draft.side else _FORMS)
    texts = [f.format(a=draft.about, s=subject, p=particular) for f in forms]
    if len(spans) > 1 and not draft.side:
        texts += [f.format(a=draft.about, s=s, p=particular) for s in spans for f in forms]
    # The last resort, where all else would read like a neighbour; it does without the subject.
    if draft.named or own:
        texts += [f.format(a=draft.about, p=particular) for f in _ALONE]
    if draft.named:
        texts += [f"What about {draft.about}?"]
    return list(dict.fromkeys(texts))


def _asking(draft: Draft, question: Question) -> str:
    """A part's own question, with the subject in it."""
    clause, subject = draft.asks, question.subject
    plain = clause[0].upper() + clause[1:]
    if not draft.named or not subject:
        return plain
    if set(content_terms(subject)) <= set(content_terms(clause)):
        return asked(clause, "") or plain
    return asked(clause, subject) or f"Regarding {subject}: {clause}"


def _boundary(draft: Draft, drafts: Sequence[Draft], question: Question) -> str:
    if question.kind is QuestionKind.FACT:
        return "Only what is asked: no background, no history, no neighbouring facts."
    others = sorted(
        (d for d in drafts if d is not draft),
        key=lambda d: (-len(d.passages & draft.passages), drafts.index(d)),
    )
    if not others:
        return "Nothing that does not bear on the question as asked."
    near = [f"“{d.title}”" for d in others[:4]]
    rest = " or the other facets" if len(others) > 4 else ""
    return f"Not {listing(near, 'or')}{rest}: other researchers have these."


def _slug(title: str, taken: Sequence[str]) -> str:
    base = "-".join(re.findall(r"[a-z0-9]+", title.lower())[:5])[:40].strip("-") or "facet"
    slug, n = base, 2
    while slug in taken:
        slug, n = f"{base}-{n}", n + 1
    return slug


def joined(one: Draft, other: Draft) -> Draft:
    """Two drafts as one, where the plan may not have both."""
    about = f"{one.about} and {other.about}"
    return replace(
        one,
        title=f"{one.title} and {other.title[0].lower()}{other.title[1:]}"
        if not other.title[1:2].isupper()
        else f"{one.title} and {other.title}",
        about=about,
        asks="; ".join(a for a in (one.asks, other.asks) if a),
        reason=f"{one.reason} Joined with “{other.title}” to stay within the number of facets.",
        phrases=(*one.phrases[:3], *other.phrases[:3]),
        passages=one.passages | other.passages,
        named=one.named or other.named,
        follows=one.follows or other.follows,
        weight=one.weight + other.weight,
    )
