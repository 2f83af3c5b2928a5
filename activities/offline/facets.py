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

from activities.offline.language import content_terms
from activities.offline.questions import Question, listing
from workflows.plan import OVERLAP, Facet, QuestionKind, twins

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
_APART = OVERLAP - 0.1


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
    for index, draft in enumerate(drafts):
        earlier = [f.id for f in facets]
        facet = Facet(
            id=_slug(draft.title, earlier),
            title=draft.title[:160],
            question="-",
            boundary=_boundary(draft, drafts, question),
            prefer=draft.prefer[:300],
            reason=draft.reason[:600],
            # A part that asks what the others mean needs their findings; three are enough to go on.
            depends_on=tuple(earlier[:3]) if draft.follows else (),
        )
        facets.append(_asking(facet, draft, index, facets, question))
    named = {facet.id for facet, draft in zip(facets, drafts, strict=True) if draft.named}
    # Found in the documents and still not to be told from another: it is the other's.
    while pair := next((p for p in twins(facets) if {p[0].id, p[1].id} - named), None):
        facets.remove(pair[1] if pair[1].id not in named else pair[0])
    left = {facet.id for facet in facets}
    return [
        f.model_copy(update={"depends_on": tuple(d for d in f.depends_on if d in left)})
        for f in facets
    ]


def _asking(
    facet: Facet, draft: Draft, index: int, earlier: Sequence[Facet], question: Question
) -> Facet:
    """The facet with the first wording that keeps it apart from those before it."""
    tried = [
        facet.model_copy(update={"question": text[:1200]})
        for text in _wordings(draft, index, question)
    ]
    return min(
        tried,
        key=lambda f: (
            (worst := max((_alike(f, other) for other in earlier), default=0.0)) >= _APART,
            worst if worst >= _APART else 0.0,
            tried.index(f),
        ),
    )


def _alike(one: Facet, other: Facet) -> float:
    """Share of the smaller facet's words that the other has too."""
    a, b = (set(re.findall(r"\w{4,}", f"{f.title} {f.question}".lower())) for f in (one, other))
    return len(a & b) / min(len(a), len(b)) if a and b else 0.0


def _wordings(draft: Draft, index: int, question: Question) -> list[str]:
    about = set(content_terms(draft.about))
    spans = [s for s in question.spans if not about & set(content_terms(s))]
    subject = listing(spans)
    if draft.side:
        subject = listing([a.text for a in question.aspects if not a.asks][:5]) or subject
    held = set(content_terms(f"{draft.about} {subject}"))
    own = [p for p in draft.phrases if not set(content_terms(p)) <= held]
    particular = [f", in particular {listing(own[:n])}" for n in (3, 4, 2) if len(own) >= n] or (
        [f", in particular {own[0]}"] if own else [""]
    )
    if draft.asks:
        asked = draft.asks[0].upper() + draft.asks[1:]
        named = set(content_terms(subject)) <= set(content_terms(asked))
        start = asked if named or not subject else f"Regarding {subject}: {draft.asks}"
        return [f"{start}{p}?" for p in ["", *particular]]
    covered = not subject or set(content_terms(subject)) <= set(content_terms(draft.about))
    forms = _ALONE if covered else (_SIDES if draft.side else _FORMS)
    turned = [forms[(index + i) % len(forms)] for i in range(len(forms))]
    texts = [f.format(a=draft.about, s=subject, p=p) for p in particular for f in turned]
    if len(spans) > 1 and not draft.side:
        texts += [f.format(a=draft.about, s=s, p=particular[0]) for s in spans for f in turned]
    # The last resort, where all else would read like a neighbour; it does without the subject.
    if draft.named or own:
        texts += [f.format(a=draft.about, p=particular[0]) for f in _ALONE]
    if draft.named:
        texts += [f"What about {draft.about}?"]
    return texts


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
