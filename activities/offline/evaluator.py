"""The offline evaluator: does the draft answer the question, and what exactly is still missing?

Every facet is judged from its claims: adequate, thin or absent, with the reason. A gap is raised
only where a follow-up could do something about it: a facet without claims, a point the researcher
reported missing, a part of the question no claim touches, a facet that rests on one source, a
contradiction nobody explains, a thing the claims keep naming and never explain. Gaps asked before,
however they ended, are not asked again; from the second pass on only real holes count.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain

from activities.offline import dimensions
from activities.offline.conversation import Conversation, JsonObject
from activities.offline.language import (
    capitalised,
    content_terms,
    noun_phrases,
    similarity,
    words,
)
from activities.offline.questions import GENERIC_STEMS, Question, listing, read_question
from activities.offline.transport import Reply

_MOST = 6
_PER_FACET = 2
_SAME_QUESTION = 0.75
_HINTS = ", in particular "
_INTERCHANGEABLE = frozenset(chain.from_iterable(d.terms for d in dimensions.ALL))
_FORMULAS = frozenset(
    content_terms(
        "documents hold independent sources speak definition period population method lies"
    )
)
_KEPT_OUT = frozenset({"contradicted", "failed"})
_OVER = frozenset({"absent", "failed"})


@dataclass(frozen=True)
class _Gap:
    rank: float
    """Lower is graver."""
    facet_id: str
    kind: str
    text: str
    question: str


def evaluate(conversation: Conversation) -> Reply:
    """The judgements, and at most six gaps, the gravest first."""
    brief = conversation.brief
    question = read_question(str(brief.get("question", "")))
    facets: list[JsonObject] = list(brief.get("facets", ()))
    claims = [c for c in brief.get("claims", ()) if c.get("verdict") not in _KEPT_OUT]
    by_facet = {f["id"]: [c for c in claims if c["facet_id"] == f["id"]] for f in facets}
    known: list[JsonObject] = list(brief.get("gaps", ()))
    late = int(brief.get("pass", 0)) > 0
    found = chain(
        _unanswered(facets, by_facet, question),
        _reported(facets, by_facet, claims, question),
        _untouched(facets, by_facet, claims, question),
        _contradictions(brief.get("contradictions", ()), facets, question),
        [] if late else _lone(facets, by_facet, question),
        [] if late else _unexplained_names(facets, claims, question),
    )
    return Reply(
        {
            "judgements": [_judged(f, by_facet[f["id"]], question) for f in facets],
            "gaps": [
                {"facet_id": g.facet_id, "kind": g.kind, "text": g.text, "question": g.question}
                for g in _chosen(found, known, question)
            ],
        }
    )


def _judged(facet: JsonObject, claims: Sequence[JsonObject], question: Question) -> JsonObject:
    sources = {n for claim in claims for n in claim.get("cite", ())}
    lacking = _lacking(facet, claims, question)
    if not claims:
        depth = "absent"
        reason = facet.get("reason") or "No claim was found for it."
    elif len(claims) < 2 or len(sources) < 2 or lacking:
        depth = "thin"
        reason = f"{_count(len(claims), 'claim')} from {_count(len(sources), 'source')}"
        reason += f"; nothing on {listing(lacking[:3])}." if lacking else "."
    else:
        depth = "adequate"
        reason = f"{_count(len(claims), 'claim')} from {_count(len(sources), 'source')}."
    return {
        "facet_id": facet["id"],
        "addressed": bool(claims),
        "depth": depth,
        "reason": str(reason),
    }


def _count(n: int, noun: str) -> str:
    return f"{n} {noun}" if n == 1 else f"{n} {noun}s"


def _unanswered(
    facets: Sequence[JsonObject], by_facet: dict[str, list[JsonObject]], question: Question
) -> Iterator[_Gap]:
    for facet in facets:
        if not by_facet[facet["id"]]:
            yield _Gap(
                0.0,
                facet["id"],
                "missing",
                f"Nothing was found on “{facet['title']}”.",
                _self_contained(f"What do any of the documents hold on {facet['title']}", question),
            )


def _reported(
    facets: Sequence[JsonObject],
    by_facet: dict[str, list[JsonObject]],
    claims: Sequence[JsonObject],
    question: Question,
) -> Iterator[_Gap]:
    """What researchers said they could not find, where nobody else found it either."""
    held = [set(content_terms(claim["text"])) for claim in claims]
    subject = set(content_terms(question.subject))
    for facet in facets:
        if not by_facet[facet["id"]]:
            continue
        _, _, hints = facet["question"].partition(_HINTS)
        for missing in facet.get("missing", ()):
            # What the plan gave as an example is no hole where the facet is answered without it.
            if len(by_facet[facet["id"]]) > 3 and missing.strip(" .").lower() in hints.lower():
                continue
            point = set(content_terms(missing)) - GENERIC_STEMS - subject - _INTERCHANGEABLE
            if not point or any(len(point & terms) * 3 >= len(point) * 2 for terms in held):
                continue
            yield _Gap(
                1.0,
                facet["id"],
                "thin",
                f"“{facet['title']}” leaves open: {missing.strip().rstrip('.')}."[:600],
                _self_contained(f"What is known about {_plain(missing)}", question),
            )


def _untouched(
    facets: Sequence[JsonObject],
    by_facet: dict[str, list[JsonObject]],
    claims: Sequence[JsonObject],
    question: Question,
) -> Iterator[_Gap]:
    """Parts of a facet's question, or of the user's, that no claim speaks of."""
    everything = set(chain.from_iterable(content_terms(claim["text"]) for claim in claims))
    for facet in facets:
        lacking = _lacking(facet, by_facet[facet["id"]], question)
        lacking = [p for p in lacking if not set(content_terms(p)) & everything]
        if lacking:
            yield _Gap(
                2.0,
                facet["id"],
                "thin",
                f"“{facet['title']}” says nothing on {listing(lacking[:3])}.",
                _self_contained(
                    f"What is known about {listing(lacking[:3])} in {facet['title']}", question
                ),
            )
    if not facets:
        return
    titles = set(chain.from_iterable(content_terms(f["title"]) for f in facets))
    for aspect in question.aspects:
        terms = set(content_terms(aspect.text)) - GENERIC_STEMS
        if terms and not terms & everything and not terms & titles:
            home = max(facets, key=lambda f: (similarity(aspect.text, f["question"]), f["id"]))
            yield _Gap(
                0.5,
                home["id"],
                "missing",
                f"The question names “{aspect.text}”; the report does not speak of it.",
                _self_contained(f"What is known about {_plain(aspect.text)}", question),
            )


def _lacking(facet: JsonObject, claims: Sequence[JsonObject], question: Question) -> list[str]:
    """Phrases of the facet's title and question that its claims never touch.

    Only where they are most of what it asks: claims rarely repeat a question word for word.
    """
    if not claims:
        return []
    held = set(chain.from_iterable(content_terms(claim["text"]) for claim in claims))
    # Words like "costs, prices, budgets" stand for each other; lacking one of them is no hole.
    subject = set(content_terms(question.subject)) | GENERIC_STEMS | _INTERCHANGEABLE
    asked: dict[str, set[str]] = {}
    asks, _, _ = facet["question"].partition(_HINTS)
    for phrase in noun_phrases(f"{facet['title']}. {asks}"):
        terms = set(content_terms(phrase)) - subject
        if terms and not any(terms <= other for other in asked.values()):
            asked[phrase] = terms
    lacking = [phrase for phrase, terms in asked.items() if not terms & held]
    return lacking if len(lacking) * 2 > len(asked) else []


def _contradictions(
    contradictions: Sequence[JsonObject], facets: Sequence[JsonObject], question: Question
) -> Iterator[_Gap]:
    ids = {facet["id"] for facet in facets}
    for found in contradictions:
        homes = [fid for fid in found.get("facet_ids", ()) if fid in ids]
        explained = found.get("cause", "unexplained") != "unexplained" and found.get("explanation")
        if explained or not homes:
            continue
        about = _plain(str(found.get("about") or "the figures"))
        yield _Gap(
            1.5,
            homes[0],
            "unexplained",
            f"Sources disagree on {about}, and nothing says why."[:600],
            _self_contained(
                f"Which definition, period, population or method lies behind {about}", question
            ),
        )


def _lone(
    facets: Sequence[JsonObject], by_facet: dict[str, list[JsonObject]], question: Question
) -> Iterator[_Gap]:
    for facet in facets:
        claims = by_facet[facet["id"]]
        sources = {n for claim in claims for n in claim.get("cite", ())}
        if claims and len(sources) == 1:
            told = listing(_distinctive(claims, question)[:3]) or facet["title"]
            yield _Gap(
                3.0,
                facet["id"],
                "thin",
                f"“{facet['title']}” rests on a single source.",
                _self_contained(f"Which other, independent sources speak of {told}", question),
            )


def _distinctive(claims: Sequence[JsonObject], question: Question) -> list[str]:
    subject = set(content_terms(question.subject)) | GENERIC_STEMS
    counted: Counter[str] = Counter()
    for claim in claims:
        counted.update({p for p in noun_phrases(claim["text"]) if set(content_terms(p)) - subject})
    return sorted(counted, key=lambda p: (-counted[p], -len(p.split()), p))


def _unexplained_names(
    facets: Sequence[JsonObject], claims: Sequence[JsonObject], question: Question
) -> Iterator[_Gap]:
    """Named in claim after claim, and no claim says what it is."""
    asked = " ".join([question.text, *(f"{f['title']} {f['question']}" for f in facets)])
    known = set(content_terms(asked))
    initials = "".join(word[0] for word in words(asked))
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
        if name.isupper() and name.lower() in initials:
            continue  # the question spells it out
        home = min(homes[name], key=lambda fid: (-homes[name][fid], fid))
        yield _Gap(
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


def _plain(text: str) -> str:
    text = text.strip().rstrip(" .?!")
    return text if any(c.isupper() for c in text[1:2]) else text[:1].lower() + text[1:]


def _chosen(found: Iterator[_Gap], known: Sequence[JsonObject], question: Question) -> list[_Gap]:
    """The gravest that were not asked before, two of a facet at most, six in all."""
    common = set(content_terms(question.subject)) | _FORMULAS
    over = {gap["facet_id"] for gap in known if gap.get("status") in _OVER}
    chosen: list[_Gap] = []
    for gap in sorted(found, key=lambda g: (g.rank, g.facet_id, g.question)):
        # A facet that was searched again in vain is not sent out a third time as a whole.
        if gap.kind == "missing" and gap.facet_id in over:
            continue
        of_facet = [g for g in chosen if g.facet_id == gap.facet_id]
        asked = [str(g["question"]) for g in known] + [g.question for g in chosen]
        if len(of_facet) >= _PER_FACET or any(
            _repeats(gap.question, other, common) for other in asked
        ):
            continue
        chosen.append(gap)
    return chosen[:_MOST]


def _repeats(one: str, other: str, common: set[str]) -> bool:
    """The same question, but for the subject and the phrasing that all of them share."""
    if " ".join(one.lower().split()) == " ".join(other.lower().split()):
        return True
    a, b = (set(content_terms(text)) - common for text in (one, other))
    return bool(a and b) and len(a & b) >= _SAME_QUESTION * (len(a) * len(b)) ** 0.5
