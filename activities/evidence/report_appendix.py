"""What stands behind the writer's text: the asker's points, how it was researched, the sources."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence

from activities.evidence.draft import Draft, marks
from activities.evidence.ledger import Ledger
from workflows.contracts.evidence import DroppedClaim, Relation
from workflows.contracts.result import (
    METHOD,
    POINTS,
    SOURCES,
    Coverage,
    CoverageStatus,
    SourceOut,
)
from workflows.contracts.state import ResearchState, RubricVerdict

_WEB = re.compile(r"https?://[^\s<>]+", re.IGNORECASE)
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
    return _titled_list("Claims that differ without contradiction", lines)


def list_points(state: ResearchState, ledger: Ledger) -> list[RubricVerdict]:
    """The asker's points as they were judged last; a citation that leads nowhere is not shown."""
    judged = state.rubric or tuple(RubricVerdict(point=point) for point in state.request.rubric)
    known = set(ledger.numbers.values())
    return [
        one.model_copy(update={"cite": tuple(n for n in one.cite if n in known)}) for one in judged
    ]


def describe_points(state: ResearchState, ledger: Ledger) -> str:
    rows = [
        (one.point, one.status.replace("_", " "), f"{one.reason} {marks(one.cite)}")
        for one in list_points(state, ledger)
    ]
    return f"## {POINTS}\n\n{_table(['Point', 'Status', 'Why'], rows)}" if rows else ""


def describe_calculations(draft: Draft | None) -> str:
    """The figures that the writer calculated, each with the sources of its numbers."""
    given = draft.calculations if draft else ()
    lines = [
        f"{one_line(one.about) + ': ' if one.about else ''}{one.expression} = {one.result}"
        f" {marks(one.cite)}"
        for one in given
        if one.by == "writer"
    ]
    parts = [_titled_list("Calculated from the claims, and repeated by code", lines)]
    parts += [
        f"Printed by a program that a researcher ran ({one_line(one.about)}):\n\n"
        f"{_fenced(one.expression)}\n\n{_fenced(one.result)}"
        for one in given
        if one.by == "program"
    ]
    return "\n\n".join(part for part in parts if part)


def _fenced(code: str) -> str:
    return "\n".join(["```", code.replace("```", "~~~"), "```"])


def describe_method(
    state: ResearchState,
    coverage: Sequence[Coverage],
    draft: Draft | None,
    notes: str,
    dropped: Sequence[DroppedClaim],
) -> str:
    """How the report came about, so that a reader can judge it."""
    passes = [
        f"Pass {p.n}: {p.gaps_in} gaps taken up, {p.gaps_closed} closed, {p.spend.turns} turns."
        for p in state.passes
        if p.n > 0
    ]
    steps = [f"{one_line(c.title)}: {one_line(c.next_step)}" for c in coverage if c.next_step]
    stopped = state.stop_reason.value.replace("_", " ") if state.stop_reason else ""
    files = [f"`{f.uri}`: {f.reason}" for f in state.corpus.unreadable]
    parts = [
        f"## {METHOD}",
        _tabulate_coverage(coverage),
        *_describe_failures(coverage),
        _titled_list("Changes to the plan", state.plan.changes if state.plan else ()),
        _titled_list("Refinement after the first draft", passes),
        _count_dropped(dropped),
        _titled_list("What the researchers would look into next", steps),
        notes,
        f"Research stopped because: {stopped}." if stopped else "",
        _titled_list("Files that could not be read", files),
        *_describe_draft_checks(draft),
    ]
    return "\n\n".join(part for part in parts if part)


def _tabulate_coverage(coverage: Iterable[Coverage]) -> str:
    head = ["Facet", "Status", "Claims", "Sources", "Independent origins", "Remark"]
    rows = (
        (c.title, _STATUS_WORDS[c.status], c.claims, c.sources, c.origins, c.reason)
        for c in coverage
    )
    return _table(head, rows)


def _describe_failures(coverage: Sequence[Coverage]) -> Iterable[str]:
    """What failed, and what could be done about it."""
    troubles = [one_line(f"{c.title}: {p}") for c in coverage for p in c.problems]
    ways = [
        one_line(f"{c.title}: {'; '.join(a.text for a in c.alternatives)}")
        for c in coverage
        if c.alternatives
    ]
    yield _titled_list("Tools and sources that failed", troubles)
    yield _titled_list("What could still be tried", ways)


def _count_dropped(dropped: Sequence[DroppedClaim]) -> str:
    if not dropped:
        return ""
    causes = Counter(claim.cause.replace("_", " ") for claim in dropped)
    counted = ", ".join(f"{n} {cause}" for cause, n in sorted(causes.items()))
    return (
        f"{len(dropped)} claims were dropped ({counted}); `report.json` lists them under "
        "`dropped`, with the reason."
    )


def _describe_draft_checks(draft: Draft | None) -> Iterable[str]:
    """What the checks of the draft changed, and which of them did not run."""
    if draft and draft.mended:
        yield (
            f"{len(draft.mended)} passages did not pass the checks and were replaced by the claims "
            "they stood for; `report.json` lists them under `mended`."
        )
    if draft and draft.unjudged:
        yield (
            "No judge has read the sentences beside their claims; only citations and figures were "
            f"checked: {draft.unjudged}."
        )


def list_sources(sources: Iterable[SourceOut]) -> str:
    cited = [s for s in sources if s.n is not None]
    lines = [
        f"{s.n}. {s.title} ({', '.join(x for x in (s.kind, s.date, *s.marks) if x)}), "
        f"{_link(s.uri)}, sha256 `{s.sha256[:12]}`"
        for s in cited
    ]
    return "\n\n".join([f"## {SOURCES}", "\n".join(lines)]) if lines else ""


def _link(uri: str) -> str:
    """An address of the web as a link; the path of a file as it is."""
    return f"<{uri}>" if _WEB.fullmatch(uri) else f"`{uri}`"


def _table(head: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(one_line(str(cell)) for cell in line)} |" for line in lines)


def _titled_list(title: str, lines: Sequence[str]) -> str:
    return f"{title}:\n\n{bullet_list(lines)}" if lines else ""


def bullet_list(lines: Iterable[str]) -> str:
    return "\n".join(f"- {line}" for line in lines)


def one_line(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")
