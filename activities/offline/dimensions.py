"""Sides that almost any matter has: what it costs, what can go wrong, who decides, what it does.

General English, no topic. The planner looks for them in a search, and makes one a facet only where
the question asks for it or the documents show it.
"""

from __future__ import annotations

from dataclasses import dataclass

from activities.offline.language import content_terms
from activities.offline.lexicon import listed
from activities.offline.stemming import stem


@dataclass(frozen=True)
class Dimension:
    title: str
    words: tuple[str, ...]
    """What to search for, most telling first."""
    asks: str
    """The question it puts to a subject {s}."""
    prefer: str

    @property
    def terms(self) -> frozenset[str]:
        return frozenset(stem(word) for word in self.words)


COSTS = Dimension(
    "Costs and funding",
    (
        "cost",
        "price",
        "budget",
        "funding",
        "investment",
        "savings",
        "expense",
        "financing",
        "spend",
    ),
    "what are the costs of {s} and who pays them: prices, budgets, funding, savings",
    "audited accounts, budgets, contracts and official cost reports",
)
RISKS = Dimension(
    "Risks and problems",
    (
        "risk",
        "failure",
        "incident",
        "hazard",
        "threat",
        "delay",
        "vulnerability",
        "problem",
        "loss",
    ),
    "what could go wrong or has gone wrong with {s}: risks, failures, incidents, delays",
    "inspection and incident reports, audits and studies before press accounts",
)
BENEFITS = Dimension(
    "Benefits and results",
    (
        "benefit",
        "improvement",
        "advantage",
        "gain",
        "reduction",
        "success",
        "efficiency",
        "outcome",
    ),
    "what improvements and gains are reported for {s}: benefits, efficiency, results",
    "measured results and evaluations before announcements and marketing",
)
OPTIONS = Dimension(
    "Options and alternatives",
    (
        "option",
        "alternative",
        "choice",
        "proposal",
        "scenario",
        "substitute",
        "instead",
        "approach",
    ),
    "which options and alternatives are there to {s}, and what speaks for each",
    "option appraisals, studies and decision papers",
)
RULES = Dimension(
    "Rules and constraints",
    (
        "regulation",
        "requirement",
        "law",
        "compliance",
        "deadline",
        "permit",
        "obligation",
        "policy",
    ),
    "which rules, requirements, permits and deadlines apply to {s}",
    "regulations, decisions of authorities and contracts before comment on them",
)
PEOPLE = Dimension(
    "People and skills",
    ("staff", "training", "employee", "skill", "workforce", "user", "customer", "union", "team"),
    "which people are concerned by {s}, and how: staff, skills, training, users",
    "surveys, staff and user reports, minutes",
)
OPERATION = Dimension(
    "Technology and operation",
    ("technology", "design", "capacity", "operation", "equipment", "performance", "maintenance"),
    "what is known of the workings of {s}: design, capacity, performance, maintenance",
    "technical notes, measurements and datasets",
)
SCHEDULE = Dimension(
    "Plans and schedule",
    ("plan", "schedule", "target", "milestone", "roadmap", "phase", "rollout", "implementation"),
    "what is planned for {s} and by when: targets, milestones, phases",
    "decisions, minutes and progress reports",
)
COUNTER = Dimension(
    "Counter-evidence and other explanations",
    (
        "however",
        "despite",
        "unrelated",
        "uncertain",
        "criticism",
        "contrary",
        "limitation",
        "doubt",
    ),
    "what speaks against the explanations given for {s}: criticism, doubts, other causes",
    "studies and independent reviews, above all those that disagree",
)
LIMITS = Dimension(
    "Limits and counter-evidence",
    COUNTER.words,
    "what limits or contradicts the effects reported around {s}: criticism, doubts, no change",
    COUNTER.prefer,
)
CAUSES = Dimension(
    "Causes and drivers",
    ("cause", "reason", "driver", "because", "due", "factor", "responsible", "trigger"),
    "what reasons are given for {s}: causes, drivers, triggers, contributing factors",
    "investigations and studies before press accounts",
)
EFFECTS = Dimension(
    "Effects and consequences",
    ("effect", "impact", "consequence", "result", "change", "increase", "decline", "outcome"),
    "what effects of {s} are reported, on whom, and how large: changes, consequences",
    "measurements, datasets and studies",
)

ALL = (COSTS, RISKS, BENEFITS, OPTIONS, RULES, PEOPLE, OPERATION, SCHEDULE)

_AUTHORITATIVE = ("regulation", "study", "dataset", "report", "minutes", "slides", "mail", "note")
_PLURALS = {"study": "studies", "regulation": "regulations", "dataset": "datasets",
            "report": "reports", "minutes": "minutes", "slides": "slides", "mail": "mails",
            "note": "notes"}  # fmt: skip
_LESS = listed("press blog marketing chat page")


def closest(text: str) -> Dimension | None:
    """The dimension whose words a text uses, if any."""
    terms = set(content_terms(text))
    best = max(ALL, key=lambda dimension: len(dimension.terms & terms))
    return best if best.terms & terms else None


def prefer(text: str, kinds: list[str]) -> str:
    """What sources to prefer for a facet, given the kinds of those found for it."""
    dimension = closest(text)
    found = [k for k in _AUTHORITATIVE if k in kinds]
    first = dimension.prefer if dimension else "primary sources: studies, datasets and reports"
    if found:
        first += f"; the search found {_and([_PLURALS[k] for k in found[:3]])}"
    weak = sorted(_LESS & set(kinds) - {"page"})
    if weak:
        first += f"; {_and(weak)} only where nothing better is there"
    return first[0].upper() + first[1:]


def _and(items: list[str]) -> str:
    return ", ".join(items[:-1]) + " and " + items[-1] if len(items) > 1 else "".join(items)
