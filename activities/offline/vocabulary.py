"""How words stand to each other: synonyms, families, and words too general to look for.

Everyday English only; nothing here names a subject. Words are roots, as `stem` gives them.
"""

from __future__ import annotations

from functools import lru_cache

from activities.offline.lexicon import GENERIC, VERBS
from activities.offline.stemming import stem

_SYNONYMS = """
cost price expense expenditure spend spending fee tariff
pay salary wage compensation remuneration
revenue sale turnover income earning
profit margin
buy purchase procure procurement acquire acquisition
worker employee staff personnel workforce labour labor
customer client consumer shopper
passenger rider traveller traveler
patient resident
driver operator
law regulation legislation statute act rule
compliance conformity adherence
danger risk hazard threat
accident incident collision crash
failure outage breakdown fault defect downtime
delay lateness disruption
safety security
education training course
learn study research
emission pollution exhaust
noise sound acoustic decibel
fire blaze thermal
pilot trial test experiment demonstration
supplier vendor manufacturer maker
contract agreement tender
growth rise increase expansion
fall decline decrease reduction drop
benefit advantage gain
drawback disadvantage downside limitation
reliability availability uptime dependability
repair maintenance servicing upkeep
satisfaction complaint feedback
schedule timetable timeline
building facility premises
vehicle car fleet
grid network
data information
speed velocity
length distance range
age lifetime lifespan
begin start launch introduce introduction
end finish completion
forecast projection outlook prediction
plan strategy roadmap
money fund funding finance financing grant subsidy investment
birth born
death die died dies dead killed
spouse wife husband married
"""
_FILLER_WORDS = """
document source text material evidence corpus say state mention describe known available relevant
concerning major significant effective effectively particular kind current currently existing
possible consider considering role extent way aspect factor key main important detail give given
based need help make use using play affect influence relate involve include regard
happen occur change afterwards later before since associated called named located
"""
SOFT = {stem(word) for word in GENERIC}
ACTS = {stem(word) for word in VERBS}
FILLER = {stem(word) for word in _FILLER_WORDS.split()}
_DESCRIPTOR_WORDS = """
medium genre type kind sort profession occupation job nationality sport artist performer author
position format category religion gender language country institution field
"""
# What a thing is, told by "X is a …" without the word.
DESCRIPTORS = {stem(word) for word in _DESCRIPTOR_WORDS.split()}


def _groups() -> dict[str, frozenset[str]]:
    table: dict[str, frozenset[str]] = {}
    for line in _SYNONYMS.strip().splitlines():
        group = frozenset(stem(word) for word in line.split())
        for term in group:
            table[term] = table.get(term, frozenset()) | group
    return table


_GROUPS = _groups()


@lru_cache(maxsize=200_000)
def kinship(one: str, other: str) -> float:
    """How close two roots are: 1 the same, less for synonyms and for words of one family."""
    if one == other:
        return 1.0
    if other in _GROUPS.get(one, ()):
        return 0.7
    shorter, longer = sorted((one, other), key=len)
    if len(shorter) >= 5 and longer.startswith(shorter) and len(longer) - len(shorter) <= 5:
        return 0.6
    if len(shorter) >= 7 and longer[:7] == shorter[:7]:
        return 0.6
    if shorter[-1] == "e" and longer == f"{shorter[:-1]}ag":
        return 0.6  # "store" and "storage"; "man" and "manage" are none
    return 0.0


def is_general(term: str) -> bool:
    """Whether a root is too general to be missed by itself."""
    return term in SOFT or term in FILLER or term in ACTS


def synonyms(term: str) -> tuple[str, ...]:
    """Other roots that may stand for a term."""
    return tuple(sorted(_GROUPS.get(term, frozenset()) - {term}))
