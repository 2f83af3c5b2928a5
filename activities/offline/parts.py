"""What a plan could cover: the parts a question names, and the themes its documents show.

A part that is named is always drafted, also where nothing was found on it. A theme is drafted where
several documents share it and nothing drafted before covers it.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

from activities.offline import dimensions
from activities.offline.aboutness import Documents
from activities.offline.facets import Draft
from activities.offline.grammar import trimmed
from activities.offline.groups import Group, groups_of
from activities.offline.headings import heading, subject_of
from activities.offline.language import capitalised, content_terms, stem, words
from activities.offline.lexicon import STOP
from activities.offline.questions import GENERIC_STEMS, Aspect, Question
from activities.offline.themes import Landscape, Theme
from activities.offline.topicality import Passage
from workflows.contracts.facets import QuestionKind


def named_parts(
    question: Question, view: Landscape, documents: Documents | None = None, most: int = 10
) -> list[Draft]:
    """A draft for every part the question names; "risks and challenges" are one."""
    aspects: list[Aspect] = []
    for aspect in _completed(question, view):
        family = _family(aspect)
        if family and aspects and _family(aspects[-1]) is family:
            aspects[-1] = Aspect(f"{aspects[-1].text} and {aspect.text}")
        else:
            aspects.append(aspect)
    spare = most - len(aspects) - _RESERVED
    split: list[Aspect] = []
    for aspect in aspects:
        halves = _halves(aspect, documents) if documents and spare > 0 else []
        spare -= bool(halves)
        split += halves or [aspect]
    return [named_draft(aspect, view, documents) for aspect in split]


_WHOLE = re.compile(
    r"(?:(?:how|what|which|who|when|where|why)(?: (?:many|much|long|often|\w+))? (?:do|does|did|is|"
    r"are|was|were|has|have|had|can|could|will|would|should)|who \w+ed|what happen(?:s|ed))\b",
    re.I,
)
_RESERVED = 3
"""Places kept for what the documents show and the question does not name."""
_MUCH = 4


def _halves(aspect: Aspect, documents: Documents) -> list[Aspect]:
    """ "How A and B perform" as two, where several documents are about each."""
    joint = subject_of(aspect.text) if aspect.asks else None
    parts = [part.strip() for part in re.split(r",\s*(?:and )?|\s+and\s+", joint or "")]
    if not joint or len(parts) != 2 or len(parts[0].split()) > 3:
        return []
    about = [documents.about(set(content_terms(part))) for part in parts]
    apart = all(len(set(a) - set(b)) >= _MUCH for a, b in (about, about[::-1]))
    return [Aspect(aspect.text.replace(joint, p), True) for p in parts] if apart else []


_FAMILIES = (
    frozenset(
        map(stem, ("risk", "challenge", "problem", "barrier", "threat", "issue", "difficulty"))
    ),
    frozenset(map(stem, ("benefit", "advantage", "opportunity", "strength", "merit"))),
)


def _family(aspect: Aspect) -> frozenset[str] | None:
    terms = set(content_terms(aspect.text))
    return next((f for f in _FAMILIES if not aspect.asks and terms and terms <= f), None)


def _completed(question: Question, view: Landscape) -> list[Aspect]:
    """Aspects with the noun they share: "incident, problem and change management".

    The documents decide: one of the short ones must stand there with the last one's noun.
    """
    text = "\n".join(p.text for p in view.passages).lower()
    aspects = list(question.aspects)
    for end, last in enumerate(aspects):
        start = end
        while start and " " not in aspects[start - 1].text and not aspects[start - 1].asks:
            start -= 1
        if start == end or last.asks or len(last.text.split()) != 2:
            continue
        noun = last.text.split()[1]
        full = [f"{aspect.text} {noun}" for aspect in aspects[start:end]]
        listed = ", ".join(a.text for a in aspects[start:end]) in question.text
        if listed and sum(phrase.lower() in text for phrase in full) * 2 >= len(full):
            aspects[start:end] = [Aspect(phrase) for phrase in full]
    return aspects


def named_draft(aspect: Aspect, view: Landscape, documents: Documents | None = None) -> Draft:
    title = heading(aspect.text) if aspect.asks else aspect.text.strip(" ?.")
    title = (title[0].upper() + title[1:])[:110]
    title += "?" * bool(aspect.asks and _WHOLE.match(title) and len(title) < 100)
    members = view.holding(phrase_of(aspect))
    if aspect.asks:
        parts = re.split(r",\s*|\s+and\s+", title)
        members = members.union(*(view.holding(part) for part in parts))
        members = members or frozenset().union(*(view.holding(word) for word in title.split()))
    if members:
        reason = (
            f"Named in the question; {len(members)} of the {len(view.passages)} passages on the "
            f"subject touch it."
        )
    else:
        reason = (
            "Named in the question; the first search found nothing on it, so it must be looked for."
        )
    return Draft(
        title=title,
        about=inline(title) if aspect.asks else aspect.text,
        reason=reason,
        prefer=dimensions.prefer(title, kinds_of(members, view.passages)),
        named=True,
        phrases=tuple(
            _told(title, view, documents)
            or ([] if aspect.asks else view.tied(members, content_terms(title)))
        ),
        asks=aspect.text if aspect.asks else "",
        follows=aspect.follows,
        weight=float(len(members)),
        passages=members,
    )


def _told(title: str, view: Landscape, documents: Documents | None) -> list[str]:
    """What the documents call a side of the matter that the question names otherwise."""
    side = dimensions.closest(title)
    if side is None or not side.beside or documents is None:
        return []
    about = documents.about(side.vocabulary)
    words = side.vocabulary - set(content_terms(title)) - view.known - GENERIC_STEMS
    support = {term: len(documents.holding(term, about)) for term in sorted(words)}
    often = [t for t in words if support[t] >= max(3, 0.3 * len(about))]
    return [
        documents.word(side.spelled[term])
        for term in sorted(often, key=lambda t: (-support[t], t))[:2]
    ]


def core_parts(question: Question, view: Landscape, named: Sequence[Draft]) -> list[Draft]:
    """What a decision is about: the matter beside the name of whoever decides."""
    whose = {t for name in capitalised(question.text) for t in content_terms(name.text)}
    drafts: list[Draft] = []
    for span in question.spans:
        terms = set(content_terms(span)) - GENERIC_STEMS
        called = bool(terms & whose) and len(terms - whose) < 2  # "the Harrow district"
        if terms - whose and len(content_terms(span)) > 1 and not called:
            draft = named_draft(Aspect(trimmed(span)), view)
            if not covered(draft, [*named, *drafts]):
                drafts.append(draft)
    return drafts[:2]


_FEW = 16


def shown_themes(view: Landscape, documents: Documents, kept: Sequence[Draft]) -> list[Draft]:
    """Themes on topic that nothing kept covers yet, and that documents are about."""
    drafts: list[Draft] = []
    few = len(view.passages) < _FEW
    least = 2 if few else max(3, len(view.passages) // 25)
    for theme in view.themes(20):
        if len(theme.documents) < 2 or len(theme.passages) < least:
            continue
        telling = set(content_terms(theme.phrases[0])) - GENERIC_STEMS - view.known
        if few and len(telling) < 2 and len(theme.documents) < 3:
            continue  # where little was found, a theme needs a telling name or a third witness
        if len(documents.about(telling, together=True)) < (1 if few else 2):
            continue
        draft = theme_draft(theme, view)
        if not covered(draft, [*kept, *drafts]):
            drafts.append(draft)
    return drafts


_NEAR = 0.4


def shown_groups(question: Question, view: Landscape, kept: Sequence[Draft]) -> list[Draft]:
    """What single documents of a small folder are about, and nothing kept covers."""
    drafts: list[Draft] = []
    matter = set(content_terms(question.matter or question.subject)) - GENERIC_STEMS
    names = {t for name in capitalised(question.text) for t in content_terms(name.text)}
    if question.kind is QuestionKind.DECISION:
        matter -= names  # what is decided, not who decides
    elif names & matter:
        matter &= names  # what has the effects, whatever the words for them
    for group in groups_of(view.passages, view.known):
        broad = question.kind is QuestionKind.OVERVIEW and not question.aspects
        if not broad and not _bears(group, matter, view):
            continue
        told = Draft(
            title=group.title,
            about=inline(group.title),
            reason=(
                f"{len(group.passages)} of the {len(view.passages)} passages on the subject deal "
                f"with it."
            ),
            prefer=dimensions.prefer(group.title, kinds_of(group.passages, view.passages)),
            weight=group.weight,
            passages=group.passages,
        )
        side = dimensions.closest(group.title)
        # "Budget and expenditure" beside "Costs" would be the same side under another name.
        taken = side and group.terms <= side.vocabulary and side.title in {d.title for d in kept}
        if group.weight >= _NEAR and not taken and not covered(told, [*kept, *drafts]):
            drafts.append(told)
    return drafts


def _bears(group: Group, matter: set[str], view: Landscape) -> bool:
    """Whether a group speaks of the matter itself: half of its passages hold half of the words."""
    held = [sum(t in view.passages[i].terms for t in matter) for i in group.passages]
    return not matter or sum(n * 2 >= len(matter) for n in held) * 2 >= len(held)


def theme_draft(theme: Theme, view: Landscape) -> Draft:
    more = view.tied(theme.passages, content_terms(theme.title))
    return Draft(
        title=theme.title,
        about=inline(theme.title),
        reason=(
            f"{len(theme.passages)} of the {len(view.passages)} passages on the subject, in "
            f"{len(theme.documents)} documents, deal with it: "
            f"{', '.join(dict.fromkeys([*theme.phrases[:3], *more]))}."
        ),
        prefer=dimensions.prefer(theme.title, kinds_of(theme.passages, view.passages)),
        phrases=tuple(more),
        weight=theme.weight,
        passages=theme.passages,
    )


def covered(draft: Draft, kept: Sequence[Draft], by_passages: bool = True) -> bool:
    """Whether a draft shares a telling word, or most of its passages, with one that is kept."""
    own = set(content_terms(draft.title)) - GENERIC_STEMS
    return any(
        own & set(content_terms(f"{other.title} {other.about}"))
        or (by_passages and shared(draft, other))
        for other in kept
    )


def shared(one: Draft, other: Draft) -> bool:
    """Whether two drafts are about the same passages."""
    both = len(one.passages & other.passages)
    return both > 0 and both / len(one.passages | other.passages) > 0.5


def kinds_of(members: frozenset[int], passages: Sequence[Passage]) -> list[str]:
    counted = Counter(passages[i].kind for i in members)
    return sorted(counted, key=lambda kind: (-counted[kind], kind))


def inline(title: str) -> str:
    """A title as it reads within a sentence."""
    first = title.split()[0]
    if any(c.isupper() or c.isdigit() for c in first[1:]):
        return title
    return first.lower() + title[len(first) :]


def phrase_of(aspect: Aspect) -> str:
    return " ".join(w for w in words(aspect.text) if w not in STOP) if aspect.asks else aspect.text
