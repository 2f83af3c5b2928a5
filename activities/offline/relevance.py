"""How well a text serves what is asked, measured in the words that tell the ask from its subject.

An `Aim` weighs the terms of one ask: rare in the corpus above common, the facet's own above those
the whole question shares, things above verbs and general words. `coverage` is the share of that
weight a text holds. A text that has only the general subject scores low however often it says it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from math import log, sqrt
from types import MappingProxyType

from activities.offline.cues import advises
from activities.offline.dimensions import is_general_aspect
from activities.offline.language import (
    STOP,
    capitalised,
    content_terms,
    noun_phrases,
    question_aspects,
    similarity,
    words,
)
from activities.offline.stemming import stem
from activities.offline.vocabulary import ACTS, DESCRIPTORS, FILLER, SOFT, kinship

_WANTS = (
    ("number", re.compile(
        r"\bhow (?:many|much|often|far|long|large|big|fast|high)\b|\b(?:percentage|share|rate|"
        r"number|amount|cost|costs|price|budget|figures?|size|total|average|level|savings?|spend|"
        r"population|area|height|length|weight|capacity|distance|duration)\b",
        re.I)),
    ("date", re.compile(
        r"\bwhen\b|\b(?:what|which) (?:year|date|month|day)|timeline|schedule|deadline|chronolog",
        re.I)),
    ("reason", re.compile(r"\bwhy\b|\bcauses?\b|\breasons?\b|\bdriv(?:e|es|en|ers)\b", re.I)),
    ("advice", re.compile(
        r"\bhow (?:should|must|ought|to|(?:do|can) (?:i|we|you|one))\b|\bwhat (?:should|must)\b|"
        r"\brecommend|\b(?:best|good) (?:practices?|ways?)\b|\badvi[cs]e\b|"
        r"\bguid(?:ance|elines?)\b",
        re.I)),
    ("name", re.compile(r"\bwho(?:m|se)?\b|\bwhich (?:company|person|country|city|firm)", re.I)),
)  # fmt: skip
_REASON = re.compile(
    r"\b(?:because|due to|owing to|caused|causes|as a result|result(?:s|ed|ing) (?:in|from)|"
    r"led to|leads to|driven by|attribut\w+|thanks to|since|therefore|why)\b",
    re.I,
)
_DATE = re.compile(r"\b(?:1[5-9]|20)\d\d\b")
_SPAN = re.compile(r"((?:1[5-9]|20)\d\d)(?:–((?:1[5-9]|20)\d\d))?(?=:|$)")
_SAME_QUESTION = 0.9
_QUOTED = re.compile(r"[\"“]([^\"”]{2,80})[\"”]")
# "What sport …", "which country …": the answer is one, and seldom says so.
_ANSWER_KIND = re.compile(
    r"\b(?:what|which)\s+([a-z]+)\s+(?:is|are|was|were|did|does|do|has|have|can)\b", re.I
)
_JOINT = re.compile(r"\s+(?:and|or|versus|vs\.?)\s+|\s*[,;/&]\s*", re.I)
_MANY = 60
"""A folder of fewer documents has one subject, named or not; a larger one has many."""
_AT_LARGE = 0.5
"""What it counts that a passage's document names the subject, and the passage does not."""
_SAID_ELSEWHERE = 0.55
"""What a term in the title or heading counts for the sentences under it."""


@dataclass(frozen=True)
class Aim:
    """What one ask is after."""

    title: str
    ask: str
    weights: Mapping[str, float]
    own: frozenset[str]
    """Terms of the facet itself, as against the question's subject; empty where it has none."""
    surface: Mapping[str, str]
    """The ask's own word for each term."""
    phrases: tuple[str, ...]
    subject: Mapping[str, float]
    """The whole question's terms and their weights."""
    topic: Mapping[str, float]
    """The same without parts that any matter has: "causes and effects of A" is about A."""
    named: frozenset[str]
    """Terms that stand in the ask only as part of names: whom it is about, not what."""
    names: tuple[str, ...]
    """Names of several words, or in quotation marks, in the ask; in lower case."""
    narrow: bool
    """The ask is the question itself and names what it is about: its name is what must be there."""
    wants: frozenset[str]
    frequency: Mapping[str, int]
    documents: int
    acronyms: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Initials of the ask's phrases, and the terms they stand for."""
    _matches: dict[str, tuple[tuple[str, float], ...]] = field(default_factory=dict)

    @property
    def span(self) -> tuple[int, int] | None:
        """The years of a facet that is a period: "2019–2021: the well"."""
        found = _SPAN.match(self.title)
        return (int(found[1]), int(found[2] or found[1])) if found else None

    @property
    def core(self) -> tuple[str, ...]:
        """The distinctive terms, heaviest first; the question's subject alone is none."""
        titled = set(content_terms(self.title))
        eligible = {t: w for t, w in self.weights.items() if t in self.own}
        eligible = (
            {t: w for t, w in eligible.items() if t in titled} or eligible or {**self.weights}
        )
        top = max(eligible.values(), default=0.0)
        heavy = {t for t, w in eligible.items() if w >= 0.45 * top}
        # "Costs and financing" is about costs too, however common that word is.
        for part in _JOINT.split(self.title):
            own = [t for t in content_terms(part) if t in eligible]
            heavy.update(sorted(own, key=lambda t: (-eligible[t], t))[:1])
        return tuple(sorted(heavy, key=lambda t: (-self.weights[t], t)))

    @property
    def parts(self) -> tuple[tuple[str, ...], ...]:
        """The distinctive terms by the parts of the title: "costs and funding" is either."""
        split = (set(content_terms(part)) for part in _JOINT.split(self.title))
        parts = [tuple(t for t in self.core if t in terms) for terms in split]
        return tuple(part for part in parts if part) or (self.core,)

    def matches(self, text: str) -> dict[str, float]:
        """The ask's terms that stand in a text: 1 as such, less as a synonym or relative."""
        found: dict[str, float] = {}
        for root in _roots(text):
            if root not in self._matches:
                kin = [(term, k) for term in self.weights if (k := kinship(term, root))]
                kin += [(term, 0.9) for term in self.acronyms.get(root, ())]
                self._matches[root] = tuple(kin)
            for term, near in self._matches[root]:
                found[term] = max(found.get(term, 0.0), near)
        return found

    def coverage(
        self,
        text: str,
        around: str = "",
        only: Iterable[str] | None = None,
        lent: Mapping[str, float] = MappingProxyType({}),
    ) -> float:
        """Share of the weight of the terms that a text holds.

        `around` is its title and heading; `lent` are terms it has by speaking of a thing that
        another text names together with them.
        """
        terms = list(self.weights if only is None else only)
        total = sum(self.weights[t] for t in terms)
        if not total:
            return 0.0
        inside = self.matches(text)
        above = self.matches(around) if around else {}
        held = sum(
            self.weights[t]
            * max(inside.get(t, 0.0), _SAID_ELSEWHERE * above.get(t, 0.0), lent.get(t, 0.0))
            for t in terms
        )
        return held / total

    def about(self, text: str) -> float:
        """The share of the weight of what the question is about that a text holds."""
        return _share(self.topic, _roots(text))

    def at_large(self, text: str) -> float:
        """The same for the whole question, its general parts among it."""
        return _share(self.subject, _roots(text))

    def strays(self, text: str, held: float) -> float:
        """How far a passage is from the question's subject, where that is a rare one.

        0 where it names the subject, or where every document does; towards 1 where the subject is
        one of many and the passage, in a document that holds the share `held` of it, does not.
        """
        if self.documents < _MANY:
            return 0.0
        apart = {t: w for t, w in self.topic.items() if t not in self.own}
        rare = max(apart.values(), default=0.0)
        return rare * (1 - max(_share(apart, _roots(text)), _AT_LARGE * held))

    def speaks_of(self, text: str) -> bool:
        """Whether a text names the thing that a narrow question is about."""
        low = text.lower()
        return self.narrow and any(name in low for name in self.names)

    def unheard_of(self) -> float:
        """The share of the question's weight, where it is known, that no document holds."""
        told = {t: w for t, w in self.subject.items() if t in self.frequency}
        total = sum(told.values())
        return sum(w for t, w in told.items() if not self.frequency[t]) / total if total else 0.0

    def titled(self, title: str) -> bool:
        """Whether a title is wholly made of the ask's terms, a distinctive one among them."""
        terms = set(content_terms(title.split(" (", 1)[0]))
        return bool(terms) and terms <= set(self.weights) and bool(terms & set(self.core))

    def direct(self, text: str) -> bool:
        """Whether the text gives the sort of thing that is asked for."""
        return bool(
            ("number" in self.wants and re.search(r"\d", text))
            or ("date" in self.wants and _DATE.search(text))
            or ("reason" in self.wants and _REASON.search(text))
            or ("advice" in self.wants and advises(text))
            or ("name" in self.wants and capitalised(text))
        )


def wanted(ask: str) -> frozenset[str]:
    """The sorts of things that are asked for, as far as the words tell."""
    return frozenset(kind for kind, cue in _WANTS if cue.search(ask))


def measured(question: str) -> bool:
    """Whether figures help to answer: not where a name, a date or a reason is all that is asked."""
    wants = wanted(question)
    return "number" in wants or not wants


def aim_at(
    question: str, title: str, ask: str, frequency: Mapping[str, int], documents: int
) -> Aim:
    """Weigh the terms of `ask`; `frequency` is how many documents hold each word searched for."""
    known: dict[str, int] = {}
    for searched, count in frequency.items():
        for root in map(stem, words(searched)):
            known[root] = max(known.get(root, 0), count)
    shared, titled = set(content_terms(question)), set(content_terms(title))
    asked = [t for t in dict.fromkeys(content_terms(f"{title} {ask}")) if not t.isdigit()]
    called = [name.text for name in capitalised(ask)] + _QUOTED.findall(ask)
    named = {t for name in called for t in content_terms(name)}
    kinds = {t for kind in _ANSWER_KIND.findall(ask) for t in content_terms(kind)} | DESCRIPTORS
    kinds = kinds - named if similarity(question, ask) >= _SAME_QUESTION else set()
    solid = [t for t in asked if t not in FILLER and t not in ACTS]
    # "Who decides next": a title that names no thing asks for what is done.
    acts = {t for t in titled & ACTS if not any(s in titled and s not in SOFT for s in solid)}
    solid = sorted(acts) or solid
    own = frozenset(t for t in solid if t not in shared or t in titled)
    weights: dict[str, float] = {}
    for term in asked:
        weight = _told_weight(term, known, documents)
        if term in acts:
            weight = rarity(known.get(term), documents)
        if term in titled:
            weight *= 1.6
        elif titled:
            # What an ask adds to its title tells where to look, not what must be there.
            weight *= 0.7
        if own and term in shared and term not in titled:
            weight *= 0.5
        if term in named and term not in SOFT | FILLER | ACTS:
            # In a folder about one thing its name is everywhere, and still what is asked about.
            weight = max(weight * 1.2, 1.0 if term in titled else 0.0)
        if term in kinds:
            weight *= 0.1
        weights[term] = round(weight, 4)
    surface: dict[str, str] = {}
    for word in words(f"{ask} {title}"):
        surface.setdefault(stem(word), word)
    # "In particular" names nothing, and would become part of what is looked for.
    spelled = re.sub(r"\b(?:in particular|especially|such as)\b", ",", ask, flags=re.I)
    phrases = tuple(dict.fromkeys([*noun_phrases(title), *noun_phrases(spelled)]))
    quoted = set(_QUOTED.findall(ask))
    names = tuple(_bare_name(name) for name in called if " " in name or name in quoted)
    names = names or tuple(_bare_name(name) for name in called)
    subject = {t: _told_weight(t, known, documents) for t in sorted(shared) if not t.isdigit()}
    return Aim(
        title=title,
        ask=ask,
        weights=weights,
        own=own,
        surface=surface,
        phrases=phrases,
        subject=subject,
        topic={t: rarity(known.get(t), documents) for t in _topic(question, subject)}
        if documents >= _MANY
        else subject,
        named=frozenset(named),
        names=names,
        narrow=bool(names) and similarity(question, ask) >= _SAME_QUESTION,
        wants=wanted(ask),
        frequency=known,
        documents=documents,
        acronyms=_acronyms(ask),
    )


def _topic(question: str, subject: Iterable[str]) -> list[str]:
    parts = [part for part in question_aspects(question) if is_general_aspect(part)]
    general = {term for part in parts for term in content_terms(part)}
    left = [term for term in subject if term not in general | FILLER | ACTS]
    return left or list(subject)


def _share(weights: Mapping[str, float], roots: frozenset[str]) -> float:
    total = sum(weights.values())
    return sum(w for t, w in weights.items() if t in roots) / total if total else 0.0


def _told_weight(term: str, frequency: Mapping[str, int], documents: int) -> float:
    """What a term tells by itself: rare above common, things above general words and verbs."""
    kind = 0.1 if term in FILLER else 0.65 if term in SOFT else 0.35 if term in ACTS else 1.0
    return kind * rarity(frequency.get(term), documents)


def _bare_name(name: str) -> str:
    return re.sub(r"['’]s?$", "", name).lower()


def _acronyms(text: str) -> dict[str, tuple[str, ...]]:
    """Initials of three to five content words: "customer relationship management" is crm."""
    found: dict[str, tuple[str, ...]] = {}
    for clause in re.split(r"[^\w\s'’-]+", text):
        tokens = words(clause)
        for size in (3, 4, 5):
            for i in range(len(tokens) - size + 1):
                run = tokens[i : i + size]
                if not any(word in STOP or word.isdigit() for word in run):
                    initials = "".join(word[0] for word in run)
                    found.setdefault(initials, tuple(stem(word) for word in run))
    return found


def rarity(count: int | None, documents: int) -> float:
    """How much a term tells: 1 where one document in the corpus holds it, near 0 where all do."""
    if count is None or documents < 2:
        return 0.7
    # A word no document has tells no more than one that a single document has.
    held = max(1, min(count, documents))
    top = log(1 + (documents - 0.5) / 1.5)
    # The root keeps a folder of twenty files from turning every shared word into noise.
    return max(0.06, sqrt(log(1 + (documents - held + 0.5) / (held + 0.5)) / top))


@lru_cache(maxsize=20_000)
def _roots(text: str) -> frozenset[str]:
    return frozenset(content_terms(text))
