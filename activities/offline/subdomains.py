"""Sub-domains that the documents show and the question does not name.

Two sorts of candidates: sides that any matter has (people, safety, the environment), found by the
words documents use for them, and themes that are the documents' own. One is taken where several
documents are about it (not merely mention it) that nothing taken before is about; so the plan comes
to cover what the documents hold.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from activities.offline import dimensions
from activities.offline.aboutness import Documents
from activities.offline.dimensions import Dimension
from activities.offline.facets import Draft
from activities.offline.language import content_terms, stem
from activities.offline.parts import inline, shared, theme_draft
from activities.offline.questions import GENERIC_STEMS, Question
from activities.offline.themes import Landscape
from activities.offline.topicality import SMALL
from workflows.contracts.facets import QuestionKind

_FEW = 12
_LARGE = 100
_NAMED_BY = 0.4
_NAMED_TOO = 0.15
_NEAR = 0.45
_SIDE_NEAR = 0.3
"""How near the question documents must be, on average, to speak for a sub-domain."""
"""Of a side's documents: so many share the word that names it."""


@dataclass(frozen=True)
class _Candidate:
    draft: Draft
    about: dict[str, float]
    titled: int
    own: frozenset[str]
    """The words it is known by."""
    is_side: bool = False


def subdomains(
    question: Question,
    view: Landscape,
    documents: Documents,
    kept: Sequence[Draft],
    room: int,
    most: int,
) -> list[Draft]:
    """So many as there is room for, the one that adds most first; the plainest up to `most`."""
    seen = {source for draft in kept for source in _about(draft, view, documents)}
    named = [dimensions.closest(draft.title) for draft in kept]
    narrow = one_side(question)
    pool = [
        *_sides(question, view, documents, [d for d in named if d]),
        *(_themes(view, documents, bool(narrow)) if len(documents) > SMALL else ()),
    ]
    if narrow:
        home = set(documents.about(narrow))
        pool = [c for c in pool if len(home & set(c.about)) * 2 >= len(c.about)]
    # A side of the matter is one whatever themes its documents have, and a theme whatever sides.
    seen_by = {True: set(seen), False: set(seen)}
    chosen: list[_Candidate] = []
    while len(chosen) < most:
        taken = [*kept, *(c.draft for c in chosen)]
        worth = {
            c.draft.title: documents.worth(c.about, seen_by[c.is_side])
            for c in pool
            if c not in chosen
            and _stands(c, seen_by[c.is_side], documents)
            and not _same(c, taken, chosen, view.known)
            and (len(chosen) < room or _plain(c, documents))
        }
        if not worth:
            break
        title = max(worth, key=lambda t: (worth[t], t))
        best = next(c for c in pool if c.draft.title == title)
        chosen.append(best)
        seen_by[best.is_side] |= set(best.about)
    return [candidate.draft for candidate in chosen]


def one_side(question: Question) -> frozenset[str]:
    """The words by which a question is about one side of a matter only ("how crews cope")."""
    if question.kind is not QuestionKind.OVERVIEW or question.aspects or len(question.spans) != 1:
        return frozenset()
    asked = frozenset(content_terms(question.subject)) - GENERIC_STEMS
    return asked & frozenset(t for side in dimensions.SHOWN for t in side.vocabulary)


def _about(draft: Draft, view: Landscape, documents: Documents) -> dict[str, float]:
    """The documents that are about what a draft names, beyond the subject itself."""
    own = set(content_terms(draft.title)) - GENERIC_STEMS - view.known
    side = dimensions.closest(draft.title)
    # Any document speaks of options: one that does is not taken by that.
    return documents.about(own if side in (None, dimensions.OPTIONS) else own | side.vocabulary)


def _stands(candidate: _Candidate, seen: set[str], documents: Documents) -> bool:
    """Several documents are about it, and some of them about nothing taken before."""
    few = len(documents) < _FEW
    about = candidate.about
    fresh = [source for source in about if source not in seen]
    worth, near = documents.worth(about), documents.nearness(about)
    if len(about) < (2 if few else 3) or len(fresh) < (1 if few else 2):
        return False
    # A theme must be the matter's own; a side is known to be one of any matter.
    usual = 0.85 * documents.nearness(documents.weight)
    # In a large folder it is a side of other matters as well.
    own = candidate.is_side and len(documents) < _LARGE
    if near < (_SIDE_NEAR if own else max(_NEAR, usual)):
        return False
    if few:
        return worth >= 1.0
    if not candidate.is_side and len(about) < min(5, 2 + len(documents) // 25):
        return False
    told = candidate.titled >= 2 and worth >= 2.0
    return told or (len(about) >= max(5, min(12, len(documents) // 12)) and worth >= 5.0)


def _plain(candidate: _Candidate, documents: Documents) -> bool:
    """Several documents say so in their titles: it would be missed."""
    return candidate.titled > 2 and documents.worth(candidate.about) >= 3.5


def _same(
    candidate: _Candidate,
    taken: Sequence[Draft],
    chosen: Sequence[_Candidate],
    known: frozenset[str],
) -> bool:
    """Whether something taken has its word, or most of its passages or documents."""
    own, full = candidate.own - known, set(content_terms(candidate.draft.title)) - known
    for draft in taken:
        words = set(content_terms(f"{draft.title} {draft.about}")) - GENERIC_STEMS
        if (full if draft.named else own) & words:
            return True
    # A side of the matter is one, whatever its passages speak of besides.
    if not candidate.is_side and any(shared(candidate.draft, draft) for draft in taken):
        return True
    for other in chosen:
        if candidate.is_side and not other.is_side:
            continue
        both = len(set(candidate.about) & set(other.about))
        if both * 2 > min(len(candidate.about), len(other.about)):
            return True
    return False


def _sides(
    question: Question, view: Landscape, documents: Documents, named: Sequence[Dimension]
) -> list[_Candidate]:
    if one_side(question):
        return []  # the others are not asked for
    found: list[_Candidate] = []
    plain = len(question.spans) == 1
    for side in dimensions.SHOWN:
        words = side.vocabulary - view.known
        about = documents.about(words)
        if side in named or not about:
            continue
        members = frozenset(
            i for i, p in enumerate(view.passages) if sum(p.terms[t] for t in words) > 2
        )
        title = _named(side, words, about, documents)
        draft = Draft(
            title=title,
            about=inline(title),
            reason=(
                f"Not named in the question, but {len(about)} of the {len(documents)} documents "
                f"found are about it, and {len(members)} of the {len(view.passages)} passages."
            ),
            prefer=side.prefer[0].upper() + side.prefer[1:],
            asks=side.asks.format(s=question.subject) if plain and not side.beside else "",
            weight=documents.worth(about),
            passages=members,
        )
        own = frozenset(content_terms(title)) - GENERIC_STEMS
        found.append(_Candidate(draft, about, documents.titled(words, about), own, True))
    return found


def _named(
    side: Dimension, words: frozenset[str], about: dict[str, float], documents: Documents
) -> str:
    """The side's name in the documents' words, where most of them share one."""
    if not side.beside:
        return side.title
    support = {term: documents.holding(term, about) for term in sorted(words)}
    first = min(filter(str.isalpha, support), key=lambda t: (-len(support[t]), t))
    if len(support[first]) < _NAMED_BY * len(about):
        return side.title
    title, beside = documents.word(side.spelled[first]), stem(side.beside)
    if beside != first and len(support.get(beside, ())) >= max(2, _NAMED_TOO * len(about)):
        title += f" and {side.beside}"
    return title[0].upper() + title[1:]


def _themes(view: Landscape, documents: Documents, narrow: bool) -> list[_Candidate]:
    found: list[_Candidate] = []
    # What is a side's word names that side; where there is one side only, it names a part of it.
    sides = () if narrow else dimensions.SHOWN
    spoken = frozenset(t for side in sides for t in side.vocabulary)
    for theme in view.themes(20):
        own = frozenset(content_terms(theme.phrases[0])) - GENERIC_STEMS - view.known
        about = documents.about(own, together=True) if own and not own <= spoken else {}
        if about and not theme.title.isupper():
            titled = documents.titled(own, about)
            telling = frozenset(t for t in own if len(view.holding(t)) * 2 <= len(view.passages))
            found.append(_Candidate(theme_draft(theme, view), about, titled, telling or own))
    for root in view.nouns():
        about = documents.about({root}) if root not in spoken else {}
        if len(about) < 3:
            continue
        theme, titled = view.theme_of(root), documents.titled({root}, about)
        # A lone word names a sub-domain only where a good many documents are about it.
        if " " in theme.title or len(about) > 7 or titled > 2:
            found.append(_Candidate(theme_draft(theme, view), about, titled, frozenset({root})))
    return found
