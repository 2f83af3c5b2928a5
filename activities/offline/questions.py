"""What a question asks, read from its form: its kind, its subject, its aspects, what it compares.

Only the English of the question is used, so the reading is the same whatever the documents hold.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from activities.offline.clauses import parted
from activities.offline.comparison import compared
from activities.offline.grammar import WH, tokens_of
from activities.offline.language import (
    capitalised,
    content_terms,
    question_aspects,
    sentences,
)
from activities.offline.lexicon import PREPOSITIONS
from activities.offline.subjects import (
    BROAD,
    matter_of,
    shortened,
    spans_of,
)
from activities.offline.subjects import GENERIC_STEMS as GENERIC_STEMS
from workflows.contracts.facets import QuestionKind

_COMPARES = re.compile(
    r"\b(?:compar(?:e|es|ed|ing|ison|isons)|contrast(?:s|ed|ing)?|versus|vs|differ(?:s|ed|ences?)?"
    r"|stack up|better|preferable|more suitable|best suited|rather than)\b\.?",
    re.I,
)
_DECIDES = re.compile(
    r"\bshould\b|\bwhether (?:or not )?to\b|\bworth\b|\brecommend(?!ed\b)|"
    r"\bdeci(?:de(?!s)|sion(?!s))|\badvis|\bbusiness case\b|\bpros and cons\b|"
    r"\bbest (?:option|choice|way|approach|course)\b|"
    r"\bhow (?:can|could|might|may) (?!\w+ (?:\w+ )?be\b)|"
    r"\b(?:what|which) (?:[\w-]+ ){0,3}(?:strateg\w+|measures?|steps?|actions?|options?)\b.*"
    r"\b(?:can|could|should|would|might)\b",
    re.I,
)
_TELLS_TIME = re.compile(
    r"\btimeline\b|\bchronolog|\bhistor(?:y|ical)\b|\bevol(?:ution|ve[sd]?)\b|\bmilestones?\b|"
    r"\bover (?:time|the (?:years|decades|past|last|course))\b|\b(?:sequence|course) of events\b|"
    r"\bfrom (?:\w+ )?\d{4} (?:to|until|till|through|onwards?)\b|\bbetween \d{4} and \d{4}\b|"
    r"\bsince (?:\w+ )?\d{4}\b|\b\d{4}\s?[–-]\s?\d{4}\b|"
    r"\bhow (?:did|has|have|had|was|were) .*\b(?:develop|chang|evolv|progress|unfold|come (?:about|"
    r"into)|came (?:about|into)|grow|grown|shift)\w*",
    re.I | re.S,
)
_EXPLAINS = re.compile(
    r"\bwhy\b|\bcaus(?:e|es|ed|ing)\b|\breasons? (?:for|why|behind)\b|\b(?:effects?|impacts?|"
    r"influence|consequences?|implications?) (?:of|on|for)\b|\b(?:led|lead|leads|leading) to\b|"
    r"\b(?:affect|influenc|impact|shap|driv|transform|worsen)(?:e|es|s|ed|ing)\b|\bdrivers? of\b|"
    r"\b(?:affect|worsen)\b|\bhow (?:do|does|did|will) [^?]+ (?:influence|impact|shape|drive)\b|"
    r"\b(?:result|stem)s? (?:in|from)\b|\bbecause\b|\bgood or bad\b|\bresponsible for\b|"
    r"\bwhat (?:effects?|impacts?|influence|consequences?)\b",
    re.I,
)
_MEASURED = r"many|much|long|old|far|tall|big|often|high|fast|large|late|deep|heavy|wide|early"
_FACT_OPENERS = re.compile(
    rf"^(?:(?:in|at|on|for|by|of|to|from|with|during|after|under|until|since) )?"
    rf"(?:who|whose|whom|when|where|how (?:{_MEASURED})|which|what)\b",
    re.I,
)
_ASKED_INSIDE = re.compile(
    rf"\b(?:what|which|who|whom|whose|where|when|how (?:{_MEASURED}))\b(?! (?:are|were)\b)", re.I
)
_ASKSBROADLY = re.compile(
    rf"\b(?:is|are|was|were) (?:the |its |their )?(?:[\w-]+ ){{0,2}}(?:{BROAD})\b"
    rf"|^(?:what|which) (?!state)(?:[\w-]+ )?(?:{BROAD})\b",
    re.I,
)
_MEASURE = re.compile(
    r"(?:what|which) (?:share|number|proportion|percentage|fraction|amount|price|year|date|day|"
    r"name|size|length|height|weight|age|distance|temperature|capacity|speed) "
    r"(?:of|did|does|do|was|is)\b"
    r"(?!.*\b(?:how|why)\b)",
    re.I,
)
_ONE_THING = re.compile(
    r"(?:what|which) [\w-]+ (?:do|does|did) (?!.*\b(?:we|our|us)\b)(?:[\w'’-]+ ?){2,7}\?$", re.I
)
""" "What limits does Temporal put on payloads?": several answers, and one narrow question."""
_YES_NO = re.compile(r"^(?:is|are|was|were|did|do|does|has|have|had|can|will|would)\b", re.I)
_ORDERS = re.compile(
    r"^(?:please )?(?:write|give|describe|explain|summari[sz]e|outline|list|discuss|analy[sz]e|"
    r"assess|evaluate|examine|explore|review|report|provide|prepare|map|survey)\b",
    re.I,
)
_FOLLOWS = re.compile(
    r"\b(?:what|which) (?:does|do|did|would|follows?) (?:that|this|it|these|they|from)\b|"
    r"\b(?:that|this|it|these|they) (?:mean|imply|implies|suggest)s? for\b|"
    r"\b(?:based on|given|in light of|in view of|from) (?:that|this|these|those|it|them)\b|"
    r"\b(?:therefore|accordingly|consequently|hence)\b",
    re.I,
)
_YEAR = re.compile(r"\b(1[5-9]\d\d|20\d\d)\b")
_SUBJECT_WORDS = 11
_TELLS = re.compile(
    r"(?:what|which) (?:[\w'’-]+ ){1,7}?(?:know|understand|learn|hear|be told|find|known|said|"
    r"say|tell us|tell|hold|written|reported|established) (?:out )?(?:about|of|on|from)\s+|"
    r"(?:please )?(?:give|write|prepare|provide|make|draw up|put together) (?:[\w'’-]+ ){0,4}?"
    r"(?:overview|summary|account|report|briefing|brief|survey|timeline|history|chronology|"
    r"chronicle|memo) (?:of|on|about)\s+|"
    r"(?:please )?brief (?:[\w'’-]+ ){1,6}?on\s+|"
    r"(?:please )?(?:write|prepare|draft|give)[^:?.]{0,40}\b(?:memo|briefing|note|paper|report)\b"
    r"[^:?.]{0,40}:\s+|"
    r"(?:please )?(?:trace|sketch|recount|reconstruct|retell)\s+",
    re.I,
)
"""How a question leads up to its subject: "What should the council know about …"."""
_TO_KNOW = re.compile(
    r"\b(?:what|which)\b[^?.:;]{0,60}?\bshould (?:[\w'’-]+ ){1,5}?"
    r"(?:know|understand|learn|be told)\b",
    re.I,
)


@dataclass(frozen=True)
class Aspect:
    """A part the question names: a phrase, or a question of its own."""

    text: str
    asks: bool = False
    follows: bool = False
    """It builds on what the other parts find ("and what does that mean for …")."""


@dataclass(frozen=True)
class Question:
    text: str
    kind: QuestionKind
    subject: str
    """What it is all about, fit to stand after "of"; empty where the question names nothing."""
    spans: tuple[str, ...]
    """The phrases the subject is made of."""
    aspects: tuple[Aspect, ...]
    things: tuple[str, ...] = ()
    """What it compares."""
    years: tuple[int, ...] = ()
    core: str = ""
    """Its text without the words that lead up to the subject: "What should we know about …"."""
    matter: str = ""
    """What a decision is about, fit to stand after "of": "drilling a well"."""
    closed: bool = False
    """It asks for the parts it lists, not for a matter of which they are examples."""


def listing(items: Sequence[str], word: str = "and") -> str:
    """ "a", "a and b", "a, b and c"."""
    if len(items) < 2:
        return "".join(items)
    return f"{', '.join(items[:-1])} {word} {items[-1]}"


def read_question(text: str) -> Question:
    text = " ".join(text.split()) if "\n" not in text.strip() else text.strip()
    told = _TELLS.sub("", text, count=1) if _TELLS.match(text) else text
    listed = [item for item in question_aspects(told) if not _YEAR.fullmatch(item)]
    aspects = tuple(_aspect(item) for item in listed)
    things = compared(text)
    kind = _kind(text, aspects, things)
    if kind is QuestionKind.COMPARISON:
        aspects = _criteria(aspects, things)
    else:
        things = ()
    years = tuple(sorted({int(y) for y in _YEAR.findall(text)}))
    spans = _spans_of_subject(text, aspects, things)
    matter = matter_of(text) if kind is QuestionKind.DECISION and not _TO_KNOW.search(text) else ""
    closed = _closed(text, aspects, spans)
    return Question(text, kind, listing(spans), spans, aspects, things, years, told, matter, closed)


def _closed(text: str, aspects: Sequence[Aspect], spans: Sequence[str]) -> bool:
    """ "What do A, B and C cost?", "the costs and risks of D"; not "D: A, B and C".

    So are questions put side by side, "How is A done, and who pays for it?", unless one of them
    asks for all that is known.
    """
    if len(aspects) > 1 and all(a.asks for a in aspects):
        return not (_OPEN.search(text) or _ANYTHING.search(text) or _OPENS.match(text))
    if len(aspects) < 2 or any(a.asks for a in aspects) or _OPEN.search(text):
        return False
    last = text.rfind(aspects[-1].text)
    bare = [span.removeprefix("the ") for span in spans]
    return last >= 0 and all(text.find(span) > last for span in bare)


_OPEN = re.compile(
    r"[:–—;\n]|\b(?:including|such as|for example|for instance|e\.g|especially|above all|"
    r"in particular|not least|among other)",
    re.I,
)


_ANYTHING = re.compile(
    r"\b(?:known|know|said|reported|learn|overview|summary|situation|state of|"
    r"about (?:it|this|them)|being done|we|our|us)\b",
    re.I,
)
_OPENS = re.compile(
    r"(?:before|after|given|in (?:light|view|response)|based on|as|for|if|when)\b", re.I
)


def _aspect(text: str) -> Aspect:
    first = text.lower().split()
    asks = first[0] in WH or (first[0] in PREPOSITIONS and first[1:2] != [] and first[1] in WH)
    return Aspect(text, asks, bool(_FOLLOWS.search(text)))


def _criteria(aspects: tuple[Aspect, ...], things: tuple[str, ...]) -> tuple[Aspect, ...]:
    """The aspects without the sides themselves."""
    sides = {term for thing in things for term in content_terms(thing)}
    kept: list[Aspect] = []
    for aspect in aspects:
        head = aspect.text.split(" of ")[0]
        if aspect.asks and not _COMPARES.search(aspect.text):
            kept.append(aspect)
        elif not aspect.asks and not set(content_terms(head)) & sides:
            kept.append(Aspect(head if set(content_terms(aspect.text)) & sides else aspect.text))
    return tuple(kept)


def _kind(text: str, aspects: tuple[Aspect, ...], things: tuple[str, ...]) -> QuestionKind:
    if _COMPARES.search(text) and len(things) > 1:
        return QuestionKind.COMPARISON
    if _is_fact(text, aspects):
        return QuestionKind.FACT
    text = _TO_KNOW.sub("", text)
    for kind, form in (
        (QuestionKind.DECISION, _DECIDES),
        (QuestionKind.TIMELINE, _TELLS_TIME),
        (QuestionKind.CAUSE, _EXPLAINS),
    ):
        if form.search(text):
            return kind
    if len(things) > 1 or (_COMPARES.search(text) and re.match(r"compare\b", text, re.I)):
        return QuestionKind.COMPARISON
    return QuestionKind.OVERVIEW


def _is_fact(text: str, aspects: tuple[Aspect, ...]) -> bool:
    """One narrow thing is asked for: a person, a place, a time, a number, a yes or no."""
    asked = sentences(text)
    if (
        not asked
        or len(asked) > 2
        or "\n" in text
        or _ORDERS.match(text)
        or sum(a.asks for a in aspects) > 1
        or re.match(r"what (?:is|was) (?:known|said|reported|there)\b", text, re.I)
        or _TELLS.match(text)
    ):
        return False
    last = asked[-1]
    named = bool(capitalised(text)) or bool(re.search(r"\d|[\"“]", text))
    if re.search(r"\bshould\b|\bcan we\b|\bworth\b", last, re.I):
        return False
    if _YES_NO.match(last):
        return named and not (_EXPLAINS.search(last) or re.search(r"\b(?:we|our)\b", last, re.I))
    head = " ".join(last.split()[:9])
    if _MEASURE.match(last):
        return True
    if _FACT_OPENERS.match(last):
        if re.match(r"(?:in |on |of |for )?(?:what|which)\b", last, re.I):
            plural = re.match(
                r"(?:what|which) (?:are|were) |(?:what|which) (?:[\w-]+ ){0,2}[\w-]{3,}(?<!s)s "
                r"(?:are|were|can|could|have|do|did|does|should|would|will|drive|shape|led)\b",
                last,
                re.I,
            )
            if (plural and not _ONE_THING.match(last)) or _ASKSBROADLY.search(head):
                return False
            return named and not re.match(r"what (?:caused|led|drove|drives|happened)", last, re.I)
        return not re.match(r"who (?:are|were)\b|how (?:many|much) .* and (?:how|why)", last, re.I)
    if not last.endswith("?") or re.match(r"how\b|why\b", last, re.I) or _DECIDES.search(last):
        return False
    # "The director of … is based in what city?", "At the 2011 census, what was …?"
    return named and bool(_ASKED_INSIDE.search(last))


def _spans_of_subject(
    text: str, aspects: tuple[Aspect, ...], things: tuple[str, ...]
) -> tuple[str, ...]:
    """The question's own noun phrases that are neither aspects nor sides, in its own words."""
    taken = {t for a in aspects if not a.asks for t in content_terms(a.text.split(" of ")[0])}
    taken |= {t for thing in things for t in content_terms(thing)}
    asked = [a.text for a in aspects if a.asks]
    spans: list[str] = []
    later: list[str] = []
    bearing = False
    for sentence in sentences(text):
        whole = parted(sentence.rstrip(" ?.!"))
        if whole.opening:
            named_there = [name.text for name in capitalised(whole.opening)]
            spoken_of = spans_of(tokens_of(whole.opening), taken)
            later += spoken_of if whole.bears or not aspects else named_there
            bearing = whole.bears
        body = whole.lead or whole.asked
        for clause in asked:
            if not body.startswith(clause):
                body = body.replace(clause, "")
        body = _TELLS.sub("", body, count=1) if _TELLS.match(body) else body
        if not re.match(r"(?:please )?(?:cover|include|consider|address|focus)\b", body, re.I):
            spans += spans_of(tokens_of(body), taken)
        if spans:
            break
    spans = [shortened(span) for span in dict.fromkeys(spans)]
    named = [s for s in spans if capitalised(f"a {s}")]
    others = sorted((s for s in spans if s not in named), key=lambda s: -len(content_terms(s)))
    kept: list[str] = []
    # What a question opens with ("Based on …, how …") is context: it comes last and if it fits.
    # Who asks, and when, is no part of it: "Before we vote on …" counts where nothing else does.
    context = [shortened(span) for span in later] if bearing or not spans else []
    for span in [*named[:2], *others[:2], *context]:
        fits = len(kept) < 3 and len(" ".join([*kept, span]).split()) <= _SUBJECT_WORDS
        if not kept or fits:
            kept.append(span)
    kept.sort(key=[*spans, *context].index)
    return tuple(kept)
