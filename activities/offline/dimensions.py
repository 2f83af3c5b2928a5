"""Sides that almost any matter has: what it costs, what can go wrong, who decides, what it does.

General English, no topic. The planner looks for them in a search, and makes one a facet only where
the question asks for it or the documents show it.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from activities.offline.language import content_terms
from activities.offline.lexicon import GENERIC, listed
from activities.offline.stemming import stem


@dataclass(frozen=True)
class Dimension:
    title: str
    words: tuple[str, ...]
    """What to search for, most telling first."""
    asks: str
    """The question it puts to a subject {s}."""
    prefer: str
    more: tuple[str, ...] = ()
    """Further words by which a document shows that it is about this side."""
    beside: str = ""
    """Documents have a plainer name for this side ("nurses", "pupils"), and it is named by the
    word they use most; this one may stand beside it ("nurses and training")."""

    @property
    def terms(self) -> frozenset[str]:
        return frozenset(stem(word) for word in self.words)

    @cached_property
    def spelled(self) -> dict[str, str]:
        """Each root of the vocabulary with its plain word."""
        return {stem(word): word for word in (*self.more, *self.words)}

    @property
    def vocabulary(self) -> frozenset[str]:
        return frozenset(self.spelled)


def _words(text: str) -> tuple[str, ...]:
    return tuple(text.split())


COSTS = Dimension(
    "Costs and funding",
    _words("cost price budget funding investment savings expense financing spend"),
    "what are the costs of {s}, and who pays them",
    "audited accounts, budgets, contracts and official cost reports",
    _words("grant loan bond subsidy fee tariff payment finance expenditure million"),
)
RISKS = Dimension(
    "Risks and problems",
    _words("risk failure incident hazard threat delay vulnerability problem loss"),
    "what could go wrong or has gone wrong with {s}",
    "inspection and incident reports, audits and studies before press accounts",
    _words("accident fire outage disruption breakdown fault injury warning"),
)
BENEFITS = Dimension(
    "Benefits and results",
    _words("benefit improvement advantage gain reduction success efficiency outcome"),
    "what improvements and gains are reported for {s}",
    "measured results and evaluations before announcements and marketing",
)
OPTIONS = Dimension(
    "Options and alternatives",
    _words("option alternative choice proposal scenario substitute instead approach"),
    "which options and alternatives are there to {s}, and what speaks for each",
    "option appraisals, studies and decision papers",
)
RULES = Dimension(
    "Rules and approval",
    _words("regulation law compliance permit obligation policy rule deadline"),
    "which rules, requirements and approvals apply to {s}",
    "regulations, decisions of authorities and contracts before comment on them",
    _words("approval licence legislation guideline regulator court statute permission"),
)
PEOPLE = Dimension(
    "Staff and training",
    _words("staff training employee skill workforce union worker personnel"),
    "which people work with {s}, and how are they trained and employed",
    "staff reports, training records, minutes and letters of those concerned",
    _words(
        "crew recruitment overtime shift wage salary trainee instructor qualification vacancy "
        "labour staffing manning teacher nurse onboarding employer"
    ),
    beside="training",
)
USERS = Dimension(
    "Users and customers",
    _words("customer satisfaction complaint survey visitor consumer passenger"),
    "how do those who use {s} take to it",
    "surveys, counts and statistics before single voices",
    _words(
        "patient rider resident tenant guest pupil subscriber shopper ticket household parent "
        "commuter ridership"
    ),
    beside="user",
)
SAFETY = Dimension(
    "Safety",
    _words("safety accident fire injury emergency alarm hazard inspection"),
    "how safe is {s}",
    "inquiries, inspections and incident records before press accounts",
    _words("rescue explosion smoke evacuation casualty danger incident firefighter"),
    beside="safety",
)
SECURITY = Dimension(
    "Security",
    _words("security attack breach encryption privacy malware password vulnerability"),
    "how secure is {s}",
    "audits, advisories and incident records before vendors' statements",
    _words("phishing cyberattack ransomware authentication hacker cybersecurity threat"),
    beside="security",
)
ENVIRONMENT = Dimension(
    "Environment and emissions",
    _words("emission carbon pollution noise climate waste environmental"),
    "what does {s} mean for the environment",
    "measurements, inventories and studies before statements",
    _words(
        "co2 greenhouse wildlife habitat biodiversity footprint recycling sustainability species "
        "contamination effluent"
    ),
    beside="emissions",
)
RELIABILITY = Dimension(
    "Operation and reliability",
    _words("reliability maintenance availability outage delay repair"),
    "how reliably does {s} work from day to day",
    "measurements, operating records and datasets",
    _words("punctuality cancellation downtime breakdown disruption fault uptime cancelled"),
    beside="reliability",
)
CONTRACTS = Dimension(
    "Contracts and suppliers",
    _words("contract supplier tender procurement vendor bid award"),
    "who supplies {s}, and under which contracts",
    "contracts, notices and evaluations before suppliers' own statements",
    _words("bidder manufacturer contractor agreement invoice lease delivery"),
)
TECHNOLOGY = Dimension(
    "Technology and design",
    _words("technology design equipment capacity component software architecture specification"),
    "how is {s} built: design, equipment, capacity",
    "technical notes, measurements and datasets",
)
SCHEDULE = Dimension(
    "Plans and schedule",
    _words("plan schedule target milestone roadmap phase rollout implementation"),
    "what is planned for {s}, and by when",
    "decisions, minutes and progress reports",
)
COUNTER = Dimension(
    "Counter-evidence and other explanations",
    _words("however despite unrelated uncertain criticism contrary limitation doubt"),
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
    _words("cause reason driver because due factor responsible trigger"),
    "what reasons are given for {s}: causes, drivers, triggers, contributing factors",
    "investigations and studies before press accounts",
)
EFFECTS = Dimension(
    "Effects and consequences",
    _words("effect impact consequence result change increase decline outcome"),
    "what effects of {s} are reported, on whom, and how large",
    "measurements, datasets and studies",
)

ALL = (
    COSTS, SAFETY, PEOPLE, USERS, ENVIRONMENT, RELIABILITY, RULES, CONTRACTS, SECURITY, TECHNOLOGY,
    RISKS, BENEFITS, OPTIONS, SCHEDULE,
)  # fmt: skip

SHOWN = (
    COSTS, SAFETY, PEOPLE, USERS, ENVIRONMENT, RELIABILITY, RULES, CONTRACTS, SECURITY,
)  # fmt: skip
"""Sides whose words tell what a document is about; any document speaks of plans and results."""

_GENERAL = frozenset(
    term for side in (*ALL, CAUSES, EFFECTS, COUNTER) for term in side.vocabulary
) | {stem(word) for word in (*GENERIC, "drawback", "disadvantage", "downside", "consequence")}


def is_general_aspect(part: str) -> bool:
    """Whether a part of a question names a side of any matter ("costs", "causes"), not a thing."""
    terms = set(content_terms(part))
    return bool(terms) and terms <= _GENERAL


_AUTHORITATIVE = ("regulation", "study", "dataset", "report", "minutes", "slides", "mail", "note")
_PLURALS = {"study": "studies", "regulation": "regulations", "dataset": "datasets",
            "report": "reports", "minutes": "minutes", "slides": "slides", "mail": "mails",
            "note": "notes"}  # fmt: skip
_LESS = listed("press blog marketing chat page")


def closest(text: str) -> Dimension | None:
    """The dimension whose words a text uses, if any."""
    terms = set(content_terms(text))
    best = max(ALL, key=lambda dimension: len(dimension.vocabulary & terms))
    return best if best.vocabulary & terms else None


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
