"""Words by which a source says what its figure is: counted how, of whom, when, in which version.

Plain English; no list knows a topic. Strong cues tell what a figure is, weak ones only hint at it.
"""

from __future__ import annotations

import re
from typing import Literal

Cause = Literal[
    "definition", "period", "population", "method", "superseded", "error", "unexplained"
]

_FIGURE = (
    r"(?:figures?|numbers?|sums?|values?|estimates?|means?|results?|shares?|counts?|totals?|"
    r"forecasts?|amounts?|prices?|dates?|rates?|inventory|definition)"
)
_PEOPLE = (
    r"(?:commuters?|residents?|inhabitants|tourists?|visitors?|adults?|children|students?|pupils|"
    r"pensioners?|employees?|households?|respondents?|holders?|subscribers|customers|patients|"
    r"members|women|men|drivers|users|travellers|voters|owners)"
)
# Cause, strong cues, weak cues; earlier rows win where two fit equally well.
_CUES: tuple[tuple[Cause, str, str], ...] = (
    (
        "superseded",
        r"superseded?s?|out of date|outdated|no longer (?:valid|true|holds?|appl\w+|current)|"
        r"revised|restated|corrected|amended|replace[sd]? the|new(?:er)? (?:estimate|figure|"
        r"forecast|plan|budget)|overtaken|updated (?:figure|estimate|forecast)|original(?:ly)?|"
        r"previous(?:ly)?|formerly",
        r"earlier|initial(?:ly)?|replace[sd]?|first estimate|preliminary|provisional|"
        r"at the time",
    ),
    (
        "definition",
        r"(?:does not |do not |not )?includ(?:es?|ed|ing)|exclud(?:es?|ed|ing)|excl\.|incl\.|"
        r"covers?|comprises?|not part of|defined as|definition|also counts?|counts? (?:as|everyone|"
        r"every|only|all|what|also)|counted as|(?:is|are) (?:not )?counted|not counted|"
        r"not in the count|"
        r"we count|(?:that|this) is (?:everything|the (?:price|cost|first|last|day|date|sum))|"
        r"net of|gross|before tax|after tax|contains?|no allowance|as well as|defines?|"
        r"both parts|(?:19|20)\d\d prices|current prices|constant prices|real terms|nominal",
        r"only(?! \d)|without|plus|total|in all|overall|net|alone|direct|indirect|capital|"
        r"operating|everything",
    ),
    (
        "population",
        rf"among (?:all )?\w+|aged \d+|{_PEOPLE}|whole (?:network|country|county|fleet|company|"
        rf"city|region|group|market)|(?:all|the) (?:two|three|four|five|six|seven|eight|nine|ten|"
        rf"\d+) \w+s together|{_FIGURE} (?:is |are )?for (?:the )?(?!calendar|financial|fiscal|"
        r"year)(?-i:[A-Z]\w+)|nationwide|national|metropolitan|city proper|urban|rural|weekdays?|"
        r"weekends?|full-time|part-time|off-peak|per capita|(?:put|asked) (?:the|this) question|"
        r"were not asked|only on",
        r"all \w+s|regional|local|municipality|peak|paying|sample of",
    ),
    (
        "method",
        r"modell?ed|simulat(?:ed|ion)|(?:not )?measured|measurements?|calculated|estimated?|"
        r"survey(?:ed)?|polls?|projected|projections?|census|sensors?|audited|unaudited|"
        r"self-reported|"
        r"taken from|comes? from|based on|read from|logged|assum(?:es?|ed|ing)|budgeted|contracted|"
        r"has learned|everyone\b.{0,30}\bknows|(?:is|are) said to|rumours?|hearsay|people say|"
        r"so they say|"
        r"(?:inquiry|investigation|court|auditors?) (?:found|concluded)|we counted|"
        r"saw and heard|saw|witness(?:es|ed)?",
        r"average|median|reported|recorded|forecast|planned|actual|expected|target|registered|"
        r"observed|approximately|roughly|maximum|minimum|up to|at least|believe[sd]?|talk",
    ),
    (
        "period",
        r"calendar years?|financial years?|fiscal years?|(?:twelve|six|three|nine|\d+) months|"
        r"all seasons|per (?:year|month|week|day|hour|trip)|as of|so far|year to date|"
        r"(?:first|second|third|fourth) (?:half|quarter)|from \d{1,2}? ?\w+ (?:\d{4} )?to \d{0,2} ?"
        r"\w+ \d{4}|over (?:a|the) (?:full|first|whole) year|annual(?:ly)?|monthly|weekly|daily|"
        r"quarterly|in (?:spring|summer|autumn|winter)",
        r"seasons?|winter|summer|spring|autumn|since \w+|until \w+|by the end of|first year",
    ),
    (
        "error",
        r"erratum|misprint|typo|mistaken(?:ly)?|in error|wrongly",
        r"error|wrong",
    ),
)
COMPILED = tuple(
    (
        cause,
        re.compile(rf"(?<!\w)(?:{strong})(?!\w)", re.IGNORECASE),
        re.compile(rf"(?<!\w)(?:{weak})(?!\w)", re.IGNORECASE),
    )
    for cause, strong, weak in _CUES
)
# A sentence that opens so speaks of the figure before it.
REFERS = re.compile(
    rf"(?:This|That|It|These|They|We (?:count|put|asked|found|measured)|Measured|Counted|As always|"
    rf"The (?:\w+ )?{_FIGURE})\b"
)
