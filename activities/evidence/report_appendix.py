"""What stands behind the writer's text: the asker's points, how it was researched, the sources."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from activities.evidence.draft import Draft, marks
from activities.evidence.ledger import Ledger
from workflows.contracts.evidence import DroppedClaim, Relation
from workflows.contracts.result import (
    METHOD,
    POINTS,
    SOURCES,
    Calculation,
    Coverage,
    CoverageStatus,
    SourceOut,
)
from workflows.contracts.state import ResearchState, RubricVerdict

_RELATION_WORDS: dict[Relation, str] = {
    "contradicts": "contradiction",
    "other_period": "for different periods",
    "superseded": "one is superseded",
    "other_entity": "about different things of one name",
    "other_definition": "by different definitions",
    "unclear": "unresolved: the sources do not tell",
}
_STATUS_WORDS: dict[CoverageStatus, str] = {
    "answered": "answered",
    "contested": "answered, contested",
    "partial": "answered in part",
    "absent": "searched and absent",
    "failed": "failed",
    "left_out": "left out",
}


def describe_differences(ledger: Ledger) -> str:
    """Claims that differ and can all be right, side by side, each with the reason."""
    lines = []
    for difference in ledger.differences:
        sides = "; ".join(
            f"{side.context.value or one_line(side.text)} {marks(ledger.cites(side.source_ids))}"
            for side in difference.sides
        )
        lines.append(
            f"{one_line(difference.about)} ({_RELATION_WORDS[difference.relation]}): {sides}"
        )
    return "Claims that differ without contradiction:\n\n" + bullet_list(lines) if lines else ""


def list_points(state: ResearchState, ledger: Ledger) -> list[RubricVerdict]:
    """The asker's points as they were judged last; a citation that leads nowhere is not shown."""
    judged = state.rubric or tuple(RubricVerdict(point=point) for point in state.request.rubric)
    known = set(ledger.numbers.values())
    return [
        one.model_copy(update={"cite": tuple(n for n in one.cite if n in known)}) for one in judged
    ]


def describe_points(state: ResearchState, ledger: Ledger) -> str:
    rows = [
        f"| {one_line(one.point)} | {one.status.replace('_', ' ')} |"
        f" {' '.join(filter(None, [one_line(one.reason), marks(one.cite)]))} |"
        for one in list_points(state, ledger)
    ]
    head = [f"## {POINTS}", "", "| Point | Status | Why |", "|---|---|---|"]
    return "\n".join([*head, *rows]) if rows else ""


def renumber_points(
    points: Iterable[RubricVerdict], numbers: Mapping[int, int]
) -> Iterable[RubricVerdict]:
    for one in points:
        yield one.model_copy(update={"cite": tuple(numbers[n] for n in one.cite)})


def describe_calculations(draft: Draft | None) -> str:
    """The figures that the writer calculated, each with the sources of its numbers."""
    given = draft.calculations if draft else ()
    lines = [
        f"{one_line(one.about) + ': ' if one.about else ''}{one.expression} = {one.result}"
        f" {marks(one.cite)}"
        for one in given
        if one.by == "writer"
    ]
    parts = (
        ["Calculated from the claims, and repeated by code:\n\n" + bullet_list(lines)]
        if lines
        else []
    )
    parts += [
        f"Printed by a program that a researcher ran ({one_line(one.about)}):\n\n"
        f"{_fenced(one.expression)}\n\n{_fenced(one.result)}"
        for one in given
        if one.by == "program"
    ]
    return "\n\n".join(parts)


def _fenced(code: str) -> str:
    return "\n".join(["```", code.replace("```", "~~~"), "```"])


def renumber_calculations(draft: Draft, numbers: Mapping[int, int]) -> Iterable[Calculation]:
    for one in draft.calculations:
        yield one.model_copy(update={"cite": tuple(numbers[n] for n in one.cite)})


def describe_method(
    state: ResearchState,
    coverage: Sequence[Coverage],
    draft: Draft | None,
    notes: str,
    dropped: Sequence[DroppedClaim],
) -> str:
    """How the report came about, so that a reader can judge it."""
    parts = [f"## {METHOD}"]
    rows = [
        f"| {one_line(c.title)} | {_STATUS_WORDS[c.status]} | {c.claims} | {c.sources} "
        f"| {c.origins} | {one_line(c.reason)} |"
        for c in coverage
    ]
    parts.append(
        "\n".join(
            [
                "| Facet | Status | Claims | Sources | Independent origins | Remark |",
                "|---|---|---|---|---|---|",
                *rows,
            ]
        )
    )
    if troubles := [f"{c.title}: {p}" for c in coverage for p in c.problems]:
        parts.append("Tools and sources that failed:\n\n" + bullet_list(map(one_line, troubles)))
    if ways := [
        f"{c.title}: {'; '.join(a.text for a in c.alternatives)}"
        for c in coverage
        if c.alternatives
    ]:
        parts.append("What could still be tried:\n\n" + bullet_list(map(one_line, ways)))
    if state.plan and state.plan.changes:
        parts.append("Changes to the plan:\n\n" + bullet_list(state.plan.changes))
    passes = [
        f"Pass {p.n}: {p.gaps_in} gaps taken up, {p.gaps_closed} closed, {p.spend.turns} turns."
        for p in state.passes
        if p.n > 0
    ]
    if passes:
        parts.append("Refinement after the first draft:\n\n" + bullet_list(passes))
    if dropped:
        causes = Counter(claim.cause.replace("_", " ") for claim in dropped)
        counted = ", ".join(f"{n} {cause}" for cause, n in sorted(causes.items()))
        parts.append(
            f"{len(dropped)} claims were dropped ({counted}); `report.json` lists them under "
            "`dropped`, with the reason."
        )
    steps = [f"{one_line(c.title)}: {one_line(c.next_step)}" for c in coverage if c.next_step]
    if steps:
        parts.append("What the researchers would look into next:\n\n" + bullet_list(steps))
    if notes:
        parts.append(notes)
    if state.stop_reason:
        parts.append(f"Research stopped because: {state.stop_reason.value.replace('_', ' ')}.")
    if state.corpus.unreadable:
        files = [f"`{f.uri}`: {f.reason}" for f in state.corpus.unreadable]
        parts.append("Files that could not be read:\n\n" + bullet_list(files))
    if draft and draft.mended:
        parts.append(
            f"{len(draft.mended)} passages did not pass the checks and were replaced by the claims "
            "they stood for; `report.json` lists them under `mended`."
        )
    if draft and draft.unjudged:
        parts.append(
            "No judge has read the sentences beside their claims; only citations and figures were "
            f"checked: {draft.unjudged}."
        )
    return "\n\n".join(parts)


def list_sources(sources: Iterable[SourceOut]) -> str:
    cited = [s for s in sources if s.n is not None]
    lines = [
        f"{s.n}. {s.title} ({', '.join(x for x in (s.kind, s.date, *s.marks) if x)}), `{s.uri}`, "
        f"sha256 `{s.sha256[:12]}`"
        for s in cited
    ]
    return "\n\n".join([f"## {SOURCES}", "\n".join(lines)]) if lines else ""


def bullet_list(lines: Iterable[str]) -> str:
    return "\n".join(f"- {line}" for line in lines)


def one_line(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")
