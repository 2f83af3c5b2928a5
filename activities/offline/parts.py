"""What a plan could cover: the parts a question names, and the themes its documents show.

A part that is named is always drafted, also where nothing was found on it. A theme is drafted where
several documents share it and nothing drafted before covers it.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

from activities.offline import dimensions
from activities.offline.facets import Draft
from activities.offline.language import capitalised, content_terms, stem, words
from activities.offline.lexicon import STOP
from activities.offline.questions import GENERIC_STEMS, Aspect, Question
from activities.offline.themes import Landscape, Theme
from activities.offline.topicality import Passage


def named_parts(question: Question, view: Landscape) -> list[Draft]:
    """A draft for every part the question names; "risks and challenges" are one."""
    aspects: list[Aspect] = []
    for aspect in _completed(question, view):
        family = _family(aspect)
        if family and aspects and _family(aspects[-1]) is family:
            aspects[-1] = Aspect(f"{aspects[-1].text} and {aspect.text}")
        else:
            aspects.append(aspect)
    return [named_draft(aspect, view) for aspect in aspects]


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


def named_draft(aspect: Aspect, view: Landscape) -> Draft:
    members = view.holding(phrase_of(aspect))
    title = _title(aspect)
    phrases = view.phrases(members, content_terms(title), 8) if members else []
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
        about=aspect.text,
        reason=reason,
        prefer=dimensions.prefer(aspect.text, kinds_of(members, view.passages)),
        named=True,
        phrases=tuple(phrases),
        asks=aspect.text if aspect.asks else "",
        follows=aspect.follows,
        weight=float(len(members)),
        passages=members,
    )


def core_parts(question: Question, view: Landscape, named: Sequence[Draft]) -> list[Draft]:
    """What a decision is about: the matter beside the name of whoever decides."""
    whose = {t for name in capitalised(question.text) for t in content_terms(name.text)}
    drafts: list[Draft] = []
    for span in question.spans:
        terms = set(content_terms(span)) - GENERIC_STEMS
        called = bool(terms & whose) and len(terms - whose) < 2  # "the Harrow district"
        if terms - whose and len(content_terms(span)) > 1 and not called:
            draft = named_draft(Aspect(span), view)
            if not covered(draft, [*named, *drafts]):
                drafts.append(draft)
    return drafts[:2]


_LEAD = re.compile(
    r"^(?:(?:in|for|to|at|by|from|with|on) )?(?:what|which|who|how|when|where|why|whether)\b"
    r"(?: (?:is|are|was|were|do|does|did|has|have|had|can|could|will|would|should|it|its|they|"
    r"their|the|a|an|be|been))*\s*",
    re.I,
)


def _title(aspect: Aspect) -> str:
    text = aspect.text.strip(" ?.")
    if aspect.asks:
        caused = re.match(r"what (?:caused|causes|led to|drove|drives) (.+)", text, re.I)
        means = re.match(r"what (?:does|do|did|would) (?:that|this|it|these) mean (.+)", text, re.I)
        rest = _LEAD.sub("", text)
        if caused:
            text = f"Causes of {caused[1]}"
        elif means:
            text = f"What it means {means[1]}"
        elif rest and not text.lower().startswith(("how", "why")):
            text = rest
    return (text[0].upper() + text[1:])[:110]


_FEW = 16


def shown_themes(view: Landscape, kept: Sequence[Draft]) -> list[Draft]:
    """Themes on topic that nothing kept covers yet."""
    drafts: list[Draft] = []
    few = len(view.passages) < _FEW
    least = 2 if few else max(3, len(view.passages) // 25)
    for theme in view.themes(20):
        if len(theme.documents) < 2 or len(theme.passages) < least:
            continue
        telling = set(content_terms(theme.phrases[0])) - GENERIC_STEMS - view.known
        if few and len(telling) < 2 and len(theme.documents) < 3:
            continue  # where little was found, a theme needs a telling name or a third witness
        draft = _theme_draft(theme, view)
        if not covered(draft, [*kept, *drafts]):
            drafts.append(draft)
    return drafts


def _theme_draft(theme: Theme, view: Landscape) -> Draft:
    more = view.phrases(theme.passages, content_terms(theme.title), 8)
    return Draft(
        title=theme.title,
        about=inline(theme.title),
        reason=(
            f"{len(theme.passages)} of the {len(view.passages)} passages on the subject, in "
            f"{len(theme.documents)} documents, deal with it: "
            f"{', '.join(dict.fromkeys([*theme.phrases[:3], *more[:2]]))}."
        ),
        prefer=dimensions.prefer(theme.title, kinds_of(theme.passages, view.passages)),
        phrases=tuple(more),
        weight=theme.weight,
        passages=theme.passages,
    )


def covered(draft: Draft, kept: Sequence[Draft]) -> bool:
    own = set(content_terms(draft.title)) - GENERIC_STEMS
    for other in kept:
        theirs = set(content_terms(f"{other.title} {other.about}")) - GENERIC_STEMS
        if own & theirs:
            return True
        both = len(draft.passages & other.passages)
        if both and both / len(draft.passages | other.passages) > 0.5:
            return True
    return False


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
