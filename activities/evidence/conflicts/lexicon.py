"""Plain English word lists that say what a sentence measures, dates, contrasts and reports.

No list knows a topic. A row holds words that mean one thing; rows of one list exclude each other
where a comment says so.
"""

from __future__ import annotations

from collections.abc import Sequence

from activities.evidence.words import stem, word_list

# Words of one row exclude each other: a figure for one is no figure for the next.
_CONTRASTS = (
    "north northern|south southern|east eastern|west western",
    "adult adults|child children|student students|senior seniors pensioner pensioners",
    "male men man boys|female women woman girls",
    "weekday weekdays|weekend weekends",
    "morning|afternoon|evening|night nights overnight",
    "import imports imported|export exports exported",
    "inbound incoming|outbound outgoing",
    "arrival arrivals|departure departures",
    "domestic|international foreign",
    "urban|rural",
    "minimum lowest|maximum highest",
    "daily|weekly|monthly|quarterly|annual annually yearly",
    "upper|lower",
    "first 1st|second 2nd|third 3rd|fourth 4th|fifth 5th|sixth 6th|seventh 7th|eighth 8th",
    "born birth|died death",
)
# What is measured. Two values whose nearest words name different measures are not compared.
_MEASURES = (
    "cost costs costing expense expenses expenditure spending budget budgeted investment bill",
    "revenue revenues turnover sales income",
    "profit profits earnings surplus",
    "loss losses deficit",
    "price prices fare fares fee fees tariff",
    "salary salaries wage wages pay",
    "population inhabitants residents",
    "length long",
    "width wide beam",
    "height tall high elevation altitude",
    "depth deep draught",
    "weight weighs weighing mass",
    "speed",
    "capacity",
    "area",
    "age aged",
    "distance",
    "emissions emission emit",
    "consumption consumed consumes",
    "density",
    "share proportion",
    "margin",
    "debt",
    "turnout",
    "households",
    "delay delays delayed",
)
CHANGE = word_list(
    """rise rises rose risen rising increase increases increased increasing grow grows grew grown
    growth fall falls fell fallen falling decline declined declines drop dropped drops decrease
    decreased cut cuts up down gained lost reduction reduced reduce reduces more less fewer higher
    lower"""
)
_EVENTS = (
    "open opens opened opening inaugurated",
    "close closes closed closing closure shut",
    "launch launched launches",
    "start starts started begin begins began begun commence commenced",
    "end ends ended expire expires expired finish finished",
    "complete completed completion built build construct constructed construction",
    "sign signed signing award awarded",
    "found founded establish established formed created incorporated",
    "born birth",
    "die died dies death",
    "publish published release released releases premiered",
    "deliver delivered delivery delivers",
    "approve approved approval adopted",
    "elect elected appointed",
    "due deadline",
    "enter entered enters",
    "merge merged acquired acquire",
    "resign resigned retired",
)
# Left and right are opposite; a statement holds one or the other, never both.
_DIRECTIONS = (
    "rise rises rose risen rising increase increases increased increasing grow grows grew growth up"
    "|fall falls fell fallen falling decrease decreases decreased decline declines declined drop "
    "drops dropped shrank down",
    "approve approves approved accept accepts accepted|reject rejects rejected",
    "allow allows allowed permit permits permitted|ban bans banned forbid forbids forbidden "
    "prohibit prohibits prohibited",
    "support supports supported|oppose opposes opposed",
    "above exceed exceeds exceeded|below",
    "profit profitable|loss unprofitable",
    "safe|unsafe",
    "mandatory compulsory required|optional voluntary",
    "higher|lower",
    "faster|slower",
    "cheaper|dearer costlier",
    "before|after",
    "possible feasible|impossible infeasible",
    "legal lawful|illegal unlawful",
    "improve improves improved improving|worsen worsens worsened worsening",
    "successful succeeded|unsuccessful",
    "likely|unlikely",
    "true|false",
    "guilty|innocent",
    "alive|dead",
    "include includes included including|exclude excludes excluded excluding",
)
SAID = word_list(
    """said says say reported reports report estimates estimated expects expected announced writes
    wrote claims claimed told states stated puts put notes noted found finds according"""
)
# What happens again and again: another date of it is another time, not another account.
REPEATED = word_list(
    """met meets meet meeting meetings held hold visited visit visits inspected inspection tested
    test tests sailed sails departed departs spoke called calls measured checked sampled counted
    wrote replied exercise exercises drill survey surveyed happened occurred"""
)
# A date after one of these is when a figure was put on paper, not the period it measures.
PAPER = word_list(
    """published dated updated approved adopted decided estimate estimated announced revised signed
    forecast version budgeted presented minutes memo letter issued"""
)

# What somebody wants or lets happen is not yet so.
WISHES = frozenset(
    stem(word)
    for word in word_list(
        """approved approves proposed proposes proposal accept accepts accepted wants wanted demands
        demanded asks asked recommends recommended suggests suggested requires required allows
        allowed permits permitted target targets goal aims"""
    )
)


def _classes(rows: Sequence[str]) -> dict[str, tuple[int, int]]:
    return {
        word: (row, place)
        for row, line in enumerate(rows)
        for place, alternatives in enumerate(line.split("|"))
        for word in alternatives.split()
    }


# Spelled with a capital, since "march" and "may" are other words.
_MONTHS = ("January|February|March|April|May|June|July|August|September|October|November|December",)
CONTRAST_OF = _classes(_CONTRASTS + _MONTHS)
DIRECTION_OF = _classes(_DIRECTIONS)
MEASURE_OF = {word: row for word, (row, _) in _classes(_MEASURES).items()}
EVENT_OF = {word: row for word, (row, _) in _classes(_EVENTS).items()}


def names_event(word: str) -> bool:
    """Whether the word names something that happens on a date."""
    return word.lower() in EVENT_OF
