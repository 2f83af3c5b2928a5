"""What a kind of question needs covered beyond what it names.

Sides for a comparison, periods for a timeline, causes or effects and what speaks against them, and
for a decision its options, costs, risks, benefits and constraints as far as the documents show.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from activities.offline import dimensions
from activities.offline.aboutness import Documents
from activities.offline.dimensions import Dimension
from activities.offline.facets import Draft
from activities.offline.language import content_terms
from activities.offline.parts import covered, inline, kinds_of
from activities.offline.questions import Question, listing
from activities.offline.themes import Landscape


def fact(question: Question) -> Draft:
    title = " ".join(question.text.split()).rstrip("?. ")
    return Draft(
        title=(title[0].upper() + title[1:])[:120],
        about=title,
        reason="The question asks for one narrow thing; it needs one researcher.",
        prefer=dimensions.prefer("", []),
        named=True,
        asks=question.text.strip().rstrip("?. "),
    )


def sides(question: Question, view: Landscape) -> list[Draft]:
    drafts: list[Draft] = []
    criteria = listing([a.text for a in question.aspects if not a.asks])
    for thing in question.things:
        members = view.holding(thing)
        others = {t for other in question.things for t in content_terms(other)}
        drafts.append(
            Draft(
                title=thing[0].upper() + thing[1:],
                about=thing,
                reason=f"One of the {len(question.things)} things the question compares"
                + (f", on {criteria}" if criteria else "")
                + f"; {len(members)} passages found name it.",
                prefer=dimensions.prefer(criteria, kinds_of(members, view.passages)),
                named=True,
                phrases=tuple(view.tied(members, others)),
                side=bool(criteria),
                weight=float(len(members)),
                passages=members,
            )
        )
    return drafts


_YEAR = re.compile(r"\b(1[5-9]\d\d|20\d\d)\b")


def periods(question: Question, view: Landscape) -> list[Draft]:
    """Three to five stretches of years with about as much told of each."""
    counted: Counter[int] = Counter()
    for passage in view.passages:
        counted.update({int(y) for y in _YEAR.findall(passage.text)})
    if len(question.years) > 1:
        first, last = question.years[0], question.years[-1]
    elif question.years and counted:
        first, last = question.years[0], max(max(counted), question.years[0])
    else:
        common = [y for y, n in counted.items() if n > 1]
        # Where hardly a year is told twice, each that is told counts.
        common = common if len(common) * 3 >= len(counted) else list(counted)
        first, last = (min(common), max(common)) if common else (0, 0)
    told = {y: n for y, n in counted.items() if first <= y <= last}
    if last - first < 2 or sum(told.values()) < 6:
        return []
    parts = 4 if last - first >= 9 and (sum(told.values()) >= 40 or last - first > 60) else 3
    drafts: list[Draft] = []
    for start, end in _stretches(first, last, told, parts):
        years = [str(y) for y in range(start, end + 1)]
        members = frozenset(
            i for i, p in enumerate(view.passages) if any(year in p.text for year in years)
        )
        span = f"{start}–{end}" if end > start else str(start)
        phrases = view.phrases(members, (), 8)
        heading = f"{span}: {listing(phrases[:2])}" if phrases else span
        named = years if len(years) < 9 else [*years[:4], *years[-4:]]
        drafts.append(
            Draft(
                title=heading,
                about=f"the years {listing(named)}" if end > start else f"the year {start}",
                reason=f"{len(members)} of the {len(view.passages)} passages on the subject name "
                f"years of this period.",
                prefer="Sources of the time itself: minutes, reports and dated notices",
                named=True,
                weight=float(len(members)),
                passages=members,
            )
        )
    return drafts


def _stretches(first: int, last: int, told: dict[int, int], parts: int) -> list[tuple[int, int]]:
    total = sum(told.values())
    ends: list[int] = []
    counted = 0
    for year in range(first, last):
        counted += told.get(year, 0)
        if counted * parts >= total * (len(ends) + 1) and len(ends) < parts - 1:
            ends.append(year)
    if len(ends) < parts - 1:  # a year that outweighs the others leaves nothing to share out
        ends = [first + (last - first + 1) * n // parts - 1 for n in range(1, parts)]
    return list(zip([first, *(end + 1 for end in ends)], [*ends, last], strict=True))


def explaining(question: Question, view: Landscape, named: Sequence[Draft]) -> list[Draft]:
    asks_cause = re.search(r"\bwhy\b|\bcaus|\breason|\bled to\b|\bdriv", question.text, re.I)
    asks_effect = re.search(r"effect|impact|affect|consequen|influenc|shap", question.text, re.I)
    answered = any(
        re.match(r"why\b|what (?:caus|led|drove)|causes?\b", d.about, re.I) for d in named
    )
    wanted = [dimensions.CAUSES] if asks_cause and not answered else []
    wanted += [dimensions.EFFECTS] if asks_effect and not named else []
    wanted += [dimensions.COUNTER if asks_cause else dimensions.LIMITS]
    drafts = [_dimension(d, question, view) for d in wanted]
    why = question.text.strip().rstrip("?")
    if re.match(r"why\b[^.?;:]+$", why, re.I) and dimensions.CAUSES in wanted:
        whole = f"{why[0].lower()}{why[1:]}: which causes, drivers and triggers are named"
        drafts[0] = replace(drafts[0], asks=whole)
    return drafts


def deciding(question: Question, view: Landscape, named: Sequence[Draft]) -> list[Draft]:
    wanted = (
        dimensions.OPTIONS,
        dimensions.COSTS,
        dimensions.RISKS,
        dimensions.BENEFITS,
        dimensions.RULES,
    )
    drafts = [_dimension(d, question, view) for d in wanted]
    documents = {p.source_id for p in view.passages}
    shown = [
        d
        for d in drafts
        if len({view.passages[i].source_id for i in d.passages}) > (1 if len(documents) < 12 else 2)
        and len(d.passages) * 6 > len(view.passages)
    ]
    # A yes or no without costs, risks and other ways is no decision, whatever the documents hold.
    choice = re.search(r"\bshould\b|\bwhether\b|\bworth\b|\bdecid", question.text, re.I)
    weighed = (dimensions.COSTS, dimensions.RISKS, dimensions.OPTIONS)
    needed = {d.title for d in weighed} if choice and len(named) < 4 else set()
    asked = {side.title for d in named if (side := dimensions.closest(d.title))}
    kept = [d for d in drafts if d in shown or d.title in needed]
    return [
        d
        for d in kept
        # A bond is a matter of money, and what it costs is still another question.
        if (d.title in needed or d.title not in asked)
        and not covered(d, named, by_passages=d.title not in needed)
    ]


def general(question: Question, view: Landscape, documents: Documents) -> list[Draft]:
    """The sides that any matter has, as far as documents are about them; best documented first."""
    shown = [d for d in dimensions.SHOWN if len(documents.about(d.vocabulary - view.known)) > 1]
    drafts = [_dimension(d, question, view) for d in shown]
    return sorted((d for d in drafts if d.passages), key=lambda d: (-d.weight, d.title))


def _dimension(dimension: Dimension, question: Question, view: Landscape) -> Draft:
    members = frozenset(
        i
        for i, p in enumerate(view.passages)
        if sum(t in p.terms for t in dimension.vocabulary) > 1
    )
    return Draft(
        title=dimension.title,
        about=inline(dimension.title),
        reason=f"A question of this kind needs it; {len(members)} of the {len(view.passages)} "
        f"passages on the subject speak of it ({', '.join(dimension.words[:4])}).",
        prefer=dimension.prefer[0].upper() + dimension.prefer[1:],
        asks=dimension.asks.format(s=question.matter or question.subject)
        if question.matter or len(question.spans) == 1
        else "",
        weight=float(len(members)),
        passages=members,
    )
