"""What a draft lacks that a follow-up could find, each as a gap in words that can be searched for.

A gap is worth raising only where there is reason to think that the documents hold what is missing:
the question or the plan names it, other facets' claims speak of it, or the facet was searched for
with too few words. What was looked for in vain is not looked for again in the same words.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from statistics import median

from activities.offline import dimensions
from activities.offline.conversation import JsonObject
from activities.offline.headings import heading
from activities.offline.language import (
    capitalised,
    content_terms,
    in_a_sentence,
    noun_phrases,
    plainly,
    similarity,
    stem,
    words,
)
from activities.offline.questions import GENERIC_STEMS, Question, listing
from activities.offline.vocabulary import kinship

_HINTS = ", in particular "
_KIN = 0.6
_PLAIN_NAMES = frozenset(dimension.title for dimension in dimensions.ALL)
_JOINTS = re.compile(r",\s*(?:and\s+)?|\s+and\s+|\s*;\s*", re.I)


@dataclass(frozen=True)
class Shortfall:
    rank: float
    """Lower is graver."""
    facet_id: str
    kind: str
    text: str
    question: str


def counted(n: int, noun: str) -> str:
    return f"{n} {noun}" if n == 1 else f"{n} {noun}s"


def unanswered(
    facets: Sequence[JsonObject], by_facet: dict[str, list[JsonObject]], question: Question
) -> Iterator[Shortfall]:
    for facet in facets:
        if not by_facet[facet["id"]]:
            yield Shortfall(
                0.0,
                facet["id"],
                "missing",
                f"Nothing was found on “{facet['title']}”.",
                _self_contained(f"What do any of the documents hold on {facet['title']}", question),
            )


def reported(
    facets: Sequence[JsonObject],
    by_facet: dict[str, list[JsonObject]],
    claims: Sequence[JsonObject],
    question: Question,
) -> Iterator[Shortfall]:
    """What researchers could not find though it was asked for, and nobody else found either."""
    held = [set(content_terms(claim["text"])) for claim in claims]
    subject = set(content_terms(question.subject)) | GENERIC_STEMS
    for facet in facets:
        if not by_facet[facet["id"]]:
            continue
        wording = f"{question.text} {facet['question']}"
        asked = words(f"{wording} {facet['title']}")
        for missing in facet.get("missing", ()):
            point = set(content_terms(missing)) - subject
            if not point or any(len(point & terms) * 3 >= len(point) * 2 for terms in held):
                continue
            # "Rules and approval" names one thing twice; lacking one of the words is no hole.
            if facet["title"] in _PLAIN_NAMES and point <= set(content_terms(facet["title"])):
                continue
            # A word cut short, or one that nobody asked for, is nothing to send somebody out for.
            if not all(word in asked for word in words(missing) if stem(word) in point):
                continue
            open_point = in_a_sentence(missing, wording)
            yield Shortfall(
                2.5,
                facet["id"],
                "thin",
                f"On “{facet['title']}” nothing was found about {open_point}."[:600],
                _self_contained(f"What is known about {open_point}", question),
            )


def untouched(
    facets: Sequence[JsonObject],
    by_facet: dict[str, list[JsonObject]],
    claims: Sequence[JsonObject],
    question: Question,
) -> Iterator[Shortfall]:
    """Parts of a facet, or of the user's question, that no claim speaks of."""
    everything = terms_of(claims)
    for facet in facets:
        if not by_facet[facet["id"]]:
            continue
        lacking = lacking_in(facet, everything)[:2]
        if lacking:
            yield Shortfall(
                1.0,
                facet["id"],
                "thin",
                f"On “{facet['title']}” nothing was found about {listing(lacking)}.",
                _self_contained(f"What is known about {listing(lacking)}", question),
            )
    if not facets:
        return
    titles = set(chain.from_iterable(content_terms(f["title"]) for f in facets))
    for aspect in question.aspects:
        terms = set(content_terms(f"{aspect.text} {heading(aspect.text)}")) - GENERIC_STEMS
        if terms and not _touched(terms, everything) and not _touched(terms, titles):
            home = max(facets, key=lambda f: (similarity(aspect.text, f["question"]), f["id"]))
            yield Shortfall(
                0.5,
                home["id"],
                "missing",
                f"The question names “{aspect.text}”; the report does not speak of it.",
                _self_contained(f"What is known about {plainly(aspect.text)}", question),
            )


def terms_of(claims: Iterable[JsonObject]) -> set[str]:
    return set(chain.from_iterable(content_terms(claim["text"]) for claim in claims))


def _touched(point: set[str], held: set[str]) -> bool:
    """Whether some word of a point, or a relative of it, is among those held."""
    return bool(point & held) or any(kinship(a, b) >= _KIN for a in point for b in held)


def lacking_in(facet: JsonObject, held: set[str]) -> list[str]:
    """The parts of a facet's title, and the examples in its question, that the terms leave out."""
    _, _, hints = facet["question"].rstrip(" ?.").partition(_HINTS)
    # "Rules and approval" are two words for one thing; of a title of their own each part counts.
    title = facet["title"]
    parts = [] if title in _PLAIN_NAMES else _JOINTS.split(title)
    parts = parts if len(parts) > 1 else []
    points = [*parts, *_JOINTS.split(hints)]
    return [
        plainly(point)
        for point in dict.fromkeys(points)
        if (terms := set(content_terms(point)) - GENERIC_STEMS) and not _touched(terms, held)
    ]


def behind(
    facets: Sequence[JsonObject], by_facet: dict[str, list[JsonObject]], question: Question
) -> Iterator[Shortfall]:
    """A facet with few claims where the others have many: the search had too few words for it."""
    counts = {fid: len(claims) for fid, claims in by_facet.items()}
    for facet in facets:
        others = [n for fid, n in counts.items() if fid != facet["id"] and n]
        own = counts[facet["id"]]
        side = dimensions.closest(facet["title"])
        if not own or not others or own * 2 >= median(others) or side not in dimensions.SHOWN:
            continue
        held = terms_of(by_facet[facet["id"]]) | set(content_terms(question.text))
        fresh = [word for word in side.words if stem(word) not in held][:3]
        if fresh:
            yield Shortfall(
                2.0 + own / 10,
                facet["id"],
                "thin",
                f"“{facet['title']}” has {counted(own, 'claim')}, and none speaks of "
                f"{listing(fresh, 'or')}.",
                _self_contained(f"What is known about {listing(fresh)}", question),
            )


def contradictions(
    disagreements: Sequence[JsonObject], facets: Sequence[JsonObject]
) -> Iterator[Shortfall]:
    ids = {facet["id"] for facet in facets}
    for found in disagreements:
        homes = [fid for fid in found.get("facet_ids", ()) if fid in ids]
        explained = found.get("cause", "unexplained") != "unexplained" and found.get("explanation")
        if explained or not homes:
            continue
        about = plainly(str(found.get("about") or "the figures"))
        if "…" in about:
            continue  # what cannot be said in words cannot be searched for
        yield Shortfall(
            1.5,
            homes[0],
            "unexplained",
            f"Sources disagree on {about}, and nothing says why."[:600],
            f"Why do sources differ on {about}: definition, period or method?"[:600],
        )


def lone(
    facets: Sequence[JsonObject],
    by_facet: dict[str, list[JsonObject]],
    claims: Sequence[JsonObject],
    question: Question,
) -> Iterator[Shortfall]:
    """A facet on one source, where another facet's sources speak of the same thing."""
    subject = set(content_terms(question.subject)) | GENERIC_STEMS
    for facet in facets:
        own = by_facet[facet["id"]]
        sources = {n for claim in own for n in claim.get("cite", ())}
        if not own or len(sources) != 1:
            continue
        elsewhere = terms_of(c for c in claims if not sources & set(c.get("cite", ())))
        shared = [
            phrase
            for phrase in _distinctive(own, question)
            if (terms := set(content_terms(phrase)) - subject) and terms <= elsewhere
        ]
        if shared:
            yield Shortfall(
                3.0,
                facet["id"],
                "thin",
                f"“{facet['title']}” rests on a single source, and others speak of "
                f"{listing(shared[:2])} too.",
                _self_contained(f"What do other documents say of {listing(shared[:2])}", question),
            )


def _distinctive(claims: Sequence[JsonObject], question: Question) -> list[str]:
    subject = set(content_terms(question.subject)) | GENERIC_STEMS
    counted: Counter[str] = Counter()
    for claim in claims:
        counted.update({p for p in noun_phrases(claim["text"]) if set(content_terms(p)) - subject})
    return sorted(counted, key=lambda p: (-counted[p], -len(p.split()), p))


def unexplained_names(
    facets: Sequence[JsonObject], claims: Sequence[JsonObject], question: Question
) -> Iterator[Shortfall]:
    """Named in claim after claim, and no claim says what it is."""
    asked = " ".join([question.text, *(f"{f['title']} {f['question']}" for f in facets)])
    known = set(content_terms(asked))
    least = max(5, len(claims) // 8)
    seen: Counter[str] = Counter()
    opens: set[str] = set()
    homes: dict[str, Counter[str]] = {}
    for claim in claims:
        text = claim["text"]
        for found in {n.text: n for n in capitalised(text)}.values():
            seen[found.text] += 1
            homes.setdefault(found.text, Counter())[claim["facet_id"]] += 1
            after = text[found.end : found.end + 40].lstrip(" ,(").lower()
            if found.start < 5 or after.startswith(("is ", "are ", "was ", "the ", "a ", "which ")):
                opens.add(found.text)
    for name, count in sorted(seen.items()):
        terms = set(content_terms(name))
        if count < least or name in opens or terms & known or terms <= GENERIC_STEMS:
            continue
        if name.upper() == name:
            continue  # initials are rarely spelled out twice
        home = min(homes[name], key=lambda fid: (-homes[name][fid], fid))
        yield Shortfall(
            4.0 - min(count, 9) / 10,
            home,
            "adjacent",
            f"{name} is named {count} times and never explained.",
            _self_contained(f"What is {name} and what part does it play", question),
        )


def _self_contained(start: str, question: Question) -> str:
    subject = question.subject
    missing = subject and not set(content_terms(subject)) <= set(content_terms(start))
    return f"{start.rstrip(' ?.')}{f', with regard to {subject}' if missing else ''}?"[:600]
